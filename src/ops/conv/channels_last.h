// Tensors on their way into the packed form that a backend reads (another element type, another
// order of dimensions) and back.
#pragma once

#include <memory>

#include "ops/loop_nest.h"
#include "ops/pipeline.h"

namespace belay::ops {

// One operand of a plan and the packed tensor that stands for it in the workspace.
class Conversion {
 public:
  Conversion() = default;
  // `packed` has the operand's shape, and strides of its own. `loading`: the operand is read.
  Conversion(const Operand& operand, const Tensor& packed, bool loading);

  // Whether a packed tensor with its channels last may have this type of two bytes, which is the operand's:
  // one that is no type to compute in.
  static bool KeepsHalves(const Tensor& operand, DType type);

  // The operand is already what the packed tensor would be: it can be used as it is.
  bool needed() const { return needed_; }
  int64_t bytes() const { return bytes_; }  // of the packed tensor

  void Load(const char* operand, char* packed) const;
  void Store(char* operand, const char* packed) const;

  // Whether it can be done image by image: channels that lie plane after plane become the last, or nothing
  // is needed.
  bool by_images() const { return !needed_ || (images_ && batch_ > 0); }
  // Of some images that are packed; `operand` is that of all.
  void LoadImages(const char* operand, char* packed, int64_t first, int64_t count) const;
  void StoreImages(char* operand, const char* packed, int64_t first, int64_t count) const;

  // Where the operand's first element lies behind its binding.
  int64_t offset() const { return offset_; }

 private:
  void FindPlainTranspose(const Operand& operand, const Tensor& packed);
  void Move(char* const* base) const;

  bool needed_ = false;
  bool moves_ = false;   // elements that nobody computes with stay what they are
  bool images_ = false;  // a plain transpose of each image
  int64_t bytes_ = 0, offset_ = 0, element_ = 0;
  LoopNest nest_;
  Lane lane_;
  DType memory_ = DType::kUndefined;
  int64_t batch_ = 0, channels_ = 0, pixels_ = 0;  // of a plain transpose; else 0
};

// An operand as a kernel takes it: of the element type that it computes with, packed, or with its channels
// last.
struct PackedOperand {
  int binding = -1;  // -1: there is none
  Conversion conversion;
  int64_t workspace = 0;  // where the packed tensor lies, if it needs one

  PackedOperand() = default;
  PackedOperand(const Operand& operand, DType type, bool channels_last, bool loading);
  // With its workspace.
  PackedOperand(Plan& plan, const Operand& operand, DType type, bool channels_last, bool loading);

  bool present() const { return binding >= 0; }
  char* Own(const Frame& frame) const { return frame.at[binding] + conversion.offset(); }
  // What is read.
  const char* Loaded(const Frame& frame) const {
    if (!conversion.needed()) return Own(frame);
    conversion.Load(Own(frame), frame.workspace + workspace);
    return frame.workspace + workspace;
  }
  // Where a result is written, and what brings it to where it belongs.
  char* Result(const Frame& frame) const {
    return conversion.needed() ? frame.workspace + workspace : Own(frame);
  }
  void Store(const Frame& frame) const {
    if (conversion.needed()) conversion.Store(Own(frame), frame.workspace + workspace);
  }
};

// The elements of an operand that stay what they are, packed.
std::shared_ptr<char[]> PackedConstant(const Operand& operand, const void* elements, DType type);

// Memory that starts on a line of the cache, as vector kernels like it.
std::shared_ptr<char[]> AlignedBytes(int64_t bytes);

// The strides of a tensor of this shape [n, c, spatial...] whose channels come last in memory.
tensor::Strides ChannelsLastStrides(const Shape& shape);
// A tensor of the type and shape, packed or with its channels last.
Tensor PackedLike(const Shape& shape, DType dtype, bool channels_last);
// Each element where `strides` has it; dimensions of one element do not matter.
bool SameLayout(const Shape& shape, const tensor::Strides& a, const tensor::Strides& b);

}  // namespace belay::ops
