// A convolution as a plan: what lies otherwise is converted into the workspace, weights that never
// change are packed once, and the parts run on the cores.
#include "ops/conv/conv.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "ops/conv/channels_last.h"
#include "ops/conv/conv_parts.h"
#include "ops/conv/deep_conv.h"
#include "ops/conv/grouped_conv.h"
#include "ops/conv/narrow_conv.h"
#include "ops/conv/near_taps.h"
#include "ops/conv/padded_conv.h"
#include "ops/conv/phased_conv.h"
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

// What a part reads or makes, in another type than it has in memory, with its channels last in both. Both lie
// in the cache where parts are small.
struct PartCopies {
  DType memory = DType::kUndefined, computed = DType::kUndefined;
  int64_t at = 0, bytes = 0;  // in the workspace, of each part that runs; 0 bytes: there is none

  bool present() const { return bytes > 0; }
  char* Of(int64_t slot, const Frame& frame) const { return frame.workspace + at + slot * bytes; }
};

struct ConvBody {
  std::shared_ptr<const ReadyConv> ready;
  std::shared_ptr<const char[]> packed_weights, ready_bias;  // null: made at each run
  PackedOperand input, weight, bias, residual, out;
  int64_t packed_at = 0, scratch_at = 0, element = 4;
  int64_t slots = 1;                    // parts that run at the same time
  bool by_images = false;               // each part brings its own images, and takes them back
  int64_t in_bytes = 0, out_bytes = 0;  // of the images of a part
  int64_t out_image = 1;                // elements of an image of the result
  int64_t read_element = 4;             // of the input
  PartCopies read, made;                // where a part reads, or makes, another type than memory holds

  void operator()(const Frame& frame) const {
    ConvCall call{};
    call.src = by_images ? input.Own(frame) : input.Loaded(frame);
    call.weights = Weights(frame);
    call.bias = ready_bias != nullptr ? ready_bias.get() : bias.present() ? bias.Loaded(frame) : nullptr;
    char* result = by_images ? out.Own(frame) : out.Result(frame);
    const char* added = Added(frame, result);
    call.dst = result;
    const auto parts = static_cast<int64_t>(ready->parts().size());
    ParallelFor(slots, 1, [&](int64_t begin, int64_t end) {
      for (int64_t slot = begin; slot < end; ++slot) {
        for (int64_t i = parts * slot / slots; i < parts * (slot + 1) / slots; ++i)
          by_images ? RunImages(i, slot, call, frame) : RunPart(i, slot, call, added, frame);
      }
    });
    if (!by_images) out.Store(frame);
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

  const void* Read(const ConvGeometry& part, int64_t slot, const char* src, const Frame& frame) const {
    if (!read.present()) return src;
    char* copy = read.Of(slot, frame);
    tensor::Convert(read.computed, copy, read.memory, src, InputCount(part));
    return copy;
  }

  static int64_t InputCount(const ConvGeometry& g) {
    return g.batch * g.in[0] * g.in[1] * g.in[2] * g.in_channels;
  }

  static int64_t OutputCount(const ConvGeometry& g) {
    return g.batch * g.out[0] * g.out[1] * g.out[2] * g.out_channels;
  }

  void RunPart(int64_t i, int64_t slot, const ConvCall& whole, const char* added, const Frame& frame) const {
    const ReadyConv::Part& part = ready->parts()[static_cast<size_t>(i)];
    char* dst = static_cast<char*>(whole.dst) + part.dst * element;
    if (added != nullptr) {
      std::memcpy(dst, added + part.dst * element, static_cast<size_t>(OutputCount(part.geometry) * element));
    }
    ConvCall call = whole;
    call.src = static_cast<const char*>(whole.src) + part.src * read_element;
    call.dst = made.present() ? made.Of(slot, frame) : dst;
    Multiply(part, slot, call, frame);
    if (made.present())
      tensor::Convert(made.memory, dst, made.computed, call.dst, OutputCount(part.geometry));
  }

  void RunImages(int64_t i, int64_t slot, const ConvCall& whole, const Frame& frame) const {
    const ReadyConv::Part& part = ready->parts()[static_cast<size_t>(i)];
    const int64_t image = part.dst / out_image, images = OutputCount(part.geometry) / out_image;
    ConvCall call = whole;
    call.src = static_cast<const char*>(whole.src) + part.src * read_element;
    char* dst = static_cast<char*>(whole.dst) + part.dst * element;
    if (input.conversion.needed()) {
      char* packed = frame.workspace + input.workspace + slot * in_bytes;
      input.conversion.LoadImages(input.Own(frame), packed, image, images);
      call.src = packed;
    }
    if (out.conversion.needed()) dst = frame.workspace + out.workspace + slot * out_bytes;
    call.dst = dst;
    Multiply(part, slot, call, frame);
    if (out.conversion.needed()) out.conversion.StoreImages(out.Own(frame), dst, image, images);
  }

  void Multiply(const ReadyConv::Part& part, int64_t slot, ConvCall call, const Frame& frame) const {
    call.src = Read(part.geometry, slot, static_cast<const char*>(call.src), frame);
    call.weights = static_cast<const char*>(call.weights) + part.weights;
    call.scratch = frame.workspace + scratch_at + slot * ready->scratch_bytes();
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
    FindImages(geometry);
    if (cut_.empty()) CutHalves(spec.geometry);
    Ready(spec);
    const auto parts = static_cast<int64_t>(body_.ready->parts().size());
    body_.slots = cut_.empty() ? parts : std::min<int64_t>(parts, ParallelWidth());
    CopyHalves();
    for (PartCopies* copies : {&body_.read, &body_.made})
      if (copies->present()) copies->at = Reserve(copies->bytes * body_.slots);
    body_.input =
        Turned(args_.input, body_.read.present() ? body_.read.memory : ReadType(), true, &body_.in_bytes);
    body_.out =
        Turned(args_.out, body_.made.present() ? body_.made.memory : MadeType(), false, &body_.out_bytes);
    if (args_.residual.present()) {
      body_.residual.binding = args_.residual.binding;
      body_.residual.conversion =
          Conversion(args_.residual, PackedLike(args_.residual.shape(), type_, true), true);
      if (!body_.residual.conversion.needed() && !body_.out.conversion.needed())
        plan.MayLieOn(args_.residual.binding);
    }
    Weights();
    Bias();
    const int64_t pack = body_.packed_weights == nullptr ? body_.ready->pack_scratch_bytes() : 0;
    body_.scratch_at = Reserve(std::max(body_.ready->scratch_bytes() * body_.slots, pack));
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
    if (GroupedPays(spec) && WeightsMix(GroupedConv())) return &GroupedConv();
    return PaddedPays(spec) && WeightsMix(PaddedConv()) ? &PaddedConv() : nullptr;
  }

  bool WeightsMix(const ConvBackend& backend) const {
    const PackedWeights* packed = args_.packed_weight;
    if (packed != nullptr && packed->machine == backend.machine()) return true;  // seen when it was packed
    return WinogradMixes(reinterpret_cast<const float*>(PlainWeights().get()), args_.weight.tensor->count());
  }

  // Where weights change, images that lie as planes are turned, multiplied and turned back a few at a time:
  // they stay in the cache.
  void FindImages(const ConvGeometry& g) {
    constexpr int64_t kBytes = 256 * 1024;
    const bool changes = args_.constant_weight == nullptr && args_.packed_weight == nullptr;
    if (!changes || args_.residual.present() || IsDeep(g) || g.batch < std::max(2, ParallelWidth())) return;
    const Conversion in = PackedOperand(args_.input, type_, true, true).conversion,
                     out = PackedOperand(args_.out, type_, true, false).conversion;
    if (!in.by_images() || !out.by_images() || !(in.needed() || out.needed())) return;
    const int64_t width = CoresFor(g, ParallelWidth());
    const int64_t together = kBytes * g.batch / (in.bytes() + out.bytes());
    cut_ = CutImages(g, std::clamp<int64_t>(together, 1, g.batch / width));
    body_.by_images = true;
    body_.out_image = args_.out.tensor->count() / g.batch;
  }

  void Ready(const ConvSpec& spec) {
    if (type_ == DType::kF32 && IsDeep(spec.geometry)) {
      body_.ready = ReadyBy(args_.transposed ? PlainConv() : DeepConv(), spec, ParallelWidth());
      return;
    }
    if (args_.transposed && ReadyInPhases(spec)) return;
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

  bool ReadyInPhases(const ConvSpec& spec) {
    if (type_ != DType::kF32 || !PaysInPhases(spec.geometry, MultipliesHalves(args_))) return false;
    const ConvBackend* phased = PhasedConv();
    if (AreRounded() && ReadyRounded(*phased, spec)) return true;
    const auto ready = ReadyBy(*phased, spec, ParallelWidth());
    if (ready->usable()) body_.ready = ready;
    return ready->usable();
  }

  // False: the processor has no such products.
  bool ReadyRounded(const ConvBackend& backend, ConvSpec spec) {
    spec.type = ConvType::kBF16;
    spec.rounds = &backend != TransposedConv() && !args_.residual.present() &&
                  Conversion::KeepsHalves(*args_.out.tensor, DType::kBF16);
    const auto ready = ReadyBy(backend, spec, ParallelWidth());
    if (!ready->usable()) return false;
    body_.ready = ready;
    if (spec.rounds) body_.element = 2;
    if (Conversion::KeepsHalves(*args_.input.tensor, DType::kBF16)) {
      body_.read_element = 2;
      return true;
    }
    body_.read = CopiesOf(*ready, ConvBody::InputCount, DType::kF32, DType::kBF16);
    return true;
  }

  DType ReadType() const { return body_.read_element == 2 ? DType::kBF16 : type_; }
  DType MadeType() const { return body_.element == 2 ? DType::kBF16 : type_; }

  static PartCopies CopiesOf(const ReadyConv& ready, int64_t (*count)(const ConvGeometry&), DType memory,
                             DType computed) {
    PartCopies copies{memory, computed};
    for (const ReadyConv::Part& part : ready.parts()) {
      copies.bytes = std::max(copies.bytes,
                              WorkspacePart(count(part.geometry) * static_cast<int64_t>(BytesOf(computed))));
    }
    return copies;
  }

  // Numbers of two bytes whose channels come last, which are computed as FLOAT.
  bool AreHalvesInPlace(const Operand& operand) const {
    const Tensor& t = *operand.tensor;
    return type_ == DType::kF32 && IsHalf(t.dtype) &&
           SameLayout(t.shape, t.strides, ChannelsLastStrides(t.shape));
  }
  bool MakesHalvesInPlace() const { return !args_.residual.present() && AreHalvesInPlace(args_.out); }

  // Each part widens what it reads and rounds what it makes; parts are so small that both stay in the cache,
  // and not smaller than the weights, which each reads.
  void CutHalves(const ConvGeometry& g) {
    if (MultipliesHalves(args_) || (!AreHalvesInPlace(args_.input) && !MakesHalvesInPlace())) return;
    if (g.in[0] == 1 && g.in[1] == 1 && g.kernel[2] > 1) return;  // rows are cut by their length
    constexpr int64_t kCache = 384 * 1024, kFloat = 4;
    const int64_t all = (ConvBody::InputCount(g) + ConvBody::OutputCount(g)) * kFloat;
    const int64_t together = std::max(kCache, args_.weight.tensor->count() * kFloat);
    const int64_t parts = all / together, width = CoresFor(g, ParallelWidth());
    if (parts > width) cut_ = CutRowsAlike(g, parts);
  }

  void CopyHalves() {
    const ReadyConv& ready = *body_.ready;
    if (body_.by_images || body_.read_element != 4 || body_.read.present()) return;
    if (AreHalvesInPlace(args_.input)) {
      body_.read = CopiesOf(ready, ConvBody::InputCount, args_.input.dtype(), type_);
      body_.read_element = 2;
    }
    if (body_.element == 4 && MakesHalvesInPlace()) {
      body_.made = CopiesOf(ready, ConvBody::OutputCount, args_.out.dtype(), type_);
      body_.element = 2;
    }
  }

  std::shared_ptr<const ReadyConv> ReadyBy(const ConvBackend& backend, const ConvSpec& spec,
                                           int width) const {
    bool stored = args_.packed_weight != nullptr && args_.packed_weight->machine == backend.machine();
    WeightLayout layout;
    if (stored) layout = ParseWeightLayout(args_.packed_weight->layout);
    stored = stored && layout.HasSizes(WeightSizes(spec.geometry).data()) &&
             args_.packed_weight->bytes >= layout.bytes() && layout.bf16 == (spec.type == ConvType::kBF16);
    return std::make_shared<ReadyConv>(
        backend, spec, cut_.empty() ? CutConv(spec.geometry, width, backend.longest_row) : cut_,
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
  // With its channels last; by images there is room for those of the parts that run at the same time.
  PackedOperand Turned(const Operand& operand, DType type, bool loading, int64_t* bytes_of_part) {
    if (!body_.by_images) return Placed(operand, type, true, loading);
    PackedOperand place(operand, type, true, loading);
    const int64_t batch = operand.shape()[0], parts = static_cast<int64_t>(cut_.size());
    *bytes_of_part = WorkspacePart((batch + parts - 1) / parts * (place.conversion.bytes() / batch));
    if (place.conversion.needed()) place.workspace = Reserve(*bytes_of_part * body_.slots);
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
  std::vector<ConvPart>
      cut_;  // the parts, where they are not those for the cores: each takes a slot for a while
  int64_t workspace_ = 0;
};

}  // namespace

bool MultipliesHalves(const ConvArgs& args) {
  if (args.input.dtype() != DType::kBF16 || args.weight.dtype() != DType::kBF16) return false;
  const std::string_view machine = OneDnnConv() == nullptr ? "" : OneDnnConv()->machine();
  return machine == "avx512_core_bf16" || machine == "avx512_core_amx";
}

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
