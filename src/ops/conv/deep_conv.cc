// Convolutions whose sums have very many terms, as products of matrices, which add up in pieces: the rows are
// what the taps see from each position of the result.
#include <algorithm>
#include <cmath>

#include "ops/conv/deep_conv.h"
#include "ops/conv/seen_rows.h"
#include "ops/matmul/gemm.h"
#include "ops/matmul/gemv.h"

namespace belay::ops {
namespace {

// Rows that are worked on together.
int64_t RowsTogether(const ConvGeometry& g, const SeenRows& seen) {
  constexpr int64_t kFloats = 1 << 20;
  const int64_t wide = seen.are_pixels() ? g.out_channels / g.groups : seen.width();
  return std::clamp<int64_t>(kFloats / wide, 1, seen.positions());
}

class DeepRun {
 public:
  DeepRun(const ConvSpec& spec, const ConvCall& call)
      : spec_(spec),
        g_(spec.geometry),
        call_(call),
        seen_(g_),
        in_(g_.in_channels / g_.groups),
        out_(g_.out_channels / g_.groups),
        together_(RowsTogether(g_, seen_)),
        sums_(static_cast<float*>(call.scratch)),
        rows_(sums_ + together_ * out_) {}

  bool All() {
    const int64_t count = seen_.positions();
    for (int64_t begin = 0; begin < count; begin += together_) {
      for (int64_t group = 0; group < g_.groups; ++group) {
        if (!Block(begin, std::min(together_, count - begin), group)) return false;
      }
    }
    return true;
  }

 private:
  bool Block(int64_t begin, int64_t count, int64_t group) {
    const int64_t depth = seen_.width();
    const auto* weights = static_cast<const float*>(call_.weights) + group * depth * out_;
    GemmMatrix a{rows_, depth, false};
    if (seen_.are_pixels()) {
      a = {static_cast<const float*>(call_.src) + begin * g_.in_channels + group * in_, g_.in_channels,
           false};
    } else {
      const auto* images = static_cast<const char*>(call_.src);
      for (int64_t i = 0; i < count; ++i)
        seen_.Gather(images, sizeof(float), 0, begin + i, group, reinterpret_cast<char*>(rows_ + i * depth));
    }
    if (!Multiply(a, weights, count, depth)) return false;
    for (int64_t i = 0; i < count; ++i) {
      if (seen_.see_padding()) WithoutPadding(begin + i, rows_ + i * depth, weights, sums_ + i * out_);
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

  // The zeros of the padding and a weight that is not finite make NaN, where padding adds nothing: those sums
  // are made again from what the taps see of the image.
  void WithoutPadding(int64_t position, const float* row, const float* weights, float* sums) const {
    constexpr int64_t kTogether = 64;
    for (int64_t o = 0; o < out_; o += kTogether) {
      const int64_t n = std::min(kTogether, out_ - o);
      if (std::none_of(sums + o, sums + o + n, [](float sum) { return std::isnan(sum); })) continue;
      double again[kTogether] = {};
      int64_t at = 0;
      seen_.ForTaps(position, [&](int64_t pixel) {
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
  const SeenRows seen_;
  const int64_t in_, out_, together_;
  float *sums_, *rows_;
};

}  // namespace

int64_t DeepScratchFloats(const ConvSpec& spec) {
  const ConvGeometry& g = spec.geometry;
  const SeenRows seen(g);
  const int64_t rows = RowsTogether(g, seen);
  return rows * (g.out_channels / g.groups) + (seen.are_pixels() ? 0 : rows * seen.width());
}

bool RunDeep(const ConvSpec& spec, const ConvCall& call) { return DeepRun(spec, call).All(); }

}  // namespace belay::ops
