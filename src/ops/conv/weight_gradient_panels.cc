#include "ops/conv/weight_gradient_panels.h"

#include <algorithm>

#include "ops/layout/float_transpose.h"

namespace belay::ops {

void PanelSource::Turn(const FloatPieces::Elements& from, const GradientCut::Rows& whole, const Lanes& lanes,
                       int64_t width, float* to) const {
  GradientCut::Rows rows = whole;
  if (rows.width == rows.from_step && rows.width == rows.to_step) rows.width *= rows.rows, rows.rows = 1;
  GradientCut::Rows part = rows;
  part.width = std::min(rows.width, kTile);
  part.rows = rows.width == rows.from_step ? std::max<int64_t>(1, kTile / rows.width) : 1;
  const int64_t down = part.rows, along = part.width;
  for (int64_t y = 0; y < rows.rows; y += down) {
    part.rows = std::min(down, rows.rows - y);
    for (int64_t x = 0; x < rows.width; x += along) {
      part.width = std::min(along, rows.width - x);
      part.from = rows.from + y * rows.from_step + x, part.to = rows.to + y * rows.to_step + x;
      TurnTile(from, part, lanes, width, to);
    }
  }
}

void PanelSource::TurnHalves(const FloatPieces::Elements& from, const GradientCut::Rows& whole,
                             const Lanes& lanes, int64_t width, uint16_t* to) const {
  GradientCut::Rows rows = whole;
  if (rows.width == rows.from_step && rows.width == rows.to_step) rows.width *= rows.rows, rows.rows = 1;
  const uint16_t* first = from.halves() + rows.image * channels_ * plane_ + rows.from + lanes.at[0];
  // A processor does not foresee so many rows at once.
  constexpr int64_t kPart = 64, kLine = 32;
  const int64_t ahead = rows.rows > 1 ? 2 * rows.from_step : kPart;
  for (int64_t y = 0; y < rows.rows; ++y) {
    for (int64_t i = 0; i < rows.width; i += kPart) {
      const uint16_t* part = first + y * rows.from_step + i;
      const int64_t n = std::min(kPart, rows.width - i);
      for (int64_t lane = 0; lane < lanes.count; ++lane) {
        for (int64_t k = 0; k < n; k += kLine) __builtin_prefetch(part + lane * plane_ + ahead + k);
      }
      ops::TurnHalves(part, plane_, to + (rows.to + y * rows.to_step + i) * width, width, lanes.count, n);
    }
  }
}

void PanelSource::TurnTile(const FloatPieces::Elements& from, const GradientCut::Rows& rows,
                           const Lanes& lanes, int64_t width, float* to) const {
  const int64_t image = rows.image * channels_ * plane_ + rows.from * folded_, each = rows.rows * rows.width;
  if (lanes.neighbours && from.are_floats()) {
    for (int64_t y = 0; y < rows.rows; ++y) {
      TurnFloats(from.floats() + image + lanes.at[0] + y * rows.from_step, plane_,
                 to + (rows.to + y * rows.to_step) * width, width, lanes.count, rows.width);
    }
    return;
  }
  alignas(64) float tile[kGradientPanel * kTile];
  if (lanes.neighbours && each == plane_) {
    from.Copy(image + lanes.at[0], lanes.count * each, tile);
  } else {
    for (int64_t i = 0; i < lanes.count; ++i)
      CopyRow(from, image + lanes.at[static_cast<size_t>(i)], each, tile + i * each);
  }
  for (int64_t y = 0; y < rows.rows; ++y) {
    TurnFloats(tile + y * rows.width, each, to + (rows.to + y * rows.to_step) * width, width, lanes.count,
               rows.width);
  }
}

void PanelSource::CopyRow(const FloatPieces::Elements& from, int64_t at, int64_t count, float* to) const {
  if (folded_ == 1) return from.Copy(at, count, to);
  alignas(64) float room[kBlock];
  const int64_t few = std::max<int64_t>(1, kBlock / folded_);
  for (int64_t i = 0; i < count; i += few) {
    const int64_t n = std::min(few, count - i);
    const float* next = from.Load(at + i * folded_, (n - 1) * folded_ + 1, room);
    for (int64_t k = 0; k < n; ++k) to[i + k] = next[k * folded_];
  }
}

}  // namespace belay::ops
