#include "ops/conv/weight_gradient_cut.h"

namespace belay::ops {
namespace {

constexpr int64_t kPixels = 8192;  // of a piece, about

// Of a piece, whose part of a group's gradient stays in the cache.
int64_t PositionsOf(const ConvGeometry& g) {
  constexpr int64_t kElements = 1 << 17, kLeast = 64, kMost = 512;
  return std::clamp(kElements / (g.out_channels / g.groups), kLeast, kMost);
}

int64_t Parts(int64_t whole, int64_t each) { return (whole + each - 1) / each; }

bool SeesItself(const ConvGeometry& g) {
  return std::all_of(g.kernel, g.kernel + 3, [](int64_t k) { return k == 1; }) &&
         std::equal(g.in, g.in + 3, g.out) &&
         std::all_of(g.before, g.before + 3, [](int64_t n) { return n == 0; });
}

// The same sums over fewer dimensions: positions that see one pixel each are a row of an image, and windows
// beside each other in a row have their width as channels.
ConvGeometry Folded(ConvGeometry g) {
  if (SeesItself(g)) {
    for (int d : {0, 1}) g.out[2] *= g.out[d], g.out[d] = g.in[d] = g.stride[d] = 1;
    g.in[2] = g.out[2], g.stride[2] = 1;
  } else if (g.groups == 1 && g.kernel[2] > 1 && g.kernel[2] == g.stride[2] && g.dilation[2] == 1 &&
             g.before[2] == 0 && g.in[2] == g.out[2] * g.kernel[2]) {
    g.in_channels *= g.kernel[2];
    g.in[2] = g.out[2], g.kernel[2] = g.stride[2] = 1;
  }
  return g;
}

}  // namespace

GradientCut::GradientCut(const ConvGeometry& geometry)
    : g_(Folded(geometry)), folded_(g_.in_channels / geometry.in_channels) {
  const int64_t most = PositionsOf(g_);
  x_cuts_ = Parts(g_.out[2], most), width_ = Parts(g_.out[2], x_cuts_);
  y_cuts_ = Parts(g_.out[1], std::max<int64_t>(1, most / width_)), height_ = Parts(g_.out[1], y_cuts_);
  y_cuts_ = Parts(g_.out[1], height_), x_cuts_ = Parts(g_.out[2], width_);
  boxes_ = g_.batch * g_.out[0] * y_cuts_ * x_cuts_;
  boxes_each_ = std::min(most / (height_ * width_), kPixels / box_pixels());
  boxes_each_ = std::clamp<int64_t>(boxes_each_, 1, boxes_);
  padded_ = false;
  for (int d : {1, 2}) padded_ = padded_ || g_.before[d] > 0 || Reach(d, g_.out[d]) - g_.before[d] > g_.in[d];
}

GradientCut::Box GradientCut::BoxAt(int64_t b) const {
  const int64_t x = b % x_cuts_ * width_, y = b / x_cuts_ % y_cuts_ * height_, plane = b / x_cuts_ / y_cuts_;
  return {plane / g_.out[0],
          plane % g_.out[0],
          y,
          std::min(height_, g_.out[1] - y),
          x,
          std::min(width_, g_.out[2] - x)};
}

int64_t GradientCut::SeenBy(int64_t piece, int64_t depth, int64_t tap, TapRow* rows) const {
  const int64_t down = tap / g_.kernel[2] * g_.dilation[1] - g_.before[1],
                along = tap % g_.kernel[2] * g_.dilation[2] - g_.before[2], stride = g_.stride[2];
  TapRow* next = rows;
  int64_t pixel = PixelOf(tap), position = 0;
  EachBox(piece, [&](const Box& box) {
    // The positions of a row from which the tap is within the image.
    const int64_t begin = std::max(box.x, Parts(std::max<int64_t>(0, -along), stride)),
                  end =
                      std::min(box.x + box.width, along < g_.in[2] ? (g_.in[2] - 1 - along) / stride + 1 : 0);
    for (int64_t y = 0; y < box.height && begin < end && HasPlane(box, depth); ++y) {
      const int64_t at = (box.y + y) * g_.stride[1] + down;
      if (at < 0 || at >= g_.in[1]) continue;
      *next++ = {pixel + y * g_.stride[1] * box_width() + (begin - box.x) * stride,
                 position + y * box.width + begin - box.x, end - begin};
    }
    pixel += box_pixels(), position += box.positions();
  });
  return next - rows;
}

int64_t GradientCut::SeenByAll(int64_t piece, int64_t depth, TapRow* rows) const {
  TapRow* next = rows;
  int64_t pixel = 0, position = 0;
  EachBox(piece, [&](const Box& box) {
    for (int64_t y = 0; y < box.height && HasPlane(box, depth); ++y)
      *next++ = {pixel + y * g_.stride[1] * box_width(), position + y * box.width, box.width};
    pixel += box_pixels(), position += box.positions();
  });
  return next - rows;
}

}  // namespace belay::ops
