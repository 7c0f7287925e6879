// Operands as packed floats for kernels that compute on nothing else: where they lie when they are that
// already, and in the workspace of the plan when not.
#pragma once

#include "ops/conv/channels_last.h"

namespace belay::ops {

// What the parts of a workspace take.
class Workspace {
 public:
  // Where so many bytes begin.
  int64_t Reserve(int64_t bytes) {
    const int64_t at = used_;
    used_ += WorkspacePart(bytes);
    return at;
  }
  uint64_t bytes() const { return static_cast<uint64_t>(used_); }

 private:
  int64_t used_ = 0;
};

enum class Flow : uint8_t { kIn, kOut, kInOut };

class PackedFloats {
 public:
  PackedFloats() = default;
  // An operand that is not there takes nothing.
  PackedFloats(const Operand& operand, Flow flow, Workspace& workspace, bool channels_last = false);

  bool present() const { return binding_ >= 0; }
  // What the operand holds; null where it is not there.
  const float* Load(const Frame& frame) const;
  // Where the result goes; what it holds too where the operand flows in and out. Null as above.
  float* Begin(const Frame& frame) const;
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

// The same for bytes, whose type does not matter.
class PackedBytes {
 public:
  PackedBytes() = default;
  PackedBytes(const Operand& operand, Workspace& workspace);

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
