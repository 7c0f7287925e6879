// Convolutions whose sums have very many terms, as products of matrices, which add up in pieces: the rows are
// what the taps see from each position of the result.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/conv/conv_parts.h"
#include "ops/conv/deep_conv.h"
#include "ops/matmul/gemm.h"
#include "ops/matmul/gemv.h"

namespace belay::ops {
namespace {

int64_t PixelsOf(const int64_t* sizes) { return sizes[0] * sizes[1] * sizes[2]; }

// Of one group.
int64_t RowFloats(const ConvGeometry& g) { return PixelsOf(g.kernel) * (g.in_channels / g.groups); }

// The pixels of the input are the rows already.
bool ReadsPixels(const ConvGeometry& g) {
  for (int d = 0; d < 3; ++d) {
    if (g.kernel[d] != 1 || g.stride[d] != 1 || g.before[d] != 0 || g.in[d] != g.out[d]) return false;
  }
  return true;
}

// Some taps see padding from some positions.
bool ReadsPadding(const ConvGeometry& g) {
  for (int d = 0; d < 3; ++d) {
    const int64_t last = (g.out[d] - 1) * g.stride[d] + (g.kernel[d] - 1) * g.dilation[d] - g.before[d];
    if (g.before[d] > 0 || last >= g.in[d]) return true;
  }
  return false;
}

// Rows that are worked on together.
int64_t RowsTogether(const ConvGeometry& g) {
  constexpr int64_t kFloats = 1 << 20;
  const int64_t wide = ReadsPixels(g) ? g.out_channels / g.groups : RowFloats(g);
  return std::clamp<int64_t>(kFloats / wide, 1, g.batch * PixelsOf(g.out));
}

class DeepRun {
 public:
  DeepRun(const ConvSpec& spec, const ConvCall& call)
      : spec_(spec),
        g_(spec.geometry),
        call_(call),
        in_(g_.in_channels / g_.groups),
        out_(g_.out_channels / g_.groups),
        together_(RowsTogether(g_)),
        padded_(ReadsPadding(g_)),
        sums_(static_cast<float*>(call.scratch)),
        rows_(sums_ + together_ * out_) {}

  bool All() {
    const int64_t count = g_.batch * PixelsOf(g_.out);
    for (int64_t begin = 0; begin < count; begin += together_) {
      for (int64_t group = 0; group < g_.groups; ++group) {
        if (!Block(begin, std::min(together_, count - begin), group)) return false;
      }
    }
    return true;
  }

 private:
  bool Block(int64_t begin, int64_t count, int64_t group) {
    const int64_t depth = RowFloats(g_);
    const auto* weights = static_cast<const float*>(call_.weights) + group * depth * out_;
    GemmMatrix a{rows_, depth, false};
    if (ReadsPixels(g_)) {
      a = {static_cast<const float*>(call_.src) + begin * g_.in_channels + group * in_, g_.in_channels,
           false};
    } else {
      for (int64_t i = 0; i < count; ++i) Gather(begin + i, group, rows_ + i * depth);
    }
    if (!Multiply(a, weights, count, depth)) return false;
    for (int64_t i = 0; i < count; ++i) {
      if (padded_) WithoutPadding(begin + i, rows_ + i * depth, weights, sums_ + i * out_);
      Finish(begin + i, group, sums_ + i * out_);
    }
    return true;
  }

  bool Multiply(const GemmMatrix& a, const float* weights, int64_t count, int64_t depth) const {
    if (out_ == 1) {
      BestGemv()(static_cast<const float*>(a.data), a.ld, weights, depth, count, sums_);
      return true;
    }
    return BestGemm().run(
        {count, out_, depth, a, {weights, out_, false}, sums_, out_, GemmType::kF32, GemmType::kF32});
  }

  // visit(pixel) for each tap in turn: the pixel of the image that it sees from a position of the result, or
  // -1 in the padding.
  template <class Visit>
  void ForTaps(int64_t position, const Visit& visit) const {
    const int64_t pixel = position % PixelsOf(g_.out);
    const int64_t at[3] = {pixel / (g_.out[1] * g_.out[2]), pixel / g_.out[2] % g_.out[1], pixel % g_.out[2]};
    for (int64_t a = 0; a < g_.kernel[0]; ++a) {
      for (int64_t b = 0; b < g_.kernel[1]; ++b) {
        for (int64_t c = 0; c < g_.kernel[2]; ++c) {
          const int64_t z = Source(0, at[0], a), y = Source(1, at[1], b), x = Source(2, at[2], c);
          visit(z < 0 || y < 0 || x < 0 ? -1 : (z * g_.in[1] + y) * g_.in[2] + x);
        }
      }
    }
  }

  // What the taps of one group see from a position of the result.
  void Gather(int64_t position, int64_t group, float* to) const {
    const auto* image = static_cast<const float*>(call_.src) +
                        position / PixelsOf(g_.out) * PixelsOf(g_.in) * g_.in_channels + group * in_;
    ForTaps(position, [&](int64_t pixel) {
      if (pixel < 0) {
        std::fill_n(to, in_, 0.0f);
      } else {
        std::memcpy(to, image + pixel * g_.in_channels, static_cast<size_t>(in_) * sizeof(float));
      }
      to += in_;
    });
  }

  // The zeros of the padding and a weight that is not finite make NaN, where padding adds nothing: those sums
  // are made again from what the taps see of the image.
  void WithoutPadding(int64_t position, const float* row, const float* weights, float* sums) const {
    constexpr int64_t kTogether = 64;
    for (int64_t o = 0; o < out_; o += kTogether) {
      const int64_t n = std::min(kTogether, out_ - o);
      if (std::none_of(sums + o, sums + o + n, [](float sum) { return std::isnan(sum); })) continue;
      double again[kTogether] = {};
      int64_t at = 0;
      ForTaps(position, [&](int64_t pixel) {
        for (const int64_t end = at + in_; at < end; ++at) {
          for (int64_t k = 0; pixel >= 0 && k < n; ++k)
            again[k] += static_cast<double>(row[at]) * static_cast<double>(weights[at * out_ + o + k]);
        }
      });
      for (int64_t k = 0; k < n; ++k) {
        if (std::isnan(sums[o + k])) sums[o + k] = static_cast<float>(again[k]);
      }
    }
  }

  // Where tap k of output position `out` reads along one dimension; -1: nothing there.
  int64_t Source(int d, int64_t out, int64_t k) const {
    const int64_t at = out * g_.stride[d] - g_.before[d] + k * g_.dilation[d];
    return at < g_.in[d] ? at : -1;
  }

  void Finish(int64_t position, int64_t group, const float* sums) const {
    auto* to = static_cast<float*>(call_.dst) + position * g_.out_channels + group * out_;
    const auto* bias = spec_.bias ? static_cast<const float*>(call_.bias) + group * out_ : nullptr;
    for (int64_t o = 0; o < out_; ++o) {
      const float sum = sums[o] + (bias == nullptr ? 0.0f : bias[o]) + (spec_.residual ? to[o] : 0.0f);
      to[o] = static_cast<float>(Activate(spec_.activation, sum));
    }
  }

  const ConvSpec& spec_;
  const ConvGeometry& g_;
  const ConvCall& call_;
  const int64_t in_, out_, together_;
  const bool padded_;
  float *sums_, *rows_;
};

}  // namespace

int64_t DeepScratchFloats(const ConvSpec& spec) {
  const ConvGeometry& g = spec.geometry;
  const int64_t rows = RowsTogether(g);
  return rows * (g.out_channels / g.groups) + (ReadsPixels(g) ? 0 : rows * RowFloats(g));
}

bool RunDeep(const ConvSpec& spec, const ConvCall& call) { return DeepRun(spec, call).All(); }

}  // namespace belay::ops
