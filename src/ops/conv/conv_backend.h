// One convolution of packed tensors, and who can compute it. Activations lie channels last
// ([batch][depth][height][width][channel]): there a part of the rows is a tensor of its own, so the
// cores share a convolution by rows, and products with the weights read memory in order.
#pragma once

#include <cstdint>

#include "ops/conv/activation.h"
#include "ops/conv/weight_layout.h"

namespace belay::ops {

// Three spatial dimensions always: missing ones come first, with size and kernel 1.
struct ConvGeometry {
  int64_t batch, groups, in_channels, out_channels;
  int64_t in[3], out[3], kernel[3], stride[3], dilation[3], before[3], after[3];
  bool transposed;  // the gradient of a convolution: kernel taps scatter

  // It goes on in two dimensions: the first one is there once, and nothing but the input's is seen of it.
  bool is_image() const { return in[0] == 1 && out[0] == 1 && kernel[0] == 1 && before[0] == 0; }

  bool operator==(const ConvGeometry&) const = default;
};

// kBF16: what is read and the weights; bias and sums are f32, and so is the result, where it is not rounded.
enum class ConvType : int32_t { kF32, kF64, kBF16 };

// The structures are shared with libbelay_dnnl.so, which is built from the same sources.
struct ConvSpec {
  ConvGeometry geometry;
  ConvType type;
  bool bias;
  bool residual;  // the result is added to what the output holds, before the activation
  Activation activation;
  bool rounds = false;  // the result is bf16, too; not where it is added to

  bool operator==(const ConvSpec&) const = default;
};

// A convolution of bytes less their zero point with weights of i8: the result is round((sum + bias) * scale)
// + out_zero within its type, halves rounded to even before the zero point is added.
struct ByteConvSpec {
  ConvGeometry geometry;
  bool in_signed, out_signed;
  bool bias;  // whole numbers as f32
  int32_t in_zero, out_zero;
  const float* scales;  // one, or one for each channel of the result
  int64_t scale_count;
};

struct ConvPrimitive;  // a ConvSpec made ready

struct ConvCall {
  const void* src;
  const void* weights;  // packed
  const void* bias;
  void* dst;
  void* scratch;
};

struct ConvBackend {
  // The kind of processor that it computes for: another one may like other layouts better.
  const char* (*machine)();
  // How it wants the weights. False: it cannot compute this, or has no words for it.
  bool (*layout)(const ConvSpec& spec, WeightLayout* layout);
  // Whether it computes this well from weights that lie so; quicker than making it.
  bool (*takes)(const ConvSpec& spec, const WeightLayout& layout);
  // For weights that lie so. Null: cannot.
  ConvPrimitive* (*make)(const ConvSpec& spec, const WeightLayout& layout);
  void (*drop)(ConvPrimitive* primitive);
  int64_t (*scratch_bytes)(const ConvPrimitive& primitive);
  // From [groups][out / group][in / group][kernel...]; transposed: [groups][in][out][kernel...].
  // `scratch`: pack_scratch_bytes of it.
  bool (*pack)(const ConvPrimitive& primitive, const void* weights, void* packed, void* scratch);
  // Computes on the calling thread.
  bool (*run)(const ConvPrimitive& primitive, const ConvCall& call);
  // `like`: the weights shall lie as for this one; may be null. Null: cannot.
  ConvPrimitive* (*make_of_bytes)(const ByteConvSpec& spec, const ConvPrimitive* like) = nullptr;
  int64_t (*packed_bytes)(const ConvPrimitive& primitive) = nullptr;        // of weights
  int64_t (*pack_scratch_bytes)(const ConvPrimitive& primitive) = nullptr;  // null: none
  // Making one for the rows of a single dimension takes as long as they are: longer ones are cut. 0: it does
  // not.
  int64_t longest_row = 0;
};

// What `takes` is where a backend wants its weights in one way only.
template <bool (*kLayout)(const ConvSpec&, WeightLayout*)>
bool TakesOnly(const ConvSpec& spec, const WeightLayout& layout) {
  WeightLayout only;
  return kLayout(spec, &only) && only == layout;
}

// oneDNN; null where its library is missing.
const ConvBackend* OneDnnConv();
const ConvBackend& PlainConv();
// Transposed convolutions as oneDNN's products of matrices whose columns are added up; null as above.
const ConvBackend* TransposedConv();

}  // namespace belay::ops
