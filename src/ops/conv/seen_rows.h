// What the taps of a convolution see from the positions of its result, as rows of a matrix: times the
// weights, they are the result.
#pragma once

#include <cstdint>

#include "ops/conv/conv_backend.h"

namespace belay::ops {

class SeenRows {
 public:
  explicit SeenRows(const ConvGeometry& geometry);

  int64_t positions() const { return g_.batch * Pixels(g_.out); }
  // Elements of a row, which is of one group.
  int64_t width() const { return Pixels(g_.kernel) * channels_; }
  // The pixels of the input are the rows already.
  bool are_pixels() const { return pixels_; }
  // Some taps see padding from some positions.
  bool see_padding() const { return padded_; }

  // visit(pixel) for each tap in turn: the pixel of the image that it sees from a position of the result, or
  // -1 in the padding.
  template <class Visit>
  void ForTaps(int64_t position, const Visit& visit) const {
    ForLines(position, [&](int64_t line, int64_t first) {
      for (int64_t c = 0, x = first; c < g_.kernel[2]; ++c, x += g_.dilation[2])
        visit(line < 0 || x < 0 || x >= g_.in[2] ? -1 : line + x);
    });
  }

  // The row of a position and a group of images with their channels last. `padding`: what each byte of an
  // element outside of the image is.
  void Gather(const char* images, int64_t element, uint8_t padding, int64_t position, int64_t group,
              char* to) const;

 private:
  static int64_t Pixels(const int64_t* sizes) { return sizes[0] * sizes[1] * sizes[2]; }

  // visit(line, first) for each row of the kernel: the pixel that the image's row begins with (-1: it is
  // padding), and the place in it that the first tap sees.
  template <class Visit>
  void ForLines(int64_t position, const Visit& visit) const {
    const int64_t pixel = position % Pixels(g_.out);
    const int64_t at[3] = {pixel / (g_.out[1] * g_.out[2]), pixel / g_.out[2] % g_.out[1], pixel % g_.out[2]};
    for (int64_t a = 0; a < g_.kernel[0]; ++a) {
      const int64_t z = Source(0, at[0], a);
      for (int64_t b = 0; b < g_.kernel[1]; ++b) {
        const int64_t y = Source(1, at[1], b);
        const bool inside = z >= 0 && z < g_.in[0] && y >= 0 && y < g_.in[1];
        visit(inside ? (z * g_.in[1] + y) * g_.in[2] : -1, Source(2, at[2], 0));
      }
    }
  }

  // Where tap k of a place of the result reads along one dimension.
  int64_t Source(int d, int64_t out, int64_t k) const {
    return out * g_.stride[d] - g_.before[d] + k * g_.dilation[d];
  }

  ConvGeometry g_;
  int64_t channels_;  // of a group
  bool pixels_, padded_;
};

}  // namespace belay::ops
