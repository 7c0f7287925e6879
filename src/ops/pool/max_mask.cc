// Pooling of the largest with a mask of where it was, and its gradient. The mask has a row for each tap of
// the window; byte p of a row is 1 where position p of the result came from that tap, and everything else is
// 0.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/packed_floats.h"
#include "ops/pool/pool.h"
#include "tensor/codes.h"

namespace belay::ops::kernels {
namespace {

using tensor::kInvalidArgument;
using Numbers = std::span<const int64_t>;

// The planes are what rows and columns of images follow.
struct MaskGeometry {
  int64_t planes, in[2], out[2];
  PoolDimension windows[2];
  int64_t row;  // bytes of the mask for one tap

  int64_t taps() const { return windows[0].kernel * windows[1].kernel; }
  int64_t mask_bytes() const { return taps() * row; }  // of a plane
  int64_t in_plane() const { return in[0] * in[1]; }   // elements
  int64_t out_plane() const { return out[0] * out[1]; }

  // body(plane), on many cores.
  template <class Body>
  void ForPlanes(const Body& body) const {
    ParallelFor(planes, 1 + 16384 / (in_plane() + 1), [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) body(plane);
    });
  }

  // Where tap `k` of the window at `p` lies; negative or beyond the size: in the padding.
  int64_t At(int d, int64_t p, int64_t k) const {
    return p * windows[d].stride - windows[d].before + k * windows[d].dilation;
  }
};

int64_t NumberOr(Numbers values, size_t i, int64_t missing) {
  if (values.empty()) return missing;
  return values.size() == 1 ? values[0] : values[i];
}

[[noreturn]] void FailShape(const Operand& operand, const char* wanted) {
  Fail(kInvalidArgument, "pool-shape", "{} has the shape {}; {}", operand.name, operand.shape().ToString(),
       wanted);
}

struct MaskWindows {
  Numbers kernel, stride, padding, dilation;
  bool ceil;
};

PoolDimension WindowOf(const Shape& shape, const MaskWindows& w, size_t i) {
  for (const Numbers& list : {w.kernel, w.stride, w.padding, w.dilation})
    if (list.size() > 2)
      Fail(kInvalidArgument, "pool-window", "a window has two dimensions, not {}", list.size());
  const int64_t kernel = NumberOr(w.kernel, i, 0), stride = NumberOr(w.stride, i, kernel),
                padding = NumberOr(w.padding, i, 0), dilation = NumberOr(w.dilation, i, 1);
  const PoolDimension window{shape.back(i == 0 ? 1 : 0), kernel, stride, dilation, padding, padding};
  if (!IsWindow(window) || padding > kernel / 2) {
    Fail(
        kInvalidArgument, "pool-window",
        "a window has a kernel of {}, a stride of {}, a padding of {} and a dilation of {}; the padding is at "
        "most half the kernel and the dilation at least 1",
        kernel, stride, padding, dilation);
  }
  return window;
}

MaskGeometry GeometryOf(const Operand& self, const Operand& out, const Operand& mask, const MaskWindows& w) {
  const Shape &shape = self.shape(), &result = out.shape();
  const int rank = shape.rank();
  if (rank != 3 && rank != 4) FailShape(self, "it has three or four dimensions");
  MaskGeometry g{};
  Shape wanted = shape;
  for (int d = 0; d < 2; ++d) {
    g.windows[d] = WindowOf(shape, w, static_cast<size_t>(d));
    g.in[d] = shape.back(1 - d);
    g.out[d] = wanted.back(1 - d) = PoolOutputSize(g.windows[d], w.ceil);
  }
  if (result != wanted) CheckShape(out, wanted);
  g.planes = shape.back(2) * (rank == 4 ? shape[0] : 1);
  g.row = ((g.out_plane() + 15) / 16 + 1) * 32;
  Shape of_mask = shape;
  of_mask.back(1) = g.taps(), of_mask.back(0) = g.row;
  CheckShape(mask, of_mask);
  return g;
}

struct MaxMaskBody {
  PackedFloats x, out;
  PackedBytes mask;
  MaskGeometry g;

  void operator()(const Frame& frame) const {
    const float* from = x.Load(frame);
    float* to = out.Begin(frame);
    uint8_t* bytes = mask.Begin(frame);
    g.ForPlanes([&](int64_t p) {
      Plane(from + p * g.in_plane(), to + p * g.out_plane(), bytes + p * g.mask_bytes());
    });
    out.Finish(frame);
    mask.Finish(frame);
  }

  void Plane(const float* from, float* to, uint8_t* bytes) const {
    std::memset(bytes, 0, static_cast<size_t>(g.mask_bytes()));
    for (int64_t y = 0; y < g.out[0]; ++y) {
      for (int64_t i = 0; i < g.out[1]; ++i) {
        const int64_t p = y * g.out[1] + i, tap = First(from, y, i, to + p);
        if (tap >= 0) bytes[tap * g.row + p] = 1;
      }
    }
  }

  // The tap of the first of the largest elements, or of the first that is no number.
  int64_t First(const float* from, int64_t y, int64_t x, float* largest) const {
    int64_t tap = -1;
    *largest = -INFINITY;
    for (int64_t a = 0; a < g.windows[0].kernel; ++a) {
      const int64_t row = g.At(0, y, a);
      if (row < 0 || row >= g.in[0]) continue;
      for (int64_t b = 0; b < g.windows[1].kernel; ++b) {
        const int64_t column = g.At(1, x, b);
        if (column < 0 || column >= g.in[1]) continue;
        const float value = from[row * g.in[1] + column];
        if (tap >= 0 && !(value > *largest) && !(std::isnan(value) && !std::isnan(*largest))) continue;
        *largest = value;
        tap = a * g.windows[1].kernel + b;
      }
    }
    return tap;
  }
};

struct MaxMaskGradBody {
  PackedFloats grad, out;
  PackedBytes mask;
  MaskGeometry g;

  void operator()(const Frame& frame) const {
    const float* from = grad.Load(frame);
    float* to = out.Begin(frame);
    const uint8_t* bytes = mask.Load(frame);
    g.ForPlanes([&](int64_t p) {
      Plane(from + p * g.out_plane(), to + p * g.in_plane(), bytes + p * g.mask_bytes());
    });
    out.Finish(frame);
  }

  void Plane(const float* from, float* to, const uint8_t* bytes) const {
    std::fill_n(to, g.in_plane(), 0.0f);
    for (int64_t tap = 0; tap < g.taps(); ++tap, bytes += g.row) {
      const int64_t a = tap / g.windows[1].kernel, b = tap % g.windows[1].kernel;
      for (int64_t y = 0; y < g.out[0]; ++y) {
        const int64_t row = g.At(0, y, a);
        if (row < 0 || row >= g.in[0]) continue;
        for (int64_t x = 0; x < g.out[1]; ++x) {
          const int64_t p = y * g.out[1] + x, column = g.At(1, x, b);
          if (bytes[p] != 0 && column >= 0 && column < g.in[1]) to[row * g.in[1] + column] += from[p];
        }
      }
    }
  }
};

template <class Body>
void FinishMask(Plan& plan, const Operand& in, const Operand& out, const Operand& mask,
                const MaskGeometry& g) {
  Body body{PackedFloats(in, Flow::kIn, plan), PackedFloats(out, Flow::kOut, plan), PackedBytes(mask, plan),
            g};
  plan.SetCost(200 + static_cast<uint64_t>(g.planes * g.out_plane() * g.taps()) * 2);
  plan.SetBody(body);
}

}  // namespace

void MaxPool2dWithMask(Plan& plan, DType, const Operand& self, Numbers kernelSize, Numbers stride,
                       Numbers padding, Numbers dilation, bool ceilMode, const Operand& out,
                       const Operand& indices) {
  const MaskGeometry g = GeometryOf(self, out, indices, {kernelSize, stride, padding, dilation, ceilMode});
  CheckSameType(self, out);
  if (out.tensor->empty()) return;
  FinishMask<MaxMaskBody>(plan, self, out, indices, g);
}

void MaxPool2dWithMaskBackward(Plan& plan, DType, const MaxPool2dWithMaskBackwardArguments& a) {
  const MaskGeometry g = GeometryOf(a.self, a.grad_output, a.indices,
                                    {a.kernel_size, a.stride, a.padding, a.dilation, a.ceil_mode});
  CheckShape(a.grad_input, a.self.shape());
  CheckSameType(a.grad_output, a.self);
  if (a.grad_input.tensor->empty()) return;
  FinishMask<MaxMaskGradBody>(plan, a.grad_output, a.grad_input, a.indices, g);
}

}  // namespace belay::ops::kernels
