// A convolution as a plan: what lies otherwise is converted into the workspace, weights that never
// change are packed once, and the parts run on the cores.
#include "ops/conv/conv.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "ops/conv/channels_last.h"
#include "ops/conv/conv_parts.h"
#include "ops/conv/deep_conv.h"
#include "ops/conv/grouped_conv.h"
#include "ops/conv/narrow_conv.h"
#include "ops/conv/near_taps.h"
#include "ops/conv/plane_conv.h"
#include "ops/conv/plane_product.h"
#include "ops/conv/ready_conv.h"
#include "ops/conv/turned_taps.h"
#include "ops/conv/winograd.h"
#include "tensor/codes.h"
#include "tensor/convert.h"

namespace belay::ops {
namespace {

using tensor::kInvalidArgument;

struct ConvBody {
  std::shared_ptr<const ReadyConv> ready;
  std::shared_ptr<const char[]> packed_weights, ready_bias;  // null: made at each run
  PackedOperand input, weight, bias, residual, out;
  int64_t packed_at = 0, scratch_at = 0, element = 4;
  int64_t read_element = 4;                   // of the input
  int64_t rounded_at = 0, rounded_bytes = 0;  // what a part reads, rounded to bf16; 0: it is read as it is

  void operator()(const Frame& frame) const {
    ConvCall call{};
    call.src = input.Loaded(frame);
    call.weights = Weights(frame);
    call.bias = ready_bias != nullptr ? ready_bias.get() : bias.present() ? bias.Loaded(frame) : nullptr;
    char* result = out.Result(frame);
    const char* added = Added(frame, result);
    call.dst = result;
    const auto& parts = ready->parts();
    ParallelFor(static_cast<int64_t>(parts.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) RunPart(i, call, added, frame);
    });
    out.Store(frame);
  }

  const char* Weights(const Frame& frame) const {
    if (packed_weights != nullptr) return packed_weights.get();
    char* packed = frame.workspace + packed_at;
    ready->Pack(weight.Loaded(frame), packed, frame.workspace + scratch_at);
    return packed;
  }

  // What the parts must still copy into the result before they add to it; null: nothing.
  const char* Added(const Frame& frame, char* result) const {
    if (!residual.present()) return nullptr;
    const char* at = residual.Own(frame);
    if (!residual.conversion.needed()) return at == result ? nullptr : at;
    residual.conversion.Load(at, result);
    return nullptr;
  }

  const void* Read(int64_t i, const char* src, const Frame& frame) const {
    if (rounded_bytes == 0) return src;
    char* rounded = frame.workspace + rounded_at + i * rounded_bytes;
    tensor::Convert(DType::kBF16, rounded, DType::kF32, src,
                    InputCount(ready->parts()[static_cast<size_t>(i)].geometry));
    return rounded;
  }

  static int64_t InputCount(const ConvGeometry& g) {
    return g.batch * g.in[0] * g.in[1] * g.in[2] * g.in_channels;
  }

  void RunPart(int64_t i, const ConvCall& whole, const char* added, const Frame& frame) const {
    const ReadyConv::Part& part = ready->parts()[static_cast<size_t>(i)];
    const ConvGeometry& g = part.geometry;
    ConvCall call = whole;
    call.src = Read(i, static_cast<const char*>(whole.src) + part.src * read_element, frame);
    call.weights = static_cast<const char*>(whole.weights) + part.weights;
    char* dst = static_cast<char*>(whole.dst) + part.dst * element;
    call.dst = dst;
    call.scratch = frame.workspace + scratch_at + i * ready->scratch_bytes();
    if (added != nullptr) {
      int64_t count = g.batch * g.out[0] * g.out[1] * g.out[2] * g.out_channels;
      std::memcpy(dst, added + part.dst * element, static_cast<size_t>(count * element));
    }
    if (!ready->backend().run(*part.primitive, call)) {
      Fail(tensor::kRuntimeFailure, "conv-backend", "the backend refused a convolution");
    }
  }
};

[[noreturn, gnu::cold]] void FailShape(const ConvArgs& args, const char* wanted) {
  Fail(kInvalidArgument, "conv-shape", "{} {}, {} {} and {} {} do not fit together: {}", args.input.name,
       args.input.shape().ToString(), args.weight.name, args.weight.shape().ToString(), args.out.name,
       args.out.shape().ToString(), wanted);
}

// Products of two of these numbers are computed.
void CheckFits(const ConvArgs& args) {
  constexpr int64_t kMost = int64_t{1} << 31;
  for (const Operand& o : {args.input, args.weight, args.out}) {
    for (int64_t size : o.shape()) {
      if (size > kMost) FailShape(args, "a size is at most 2^31");
    }
  }
  for (auto list : {args.strides, args.dilations, args.before, args.after}) {
    for (int64_t value : list) {
      if (value > kMost || value < -kMost)
        FailShape(args, "strides, paddings and dilations are at most 2^31");
    }
  }
}

void CheckRanks(const ConvArgs& args) {
  const int rank = args.input.shape().rank();
  if (rank < 3 || rank > 5) FailShape(args, "one to three spatial dimensions are supported");
  if (args.weight.shape().rank() != rank || args.out.shape().rank() != rank)
    FailShape(args, "all have the same number of dimensions");
  const auto spatial = static_cast<size_t>(rank - 2);
  for (auto list : {args.strides, args.dilations, args.before, args.after}) {
    if (list.size() != spatial)
      FailShape(args, "strides, paddings and dilations have one number for each spatial dimension");
  }
  CheckFits(args);
  for (int64_t value : args.strides) {
    if (value < 1) FailShape(args, "a stride is at least 1");
  }
  for (int64_t value : args.dilations) {
    if (value < 1) FailShape(args, "a dilation is at least 1");
  }
}

void CheckChannels(const ConvArgs& args) {
  const Shape in = args.input.shape(), w = args.weight.shape(), out = args.out.shape();
  if (args.groups < 1 || in[1] % args.groups != 0) FailShape(args, "the groups divide the channels");
  const bool fits = args.transposed ? w[0] == in[1] && w[1] * args.groups == out[1]
                                    : w[1] * args.groups == in[1] && w[0] == out[1];
  if (!fits || w[0] % args.groups != 0) FailShape(args, "the channels of the weights do not match");
  if (in[0] != out[0]) FailShape(args, "the batches differ");
  if (args.bias.present() && args.bias.tensor->count() != out[1])
    FailShape(args, "the bias has one element for each channel of the result");
  if (args.residual.present() && args.residual.shape() != out)
    FailShape(args, "what is added has the shape of the result");
}

// A last dimension of one element lies in memory as if it were the first; rows of one element are slow.
void PutLongRowsLast(ConvGeometry& g) {
  const auto is_single = [&g](int d) {
    return g.in[d] == 1 && g.out[d] == 1 && g.kernel[d] == 1 && g.before[d] == 0 && g.after[d] == 0;
  };
  for (int moves = 0; moves < 2 && is_single(2); ++moves) {
    for (int64_t* sizes : {g.in, g.out, g.kernel, g.stride, g.dilation, g.before, g.after})
      std::rotate(sizes, sizes + 2, sizes + 3);
  }
}

ConvGeometry GeometryOf(const ConvArgs& args) {
  const Shape in = args.input.shape(), w = args.weight.shape(), out = args.out.shape();
  ConvGeometry g{};
  g.batch = in[0], g.groups = args.groups, g.in_channels = in[1], g.out_channels = out[1];
  g.transposed = args.transposed;
  const int spatial = in.rank() - 2, first = 3 - spatial;
  for (int d = 0; d < 3; ++d) {
    g.in[d] = g.out[d] = g.kernel[d] = g.stride[d] = g.dilation[d] = 1;
    if (d < first) continue;
    const int i = d - first;
    const auto k = static_cast<size_t>(i);
    g.in[d] = in[i + 2], g.out[d] = out[i + 2], g.kernel[d] = w[i + 2];
    g.stride[d] = args.strides[k], g.dilation[d] = args.dilations[k];
    g.before[d] = args.before[k], g.after[d] = args.after[k];
    const int64_t from = g.transposed ? g.out[d] : g.in[d], to = g.transposed ? g.in[d] : g.out[d];
    const int64_t want =
        ConvOutputSize(from, g.kernel[d], g.stride[d], g.dilation[d], g.before[d], g.after[d]);
    // A transposed convolution may leave rows at the end that no tap reaches (output padding).
    if (want == to) continue;
    const int64_t behind = k < args.output_padding.size() ? args.output_padding[k] : 0;
    const int64_t reach =
        (to - 1) * g.stride[d] + (g.kernel[d] - 1) * g.dilation[d] + 1 - g.before[d] - g.after[d];
    if (behind < 0 || behind >= std::max(g.stride[d], g.dilation[d]) || reach + behind != from) {
      FailShape(args, "the spatial sizes do not match");
    }
    g.after[d] -= behind;
  }
  PutLongRowsLast(g);
  return g;
}

DType BackendType(const ConvArgs& args) {
  return ComputeType(args.input.dtype()) == DType::kF32 ? DType::kF32 : DType::kF64;
}

// What is being put together: the body, and where the workspace's next free byte is.
class Builder {
 public:
  Builder(const ConvArgs& args, DType type) : args_(args), type_(type) {
    body_.element = body_.read_element = static_cast<int64_t>(BytesOf(type));
  }

  std::optional<PackedWeights> Pack(const ConvGeometry& geometry) {
    if (args_.transposed || type_ != DType::kF32 || args_.constant_weight == nullptr || IsDeep(geometry))
      return std::nullopt;
    const ConvSpec spec = SpecOf(Flattened(geometry));
    if (Rounds()) {
      ConvSpec rounded = spec;
      rounded.type = ConvType::kBF16;
      if (auto packed = PackBy(OneDnnConv(), rounded)) return packed;
    }
    const ConvBackend* own = OwnWay(spec);
    return PackBy(own != nullptr ? own : OneDnnConv(), spec);
  }

  void Build(Plan& plan, const ConvGeometry& geometry) {
    const ConvSpec spec = SpecOf(Flattened(geometry));
    Ready(spec);
    body_.input = Placed(args_.input, body_.read_element == 2 ? DType::kBF16 : type_, true, true);
    body_.out = Placed(args_.out, true, false);
    if (args_.residual.present()) {
      body_.residual.binding = args_.residual.binding;
      body_.residual.conversion =
          Conversion(args_.residual, PackedLike(args_.residual.shape(), type_, true), true);
      if (!body_.residual.conversion.needed() && !body_.out.conversion.needed())
        plan.MayLieOn(args_.residual.binding);
    }
    Weights();
    Bias();
    const auto parts = static_cast<int64_t>(body_.ready->parts().size());
    const int64_t pack = body_.packed_weights == nullptr ? body_.ready->pack_scratch_bytes() : 0;
    body_.scratch_at = Reserve(std::max(body_.ready->scratch_bytes() * parts, pack));
    plan.SetWorkspace(static_cast<uint64_t>(workspace_));
    plan.SetProducts(ConvProducts(spec.geometry));
    plan.SetCost(1000 + static_cast<uint64_t>(ConvFlops(spec.geometry) / 100));
    plan.SetBody(body_);
  }

 private:
  // Numbers that are BF16 already stay what they are.
  bool Rounds() const { return args_.bf16 || AreRounded(); }
  bool AreRounded() const {
    return args_.input.dtype() == DType::kBF16 && args_.weight.dtype() == DType::kBF16;
  }

  ConvSpec SpecOf(const ConvGeometry& geometry) const {
    return {geometry, type_ == DType::kF64 ? ConvType::kF64 : ConvType::kF32, args_.bias.present(),
            args_.residual.present(), args_.activation};
  }

  // Nothing without a backend, or where there is no layout for many cores.
  std::optional<PackedWeights> PackBy(const ConvBackend* backend, const ConvSpec& spec) const {
    WeightLayout layout;
    if (backend == nullptr || !LayoutForManyCores(*backend, spec, &layout)) return std::nullopt;
    const ReadyConv ready(*backend, spec, CutConv(spec.geometry, 1, backend->longest_row), &layout);
    if (ready.layout() == nullptr) return std::nullopt;
    return PackedWeights{TextOf(*ready.layout()), backend->machine(), PackedFor(ready), ready.weight_bytes()};
  }

  // What beats oneDNN; null: nothing. Weights that change would have to be laid anew at each run, and where a
  // padding's zeros are multiplied, those that are no numbers would make some of them.
  const ConvBackend* OwnWay(const ConvSpec& spec) const {
    if (args_.constant_weight == nullptr && args_.packed_weight == nullptr) return nullptr;
    if (!args_.exact && WinogradPays(spec) && WeightsMix(WinogradConv())) return &WinogradConv();
    if (NarrowPays(spec)) return &NarrowConv();
    return GroupedPays(spec) && WeightsMix(GroupedConv()) ? &GroupedConv() : nullptr;
  }

  bool WeightsMix(const ConvBackend& backend) const {
    const PackedWeights* packed = args_.packed_weight;
    if (packed != nullptr && packed->machine == backend.machine()) return true;  // seen when it was packed
    return WinogradMixes(reinterpret_cast<const float*>(PlainWeights().get()), args_.weight.tensor->count());
  }

  void Ready(const ConvSpec& spec) {
    if (type_ == DType::kF32 && IsDeep(spec.geometry)) {
      body_.ready = ReadyBy(args_.transposed ? PlainConv() : DeepConv(), spec, ParallelWidth());
      return;
    }
    const ConvBackend* best = args_.transposed ? TransposedConv() : OneDnnConv();
    const bool rounds = args_.transposed ? AreRounded() : Rounds();
    if (best != nullptr && type_ == DType::kF32 && rounds && ReadyRounded(*best, spec)) return;
    if (const ConvBackend* own = OwnWay(spec)) best = own;
    if (best != nullptr && type_ == DType::kF32) {
      for (int width : {ParallelWidth(), 1}) {
        body_.ready = ReadyBy(*best, spec, width);
        if (body_.ready->usable()) return;
      }
    }
    body_.ready = ReadyBy(PlainConv(), spec, ParallelWidth());
  }

  // False: the processor has no such products.
  bool ReadyRounded(const ConvBackend& backend, ConvSpec spec) {
    spec.type = ConvType::kBF16;
    const auto ready = ReadyBy(backend, spec, ParallelWidth());
    if (!ready->usable()) return false;
    body_.ready = ready;
    if (Conversion::KeepsHalves(*args_.input.tensor, DType::kBF16)) {
      body_.read_element = 2;
      return true;
    }
    for (const ReadyConv::Part& part : ready->parts()) {
      body_.rounded_bytes =
          std::max(body_.rounded_bytes, WorkspacePart(ConvBody::InputCount(part.geometry) * 2));
    }
    body_.rounded_at = Reserve(body_.rounded_bytes * static_cast<int64_t>(ready->parts().size()));
    return true;
  }

  std::shared_ptr<const ReadyConv> ReadyBy(const ConvBackend& backend, const ConvSpec& spec,
                                           int width) const {
    bool stored = args_.packed_weight != nullptr && args_.packed_weight->machine == backend.machine();
    WeightLayout layout;
    if (stored) layout = ParseWeightLayout(args_.packed_weight->layout);
    stored = stored && layout.HasSizes(WeightSizes(spec.geometry).data()) &&
             args_.packed_weight->bytes >= layout.bytes() && layout.bf16 == (spec.type == ConvType::kBF16);
    return std::make_shared<ReadyConv>(backend, spec, CutConv(spec.geometry, width, backend.longest_row),
                                       stored ? &layout : nullptr);
  }

  int64_t Reserve(int64_t bytes) {
    const int64_t at = workspace_;
    workspace_ += WorkspacePart(bytes);
    return at;
  }

  PackedOperand Placed(const Operand& operand, bool channels_last, bool loading) {
    return Placed(operand, type_, channels_last, loading);
  }
  PackedOperand Placed(const Operand& operand, DType type, bool channels_last, bool loading) {
    PackedOperand place(operand, type, channels_last, loading);
    if (place.conversion.needed()) place.workspace = Reserve(place.conversion.bytes());
    return place;
  }

  void Weights() {
    if (args_.constant_weight == nullptr && args_.packed_weight == nullptr) {
      body_.weight = Placed(args_.weight, false, true);
      body_.packed_at = Reserve(body_.ready->weight_bytes());
      return;
    }
    const PackedWeights* packed = args_.packed_weight;
    if (packed != nullptr && type_ != DType::kF32)
      FailShape(args_, "packed weights are multiplied with FLOAT");
    const WeightLayout* only = body_.ready->layout();
    const bool fits = packed != nullptr && only != nullptr && packed->layout == TextOf(*only) &&
                      packed->bytes >= body_.ready->weight_bytes();
    body_.packed_weights = fits ? packed->data : PackedFor(*body_.ready);
  }

  std::shared_ptr<const char[]> PackedFor(const ReadyConv& ready) const {
    const std::shared_ptr<const char[]> plain = PlainWeights();
    auto packed = AlignedBytes(ready.weight_bytes());
    ready.Pack(plain.get(), packed.get(), AlignedBytes(ready.pack_scratch_bytes()).get());
    return packed;
  }

  std::shared_ptr<const char[]> PlainWeights() const {
    if (args_.packed_weight == nullptr) return PackedConstant(args_.weight, args_.constant_weight, type_);
    if (!IsOfWeights(ParseWeightLayout(args_.packed_weight->layout), GeometryOf(args_))) {
      FailShape(args_, "the packed weights have other sizes");
    }
    return Unpacked(*args_.packed_weight);
  }

  void Bias() {
    if (!args_.bias.present()) return;
    if (args_.constant_bias == nullptr) {
      body_.bias = Placed(args_.bias, false, true);
    } else {
      body_.ready_bias = PackedConstant(args_.bias, args_.constant_bias, type_);
    }
  }

  const ConvArgs& args_;
  const DType type_;
  ConvBody body_;
  int64_t workspace_ = 0;
};

}  // namespace

ConvGeometry CheckedGeometry(const ConvArgs& args) {
  CheckRanks(args);
  CheckChannels(args);
  return GeometryOf(args);
}

int64_t ConvOutputSize(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t before,
                       int64_t after) {
  const int64_t reach = in + before + after - ((kernel - 1) * dilation + 1);
  return reach < 0 ? 0 : reach / stride + 1;
}

void PlanConv(Plan& plan, const ConvArgs& all) {
  CheckedGeometry(all);
  if (all.out.tensor->empty()) return;
  if (all.input.tensor->empty() || all.weight.tensor->empty())
    FailShape(all, "an input without elements has no result");
  const TurnedTaps turned(all);
  const NearTaps near(turned.args(), GeometryOf(turned.args()));
  const ConvArgs& args = near.args();
  const ConvGeometry geometry = GeometryOf(args);
  if (IsPlaneConv(args, geometry)) return PlanPlaneConv(plan, args, geometry);
  if (IsPlaneProduct(args, geometry)) return PlanPlaneProduct(plan, args, geometry);
  Builder(args, BackendType(args)).Build(plan, geometry);
}

std::optional<PackedWeights> PackConvWeights(const ConvArgs& all) {
  const ConvGeometry whole = CheckedGeometry(all);
  if (all.out.tensor->empty() || all.input.tensor->empty() || all.weight.tensor->empty()) return std::nullopt;
  const NearTaps near(all, whole);
  const ConvArgs& args = near.args();
  const ConvGeometry geometry = GeometryOf(args);
  if (IsPlaneConv(args, geometry) || IsPlaneProduct(args, geometry)) return std::nullopt;
  return Builder(args, BackendType(args)).Pack(geometry);
}

}  // namespace belay::ops
