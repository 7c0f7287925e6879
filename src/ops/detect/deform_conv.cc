// As products of matrices: the columns are what the displaced taps see from each position. The channels of a
// pixel lie one behind the other, so that a sample of them all is a sum of four vectors.
#include <algorithm>
#include <numeric>

#include "base/parallel.h"
#include "ops/detect/detect.h"
#include "ops/layout/float_transpose.h"
#include "ops/matmul/gemm.h"
#include "ops/matmul/gemv.h"
#include "ops/resize/resample_loops.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

int64_t Floor(float place) {
  const auto whole = static_cast<int64_t>(place);
  return static_cast<float>(whole) > place ? whole - 1 : whole;
}

struct DeformBody {
  DeformArgs args;
  Shape x, weight, out;
  // Channels that share their offsets and are of one group lie together.
  int64_t portion = 1, block = 1;  // channels; positions that are worked on together
  bool has_bias = false, has_mask = false;
  Scratch<float> pixels = {}, weights = {};  // [image][portion][pixel, and one of zeros][channel]
  // What the taps of a group see from each position; or from one, and its sums.
  PieceScratch<float> rows = {};
  const ResampleLoops* loops = &BestResampleLoops();

  int64_t plane() const { return out[2] * out[3]; }
  int64_t taps() const { return weight[2] * weight[3]; }
  int64_t seen_count() const { return weight[1] * taps(); }
  int64_t blocks() const { return (plane() + block - 1) / block; }
  int64_t portion_floats() const { return (x[2] * x[3] + 1) * portion; }

  void operator()(const Frame& frame) const {
    Turn(frame);
    rows.For(frame, [&](int64_t begin, int64_t end, float* seen) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % blocks() * block;
        for (int64_t g = 0; g < args.groups; ++g)
          Positions(frame, i / blocks(), first, std::min(block, plane() - first), g, seen);
      }
    });
  }

 private:
  const float* At(const Frame& frame, const Operand& operand) const {
    return reinterpret_cast<const float*>(frame.at[operand.binding]);
  }

  void Turn(const Frame& frame) const {
    const int64_t size = x[2] * x[3];
    ParallelFor(x[0] * x[1] / portion, std::max<int64_t>(1, (1 << 16) / (size * portion)),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    float* to = pixels.At(frame) + i * portion_floats();
                    TransposeFloats(At(frame, args.x) + i * size * portion, to, 1, portion, size);
                    std::fill_n(to + size * portion, portion, 0.0f);
                  }
                });
    TransposeFloats(At(frame, args.weight), weights.At(frame), weight[0] * weight[1] / portion, portion,
                    taps());
  }

  // The channels of one group of the result at `count` positions.
  void Positions(const Frame& frame, int64_t n, int64_t first, int64_t count, int64_t g, float* seen) const {
    const int64_t per_group = weight[0] / args.groups, depth = seen_count();
    for (int64_t i = 0; i < count; ++i) Gather(frame, PositionOf(n, first + i), g, seen + i * depth);
    float* to =
        reinterpret_cast<float*>(frame.at[args.out.binding]) + (n * out[1] + g * per_group) * plane() + first;
    Multiply(weights.At(frame) + g * per_group * depth, per_group, seen, count, to);
    for (int64_t k = 0; has_bias && k < per_group; ++k) {
      const float bias = At(frame, args.bias)[g * per_group + k];
      for (int64_t i = 0; i < count; ++i) to[k * plane() + i] += bias;
    }
  }

  // Vectors by matrices are summed up for themselves: they may be very long.
  void Multiply(const float* w, int64_t per_group, float* seen, int64_t count, float* to) const {
    const int64_t depth = seen_count();
    if (per_group == 1) return BestGemv()(seen, depth, w, depth, count, to);
    if (count == 1) {
      float* sums = seen + depth;
      BestGemv()(w, depth, seen, depth, per_group, sums);
      for (int64_t k = 0; k < per_group; ++k) to[k * plane()] = sums[k];
      return;
    }
    const GemmMatrix rows_of_weights{w, depth, false}, columns_seen{seen, depth, true};
    const Gemm product{per_group, count,   depth,          rows_of_weights, columns_seen,
                       to,        plane(), GemmType::kF32, GemmType::kF32};
    if (!BestGemm().run(product)) PlainGemm().run(product);
  }

  // A position of the result, and where its first tap lies before it is displaced.
  struct Position {
    int64_t image, here, row, column;
  };
  Position PositionOf(int64_t n, int64_t here) const {
    return {n, here, here / out[3] * args.strides[0] - args.before[0],
            here % out[3] * args.strides[1] - args.before[1]};
  }

  // What the taps of one group see from one position.
  void Gather(const Frame& frame, const Position& at, int64_t g, float* seen) const {
    const int64_t portions = weight[1] / portion, each = x[1] / args.offset_groups;
    for (int64_t p = g * portions; p < (g + 1) * portions; ++p) {
      const float* from = pixels.At(frame) + (at.image * x[1] / portion + p) * portion_floats();
      int64_t tap = (at.image * args.offset_groups + p * portion / each) * taps();
      for (int64_t r = 0; r < weight[2]; ++r) {
        for (int64_t c = 0; c < weight[3]; ++c, ++tap, seen += portion) {
          const Corners corners = CornersOf(frame, at.here, tap, at.row + r * args.dilations[0],
                                            at.column + c * args.dilations[1]);
          loops->weigh_rows(seen, from, corners.at, corners.weight, 4, portion);
        }
      }
    }
  }

  struct Corners {
    int64_t at[4];  // pixels; those outside are the one of zeros
    float weight[4];
  };

  // Around the place that one tap is displaced to.
  Corners CornersOf(const Frame& frame, int64_t here, int64_t tap, int64_t down_from,
                    int64_t right_from) const {
    const float* offset = At(frame, args.offset) + tap * 2 * plane() + here;
    const int64_t nowhere = x[2] * x[3];
    const float y = static_cast<float>(down_from) + offset[0],
                along = static_cast<float>(right_from) + offset[plane()];
    // Nothing else is in reach of a pixel. NaN is not.
    if (!(y > -1 && y < static_cast<float>(x[2]) && along > -1 && along < static_cast<float>(x[3])))
      return {{nowhere, nowhere, nowhere, nowhere}, {}};
    const float mask = has_mask ? At(frame, args.mask)[tap * plane() + here] : 1;
    const int64_t top = Floor(y), left = Floor(along);
    const float down = y - static_cast<float>(top), right = along - static_cast<float>(left);
    // Without branches: where the displaced taps end nobody foresees.
    const bool above = top >= 0, below = top + 1 < x[2], before = left >= 0, behind = left + 1 < x[3];
    const int64_t first = top * x[3] + left;
    const auto at = [&](bool inside, int64_t pixel) { return inside ? pixel : nowhere; };
    const auto share = [&](bool inside, float rows, float columns) {
      return inside ? rows * columns * mask : 0.0f;
    };
    return {{at(above & before, first), at(above & behind, first + 1), at(below & before, first + x[3]),
             at(below & behind, first + x[3] + 1)},
            {share(above & before, 1 - down, 1 - right), share(above & behind, 1 - down, right),
             share(below & before, down, 1 - right), share(below & behind, down, right)}};
  }
};

}  // namespace

void PlanDeformConv(Plan& plan, const DeformArgs& args) {
  if (args.out.tensor->empty()) return;
  constexpr int64_t kFloats = 1 << 16, kMost = 256;
  DeformBody body{args, args.x.shape(), args.weight.shape(), args.out.shape()};
  body.portion = std::max<int64_t>(std::gcd(body.weight[1], body.x[1] / args.offset_groups), 1);
  body.block = std::clamp<int64_t>(kFloats / std::max<int64_t>(body.seen_count(), 1), 1,
                                   std::min(kMost, body.plane()));
  body.has_bias = args.bias.present(), body.has_mask = args.mask.present();
  body.pixels = {plan, body.x[0] * body.x[1] / body.portion * body.portion_floats()};
  body.weights = {plan, args.weight.tensor->count()};
  body.rows = {plan, body.out[0] * body.blocks(), 1,
               body.block * body.seen_count() + body.weight[0] / args.groups};
  plan.SetProducts(args.out.tensor->count() * body.seen_count());
  plan.SetCost(500 + static_cast<uint64_t>(args.out.tensor->count() * body.seen_count() / 50));
  // Only bindings are used from here on.
  for (Operand* operand : {&body.args.x, &body.args.weight, &body.args.offset, &body.args.bias,
                           &body.args.mask, &body.args.out}) {
    operand->tensor = nullptr;
  }
  plan.SetBody(body);
}

}  // namespace belay::ops
