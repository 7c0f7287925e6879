// Convolutions by oneDNN on the calling thread. A primitive is made once for each shape of a part
// and used by any number of threads; its scratch memory comes with the call.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

#include "ops/conv/conv_backend.h"
#include "ops/conv/dnnl/conv_dims.h"
#include "ops/matmul/dnnl/single_threaded.h"

using belay::ops::Activation;
using belay::ops::ActivationKind;
using belay::ops::ByteConvSpec;
using belay::ops::ConvDims;
using belay::ops::ConvGeometry;
using belay::ops::ConvSpec;
using belay::ops::SingleThreaded;
using belay::ops::WeightLayout;
using dnnl::algorithm;
using dnnl::memory;

namespace {

// oneDNN's objects for the arguments of a call. Making them costs about a microsecond, so they are
// kept, with the addresses that they stand for.
struct Arguments {
  static constexpr int kCount = 5;
  memory at[kCount];
  const void* address[kCount] = {};
  std::array<dnnl_exec_arg_t, kCount> list;

  void Point(int i, const void* to) {
    if (address[i] == to) return;
    at[i].set_data_handle(const_cast<void*>(to));
    address[i] = to;
  }
};

}  // namespace

struct belay::ops::ConvPrimitive {
  dnnl::primitive primitive;
  memory::desc src, weights, bias, dst, scratch, plain_weights;
  bool has_bias;
  mutable std::atomic<Arguments*> idle{nullptr};  // one set that no thread is using

  ~ConvPrimitive() { delete idle.load(); }
};

namespace {

using belay::ops::ConvPrimitive;

void Append(dnnl::post_ops& posts, algorithm kind, float alpha = 0, float beta = 0) {
  posts.append_eltwise(1.0f, kind, alpha, beta);
}

// With its scale: oneDNN 2.6 gives two linear steps of one primitive the numbers of the first.
void AppendHardSigmoid(dnnl::post_ops& posts, const Activation& a) {
  Append(posts, algorithm::eltwise_linear, a.scale * a.alpha, a.scale * a.beta + a.shift);
  const auto [least, most] = std::minmax({a.shift, a.scale + a.shift});
  Append(posts, algorithm::eltwise_clip, least, most);
}

void AppendActivation(dnnl::post_ops& posts, const Activation& a) {
  switch (a.kind) {
    using enum ActivationKind;
    case kNone:
      return;
    case kRelu:
      return Append(posts, algorithm::eltwise_relu, a.alpha);
    case kClip:
      return Append(posts, algorithm::eltwise_clip, a.alpha, a.beta);
    case kSigmoid:
      return Append(posts, algorithm::eltwise_logistic);
    case kTanh:
      return Append(posts, algorithm::eltwise_tanh);
    case kHardSwish:
      return Append(posts, algorithm::eltwise_hardswish);
    case kHardSigmoid:
      return AppendHardSigmoid(posts, a);
    case kSwish:
      return Append(posts, algorithm::eltwise_swish, a.alpha);
    case kGelu:
      return Append(posts, algorithm::eltwise_gelu_erf);
    case kGeluTanh:
      return Append(posts, algorithm::eltwise_gelu_tanh);
    case kElu:
      return Append(posts, algorithm::eltwise_elu, a.alpha);
    case kMish:
      return Append(posts, algorithm::eltwise_mish);
    case kSoftplus:
      return Append(posts, algorithm::eltwise_soft_relu);
  }
}

dnnl::primitive_attr AttributesOf(const ConvSpec& spec) {
  dnnl::post_ops posts;
  if (spec.residual) posts.append_sum(1.0f);
  AppendActivation(posts, spec.activation);
  if (spec.activation.scaled() && spec.activation.kind != ActivationKind::kHardSigmoid)
    Append(posts, algorithm::eltwise_linear, spec.activation.scale, spec.activation.shift);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_post_ops(posts);
  return attributes;
}

struct Dims : belay::ops::ConvDims {
  explicit Dims(const ConvSpec& spec)
      : ConvDims(spec.geometry),
        type(spec.type == belay::ops::ConvType::kBF16 ? memory::data_type::bf16 : memory::data_type::f32),
        result(spec.rounds ? memory::data_type::bf16 : memory::data_type::f32) {}

  memory::desc AnyWeights() const { return memory::desc(WeightSizes(), type, memory::format_tag::any); }

  // The dimension of a WeightLayout that stands for dimension d of the weights.
  int LayoutDim(int d) const {
    const int group = g.groups > 1 ? 1 : 0;
    if (d < group) return 0;
    return d - group < 2 ? 1 + d - group : 1 + d - group + first;
  }

  // False: more than blocks, which other types need.
  bool ReadLayout(const dnnl_memory_desc_t& from, WeightLayout* to) const {
    const dnnl_blocking_desc_t& blocks = from.format_desc.blocking;
    if (from.format_kind != dnnl_blocked || from.extra.flags != 0 ||
        blocks.inner_nblks > WeightLayout::kMostBlocks)
      return false;
    *to = {};
    to->bf16 = type == memory::data_type::bf16;
    for (int d = 0; d < WeightLayout::kRank; ++d) to->sizes[d] = to->padded[d] = 1;
    for (int d = 0; d < from.ndims; ++d) {
      const int at = LayoutDim(d);
      to->sizes[at] = from.dims[d], to->padded[at] = from.padded_dims[d], to->strides[at] = blocks.strides[d];
    }
    to->block_count = blocks.inner_nblks;
    for (int b = 0; b < blocks.inner_nblks; ++b) {
      to->block_dims[b] = LayoutDim(static_cast<int>(blocks.inner_idxs[b]));
      to->block_sizes[b] = blocks.inner_blks[b];
    }
    return true;
  }

  dnnl_memory_desc_t WeightsLaid(const WeightLayout& from) const {
    dnnl_memory_desc_t to = FloatWeights().data;
    to.data_type = static_cast<dnnl_data_type_t>(type);
    dnnl_blocking_desc_t& blocks = to.format_desc.blocking;
    for (int d = 0; d < to.ndims; ++d) {
      const int at = LayoutDim(d);
      to.padded_dims[d] = from.padded[at], blocks.strides[d] = from.strides[at];
      for (int b = 0; b < from.block_count; ++b) {
        if (from.block_dims[b] == at) blocks.inner_idxs[b] = d;
      }
    }
    blocks.inner_nblks = from.block_count;
    for (int b = 0; b < from.block_count; ++b) blocks.inner_blks[b] = from.block_sizes[b];
    return to;
  }

  memory::desc FloatWeights() const { return PlainWeights(memory::data_type::f32); }

  memory::data_type type, result;  // of what is multiplied, and of its sums
};

using Description = dnnl::convolution_forward::primitive_desc;

std::string_view Implementation(const Description& pd) { return pd.impl_info_str(); }

// Whether some pixels of the result see nothing but padding.
bool ReachesBeyond(const ConvGeometry& g) {
  for (int d = 0; d < 3; ++d) {
    const int64_t reach = (g.kernel[d] - 1) * g.dilation[d] + 1;
    if (g.before[d] >= reach || g.after[d] >= reach) return true;
  }
  return false;
}

// What oneDNN has behind its products of blocks (AVX-512). False: nothing.
bool SkipBlocks(Description* found) {
  while (Implementation(*found).starts_with("brgconv")) {
    if (!found->next_impl()) return false;
  }
  return true;
}

// Its products of blocks crash where pixels see nothing but padding: what comes next.
Description Safe(Description found, const ConvGeometry& g) {
  if (ReachesBeyond(g) && !SkipBlocks(&found))
    throw dnnl::error(dnnl_unimplemented, "nothing but products of blocks");
  return found;
}

// Its reference implementation takes everything, a hundred times slower.
bool IsFast(const Description& pd) { return !Implementation(pd).starts_with("ref"); }

// Products of blocks are unrolled along a whole row where there are few channels: making one for 8,192 pixels
// takes 24 ms. What comes next is made in one, and as fast, or a third slower where it is dilated.
Description QuicklyMade(const Description& found, const ConvGeometry& g) {
  constexpr int64_t kFewChannels = 16, kLongRow = 512;
  if (g.out_channels >= kFewChannels || g.out[2] < kLongRow || g.kernel[2] == 1) return found;
  Description next = found;
  return SkipBlocks(&next) && IsFast(next) ? next : found;
}

Description NewDescription(const ConvSpec& spec, const memory::desc& weights) {
  const ConvGeometry& g = spec.geometry;
  const Dims dims(spec);
  memory::desc bias({g.out_channels}, memory::data_type::f32, memory::format_tag::x);
  if (!spec.bias) bias = memory::desc();
  dnnl::convolution_forward::desc desc(dnnl::prop_kind::forward_inference, algorithm::convolution_direct,
                                       dims.Activations(g.in_channels, g.in, dims.type), weights, bias,
                                       dims.Activations(g.out_channels, g.out, dims.result),
                                       dims.Of(g.stride), dims.Of(g.dilation, 1), dims.Of(g.before),
                                       dims.Of(g.after));
  const Description found = QuicklyMade(Safe({desc, AttributesOf(spec), belay::ops::TheEngine()}, g), g);
  // Its first choice for one channel a group is a third slower than its second.
  Description next = found;
  if (Implementation(found).starts_with("brdgmm_dw") && next.next_impl() &&
      Implementation(next).starts_with("jit_dw"))
    return next;
  return found;
}

// The latest descriptions of a thread. Planning asks for one two or three times: how its weights lie, whether
// it takes them so, and to make it; and neighbours in a network are often alike. oneDNN takes a third of a
// millisecond for some.
struct Descriptions {
  static constexpr size_t kMost = 16;
  struct Known {
    ConvSpec spec;
    memory::desc weights;
    Description description;
  };

  std::vector<Known> known;
  size_t oldest = 0;

  void Add(Known fresh) {
    if (known.size() < kMost) {
      known.push_back(std::move(fresh));
    } else {
      known[oldest] = std::move(fresh);
      oldest = (oldest + 1) % kMost;
    }
  }
};

Description Describe(const ConvSpec& spec, const memory::desc& weights) {
  auto& latest = belay::ops::OfThisThread<Descriptions>();
  for (const Descriptions::Known& known : latest.known) {
    if (known.spec == spec && known.weights == weights) return known.description;
  }
  Description fresh = NewDescription(spec, weights);
  latest.Add({spec, weights, fresh});
  return fresh;
}

// Its transposed convolutions are tens of times slower than products of matrices.
bool CanTry(const ConvSpec& spec) {
  using enum belay::ops::ConvType;
  // Older processors have no products of bf16: oneDNN would only pretend.
  static const bool has_bf16 = dnnl::get_effective_cpu_isa() == dnnl::cpu_isa::avx512_core_bf16 ||
                               dnnl::get_effective_cpu_isa() == dnnl::cpu_isa::avx512_core_amx;
  return !spec.geometry.transposed && (spec.type == kF32 || (spec.type == kBF16 && has_bf16));
}

bool Layout(const ConvSpec& spec, WeightLayout* layout) {
  SingleThreaded scope;
  if (!CanTry(spec)) return false;
  belay::ops::RequireRoom();
  try {
    const Dims dims(spec);
    return dims.ReadLayout(Describe(spec, dims.AnyWeights()).weights_desc().data, layout);
  } catch (const dnnl::error&) {
    return false;
  }
}

bool Takes(const ConvSpec& spec, const WeightLayout& layout) {
  SingleThreaded scope;
  if (!CanTry(spec)) return false;
  belay::ops::RequireRoom();
  try {
    return IsFast(Describe(spec, Dims(spec).WeightsLaid(layout)));
  } catch (const dnnl::error&) {
    return false;
  }
}

const char* Machine() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2_vnni";
    case dnnl::cpu_isa::avx512_core:
      return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "avx512_core_amx";
    default:
      return "other";
  }
}

ConvPrimitive* MakePrimitive(const ConvSpec& spec, const WeightLayout& layout) {
  SingleThreaded scope;
  if (!CanTry(spec)) return nullptr;
  belay::ops::RequireRoom();
  try {
    const Dims dims(spec);
    const memory::desc weights(dims.WeightsLaid(layout));
    Description pd = Describe(spec, weights);
    if (!IsFast(pd)) return nullptr;
    return new ConvPrimitive{
        dnnl::convolution_forward(pd), pd.src_desc(),       weights,  pd.bias_desc(), pd.dst_desc(),
        pd.scratchpad_desc(),          dims.FloatWeights(), spec.bias};
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

dnnl::primitive_attr AttributesOf(const ByteConvSpec& spec) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_output_scales(spec.scale_count == 1 ? 0 : 1 << 1,
                               std::vector<float>(spec.scales, spec.scales + spec.scale_count));
  if (spec.in_zero != 0) attributes.set_zero_points(DNNL_ARG_SRC, 0, {spec.in_zero});
  if (spec.out_zero != 0) {
    // Rounded before the zero point is added: halves go to the even number of steps.
    dnnl::post_ops posts;
    Append(posts, algorithm::eltwise_round);
    attributes.set_post_ops(posts);
    attributes.set_zero_points(DNNL_ARG_DST, 0, {spec.out_zero});
  }
  return attributes;
}

memory::data_type ByteType(bool is_signed) {
  return is_signed ? memory::data_type::s8 : memory::data_type::u8;
}

// oneDNN 2.6 gives wrong sums at the edges of what it has no kernels for but products of gathered bytes:
// where bytes have a zero point, and more than a vector of channels a group, of which all together are no
// multiple of four.
bool MistakesEdges(const ByteConvSpec& spec) {
  const ConvGeometry& g = spec.geometry;
  return spec.in_zero != 0 && g.groups > 1 && g.in_channels / g.groups > 16 && g.in_channels % 4 != 0;
}

ConvPrimitive* MakeOfBytes(const ByteConvSpec& spec, const ConvPrimitive* like) {
  if (MistakesEdges(spec)) return nullptr;
  SingleThreaded scope;
  belay::ops::RequireRoom();
  try {
    const ConvGeometry& g = spec.geometry;
    const ConvDims dims(g);
    const memory::desc any(dims.WeightSizes(), memory::data_type::s8, memory::format_tag::any);
    memory::desc bias({g.out_channels}, memory::data_type::f32, memory::format_tag::x);
    if (!spec.bias) bias = memory::desc();
    dnnl::convolution_forward::desc desc(dnnl::prop_kind::forward_inference, algorithm::convolution_direct,
                                         dims.Activations(g.in_channels, g.in, ByteType(spec.in_signed)),
                                         like == nullptr ? any : like->weights, bias,
                                         dims.Activations(g.out_channels, g.out, ByteType(spec.out_signed)),
                                         dims.Of(g.stride), dims.Of(g.dilation, 1), dims.Of(g.before),
                                         dims.Of(g.after));
    const Description pd = Safe({desc, AttributesOf(spec), belay::ops::TheEngine()}, g);
    if (!IsFast(pd)) return nullptr;
    return new ConvPrimitive{dnnl::convolution_forward(pd),
                             pd.src_desc(),
                             pd.weights_desc(),
                             pd.bias_desc(),
                             pd.dst_desc(),
                             pd.scratchpad_desc(),
                             dims.PlainWeights(memory::data_type::s8),
                             spec.bias};
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

bool Pack(const ConvPrimitive& p, const void* weights, void* packed, void*) {
  SingleThreaded scope;
  belay::ops::RequireRoom();
  try {
    const dnnl::engine& engine = belay::ops::TheEngine();
    memory from(p.plain_weights, engine, const_cast<void*>(weights)), to(p.weights, engine, packed);
    dnnl::reorder(from, to).execute(belay::ops::ThisThreadsStream(), from, to);
    return true;
  } catch (const dnnl::error& error) {
    return belay::ops::Done(error.status);
  }
}

std::unique_ptr<Arguments> MakeArguments(const ConvPrimitive& p) {
  static constexpr int kNames[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD,
                                   DNNL_ARG_BIAS};
  const memory::desc* descs[] = {&p.src, &p.weights, &p.dst, &p.scratch, &p.bias};
  auto made = std::make_unique<Arguments>();
  for (int i = 0; i < (p.has_bias ? 5 : 4); ++i) {
    made->at[i] = memory(*descs[i], belay::ops::TheEngine(), nullptr);
    made->list[static_cast<size_t>(i)] = {kNames[i], made->at[i].get()};
  }
  return made;
}

bool Run(const ConvPrimitive& p, const belay::ops::ConvCall& call) {
  SingleThreaded scope;
  try {
    std::unique_ptr<Arguments> arguments(p.idle.exchange(nullptr, std::memory_order_acquire));
    if (arguments == nullptr) arguments = MakeArguments(p);
    const void* addresses[] = {call.src, call.weights, call.dst, call.scratch, call.bias};
    const int count = p.has_bias ? 5 : 4;
    for (int i = 0; i < count; ++i) arguments->Point(i, addresses[i]);
    const bool done = belay::ops::Done(dnnl_primitive_execute(
        p.primitive.get(), belay::ops::ThisThreadsStream().get(), count, arguments->list.data()));
    delete p.idle.exchange(arguments.release(), std::memory_order_acq_rel);
    return done;
  } catch (const dnnl::error& error) {
    return belay::ops::Done(error.status);
  }
}

const belay::ops::ConvBackend kOneDnn = {
    &Machine,
    &Layout,
    &Takes,
    &MakePrimitive,
    [](ConvPrimitive* p) { delete p; },
    [](const ConvPrimitive& p) { return static_cast<int64_t>(p.scratch.get_size()); },
    &Pack,
    &Run,
    &MakeOfBytes,
    [](const ConvPrimitive& p) { return static_cast<int64_t>(p.weights.get_size()); },
    nullptr,
    512,
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const belay::ops::ConvBackend* belay_dnnl_conv() {
  return &kOneDnn;
}
