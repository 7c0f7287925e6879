// Transposed convolutions: one product of matrices gives what each input pixel sends to each tap
// ([pixel][group][tap][channel]), and each output row adds up what reaches it.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "ops/conv/conv_backend.h"
#include "ops/sum_rows.h"

namespace belay::ops {
namespace {

// What reaches each position of one dimension of the result: the taps, and where they come from.
struct Arrival {
  int64_t tap, from;
};
using Arrivals = std::vector<std::vector<Arrival>>;

Arrivals ArrivalsAlong(const ConvGeometry& g, int d) {
  Arrivals all(static_cast<size_t>(g.out[d]));
  for (int64_t at = 0; at < g.out[d]; ++at) {
    for (int64_t k = 0; k < g.kernel[d]; ++k) {
      const int64_t from = at + g.before[d] - k * g.dilation[d];
      if (from >= 0 && from % g.stride[d] == 0 && from / g.stride[d] < g.in[d])
        all[static_cast<size_t>(at)].push_back({k, from / g.stride[d]});
    }
  }
  return all;
}

struct Transposed {
  ConvSpec spec;
  ConvPrimitive* product;
  int64_t images;   // that are multiplied together: their product stays in a cache
  int64_t columns;  // floats that the product gives
  int64_t biases;   // floats of a bias for each channel of each tap of a row
  std::array<Arrivals, 3> arrivals = {};

  ~Transposed() {
    if (product != nullptr) OneDnnConv()->drop(product);
  }
};

const Transposed& TransposedOf(const ConvPrimitive& primitive) {
  return reinterpret_cast<const Transposed&>(primitive);
}

// The parts of a scratch begin at cache lines.
int64_t Room(int64_t floats) { return (floats + 15) / 16 * 16; }

int64_t TapCount(const ConvGeometry& g) { return g.kernel[0] * g.kernel[1] * g.kernel[2]; }

// A part of the batch without a rest.
int64_t ImagesTogether(const ConvGeometry& g) {
  constexpr int64_t kFloats = 1 << 17;
  const int64_t each = g.in[0] * g.in[1] * g.in[2] * g.out_channels * TapCount(g);
  int64_t images = std::clamp<int64_t>(kFloats / each, 1, g.batch);
  while (g.batch % images != 0) --images;
  return images;
}

// Each pixel times all taps: a convolution with a kernel of one.
ConvSpec ProductOf(const ConvSpec& spec) {
  const ConvGeometry& g = spec.geometry;
  ConvGeometry p{};
  p.batch = 1, p.groups = g.groups, p.in_channels = g.in_channels;
  p.out_channels = g.out_channels * TapCount(g);
  for (int d = 0; d < 3; ++d) p.in[d] = p.out[d] = p.kernel[d] = p.stride[d] = p.dilation[d] = 1;
  p.in[2] = p.out[2] = ImagesTogether(g) * g.in[0] * g.in[1] * g.in[2];
  return {p, spec.type, false, false, {}};
}

bool TransposedLayout(const ConvSpec& spec, WeightLayout* layout) {
  return spec.type != ConvType::kF64 && spec.geometry.transposed &&
         OneDnnConv()->layout(ProductOf(spec), layout);
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
  const ConvSpec product = ProductOf(spec);
  const ConvGeometry &g = spec.geometry, &p = product.geometry;
  const int64_t biases = TapsDoNotMeet(spec) ? g.kernel[2] * g.out_channels : 0;
  auto whole = std::unique_ptr<Transposed>(
      new Transposed{spec, nullptr, ImagesTogether(g), p.out[2] * p.out_channels, biases});
  for (int d = 0; d < 3; ++d) whole->arrivals[static_cast<size_t>(d)] = ArrivalsAlong(g, d);
  whole->product = OneDnnConv()->make(product, layout);
  if (whole->product == nullptr) return nullptr;
  return reinterpret_cast<ConvPrimitive*>(whole.release());
}

// From [group][in][out][tap] to the product's [group][tap][out][in], a line of the cache at a time.
bool PackTransposed(const ConvPrimitive& primitive, const void* weights, void* packed, void* scratch) {
  constexpr int64_t kLine = 16;
  const ConvGeometry& g = TransposedOf(primitive).spec.geometry;
  const int64_t in = g.in_channels / g.groups, out = g.out_channels / g.groups, taps = TapCount(g);
  const auto* from = static_cast<const float*>(weights);
  auto* turned = static_cast<float*>(scratch);
  const auto turn = [&](int64_t first, int64_t count, const float* rows, float* to) {
    for (int64_t o = 0; o < out; ++o) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        for (int64_t i = first; i < first + count; ++i)
          to[(tap * out + o) * in + i] = rows[i * out * taps + o * taps + tap];
      }
    }
  };
  for (int64_t group = 0; group < g.groups; ++group, from += in * out * taps, turned += in * out * taps) {
    for (int64_t i = 0; i < in; i += kLine) turn(i, std::min(kLine, in - i), from, turned);
  }
  return OneDnnConv()->pack(*TransposedOf(primitive).product, scratch, packed, nullptr);
}

// Adds up one output row of an image, tap after tap.
class Row {
 public:
  Row(const ConvGeometry& g, const float* columns) : g_(g), columns_(columns) {}

  void Add(int64_t z, int64_t y, float* to) const {
    for (int64_t a = 0; a < g_.kernel[0]; ++a) {
      const int64_t from_z = Source(0, z, a);
      for (int64_t b = 0; from_z >= 0 && b < g_.kernel[1]; ++b) {
        const int64_t from_y = Source(1, y, b);
        for (int64_t c = 0; from_y >= 0 && c < g_.kernel[2]; ++c) {
          AddTap(from_z * g_.in[1] + from_y, c, (a * g_.kernel[1] + b) * g_.kernel[2] + c, to);
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
};

// The same pixel after pixel, which is quicker where the channels of a pixel fill several vectors.
class PixelRows {
 public:
  PixelRows(const ConvGeometry& g, const std::array<Arrivals, 3>& arrivals, WeightedPlace* places,
            float* before)
      : g_(g), arrivals_(arrivals), places_(places), before_(before) {}

  // columns: what the pixels of the image send. A row of the result, which is added to where it is a
  // residual.
  void AddUp(const float* columns, int64_t z, int64_t y, const float* bias, bool residual, float* to) const {
    const int64_t out = g_.out_channels / g_.groups, taps = TapCount(g_);
    for (int64_t x = 0; x < g_.out[2]; ++x, to += g_.out_channels) {
      if (residual) std::copy_n(to, g_.out_channels, before_);
      const int64_t count = Find(z, y, x);
      for (int64_t group = 0; group < g_.groups; ++group)
        sum_(to + group * out, columns + group * taps * out, out, places_, count, out);
      for (int64_t o = 0; bias != nullptr && o < g_.out_channels; ++o) to[o] += bias[o];
      for (int64_t o = 0; residual && o < g_.out_channels; ++o) to[o] += before_[o];
    }
  }

 private:
  // In channels of a group from the first one on.
  int64_t Find(int64_t z, int64_t y, int64_t x) const {
    const int64_t taps = TapCount(g_);
    int64_t count = 0;
    for (const Arrival& a : arrivals_[0][static_cast<size_t>(z)]) {
      for (const Arrival& b : arrivals_[1][static_cast<size_t>(y)]) {
        const int64_t row = (a.from * g_.in[1] + b.from) * g_.in[2],
                      tap = (a.tap * g_.kernel[1] + b.tap) * g_.kernel[2];
        for (const Arrival& c : arrivals_[2][static_cast<size_t>(x)])
          places_[count++] = {(row + c.from) * g_.groups * taps + tap + c.tap, 1.0f};
      }
    }
    return count;
  }

  const ConvGeometry& g_;
  const std::array<Arrivals, 3>& arrivals_;
  WeightedPlace* places_;
  float* before_;
  SumRowsLoop sum_ = BestSumRows();
};

// Writes output row y of an image; `bias` has an element for each channel of each tap of a row.
void PlaceRow(const ConvGeometry& g, const float* columns, int64_t y, const float* bias, float* to) {
  const int64_t side = g.kernel[2] * g.out_channels, z = y / g.out[1], up = y % g.out[1];
  const int64_t row = z / g.stride[0] * g.in[1] + up / g.stride[1];
  const int64_t tap = z % g.stride[0] * g.kernel[1] + up % g.stride[1];
  const float* from = columns + row * g.in[2] * TapCount(g) * g.out_channels + tap * side;
  for (int64_t i = 0; i < g.in[2]; ++i, from += TapCount(g) * g.out_channels, to += side) {
    for (int64_t j = 0; j < side; ++j) to[j] = from[j] + bias[j];
  }
}

void ActivateAll(const Activation& activation, float* x, int64_t n) {
  if (activation.kind == ActivationKind::kNone && !activation.scaled()) return;
  if (activation.kind == ActivationKind::kRelu && !activation.scaled()) {
    for (int64_t i = 0; i < n; ++i) x[i] = x[i] < 0 ? activation.alpha * x[i] + 0.0f : x[i];  // and no -0
    return;
  }
  for (int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(Activate(activation, static_cast<double>(x[i])));
}

// The parts of a scratch, in floats from its start.
struct Places {
  int64_t biases, arrivals, before, product;

  explicit Places(const Transposed& whole) {
    const ConvGeometry& g = whole.spec.geometry;
    constexpr int64_t kEach = sizeof(WeightedPlace) / sizeof(float);
    biases = Room(whole.columns), arrivals = biases + Room(whole.biases);
    before = arrivals + Room(TapCount(g) * kEach), product = before + Room(g.out_channels);
  }
};

bool ByPixels(const ConvGeometry& g) {
  constexpr int64_t kManyChannels = 64;
  return g.out_channels / g.groups >= kManyChannels;
}

void AddRow(const ConvSpec& spec, const float* columns, int64_t y, const float* bias, float* to) {
  const ConvGeometry& g = spec.geometry;
  if (!spec.residual) std::fill_n(to, g.out[2] * g.out_channels, 0.0f);
  for (int64_t x = 0; bias != nullptr && x < g.out[2]; ++x) {
    for (int64_t o = 0; o < g.out_channels; ++o) to[x * g.out_channels + o] += bias[o];
  }
  Row(g, columns).Add(y / g.out[1], y % g.out[1], to);
}

// The rows of one image from what its pixels send.
void RunImage(const Transposed& whole, const ConvCall& call, const float* columns, float* to) {
  const ConvSpec& spec = whole.spec;
  const ConvGeometry& g = spec.geometry;
  const Places places(whole);
  auto* scratch = static_cast<float*>(call.scratch);
  const auto* bias = spec.bias ? static_cast<const float*>(call.bias) : nullptr;
  const PixelRows rows(g, whole.arrivals, reinterpret_cast<WeightedPlace*>(scratch + places.arrivals),
                       scratch + places.before);
  const bool apart = TapsDoNotMeet(spec);
  const int64_t width = g.out[2] * g.out_channels;
  for (int64_t y = 0; y < g.out[0] * g.out[1]; ++y, to += width) {
    if (apart) {
      PlaceRow(g, columns, y, scratch + places.biases, to);
    } else if (!ByPixels(g)) {
      AddRow(spec, columns, y, bias, to);
    } else {
      rows.AddUp(columns, y / g.out[1], y % g.out[1], bias, spec.residual, to);
    }
    ActivateAll(spec.activation, to, width);
  }
}

bool RunTransposed(const ConvPrimitive& primitive, const ConvCall& call) {
  const Transposed& whole = TransposedOf(primitive);
  const ConvGeometry& g = whole.spec.geometry;
  const Places places(whole);
  auto* columns = static_cast<float*>(call.scratch);
  float* biases = columns + places.biases;
  const auto* bias = static_cast<const float*>(call.bias);
  for (int64_t j = 0; j < whole.biases; ++j) biases[j] = whole.spec.bias ? bias[j % g.out_channels] : 0;
  const int64_t element = whole.spec.type == ConvType::kBF16 ? 2 : 4, pixels = g.in[0] * g.in[1] * g.in[2],
                result = g.out[0] * g.out[1] * g.out[2] * g.out_channels;
  for (int64_t n = 0; n < g.batch; n += whole.images) {
    const ConvCall product{static_cast<const char*>(call.src) + n * pixels * g.in_channels * element,
                           call.weights, nullptr, columns, columns + places.product};
    if (!OneDnnConv()->run(*whole.product, product)) return false;
    for (int64_t i = 0; i < whole.images; ++i) {
      RunImage(whole, call, columns + i * (whole.columns / whole.images),
               static_cast<float*>(call.dst) + (n + i) * result);
    }
  }
  return true;
}

bool TransposedTakes(const ConvSpec& spec, const WeightLayout& layout) {
  return OneDnnConv()->takes(ProductOf(spec), layout);
}

const ConvBackend kTransposed = {
    [] { return OneDnnConv()->machine(); },
    &TransposedLayout,
    &TransposedTakes,
    &Make,
    [](ConvPrimitive* p) { delete reinterpret_cast<Transposed*>(p); },
    [](const ConvPrimitive& p) {
      return Places(TransposedOf(p)).product * 4 + OneDnnConv()->scratch_bytes(*TransposedOf(p).product);
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
