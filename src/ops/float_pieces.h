// An operand that a kernel reads or writes as floats, a piece at a time: as it is where it is packed and of
// floats or halves of them, else by way of the workspace.
#pragma once

#include <cstdint>

#include "ops/packed_floats.h"
#include "ops/pipeline.h"
#include "tensor/convert.h"

namespace belay::ops {

class FloatPieces {
 public:
  FloatPieces() = default;
  // `whole`: all of it becomes floats before it is read, and after it was written.
  FloatPieces(const Operand& operand, Flow flow, bool whole, Plan& plan) {
    if (!operand.present()) return;
    const Tensor& t = *operand.tensor;
    if (whole || ComputeType(t.dtype) != DType::kF32 || !IsPacked(t.shape, t.strides)) {
      floats_ = PackedFloats(operand, flow, plan);
      return;
    }
    type_ = t.dtype, binding_ = operand.binding;
    offset_ = t.offset * static_cast<int64_t>(BytesOf(t.dtype));
  }

  // What is there in a run.
  class Elements {
   public:
    Elements(DType type, char* at) : type_(type), at_(at) {}

    bool present() const { return at_ != nullptr; }
    bool are_floats() const { return type_ == DType::kF32; }
    bool are(DType type) const { return type_ == type; }
    // Of all of them, which are halves of floats.
    const uint16_t* halves() const { return reinterpret_cast<const uint16_t*>(at_); }
    // Of all of them, which are floats.
    float* floats() const { return reinterpret_cast<float*>(at_); }
    void Copy(int64_t first, int64_t n, float* to) const {
      tensor::Convert(DType::kF32, to, type_, at_ + first * bytes(), n);
    }
    // Where n of them are floats: where they lie, or in `room`.
    const float* Load(int64_t first, int64_t n, float* room) const {
      if (are_floats()) return floats() + first;
      Copy(first, n, room);
      return room;
    }
    float* Room(int64_t first, float* room) const { return are_floats() ? floats() + first : room; }
    void Store(int64_t first, int64_t n, const float* room) const {
      if (!are_floats()) tensor::Convert(type_, at_ + first * bytes(), DType::kF32, room, n);
    }

   private:
    int64_t bytes() const { return are_floats() ? 4 : 2; }

    DType type_;
    char* at_;
  };

  Elements Load(const Frame& frame) const {
    return binding_ >= 0 ? Own(frame) : Elements(type_, ToBytes(const_cast<float*>(floats_.Load(frame))));
  }
  Elements Begin(const Frame& frame) const {
    return binding_ >= 0 ? Own(frame) : Elements(type_, ToBytes(floats_.Begin(frame)));
  }
  void Finish(const Frame& frame) const { floats_.Finish(frame); }

 private:
  static char* ToBytes(float* floats) { return reinterpret_cast<char*>(floats); }
  Elements Own(const Frame& frame) const { return {type_, frame.at[binding_] + offset_}; }

  DType type_ = DType::kF32;
  int binding_ = -1;  // negative: by way of the floats
  int64_t offset_ = 0;
  PackedFloats floats_;
};

}  // namespace belay::ops
