// The positions of the result are cut into slices and these into pieces: for each piece, what the taps see is
// gathered as a matrix [position][tap][channel], and one product with the gradient's positions adds it up.
#include "ops/conv/weight_gradient.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/matmul/gemm.h"
#include "ops/packed_floats.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

// How the work is cut: by the sizes alone, so that every machine adds in the same order.
struct GradientCut {
  static constexpr int64_t kWide = 256;          // columns of a product, about
  static constexpr int64_t kElements = 1 << 17;  // of what is gathered at a time

  int64_t taps, positions, in_each, out_each;
  int64_t taps_each, tap_blocks;  // taps of a product
  int64_t slices, slice, piece;   // positions
  int64_t units() const { return groups * tap_blocks * slices; }
  int64_t columns() const { return taps_each * in_each; }  // of all but the last block
  int64_t groups;

  explicit GradientCut(const ConvGeometry& g) {
    groups = g.groups;
    taps = g.kernel[0] * g.kernel[1] * g.kernel[2];
    positions = g.batch * g.out[0] * g.out[1] * g.out[2];
    in_each = g.in_channels / g.groups, out_each = g.out_channels / g.groups;
    taps_each = std::clamp<int64_t>(kWide / in_each, 1, taps);
    tap_blocks = (taps + taps_each - 1) / taps_each;
    constexpr int64_t kUnits = 16, kLeast = 2048;
    const int64_t wanted = std::max<int64_t>(1, kUnits / (groups * tap_blocks));
    slices = std::clamp<int64_t>(positions / kLeast, 1, wanted);
    slice = (positions + slices - 1) / slices;
    slices = (positions + slice - 1) / slice;
    piece = std::clamp<int64_t>(kElements / columns(), 16, slice < 16 ? 16 : slice);
  }
};

struct WeightGradientBody {
  ConvGeometry g;
  GradientCut cut;
  PackedFloats x, grad, out;  // the first two with their channels last
  int lanes;                  // that work at the same time
  int64_t sums_at, scratch_at, scratch_bytes;
  GemmFunction multiply;

  void operator()(const Frame& frame) const {
    const float *from = x.Load(frame), *by = grad.Load(frame);
    ParallelFor(lanes, 1, [&](int64_t begin, int64_t end) {
      for (int64_t lane = begin; lane < end; ++lane) {
        for (int64_t unit = lane; unit < cut.units(); unit += lanes)
          Unit(from, by, unit, Sums(frame, unit), frame.workspace + scratch_at + lane * scratch_bytes);
      }
    });
    float* to = out.Begin(frame);
    ParallelFor(g.out_channels, 1 + 65536 / (cut.taps * cut.in_each), [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) Gather(frame, o, to + o * cut.in_each * cut.taps);
    });
    out.Finish(frame);
  }

  // [output channel][tap][input channel] of a unit: slices of a block of taps of a group follow each other.
  double* Sums(const Frame& frame, int64_t unit) const {
    return reinterpret_cast<double*>(frame.workspace + sums_at) + unit * cut.out_each * cut.columns();
  }

  // The part of a unit's sums that its positions from `first` on add, which are seen as the rows of a matrix.
  struct Piece {
    const float* by;  // the gradient at the first row
    const float* matrix;
    int64_t columns;
    float* product;
    double* sums;
  };

  void Unit(const float* from, const float* by, int64_t unit, double* sums, char* scratch) const {
    const int64_t slice = unit % cut.slices, block = unit / cut.slices % cut.tap_blocks,
                  group = unit / cut.slices / cut.tap_blocks;
    const int64_t first_tap = block * cut.taps_each, taps = std::min(cut.taps_each, cut.taps - first_tap);
    auto* matrix = reinterpret_cast<float*>(scratch);
    Piece piece{nullptr, matrix, taps * cut.in_each, matrix + cut.piece * cut.columns(), sums};
    std::fill_n(sums, cut.out_each * piece.columns, 0.0);
    const int64_t end = std::min(cut.positions, (slice + 1) * cut.slice);
    for (int64_t p = slice * cut.slice; p < end; p += cut.piece) {
      const int64_t rows = std::min(cut.piece, end - p);
      piece.by = by + p * g.out_channels + group * cut.out_each;
      int64_t done = 0;
      for (int64_t r = 0; r < rows; ++r) {
        Inside inside;
        Seen(from + group * cut.in_each, p + r, first_tap, taps, matrix + r * piece.columns, &inside);
        if (inside.all || IsFinite(piece.by + r * g.out_channels)) continue;
        AddProduct(piece, done, r);
        AddRow(piece, r, taps, inside);
        done = r + 1;
      }
      AddProduct(piece, done, rows);
    }
  }

  bool IsFinite(const float* by) const {
    return std::all_of(by, by + cut.out_each, [](float value) { return std::isfinite(value); });
  }

  void AddProduct(const Piece& piece, int64_t begin, int64_t end) const {
    if (begin == end) return;
    const Gemm gemm{cut.out_each,
                    piece.columns,
                    end - begin,
                    {piece.by + begin * g.out_channels, g.out_channels, true},
                    {piece.matrix + begin * piece.columns, piece.columns, false},
                    piece.product,
                    piece.columns,
                    GemmType::kF32,
                    GemmType::kF32};
    if (!multiply(gemm)) Fail(tensor::kRuntimeFailure, "conv-backend", "the backend refused a product");
    for (int64_t i = 0; i < cut.out_each * piece.columns; ++i)
      piece.sums[i] += static_cast<double>(piece.product[i]);
  }

  // Which taps of a block see the image from a position.
  struct Inside {
    bool all = true;
    std::array<bool, GradientCut::kWide> tap;
  };

  // Padding adds nothing, but the product of its zeros and a gradient that is not finite is NaN.
  void AddRow(const Piece& piece, int64_t row, int64_t taps, const Inside& inside) const {
    const float *seen = piece.matrix + row * piece.columns, *by = piece.by + row * g.out_channels;
    for (int64_t o = 0; o < cut.out_each; ++o) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        if (!inside.tap[static_cast<size_t>(tap)]) continue;
        double* sums = piece.sums + o * piece.columns;
        for (int64_t i = tap * cut.in_each; i < (tap + 1) * cut.in_each; ++i)
          sums[i] += static_cast<double>(by[o]) * static_cast<double>(seen[i]);
      }
    }
  }

  // What taps see at a position: the channels of the group, or zeros in the padding.
  void Seen(const float* from, int64_t position, int64_t first_tap, int64_t taps, float* to,
            Inside* all) const {
    const auto bytes = static_cast<size_t>(cut.in_each) * sizeof(float);
    int64_t at[3], rest = position;
    for (int d = 2; d >= 0; --d) at[d] = rest % g.out[d], rest /= g.out[d];
    for (int64_t tap = first_tap; tap < first_tap + taps; ++tap, to += cut.in_each) {
      int64_t place = rest, k = tap;
      bool inside = true;
      int64_t index[3];
      for (int d = 2; d >= 0; --d) {
        index[d] = at[d] * g.stride[d] - g.before[d] + k % g.kernel[d] * g.dilation[d];
        inside = inside && index[d] >= 0 && index[d] < g.in[d];
        k /= g.kernel[d];
      }
      for (int d = 0; d < 3; ++d) place = place * g.in[d] + index[d];
      inside ? std::memcpy(to, from + place * g.in_channels, bytes) : std::memset(to, 0, bytes);
      all->tap[static_cast<size_t>(tap - first_tap)] = inside;
      all->all = all->all && inside;
    }
  }

  // The weights [input channel][tap] of an output channel.
  void Gather(const Frame& frame, int64_t o, float* to) const {
    const int64_t group = o / cut.out_each, row = o % cut.out_each;
    for (int64_t tap = 0; tap < cut.taps; ++tap) {
      const int64_t block = tap / cut.taps_each, first = block * cut.taps_each,
                    taps = std::min(cut.taps_each, cut.taps - first);
      for (int64_t c = 0; c < cut.in_each; ++c) {
        double sum = 0;
        for (int64_t slice = 0; slice < cut.slices; ++slice) {
          const double* sums = Sums(frame, (group * cut.tap_blocks + block) * cut.slices + slice);
          sum += sums[(row * taps + tap - first) * cut.in_each + c];
        }
        to[c * cut.taps + tap] = static_cast<float>(sum);
      }
    }
  }
};

}  // namespace

void PlanWeightGradient(Plan& plan, const ConvArgs& args, const Operand& grad_weight) {
  const ConvGeometry geometry = CheckedGeometry(args);
  const GradientCut cut(geometry);
  WeightGradientBody body{geometry,
                          cut,
                          PackedFloats(args.input, Flow::kIn, plan, true),
                          PackedFloats(args.out, Flow::kIn, plan, true),
                          PackedFloats(grad_weight, Flow::kOut, plan),
                          static_cast<int>(std::min<int64_t>(cut.units(), ParallelWidth())),
                          0,
                          0,
                          WorkspacePart((cut.piece + cut.out_each) * cut.columns() * 4),
                          BestGemm().run};
  body.sums_at = plan.AddWorkspace(cut.units() * cut.out_each * cut.columns() * 8);
  body.scratch_at = plan.AddWorkspace(body.lanes * body.scratch_bytes);
  plan.SetCost(1000 + static_cast<uint64_t>(cut.positions * cut.taps * cut.in_each / 50) *
                          static_cast<uint64_t>(geometry.out_channels));
  plan.SetBody(body);
}

}  // namespace belay::ops
