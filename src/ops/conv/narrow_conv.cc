#include "ops/conv/narrow_conv.h"

#include <algorithm>
#include <array>
#include <vector>

#include "ops/conv/grouped_conv_loops.h"
#include "ops/conv/own_backend.h"
#include "ops/conv/ready_conv.h"
#include "ops/conv/winograd_loops.h"

namespace belay::ops {
namespace {

constexpr int64_t kMostOutputs = 4;

int64_t Lanes() { return BestGroupedConvLoops().lanes; }

// How the columns of the kernel, `outputs` channels of the result each, are dealt out to vectors.
struct KernelColumns {
  int64_t outputs;          // so that vectors hold whole columns
  int64_t panels, vectors;  // of a panel

  explicit KernelColumns(const ConvGeometry& g)
      : outputs(g.out_channels > 2 ? kMostOutputs : g.out_channels), panels(0), vectors(0) {
    // Panels of several vectors read a pixel once for all of them.
    constexpr std::array<int64_t, 3> kCost = {16, 22, 30};  // of panels of one, two and three vectors
    const int64_t needed = (g.kernel[2] * outputs + Lanes() - 1) / Lanes();
    int64_t best = 0;
    for (int64_t v = 1; v <= 3; ++v) {
      const int64_t count = (needed + v - 1) / v, cost = count * kCost[static_cast<size_t>(v - 1)];
      if (v == 1 || cost < best) best = cost, panels = count, vectors = v;
    }
  }
  int64_t panel() const { return vectors * Lanes(); }  // floats
  int64_t all() const { return panels * panel(); }
};

struct Narrow {
  static constexpr int64_t kPositions = 256;     // of a row of the result at a time
  static constexpr int64_t kFewestTogether = 8;  // pixels of the input that are multiplied together

  explicit Narrow(const ConvSpec& of) : spec(of), columns(of.geometry) {
    const ConvGeometry& g = spec.geometry;
    for (int64_t y = 0; y < g.kernel[1]; ++y) taps.push_back(y * g.dilation[1] * g.in[2] * g.in_channels);
  }

  int64_t scratch_floats() const {
    const ConvGeometry& g = spec.geometry;
    const int64_t reach = (g.kernel[2] - 1) * g.dilation[2];
    return std::min(g.in[2], std::min(kPositions, g.out[2]) + reach + kFewestTogether) * columns.all();
  }

  ConvSpec spec;
  KernelColumns columns;
  std::vector<int64_t> taps;  // the rows of the kernel
  GroupedConvLoops loops = BestGroupedConvLoops();
  WinogradLoops behind = BestWinogradLoops();  // for the activation
};

struct Span {
  int64_t begin, end;
};

// Of `count` taps from `first` on, `step` apart: those within [0, size).
Span TapsInside(int64_t first, int64_t step, int64_t count, int64_t size) {
  const int64_t begin = first >= 0 ? 0 : (-first + step - 1) / step;
  const int64_t end = first >= size ? 0 : (size - first + step - 1) / step;
  return {std::min(begin, count), std::clamp(end, std::min(begin, count), count)};
}

class NarrowRun {
 public:
  NarrowRun(const Narrow& narrow, const ConvCall& call)
      : n_(narrow),
        g_(narrow.spec.geometry),
        call_(call),
        bias_(narrow.spec.bias ? static_cast<const float*>(call.bias) : nullptr),
        products_(static_cast<float*>(call.scratch)) {}

  void All() {
    for (int64_t image = 0; image < g_.batch; ++image) {
      for (int64_t row = 0; row < g_.out[1]; ++row) {
        for (int64_t begin = 0; begin < g_.out[2]; begin += Narrow::kPositions)
          Part(image, row, {begin, std::min(begin + Narrow::kPositions, g_.out[2])});
      }
    }
  }

 private:
  // The pixels of the input that positions of the result see; enough of them to multiply.
  Span Seen(Span to) const {
    Span seen{std::max<int64_t>(to.begin - g_.before[2], 0),
              std::min(to.end - g_.before[2] + (g_.kernel[2] - 1) * g_.dilation[2], g_.in[2])};
    seen.end = std::clamp(seen.end, Narrow::kFewestTogether, g_.in[2]);
    seen.begin = std::clamp<int64_t>(seen.begin, 0, seen.end - Narrow::kFewestTogether);
    return seen;
  }

  void Part(int64_t image, int64_t row, Span to) {
    const int64_t top = row * g_.stride[1] - g_.before[1];
    const Span taps = TapsInside(top, g_.dilation[1], g_.kernel[1], g_.in[1]);
    const Span seen = Seen(to);
    if (taps.begin < taps.end) {
      const int64_t line = image * g_.in[1] + top + taps.begin * g_.dilation[1];
      Multiply(static_cast<const float*>(call_.src) + (line * g_.in[2] + seen.begin) * g_.in_channels, taps,
               seen.end - seen.begin);
    } else {
      std::fill_n(products_, (seen.end - seen.begin) * n_.columns.all(), 0.0f);
    }
    float* result =
        static_cast<float*>(call_.dst) + ((image * g_.out[1] + row) * g_.out[2] + to.begin) * g_.out_channels;
    if (n_.columns.outputs == 1) {
      AddUp<1>(to, seen, result);
    } else if (n_.columns.outputs == 2) {
      AddUp<2>(to, seen, result);
    } else {
      AddUp<kMostOutputs>(to, seen, result);
    }
    n_.behind.activate(n_.spec.activation, result, (to.end - to.begin) * g_.out_channels);
  }

  // products = pixels x kernel columns, summed over rows of the kernel and channels.
  void Multiply(const float* from, Span taps, int64_t pixels) const {
    const int64_t tap = g_.in_channels * n_.columns.panel(), all = n_.columns.all();
    // Nothing is read behind the last pixel: the last ones are multiplied once more.
    const int64_t whole = pixels / Narrow::kFewestTogether * Narrow::kFewestTogether;
    for (int64_t p = 0; p < n_.columns.panels; ++p) {
      GroupedRow row{};
      row.from = from, row.from_step = g_.in_channels;
      row.taps = n_.taps.data(), row.tap_count = taps.end - taps.begin, row.depth = g_.in_channels;
      row.weights = static_cast<const float*>(call_.weights) + (p * g_.kernel[1] + taps.begin) * tap;
      row.to = products_ + p * n_.columns.panel(), row.to_step = all;
      row.pixels = whole, row.channels = n_.columns.panel();
      n_.loops.row(row, n_.columns.vectors);
      if (whole == pixels) continue;
      const int64_t last = pixels - Narrow::kFewestTogether;
      row.from += last * row.from_step, row.to += last * all;
      row.pixels = Narrow::kFewestTogether;
      n_.loops.row(row, n_.columns.vectors);
    }
  }

  // kOutputs: room for the channels of the result.
  template <int64_t kOutputs>
  void AddUp(Span to, Span seen, float* result) const {
    const int64_t all = n_.columns.all(), count = g_.out_channels, step = g_.dilation[2] * all + kOutputs;
    std::array<float, kOutputs> start{};
    if (bias_ != nullptr) std::copy_n(bias_, count, start.begin());
    for (int64_t x = to.begin; x < to.end; ++x, result += count) {
      const int64_t first = x - g_.before[2];
      const Span taps = TapsInside(first, g_.dilation[2], g_.kernel[2], g_.in[2]);
      std::array<float, kOutputs> sums = start;
      const float* from =
          products_ + (first - seen.begin + taps.begin * g_.dilation[2]) * all + taps.begin * kOutputs;
      for (int64_t t = taps.begin; t < taps.end; ++t, from += step) {
        for (int64_t o = 0; o < kOutputs; ++o) sums[static_cast<size_t>(o)] += from[o];
      }
      for (int64_t o = 0; o < count; ++o) {
        const float sum = sums[static_cast<size_t>(o)];
        result[o] = n_.spec.residual ? result[o] + sum : sum;
      }
    }
  }

  const Narrow& n_;
  const ConvGeometry& g_;
  const ConvCall& call_;
  const float* bias_;
  float* products_;
};

// [panel][kernel row][in][kernel column of the panel][out]
bool NarrowLayout(const ConvSpec& spec, WeightLayout* layout) {
  if (!NarrowFits(spec)) return false;
  const ConvGeometry& g = spec.geometry;
  const KernelColumns columns(g);
  const auto sizes = WeightSizes(g);
  *layout = {};
  std::copy(sizes.begin(), sizes.end(), layout->sizes);
  std::copy(sizes.begin(), sizes.end(), layout->padded);
  layout->padded[1] = columns.outputs;
  layout->padded[5] = columns.all() / columns.outputs;
  const int64_t tap = g.in_channels * columns.panel(), panel = g.kernel[1] * tap;
  const int64_t whole = columns.panels * panel;
  const int64_t strides[] = {whole, whole, columns.panel(), whole, tap, panel};
  std::copy(std::begin(strides), std::end(strides), layout->strides);
  layout->block_count = 2;
  layout->block_dims[0] = 5, layout->block_sizes[0] = columns.panel() / columns.outputs;
  layout->block_dims[1] = 1, layout->block_sizes[1] = columns.outputs;
  return true;
}

constexpr ConvBackend kNarrow = OwnBackend<Narrow, NarrowRun, &NarrowLayout>::With([] {
  return Lanes() == 16 ? "narrow16" : Lanes() == 8 ? "narrow8" : "narrow";
});

}  // namespace

bool NarrowFits(const ConvSpec& spec) {
  const ConvGeometry& g = spec.geometry;
  return spec.type == ConvType::kF32 && !g.transposed && g.groups == 1 && g.is_image() &&
         g.out_channels <= kMostOutputs && g.stride[2] == 1 && g.in[2] >= Narrow::kFewestTogether &&
         Lanes() >= 4 && HasActivationLoop(spec.activation.kind);
}

bool NarrowPays(const ConvSpec& spec) {
  constexpr int64_t kFewestChannels = 8, kFewestColumns = 3;
  const ConvGeometry& g = spec.geometry;
  return NarrowFits(spec) && Lanes() >= 8 && g.kernel[2] >= kFewestColumns &&
         g.in_channels >= kFewestChannels;
}

const ConvBackend& NarrowConv() { return kNarrow; }

}  // namespace belay::ops
