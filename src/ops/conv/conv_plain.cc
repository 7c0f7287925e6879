// The convolution in plain loops: right everywhere, for machines without oneDNN and for types that
// it does not take. Weights are packed as [group][tap][in channel][out channel], so that the
// innermost loop runs along memory.
#include <algorithm>
#include <cstring>

#include "ops/conv/conv_backend.h"
#include "ops/conv/conv_parts.h"
#include "ops/conv/deep_conv.h"

namespace belay::ops {

struct ConvPrimitive {
  ConvSpec spec;
};

namespace {

int64_t Taps(const ConvGeometry& g) { return g.kernel[0] * g.kernel[1] * g.kernel[2]; }

// Where tap k of output position `out` reads along one dimension; -1: nothing there.
int64_t SourceOf(const ConvGeometry& g, int d, int64_t out, int64_t k) {
  int64_t at;
  if (!g.transposed) {
    at = out * g.stride[d] - g.before[d] + k * g.dilation[d];
  } else {
    at = out + g.before[d] - k * g.dilation[d];
    if (at % g.stride[d] != 0) return -1;
    at /= g.stride[d];
  }
  return at < 0 || at >= g.in[d] ? -1 : at;
}

template <class T>
void PackTaps(const ConvGeometry& g, const T* from, T* to) {
  const int64_t taps = Taps(g), in = g.in_channels / g.groups, out = g.out_channels / g.groups;
  for (int64_t group = 0; group < g.groups; ++group) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      for (int64_t i = 0; i < in; ++i) {
        for (int64_t o = 0; o < out; ++o) {
          int64_t pair = g.transposed ? i * out + o : o * in + i;
          *to++ = from[(group * in * out + pair) * taps + tap];
        }
      }
    }
  }
}

// Adds one tap to the sums of all groups.
template <class T, class S>
void AddTap(const ConvGeometry& g, const T* src, const T* weights, int64_t group_step, S* sums) {
  const int64_t in = g.in_channels / g.groups, out = g.out_channels / g.groups;
  for (int64_t group = 0; group < g.groups; ++group) {
    const T* w = weights + group * group_step;
    for (int64_t i = 0; i < in; ++i) {
      const S x = src[group * in + i];
      S* sum = sums + group * out;
      for (int64_t o = 0; o < out; ++o) sum[o] += x * static_cast<S>(w[i * out + o]);
    }
  }
}

// The sums of one output position over all taps.
template <class T, class S>
void Sum(const ConvGeometry& g, const T* image, const T* weights, const int64_t* at, S* sums) {
  const int64_t pair = g.in_channels / g.groups * (g.out_channels / g.groups);
  for (int64_t kd = 0; kd < g.kernel[0]; ++kd) {
    const int64_t z = SourceOf(g, 0, at[0], kd);
    for (int64_t kh = 0; z >= 0 && kh < g.kernel[1]; ++kh) {
      const int64_t y = SourceOf(g, 1, at[1], kh);
      for (int64_t kw = 0; y >= 0 && kw < g.kernel[2]; ++kw) {
        const int64_t x = SourceOf(g, 2, at[2], kw);
        if (x < 0) continue;
        const int64_t tap = (kd * g.kernel[1] + kh) * g.kernel[2] + kw;
        AddTap(g, image + ((z * g.in[1] + y) * g.in[2] + x) * g.in_channels, weights + tap * pair,
               pair * Taps(g), sums);
      }
    }
  }
}

// T: of the elements; S: of the sums.
template <class T, class S>
void RunPlain(const ConvSpec& spec, const ConvCall& call) {
  const ConvGeometry& g = spec.geometry;
  const auto* src = static_cast<const T*>(call.src);
  const auto* bias = static_cast<const T*>(call.bias);
  auto* dst = static_cast<T*>(call.dst);
  const int64_t image = g.in[0] * g.in[1] * g.in[2] * g.in_channels;
  auto* sums = static_cast<S*>(call.scratch);
  for (int64_t n = 0; n < g.batch; ++n) {
    int64_t at[3];
    for (at[0] = 0; at[0] < g.out[0]; ++at[0]) {
      for (at[1] = 0; at[1] < g.out[1]; ++at[1]) {
        for (at[2] = 0; at[2] < g.out[2]; ++at[2], dst += g.out_channels) {
          for (int64_t c = 0; c < g.out_channels; ++c) {
            sums[c] =
                static_cast<S>(spec.bias ? bias[c] : T{0}) + static_cast<S>(spec.residual ? dst[c] : T{0});
          }
          Sum(g, src + n * image, static_cast<const T*>(call.weights), at, sums);
          for (int64_t c = 0; c < g.out_channels; ++c) {
            dst[c] = static_cast<T>(Activate(spec.activation, sums[c]));
          }
        }
      }
    }
  }
}

bool PlainLayout(const ConvSpec& spec, WeightLayout* layout) {
  if (spec.type == ConvType::kBF16) return false;
  const ConvGeometry& g = spec.geometry;
  const int64_t out = g.out_channels / g.groups, in = g.in_channels / g.groups;
  const int64_t sizes[] = {g.groups, out, in, g.kernel[0], g.kernel[1], g.kernel[2]};
  *layout = PlainWeightLayout(sizes);
  const int64_t strides[] = {Taps(g) * in * out,     1,       out, g.kernel[1] * g.kernel[2] * in * out,
                             g.kernel[2] * in * out, in * out};
  std::copy_n(strides, WeightLayout::kRank, layout->strides);
  return true;
}

const ConvBackend kPlain = {
    [] { return "any"; },
    &PlainLayout,
    &TakesOnly<&PlainLayout>,
    [](const ConvSpec& spec, const WeightLayout&) { return new ConvPrimitive{spec}; },
    [](ConvPrimitive* primitive) { delete primitive; },
    [](const ConvPrimitive& p) {
      const bool wide = p.spec.type == ConvType::kF64 || IsDeep(p.spec.geometry);
      return p.spec.geometry.out_channels * static_cast<int64_t>(wide ? sizeof(double) : sizeof(float));
    },
    [](const ConvPrimitive& p, const void* weights, void* packed, void*) {
      if (p.spec.type == ConvType::kF64) {
        PackTaps(p.spec.geometry, static_cast<const double*>(weights), static_cast<double*>(packed));
      } else {
        PackTaps(p.spec.geometry, static_cast<const float*>(weights), static_cast<float*>(packed));
      }
      return true;
    },
    [](const ConvPrimitive& p, const ConvCall& call) {
      if (p.spec.type == ConvType::kF64) {
        RunPlain<double, double>(p.spec, call);
      } else if (IsDeep(p.spec.geometry)) {
        RunPlain<float, double>(p.spec, call);
      } else {
        RunPlain<float, float>(p.spec, call);
      }
      return true;
    },
};

}  // namespace

const ConvBackend& PlainConv() { return kPlain; }

const ConvBackend& DeepConv() {
  static const ConvBackend deep = [] {
    ConvBackend backend = kPlain;
    backend.scratch_bytes = [](const ConvPrimitive& p) {
      return DeepScratchFloats(p.spec) * static_cast<int64_t>(sizeof(float));
    };
    backend.run = [](const ConvPrimitive& p, const ConvCall& call) { return RunDeep(p.spec, call); };
    return backend;
  }();
  return deep;
}

}  // namespace belay::ops
