#include "ops/conv/seen_rows.h"

#include <algorithm>
#include <cstring>

namespace belay::ops {
namespace {

bool ReadsPixels(const ConvGeometry& g) {
  for (int d = 0; d < 3; ++d) {
    if (g.kernel[d] != 1 || g.stride[d] != 1 || g.before[d] != 0 || g.in[d] != g.out[d]) return false;
  }
  return true;
}

bool ReadsPadding(const ConvGeometry& g) {
  for (int d = 0; d < 3; ++d) {
    const int64_t last = (g.out[d] - 1) * g.stride[d] + (g.kernel[d] - 1) * g.dilation[d] - g.before[d];
    if (g.before[d] > 0 || last >= g.in[d]) return true;
  }
  return false;
}

}  // namespace

SeenRows::SeenRows(const ConvGeometry& geometry)
    : g_(geometry),
      channels_(geometry.in_channels / geometry.groups),
      pixels_(ReadsPixels(geometry)),
      padded_(ReadsPadding(geometry)) {}

void SeenRows::Gather(const char* images, int64_t element, uint8_t padding, int64_t position, int64_t group,
                      char* to) const {
  const int64_t pixel = g_.in_channels * element, tap = channels_ * element;
  const char* image = images + position / Pixels(g_.out) * Pixels(g_.in) * pixel + group * tap;
  // Taps beside each other whose pixels lie one behind the other are copied as one.
  const int64_t together = g_.groups == 1 && g_.dilation[2] == 1 ? g_.kernel[2] : 1;
  const auto fill = [&](int64_t taps) {
    std::memset(to, padding, static_cast<size_t>(taps * tap));
    to += taps * tap;
  };
  ForLines(position, [&](int64_t line, int64_t first) {
    if (line < 0) return fill(g_.kernel[2]);
    for (int64_t c = 0, x = first; c < g_.kernel[2]; c += together, x += g_.dilation[2]) {
      const int64_t before = std::clamp<int64_t>(-x, 0, together),
                    inside = std::clamp<int64_t>(g_.in[2] - x - before, 0, together - before);
      if (before > 0) fill(before);
      if (inside > 0) {
        std::memcpy(to, image + (line + x + before) * pixel, static_cast<size_t>(inside * tap));
        to += inside * tap;
      }
      if (before + inside < together) fill(together - before - inside);
    }
  });
}

}  // namespace belay::ops
