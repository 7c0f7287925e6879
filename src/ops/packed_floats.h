// Operands as packed numbers for kernels that compute on nothing else: where they lie when they are that
// already, and in the workspace of the plan when not.
#pragma once

#include <cstdint>

#include "ops/conv/channels_last.h"
#include "ops/loop_nest.h"
#include "ops/plan.h"

namespace belay::ops {

enum class Flow : uint8_t { kIn, kOut, kInOut };

template <class T>  // float or double
class PackedNumbers {
 public:
  PackedNumbers() = default;
  // An operand that is not there takes nothing.
  PackedNumbers(const Operand& operand, Flow flow, Plan& plan, bool channels_last = false);

  bool present() const { return binding_ >= 0; }
  // What the operand holds; null where it is not there.
  const T* Load(const Frame& frame) const;
  // Where the result goes; what it holds too where the operand flows in and out. Null as above.
  T* Begin(const Frame& frame) const;
  // The result is complete.
  void Finish(const Frame& frame) const;

 private:
  char* Given(const Frame& frame) const { return frame.at[binding_] + in_.offset(); }
  char* Packed(const Frame& frame) const { return frame.workspace + at_; }

  int binding_ = -1;
  bool read_ = false, needed_ = false;
  int64_t at_ = 0;
  Conversion in_, out_;
};
using PackedFloats = PackedNumbers<float>;

// The same for bytes, whose type does not matter.
class PackedBytes {
 public:
  PackedBytes() = default;
  PackedBytes(const Operand& operand, Plan& plan);

  const uint8_t* Load(const Frame& frame) const;
  uint8_t* Begin(const Frame& frame) const;
  void Finish(const Frame& frame) const;

 private:
  int binding_ = -1;
  bool needed_ = false;
  int64_t at_ = 0;
  LoopNest nest_;  // the operand, the workspace
};

}  // namespace belay::ops
