// How the gradient of weights is cut: boxes of positions of the result, and the pixels that these see.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/conv/conv_backend.h"
#include "ops/conv/weight_gradient_loops.h"

namespace belay::ops {

// By the sizes alone, so that every machine adds in the same order.
class GradientCut {
 public:
  // Positions in a part of one plane of the result.
  struct Box {
    int64_t image, z, y, height, x, width;
    int64_t positions() const { return height * width; }
  };

  explicit GradientCut(const ConvGeometry& geometry);

  const ConvGeometry& geometry() const { return g_; }
  int64_t pieces() const { return (boxes_ + boxes_each_ - 1) / boxes_each_; }  // that are added up in floats
  // Neighbours in a row of the input that have become channels of one pixel.
  int64_t folded() const { return folded_; }
  int64_t plane_taps() const { return g_.kernel[1] * g_.kernel[2]; }
  // The most of a piece.
  int64_t positions() const { return boxes_each_ * height_ * width_; }
  int64_t pixels() const { return boxes_each_ * box_pixels(); }
  int64_t rows() const { return boxes_each_ * height_; }

  template <class Visit>
  void EachBox(int64_t piece, const Visit& visit) const {
    const int64_t end = std::min(boxes_, (piece + 1) * boxes_each_);
    for (int64_t b = piece * boxes_each_; b < end; ++b) visit(BoxAt(b));
  }

  // The element of the gradient, with its channels last, at a box's row.
  int64_t GradAt(const Box& box, int64_t row) const;
  // Copies what a piece sees by the taps at a depth: copy(pixel of the input or -1 in the padding, pixel of
  // the piece).
  template <class Copy>
  void EachPixel(int64_t piece, int64_t depth, const Copy& copy) const;

  // What a tap sees that is in the image; returns how many rows.
  int64_t SeenBy(int64_t piece, int64_t depth, int64_t tap, TapRow* rows) const;
  // The pixels that the first tap of a plane sees, padding or not, and how far the others are from them.
  int64_t SeenByAll(int64_t piece, int64_t depth, TapRow* rows) const;
  int64_t PixelOf(int64_t tap) const {
    return tap / g_.kernel[2] * g_.dilation[1] * box_width() + tap % g_.kernel[2] * g_.dilation[2];
  }
  bool has_padding() const { return padded_; }
  int64_t step() const { return g_.stride[2]; }

 private:
  int64_t Reach(int d, int64_t positions) const {
    return (positions - 1) * g_.stride[d] + (g_.kernel[d] - 1) * g_.dilation[d] + 1;
  }
  int64_t box_width() const { return Reach(2, width_); }
  int64_t box_pixels() const { return Reach(1, height_) * box_width(); }
  Box BoxAt(int64_t b) const;
  // Where the taps of a depth see from a box; outside of the input where no plane is.
  int64_t PlaneAt(const Box& box, int64_t depth) const {
    return box.z * g_.stride[0] - g_.before[0] + depth * g_.dilation[0];
  }
  bool HasPlane(const Box& box, int64_t depth) const {
    return PlaneAt(box, depth) >= 0 && PlaneAt(box, depth) < g_.in[0];
  }

  ConvGeometry g_;
  bool padded_;
  int64_t folded_, height_, width_, y_cuts_, x_cuts_, boxes_, boxes_each_;
};

template <class Copy>
void GradientCut::EachPixel(int64_t piece, int64_t depth, const Copy& copy) const {
  int64_t first = 0;
  EachBox(piece, [&](const Box& box) {
    if (HasPlane(box, depth)) {
      const int64_t plane = box.image * g_.in[0] + PlaneAt(box, depth);
      const int64_t y = box.y * g_.stride[1] - g_.before[1], x = box.x * g_.stride[2] - g_.before[2];
      for (int64_t r = 0; r < Reach(1, box.height); ++r) {
        const bool inside = y + r >= 0 && y + r < g_.in[1];
        const int64_t row = (plane * g_.in[1] + y + r) * g_.in[2], to = first + r * box_width();
        for (int64_t c = 0; c < Reach(2, box.width); ++c)
          copy(inside && x + c >= 0 && x + c < g_.in[2] ? row + x + c : -1, to + c);
      }
    }
    first += box_pixels();
  });
}

}  // namespace belay::ops
