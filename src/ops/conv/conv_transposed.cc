// Transposed convolutions: one product of matrices gives what each input pixel sends to each tap
// ([pixel][group][tap][channel]), and each output row adds up what reaches it.
#include <algorithm>
#include <memory>

#include "ops/conv/conv_backend.h"

namespace belay::ops {
namespace {

struct Transposed {
  ConvSpec spec;
  ConvPrimitive* product;
  int64_t columns;  // floats that the product gives
  int64_t biases;   // floats of a bias for each channel of each tap of a row

  ~Transposed() { OneDnnConv()->drop(product); }
};

const Transposed& TransposedOf(const ConvPrimitive& primitive) {
  return reinterpret_cast<const Transposed&>(primitive);
}

// The parts of a scratch begin at cache lines.
int64_t Room(int64_t floats) { return (floats + 15) / 16 * 16; }

int64_t TapCount(const ConvGeometry& g) { return g.kernel[0] * g.kernel[1] * g.kernel[2]; }

// Each pixel times all taps: a convolution with a kernel of one.
ConvSpec ProductOf(const ConvGeometry& g) {
  ConvGeometry p{};
  p.batch = 1, p.groups = g.groups, p.in_channels = g.in_channels;
  p.out_channels = g.out_channels * TapCount(g);
  for (int d = 0; d < 3; ++d) p.in[d] = p.out[d] = p.kernel[d] = p.stride[d] = p.dilation[d] = 1;
  p.in[2] = p.out[2] = g.batch * g.in[0] * g.in[1] * g.in[2];
  return {p, ConvType::kF32, false, false, {}};
}

bool TransposedLayout(const ConvSpec& spec, WeightLayout* layout) {
  return spec.type == ConvType::kF32 && spec.geometry.transposed &&
         OneDnnConv()->layout(ProductOf(spec.geometry), layout);
}

// Each output pixel hears of one tap only, and the taps of an input row lie side by side as their pixels do.
bool TapsDoNotMeet(const ConvSpec& spec) {
  const ConvGeometry& g = spec.geometry;
  for (int d = 0; d < 3; ++d) {
    if (g.stride[d] != g.kernel[d] || g.before[d] != 0 || g.out[d] != g.in[d] * g.stride[d]) return false;
    if (g.kernel[d] > 1 && g.dilation[d] != 1) return false;
  }
  return g.groups == 1 && !spec.residual;
}

ConvPrimitive* Make(const ConvSpec& spec, const WeightLayout& layout) {
  const ConvSpec product = ProductOf(spec.geometry);
  ConvPrimitive* made = OneDnnConv()->make(product, layout);
  if (made == nullptr) return nullptr;
  const ConvGeometry &g = spec.geometry, &p = product.geometry;
  const int64_t biases = TapsDoNotMeet(spec) ? g.kernel[2] * g.out_channels : 0;
  auto whole = std::unique_ptr<Transposed>(new Transposed{spec, made, p.out[2] * p.out_channels, biases});
  return reinterpret_cast<ConvPrimitive*>(whole.release());
}

// From [group][in][out][tap] to the product's [group][tap][out][in].
bool PackTransposed(const ConvPrimitive& primitive, const void* weights, void* packed, void* scratch) {
  const ConvGeometry& g = TransposedOf(primitive).spec.geometry;
  const int64_t in = g.in_channels / g.groups, out = g.out_channels / g.groups, taps = TapCount(g);
  const auto* from = static_cast<const float*>(weights);
  auto* turned = static_cast<float*>(scratch);
  for (int64_t group = 0; group < g.groups; ++group) {
    for (int64_t i = 0; i < in; ++i) {
      for (int64_t o = 0; o < out; ++o) {
        for (int64_t tap = 0; tap < taps; ++tap) {
          turned[((group * taps + tap) * out + o) * in + i] = *from++;
        }
      }
    }
  }
  return OneDnnConv()->pack(*TransposedOf(primitive).product, turned, packed, nullptr);
}

// Adds up one output row.
class Row {
 public:
  Row(const ConvGeometry& g, const float* columns, int64_t image) : g_(g), columns_(columns), image_(image) {}

  void Add(int64_t z, int64_t y, float* to) const {
    for (int64_t a = 0; a < g_.kernel[0]; ++a) {
      const int64_t from_z = Source(0, z, a);
      for (int64_t b = 0; from_z >= 0 && b < g_.kernel[1]; ++b) {
        const int64_t from_y = Source(1, y, b);
        for (int64_t c = 0; from_y >= 0 && c < g_.kernel[2]; ++c) {
          AddTap((image_ * g_.in[0] + from_z) * g_.in[1] + from_y, c,
                 (a * g_.kernel[1] + b) * g_.kernel[2] + c, to);
        }
      }
    }
  }

 private:
  // The input position whose tap k falls on `out`; -1: none.
  int64_t Source(int d, int64_t out, int64_t k) const {
    const int64_t at = out + g_.before[d] - k * g_.dilation[d];
    return at < 0 || at % g_.stride[d] != 0 || at / g_.stride[d] >= g_.in[d] ? -1 : at / g_.stride[d];
  }

  // What all pixels of an input row send through one tap.
  void AddTap(int64_t row, int64_t c, int64_t tap, float* to) const {
    const int64_t out = g_.out_channels / g_.groups, taps = TapCount(g_),
                  shift = c * g_.dilation[2] - g_.before[2];
    const int64_t pixel = g_.out_channels * taps;
    for (int64_t i = 0; i < g_.in[2]; ++i) {
      const int64_t x = i * g_.stride[2] + shift;
      if (x < 0 || x >= g_.out[2]) continue;
      const float* from = columns_ + (row * g_.in[2] + i) * pixel + tap * out;
      float* sum = to + x * g_.out_channels;
      for (int64_t group = 0; group < g_.groups; ++group) {
        for (int64_t o = 0; o < out; ++o) sum[group * out + o] += from[group * taps * out + o];
      }
    }
  }

  const ConvGeometry& g_;
  const float* columns_;
  const int64_t image_;
};

// Writes output row y of image n; `bias` has an element for each channel of each tap of a row.
void PlaceRow(const ConvGeometry& g, const float* columns, int64_t n, int64_t y, const float* bias,
              float* to) {
  const int64_t side = g.kernel[2] * g.out_channels, z = y / g.out[1], up = y % g.out[1];
  const int64_t row = (n * g.in[0] + z / g.stride[0]) * g.in[1] + up / g.stride[1];
  const int64_t tap = z % g.stride[0] * g.kernel[1] + up % g.stride[1];
  const float* from = columns + row * g.in[2] * TapCount(g) * g.out_channels + tap * side;
  for (int64_t i = 0; i < g.in[2]; ++i, from += TapCount(g) * g.out_channels, to += side) {
    for (int64_t j = 0; j < side; ++j) to[j] = from[j] + bias[j];
  }
}

void ActivateAll(const Activation& activation, float* x, int64_t n) {
  if (activation.kind == ActivationKind::kNone && !activation.scaled()) return;
  if (activation.kind == ActivationKind::kRelu && !activation.scaled()) {
    for (int64_t i = 0; i < n; ++i) x[i] = x[i] < 0 ? activation.alpha * x[i] : x[i];
    return;
  }
  for (int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(Activate(activation, static_cast<double>(x[i])));
}

bool RunTransposed(const ConvPrimitive& primitive, const ConvCall& call) {
  const Transposed& whole = TransposedOf(primitive);
  const ConvSpec& spec = whole.spec;
  const ConvGeometry& g = spec.geometry;
  auto* columns = static_cast<float*>(call.scratch);
  float* biases = columns + Room(whole.columns);
  const ConvCall product{call.src, call.weights, nullptr, columns, biases + Room(whole.biases)};
  if (!OneDnnConv()->run(*whole.product, product)) return false;
  const auto* bias = static_cast<const float*>(call.bias);
  const bool apart = TapsDoNotMeet(spec);
  for (int64_t j = 0; j < whole.biases; ++j) biases[j] = spec.bias ? bias[j % g.out_channels] : 0;
  const int64_t width = g.out[2] * g.out_channels;
  auto* to = static_cast<float*>(call.dst);
  for (int64_t n = 0; n < g.batch; ++n) {
    const Row row(g, columns, n);
    for (int64_t y = 0; y < g.out[0] * g.out[1]; ++y, to += width) {
      if (apart) {
        PlaceRow(g, columns, n, y, biases, to);
      } else {
        if (!spec.residual) std::fill(to, to + width, 0.0f);
        for (int64_t x = 0; spec.bias && x < g.out[2]; ++x) {
          for (int64_t o = 0; o < g.out_channels; ++o) to[x * g.out_channels + o] += bias[o];
        }
        row.Add(y / g.out[1], y % g.out[1], to);
      }
      ActivateAll(spec.activation, to, width);
    }
  }
  return true;
}

bool TransposedTakes(const ConvSpec& spec, const WeightLayout& layout) {
  return OneDnnConv()->takes(ProductOf(spec.geometry), layout);
}

const ConvBackend kTransposed = {
    [] { return OneDnnConv()->machine(); },
    &TransposedLayout,
    &TransposedTakes,
    &Make,
    [](ConvPrimitive* p) { delete reinterpret_cast<Transposed*>(p); },
    [](const ConvPrimitive& p) {
      return (Room(TransposedOf(p).columns) + Room(TransposedOf(p).biases)) * 4 +
             OneDnnConv()->scratch_bytes(*TransposedOf(p).product);
    },
    &PackTransposed,
    &RunTransposed,
    nullptr,
    nullptr,
    [](const ConvPrimitive& p) {
      const ConvGeometry& g = TransposedOf(p).spec.geometry;
      return g.in_channels * (g.out_channels / g.groups) * TapCount(g) * 4;
    },
};

}  // namespace

const ConvBackend* TransposedConv() { return OneDnnConv() == nullptr ? nullptr : &kTransposed; }

}  // namespace belay::ops
