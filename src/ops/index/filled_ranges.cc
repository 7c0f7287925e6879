#include "ops/index/filled_ranges.h"

#include <algorithm>
#include <cstring>

#include "base/copy_memory.h"
#include "base/parallel.h"

namespace belay::ops {
namespace {

struct FilledRangesBody {
  int x, first, end, values, out;
  int64_t rows = 0, columns = 0;  // of first and end
  int64_t outer = 1, size = 1, inner = 1,
          each = 0;  // before the axis, of it and behind it; of outer: one for each row, or 0
  size_t element = 0;

  void operator()(const Frame& frame) const {
    char* to = frame.at[out];
    CopyMemory(to, frame.at[x], static_cast<size_t>(outer * size * inner) * element);
    ParallelFor(outer, 16, [&](int64_t begin, int64_t limit) {
      for (int64_t o = begin; o < limit; ++o) Slice(frame, o, to);
    });
  }

  void Slice(const Frame& frame, int64_t o, char* to) const {
    const auto* from = reinterpret_cast<const int64_t*>(frame.at[first]);
    const auto* until = reinterpret_cast<const int64_t*>(frame.at[end]);
    const int64_t row = each == 0 ? 0 : o / each;
    for (int64_t i = 0; i < rows; ++i) {
      const char* value = frame.at[values] + static_cast<size_t>(i) * element;
      for (int64_t j = each == 0 ? 0 : row; j < (each == 0 ? columns : std::min(row + 1, columns)); ++j) {
        const int64_t low = std::clamp<int64_t>(from[i * columns + j], 0, size),
                      high = std::clamp<int64_t>(until[i * columns + j], 0, size);
        for (int64_t k = o * size * inner + low * inner; k < o * size * inner + high * inner; ++k)
          std::memcpy(to + static_cast<size_t>(k) * element, value, element);
      }
    }
  }
};

}  // namespace

void PlanFilledRanges(Plan& plan, const FilledRangesArgs& args) {
  if (args.out.tensor->empty()) return;
  const Shape shape = args.out.shape(), ranges = args.first.shape();
  FilledRangesBody body{args.x.binding, args.first.binding, args.end.binding, args.values.binding,
                        args.out.binding};
  body.rows = ranges[0], body.columns = ranges[1];
  body.size = shape[args.axis];
  for (int d = 0; d < shape.rank(); ++d) {
    if (d != args.axis) (d < args.axis ? body.outer : body.inner) *= shape[d];
  }
  body.each = args.of_row ? body.outer / shape[0] : 0;
  body.element = BytesOf(args.out.dtype());
  plan.SetCost(500 + static_cast<uint64_t>(args.out.tensor->count()));
  plan.SetBody(body);
}

}  // namespace belay::ops
