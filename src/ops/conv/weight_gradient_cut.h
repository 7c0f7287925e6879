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

  // Rows of a plane of one image that a piece takes: where they lie in each of its channels, and as which
  // pixels or positions of the piece. Steps are from row to row.
  struct Rows {
    int64_t image, from, from_step, rows, width, to, to_step;
  };
  // Of the gradient; returns how many positions.
  template <class Visit>
  int64_t EachGradient(int64_t piece, const Visit& visit) const;
  // Of the input what the taps at a depth see that is no padding.
  template <class Visit>
  void EachSeen(int64_t piece, int64_t depth, const Visit& visit) const;

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

template <class Visit>
int64_t GradientCut::EachGradient(int64_t piece, const Visit& visit) const {
  int64_t position = 0;
  EachBox(piece, [&](const Box& box) {
    const int64_t from = (box.z * g_.out[1] + box.y) * g_.out[2] + box.x;
    visit(Rows{box.image, from, g_.out[2], box.height, box.width, position, box.width});
    position += box.positions();
  });
  return position;
}

template <class Visit>
void GradientCut::EachSeen(int64_t piece, int64_t depth, const Visit& visit) const {
  int64_t first = 0;
  EachBox(piece, [&](const Box& box) {
    const int64_t y = box.y * g_.stride[1] - g_.before[1], x = box.x * g_.stride[2] - g_.before[2];
    const int64_t top = std::max<int64_t>(0, -y), bottom = std::min(Reach(1, box.height), g_.in[1] - y);
    const int64_t left = std::max<int64_t>(0, -x), right = std::min(Reach(2, box.width), g_.in[2] - x);
    if (HasPlane(box, depth) && top < bottom && left < right) {
      const int64_t from = (PlaneAt(box, depth) * g_.in[1] + y + top) * g_.in[2] + x + left;
      visit(Rows{box.image, from, g_.in[2], bottom - top, right - left, first + top * box_width() + left,
                 box_width()});
    }
    first += box_pixels();
  });
}

}  // namespace belay::ops
