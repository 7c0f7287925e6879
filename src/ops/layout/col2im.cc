#include "ops/layout/col2im.h"

#include <algorithm>

#include "base/parallel.h"
#include "ops/conv/channels_last.h"
#include "ops/layout/checks.h"

namespace belay::ops {
namespace {

// Elements of a column that lie in the image, one after the other along its last axis.
struct LineRun {
  int64_t column, place, count;
};

struct ColumnsBody {
  std::vector<LineRun> runs;
  int64_t step;  // in the image, from one element of a run to the next
  int64_t images, image_size, columns;
  PackedOperand in, out;
  bool wide;       // the columns are f64, else f32
  bool wide_sums;  // so are the images: a large kernel adds very many to one element

  template <class T, class Sum>
  void Add(Sum* to, const T* from) const {
    const int64_t grain = std::max<int64_t>(1, LoopNest::kGrain / std::max<int64_t>(columns, 1));
    ParallelFor(images, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Sum* image = to + i * image_size;
        const T* column = from + i * columns;
        std::fill_n(image, image_size, Sum{0});
        for (const LineRun& run : runs) {
          Sum* place = image + run.place;
          const T* x = column + run.column;
          if (step == 1) {
            for (int64_t k = 0; k < run.count; ++k) place[k] += static_cast<Sum>(x[k]);
          } else {
            for (int64_t k = 0; k < run.count; ++k) place[k * step] += static_cast<Sum>(x[k]);
          }
        }
      }
    });
  }

  void operator()(const Frame& frame) const {
    char* to = out.Result(frame);
    const char* from = in.Loaded(frame);
    if (wide) {
      Add(reinterpret_cast<double*>(to), reinterpret_cast<const double*>(from));
    } else if (wide_sums) {
      Add(reinterpret_cast<double*>(to), reinterpret_cast<const float*>(from));
    } else {
      Add(reinterpret_cast<float*>(to), reinterpret_cast<const float*>(from));
    }
    out.Store(frame);
  }
};

// Where element `place` of (block..., patch...) lies in the image.
int64_t PlaceOf(const std::vector<PatchAxis>& axes, int64_t block, int64_t patch) {
  int64_t place = 0, scale = 1;
  for (size_t d = axes.size(); d-- > 0;) {
    const PatchAxis& axis = axes[d];
    int64_t at = patch % axis.patches * axis.stride + block % axis.block * axis.dilation - axis.pad_before;
    patch /= axis.patches;
    block /= axis.block;
    if (at < 0 || at >= axis.image) return -1;
    place += at * scale;
    scale *= axis.image;
  }
  return place;
}

}  // namespace

void PlanColumnsToImage(Plan& plan, const Operand& self, const Operand& out,
                        const std::vector<PatchAxis>& axes) {
  CheckNumeric(out);
  if (out.tensor->empty()) return;
  ColumnsBody body;
  int64_t blocks = 1, patches = 1;
  body.image_size = 1;
  for (const PatchAxis& axis : axes) {
    blocks *= axis.block;
    patches *= axis.patches;
    body.image_size *= axis.image;
  }
  body.step = axes.back().stride;
  const int64_t line = axes.back().patches;
  for (int64_t b = 0; b < blocks; ++b) {
    for (int64_t p = 0; p < patches; ++p) {
      const int64_t place = PlaceOf(axes, b, p);
      if (place < 0) continue;
      const bool goes_on = p % line != 0 && PlaceOf(axes, b, p - 1) >= 0;
      if (!goes_on) body.runs.push_back({b * patches + p, place, 0});
      ++body.runs.back().count;
    }
  }
  body.columns = blocks * patches;
  body.images = out.tensor->count() / body.image_size;
  body.wide = out.dtype() == DType::kF64;
  body.in = {plan, self, body.wide ? DType::kF64 : DType::kF32, false, true};
  constexpr int64_t kFew = 64;  // sums of so many are as good in f32
  body.wide_sums = body.wide || blocks > kFew;
  body.out = {plan, out, body.wide_sums ? DType::kF64 : DType::kF32, false, false};
  plan.SetCost(100 + static_cast<uint64_t>(self.tensor->count()));
  plan.SetBody(body);
}

}  // namespace belay::ops
