#include "ops/conv/phased_conv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ops/conv/conv_parts.h"
#include "ops/conv/ready_conv.h"
#include "ops/plan.h"

namespace belay::ops {
namespace {

int64_t TapsOf(const ConvGeometry& g) { return g.kernel[0] * g.kernel[1] * g.kernel[2]; }

// The places of one dimension that leave a remainder, and the taps that they hear of: `tap` and those
// `tap_step` before it, each of which comes from `dilation` pixels further on.
struct PhaseAxis {
  int64_t remainder, places, taps, tap, tap_step, dilation, before, after;
};

// False: what it hears of begins behind the input's start, or ends before its end.
bool AxisOf(const ConvGeometry& g, int d, int64_t remainder, PhaseAxis* axis) {
  const int64_t stride = g.stride[d], dilation = g.dilation[d];
  *axis = {remainder, (g.out[d] - remainder + stride - 1) / stride, 0, 0, 1, 1, 0, 0};
  int64_t first_from = 0;
  for (int64_t k = g.kernel[d] - 1; k >= 0; --k) {
    const int64_t at = remainder + g.before[d] - k * dilation;
    if (at % stride != 0) continue;
    if (axis->taps == 0) axis->tap = k, first_from = at / stride;
    if (axis->taps == 1) axis->tap_step = axis->tap - k, axis->dilation = at / stride - first_from;
    ++axis->taps;
  }
  axis->before = -first_from;
  axis->after = axis->places - 1 + (axis->taps - 1) * axis->dilation + 1 - axis->before - g.in[d];
  return axis->taps == 0 || (axis->before >= 0 && axis->after >= 0);
}

struct Phase {
  PhaseAxis axes[3];

  int64_t taps() const { return axes[0].taps * axes[1].taps * axes[2].taps; }
  bool hears() const { return taps() > 0; }
  // Of the kernel, the i-th in the order of the phase's own.
  int64_t TapAt(const ConvGeometry& g, int64_t i) const {
    int64_t tap = 0, step = 1;
    for (int d = 2; d >= 0; --d) {
      tap += (axes[d].tap - i % axes[d].taps * axes[d].tap_step) * step;
      i /= axes[d].taps, step *= g.kernel[d];
    }
    return tap;
  }
  ConvSpec SpecOf(const ConvSpec& whole) const {
    ConvSpec spec = whole;
    ConvGeometry& g = spec.geometry;
    g.transposed = false;
    for (int d = 0; d < 3; ++d) {
      g.out[d] = axes[d].places, g.kernel[d] = axes[d].taps, g.dilation[d] = axes[d].dilation;
      g.before[d] = axes[d].before, g.after[d] = axes[d].after, g.stride[d] = 1;
    }
    g = Flattened(g);
    return spec;
  }
};

bool PhasesOf(const ConvGeometry& g, std::vector<Phase>* phases) {
  std::vector<PhaseAxis> axes[3];
  for (int d = 0; d < 3; ++d) {
    for (int64_t remainder = 0; remainder < std::min(g.stride[d], g.out[d]); ++remainder) {
      if (!AxisOf(g, d, remainder, &axes[d].emplace_back())) return false;
    }
  }
  for (const PhaseAxis& z : axes[0]) {
    for (const PhaseAxis& y : axes[1]) {
      for (const PhaseAxis& x : axes[2]) phases->push_back({{z, y, x}});
    }
  }
  return true;
}

// Taps that do not meet and fill the whole result are one product of matrices.
bool ComeInPhases(const ConvGeometry& g) {
  constexpr int64_t kMostPhases = 16;
  const int64_t phases = g.stride[0] * g.stride[1] * g.stride[2];
  return g.transposed && phases > 1 && phases <= kMostPhases && !std::equal(g.stride, g.stride + 3, g.kernel);
}

struct PhaseWork {
  Phase phase;
  ConvPrimitive* primitive = nullptr;  // null: it hears of nothing
  int64_t weights = 0;                 // bytes from the start of all
};

struct Phased {
  ConvSpec spec;
  std::vector<PhaseWork> phases = {};
  int64_t sums = 0, scratch = 0;  // bytes of a phase's result, and of what a primitive needs

  ~Phased() {
    for (const PhaseWork& work : phases) {
      if (work.primitive != nullptr) OneDnnConv()->drop(work.primitive);
    }
  }
  int64_t element() const { return spec.rounds ? 2 : 4; }
};

const Phased& PhasedOf(const ConvPrimitive& primitive) { return reinterpret_cast<const Phased&>(primitive); }

int64_t WeightBytes(const ConvSpec& spec, const WeightLayout& layout) {
  return WorkspacePart(layout.count() * (spec.type == ConvType::kBF16 ? 2 : 4));
}

// Room for the weights of all phases. Which taps those have, and how they lie, is told by a number that no
// other way is likely to have.
bool PhasedLayout(const ConvSpec& spec, WeightLayout* layout) {
  std::vector<Phase> phases;
  if (spec.type == ConvType::kF64 || spec.residual || !ComeInPhases(spec.geometry)) return false;
  if (!PhasesOf(spec.geometry, &phases)) return false;
  std::string words;
  int64_t bytes = 0;
  for (const Phase& phase : phases) {
    WeightLayout own;
    if (!phase.hears()) {
      if (spec.bias || spec.activation.kind != ActivationKind::kNone || spec.activation.scaled())
        return false;
      continue;
    }
    const ConvSpec plain = phase.SpecOf(spec);
    if (!OneDnnConv()->layout(plain, &own) || !OneDnnConv()->takes(plain, own)) return false;
    bytes += WeightBytes(spec, own), words += TextOf(own);
    for (const PhaseAxis& axis : phase.axes) words += fmt::format(" {}/{}", axis.tap, axis.tap_step);
  }
  const auto sizes = WeightSizes(spec.geometry);
  *layout = PlainWeightLayout(sizes.data());
  const int64_t element = spec.type == ConvType::kBF16 ? 2 : 4, each = layout->count() / layout->padded[0];
  layout->padded[0] = (bytes / element + each - 1) / each;
  layout->strides[0] = static_cast<int64_t>(std::hash<std::string>()(words) >> 1);
  return true;
}

ConvPrimitive* MakePhased(const ConvSpec& spec, const WeightLayout& layout) {
  if (!TakesOnly<&PhasedLayout>(spec, layout)) return nullptr;
  auto whole = std::make_unique<Phased>(Phased{spec});
  std::vector<Phase> phases;
  PhasesOf(spec.geometry, &phases);
  int64_t at = 0;
  for (const Phase& phase : phases) {
    PhaseWork& work = whole->phases.emplace_back(PhaseWork{phase});
    if (!phase.hears()) continue;
    const ConvSpec plain = phase.SpecOf(spec);
    WeightLayout own;
    if (!OneDnnConv()->layout(plain, &own)) return nullptr;
    work.primitive = OneDnnConv()->make(plain, own);
    if (work.primitive == nullptr) return nullptr;
    work.weights = at, at += WeightBytes(spec, own);
    const ConvGeometry& g = plain.geometry;
    whole->sums = std::max(whole->sums, WorkspacePart(g.batch * g.out[0] * g.out[1] * g.out[2] *
                                                      g.out_channels * whole->element()));
    whole->scratch = std::max(whole->scratch, OneDnnConv()->scratch_bytes(*work.primitive));
  }
  return reinterpret_cast<ConvPrimitive*>(whole.release());
}

// The taps of a phase, and where its weights are gathered.
struct PhaseTaps {
  std::vector<int64_t> taps;
  float* to;
};

// From [group][in][out][kernel] to [group][out][in][taps] of each phase, a line of the cache at a time.
void GatherTaps(const ConvGeometry& g, const float* from, const std::vector<PhaseTaps>& phases) {
  constexpr int64_t kLine = 16;
  const int64_t in = g.in_channels / g.groups, out = g.out_channels / g.groups, kernel = TapsOf(g);
  const int64_t lines = (in + kLine - 1) / kLine;
  for (int64_t n = 0; n < g.groups * lines * out; ++n) {
    const int64_t o = n % out, first = n / out % lines * kLine, group = n / out / lines;
    for (const PhaseTaps& phase : phases) {
      const auto count = static_cast<int64_t>(phase.taps.size());
      for (int64_t i = first; i < std::min(in, first + kLine); ++i) {
        const float* all = from + ((group * in + i) * out + o) * kernel;
        float* own = phase.to + ((group * out + o) * in + i) * count;
        for (int64_t t = 0; t < count; ++t) own[t] = all[phase.taps[static_cast<size_t>(t)]];
      }
    }
  }
}

bool PackPhases(const ConvPrimitive& primitive, const void* weights, void* packed, void* scratch) {
  const Phased& whole = PhasedOf(primitive);
  const ConvGeometry& g = whole.spec.geometry;
  auto* to = static_cast<float*>(scratch);
  std::vector<PhaseTaps> phases;
  for (const PhaseWork& work : whole.phases) {
    PhaseTaps& own = phases.emplace_back(PhaseTaps{{}, to});
    for (int64_t i = 0; i < work.phase.taps(); ++i) own.taps.push_back(work.phase.TapAt(g, i));
    to += work.phase.taps() * g.in_channels * (g.out_channels / g.groups);
  }
  GatherTaps(g, static_cast<const float*>(weights), phases);
  for (size_t p = 0; p < phases.size(); ++p) {
    const PhaseWork& work = whole.phases[p];
    char* own = static_cast<char*>(packed) + work.weights;
    if (work.primitive != nullptr && !OneDnnConv()->pack(*work.primitive, phases[p].to, own, nullptr))
      return false;
  }
  return true;
}

// Each pixel of a phase to its place in the result; null `from`: zeros.
void SpreadPhase(const Phased& whole, const Phase& phase, const char* from, char* to) {
  const ConvGeometry& g = whole.spec.geometry;
  const int64_t pixel = g.out_channels * whole.element();
  const PhaseAxis &zs = phase.axes[0], &ys = phase.axes[1], &xs = phase.axes[2];
  const auto size = static_cast<size_t>(pixel);
  for (int64_t i = 0; i < g.batch * zs.places * ys.places; ++i) {
    const int64_t image = i / ys.places / zs.places,
                  z = i / ys.places % zs.places * g.stride[0] + zs.remainder,
                  y = i % ys.places * g.stride[1] + ys.remainder;
    char* place = to + (((image * g.out[0] + z) * g.out[1] + y) * g.out[2] + xs.remainder) * pixel;
    for (int64_t x = 0; x < xs.places; ++x, place += g.stride[2] * pixel) {
      if (from == nullptr) {
        std::memset(place, 0, size);
      } else {
        std::memcpy(place, from, size), from += pixel;
      }
    }
  }
}

bool RunPhases(const ConvPrimitive& primitive, const ConvCall& call) {
  const Phased& whole = PhasedOf(primitive);
  auto* sums = static_cast<char*>(call.scratch);
  for (const PhaseWork& work : whole.phases) {
    if (work.primitive != nullptr) {
      const ConvCall plain{call.src, static_cast<const char*>(call.weights) + work.weights, call.bias, sums,
                           sums + whole.sums};
      if (!OneDnnConv()->run(*work.primitive, plain)) return false;
    }
    SpreadPhase(whole, work.phase, work.primitive == nullptr ? nullptr : sums, static_cast<char*>(call.dst));
  }
  return true;
}

const ConvBackend kPhased = {
    [] { return OneDnnConv()->machine(); },
    &PhasedLayout,
    &TakesOnly<&PhasedLayout>,
    &MakePhased,
    [](ConvPrimitive* p) { delete reinterpret_cast<Phased*>(p); },
    [](const ConvPrimitive& p) { return PhasedOf(p).sums + PhasedOf(p).scratch; },
    &PackPhases,
    &RunPhases,
    nullptr,
    nullptr,
    [](const ConvPrimitive& p) {
      const ConvGeometry& g = PhasedOf(p).spec.geometry;
      return g.in_channels * (g.out_channels / g.groups) * TapsOf(g) * 4;
    },
};

}  // namespace

bool PaysInPhases(const ConvGeometry& g, bool halves) {
  // Where channels do not fill vectors, planes and columns are quicker; where there are few pixels, weights
  // are laid out once more for too little.
  constexpr int64_t kFewChannels = 32, kHalvesToo = 16, kFewPixels = 1024;
  const int64_t in = g.in_channels / g.groups, out = g.out_channels / g.groups;
  return ComeInPhases(g) && std::max(in, out) >= kFewChannels &&
         std::min(in, out) >= (halves ? kHalvesToo : kFewChannels) &&
         g.batch * g.in[0] * g.in[1] * g.in[2] >= kFewPixels && OneDnnConv() != nullptr;
}

const ConvBackend* PhasedConv() { return OneDnnConv() == nullptr ? nullptr : &kPhased; }

}  // namespace belay::ops
