#include "ops/conv/byte_conv.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/conv/channels_last.h"
#include "ops/conv/conv_parts.h"
#include "ops/matmul/integer.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

// What both ways of computing keep of the arguments.
struct Constants {
  explicit Constants(const ByteConvArgs& args)
      : weight(args.weight.begin(), args.weight.end()),
        bias(args.bias.begin(), args.bias.end()),
        scales(args.scales.begin(), args.scales.end()) {}

  std::vector<int8_t> weight;
  std::vector<float> bias, scales;
};

// How many groups are taken as one, whose other weights are zeros: oneDNN is ten times as fast with a single
// one, or with channels that fill vectors.
int64_t GroupsTogether(const ConvGeometry& g) {
  constexpr int64_t kVector = 16, kMost = 16;
  const int64_t in = g.in_channels / g.groups, out = g.out_channels / g.groups;
  if (g.groups == 1 || (in == 1 && out == 1)) return 1;
  for (int64_t n = 1; n <= std::min(g.groups, kMost); ++n) {
    if (g.groups % n != 0) continue;
    if (n == g.groups || (n * in % kVector == 0 && n * out % kVector == 0)) return n;
  }
  return 1;
}

std::vector<int8_t> WeightsTogether(const std::vector<int8_t>& weight, const ConvGeometry& g, int64_t n) {
  const int64_t filter = std::ssize(weight) / g.out_channels, per_group = g.out_channels / g.groups;
  std::vector<int8_t> joined(weight.size() * static_cast<size_t>(n));
  for (int64_t o = 0; o < g.out_channels; ++o) {
    std::copy_n(weight.begin() + o * filter, filter, joined.begin() + (o * n + o / per_group % n) * filter);
  }
  return joined;
}

ByteConvSpec SpecOf(const ByteConvArgs& args, const Constants& constants) {
  return {CheckedGeometry(args.conv),
          args.conv.input.dtype() == DType::kI8,
          args.conv.out.dtype() == DType::kI8,
          !constants.bias.empty(),
          args.in_zero,
          args.out_zero,
          constants.scales.data(),
          static_cast<int64_t>(constants.scales.size())};
}

// A convolution in parts that oneDNN has made ready, and its packed weights.
class ReadyByteConv {
 public:
  ReadyByteConv(const ConvBackend& backend, ByteConvSpec spec, const Constants& constants, int width)
      : backend_(backend), bias_(constants.bias) {
    for (const ConvPart& part : CutConv(Flattened(spec.geometry), width)) {
      if (!Add(spec, part)) {
        Drop();
        return;
      }
    }
    for (const ConvPrimitive* made : owned_) scratch_ = std::max(scratch_, backend.scratch_bytes(*made));
    scratch_ = WorkspacePart(scratch_);
    weights_ = AlignedBytes(backend.packed_bytes(*owned_[0]));
    if (!backend.pack(*owned_[0], constants.weight.data(), weights_.get(), nullptr)) Drop();
  }
  ReadyByteConv(const ReadyByteConv&) = delete;
  ~ReadyByteConv() { Drop(); }

  bool usable() const { return !parts_.empty(); }

  int64_t scratch_bytes() const { return scratch_ * static_cast<int64_t>(parts_.size()); }

  void Run(const char* src, char* dst, char* scratch) const {
    ParallelFor(static_cast<int64_t>(parts_.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Part& part = parts_[static_cast<size_t>(i)];
        const ConvCall call{src + part.src, weights_.get(), bias_.data(), dst + part.dst,
                            scratch + i * scratch_};
        if (!backend_.run(*part.primitive, call))
          Fail(tensor::kRuntimeFailure, "conv-backend", "the backend refused a convolution");
      }
    });
  }

 private:
  struct Part {
    const ConvPrimitive* primitive;
    int64_t src, dst;
    ConvGeometry geometry;
  };

  bool Add(ByteConvSpec& spec, const ConvPart& part) {
    auto same = std::find_if(parts_.begin(), parts_.end(),
                             [&](const Part& other) { return other.geometry == part.geometry; });
    const ConvPrimitive* primitive = same == parts_.end() ? nullptr : same->primitive;
    if (primitive == nullptr) {
      spec.geometry = part.geometry;
      ConvPrimitive* made = backend_.make_of_bytes(spec, owned_.empty() ? nullptr : owned_[0]);
      if (made == nullptr) return false;
      owned_.push_back(made);
      primitive = made;
    }
    parts_.push_back({primitive, part.src, part.dst, part.geometry});
    return true;
  }

  void Drop() {
    for (ConvPrimitive* primitive : owned_) backend_.drop(primitive);
    owned_.clear();
    parts_.clear();
  }

  const ConvBackend& backend_;
  const std::vector<float> bias_;
  std::shared_ptr<char[]> weights_;
  std::vector<ConvPrimitive*> owned_;
  std::vector<Part> parts_;
  int64_t scratch_ = 0;  // bytes of one part
};

struct ReadyBody {
  std::shared_ptr<const ReadyByteConv> ready;
  int input, out;

  void operator()(const Frame& frame) const { ready->Run(frame.at[input], frame.at[out], frame.workspace); }
};

struct PlainBody {
  std::shared_ptr<const Constants> constants;
  ByteConvSpec spec;
  int input, out;

  void operator()(const Frame& frame) const {
    const ConvGeometry& g = spec.geometry;
    char* to = frame.at[out];
    for (int64_t n = 0; n < g.batch; ++n) {
      const char* from = frame.at[input] + n * g.in[0] * g.in[1] * g.in[2] * g.in_channels;
      for (int64_t d = 0; d < g.out[0]; ++d) {
        for (int64_t h = 0; h < g.out[1]; ++h) {
          for (int64_t w = 0; w < g.out[2]; ++w) {
            const int64_t at[3] = {d, h, w};
            for (int64_t c = 0; c < g.out_channels; ++c) *to++ = Rounded(SumAt(from, at, c), c);
          }
        }
      }
    }
  }

  int64_t SumAt(const char* from, const int64_t* at, int64_t channel) const {
    const ConvGeometry& g = spec.geometry;
    const int64_t channels = g.in_channels / g.groups,
                  first = channel / (g.out_channels / g.groups) * channels,
                  taps = g.kernel[0] * g.kernel[1] * g.kernel[2];
    const int8_t* weights = constants->weight.data() + channel * channels * taps;
    int64_t sum = 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t k[3] = {tap / g.kernel[2] / g.kernel[1], tap / g.kernel[2] % g.kernel[1],
                            tap % g.kernel[2]};
      int64_t pixel = 0;
      bool inside = true;
      for (int d = 0; d < 3; ++d) {
        const int64_t place = at[d] * g.stride[d] - g.before[d] + k[d] * g.dilation[d];
        inside = inside && place >= 0 && place < g.in[d];
        pixel = pixel * g.in[d] + place;
      }
      if (!inside) continue;
      for (int64_t i = 0; i < channels; ++i) {
        const char byte = from[pixel * g.in_channels + first + i];
        const int64_t x = spec.in_signed ? static_cast<int8_t>(byte) : static_cast<uint8_t>(byte);
        sum += (x - spec.in_zero) * weights[i * taps + tap];
      }
    }
    return sum;
  }

  char Rounded(int64_t sum, int64_t channel) const {
    const auto c = static_cast<size_t>(channel);
    const float whole = static_cast<float>(sum) + (spec.bias ? constants->bias[c] : 0.0f);
    const float steps = std::nearbyint(whole * constants->scales[spec.scale_count == 1 ? 0 : c]);
    const float least = spec.out_signed ? -128.0f : 0.0f;
    return static_cast<char>(
        static_cast<int32_t>(std::clamp(steps + static_cast<float>(spec.out_zero), least, least + 255.0f)));
  }
};

void SetCost(Plan& plan, const ConvGeometry& geometry) {
  plan.SetCost(1000 + static_cast<uint64_t>(ConvFlops(geometry) / 300));
  plan.SetProducts(ConvProducts(geometry));
}

}  // namespace

bool ConvolvesBytes() {
  static const bool fast = SumsBytesExactly() && OneDnnConv() != nullptr;
  return fast;
}

void PlanPlainByteConv(Plan& plan, const ByteConvArgs& args) {
  if (args.conv.out.tensor->empty()) return;
  auto constants = std::make_shared<const Constants>(args);
  const ByteConvSpec spec = SpecOf(args, *constants);
  SetCost(plan, spec.geometry);
  plan.SetBody(PlainBody{constants, spec, args.conv.input.binding, args.conv.out.binding});
}

void PlanByteConv(Plan& plan, const ByteConvArgs& args) {
  if (args.conv.out.tensor->empty()) return;
  constexpr int64_t kMostProducts = INT32_MAX / (255 * 128);  // whose sum fits 32 bits, whatever the bytes
  if (!ConvolvesBytes() || ConvDepth(CheckedGeometry(args.conv)) > kMostProducts)
    return PlanPlainByteConv(plan, args);
  Constants constants(args);
  ByteConvSpec spec = SpecOf(args, constants);
  const int64_t together = GroupsTogether(spec.geometry);
  constants.weight = WeightsTogether(constants.weight, spec.geometry, together);
  spec.geometry.groups /= together;
  for (int width : {ParallelWidth(), 1}) {  // parts may want their weights in different ways
    auto ready = std::make_shared<const ReadyByteConv>(*OneDnnConv(), spec, constants, width);
    if (!ready->usable()) continue;
    plan.SetWorkspace(static_cast<uint64_t>(ready->scratch_bytes()));
    SetCost(plan, spec.geometry);
    return plan.SetBody(ReadyBody{ready, args.conv.input.binding, args.conv.out.binding});
  }
  PlanPlainByteConv(plan, args);
}

}  // namespace belay::ops
