#include "ops/experts/grouped_panels.h"

#include <algorithm>
#include <cstring>

#include "ops/matmul/integer.h"

namespace belay::ops {

void PanelPart::MultiplyFloats(const Frame& frame, float* room, float* to) const {
  if (depth == 0) {
    std::fill_n(to, m * n, 0.0f);
    return;
  }
  constexpr int64_t kSize = sizeof(uint16_t);
  const char* rows = a.Of(frame, a_row, from);
  int64_t line = a.row / kSize;
  if (a.column != kSize) {
    auto* packed = reinterpret_cast<uint16_t*>(room);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t k = 0; k < depth; ++k)
        std::memcpy(packed + i * depth + k, rows + i * a.row + k * a.column, kSize);
    }
    rows = reinterpret_cast<const char*>(room), line = depth;
  }
  BestFloatPanels()({m, n, depth, rows, line, panels.From(frame, from, column), to, n});
}

void PanelPart::MultiplyScaled(const Frame& frame, float* room, float* sums, float* to) const {
  const WeightPanels product{panels, factors.depth, a.type, factors.weight_shift.present()};
  auto* rows = reinterpret_cast<uint16_t*>(room);
  for (int64_t i = 0; i < m; ++i) {
    product.TakeRow(a.Of(frame, a_row + i, 0), a.column, rows + i * product.each() * depth,
                    sums + i * product.groups());
  }
  alignas(64) float by_buffer[kBlock], plus_buffer[kBlock];
  product.Multiply(frame, rows, sums, m, column, n, to,
                   [&](int64_t group, const float** by, const float** plus) {
                     *by = factors.weight_scale.Load(frame, factors.row + group, column, n, by_buffer);
                     if (!product.shifts) return;
                     *plus = factors.weight_shift.Load(frame, factors.row + group, column, n, plus_buffer);
                   });
}

void PanelPart::SumBytes(const Frame& frame, float* room, int32_t* to) const {
  auto* moved = reinterpret_cast<uint8_t*>(room);
  for (int64_t i = 0; i < m; ++i) {
    const char* row = a.Of(frame, a_row + i, 0);
    if (a.column == 1) {
      MoveBytes(reinterpret_cast<const uint8_t*>(row), depth, moved + i * depth);
    } else {
      for (int64_t k = 0; k < depth; ++k)
        moved[i * depth + k] = Moved(static_cast<uint8_t>(row[k * a.column]));
    }
  }
  BestBytePanels()({m, n, depth, moved, depth, panels.From(frame, 0, column), to, n, Moved(0)});
}

}  // namespace belay::ops
