// What convolutions of planes as they lie have in common: which they take, and where their operands are.
#pragma once

#include <memory>

#include "ops/conv/channels_last.h"
#include "ops/conv/conv.h"

namespace belay::ops {

// Images whose channels come first, FLOAT or rounded to less, with at most a clip behind.
bool LieAsPlanes(const ConvArgs& args);

class PlaneOperands {
 public:
  PlaneOperands() = default;
  PlaneOperands(Plan& plan, const ConvArgs& args);

  const float* Input(const Frame& frame) const { return Floats(input_.Loaded(frame)); }
  const float* Weights(const Frame& frame) const { return Elements(constant_weights_, weight_, frame); }
  bool has_constant_weights() const { return constant_weights_ != nullptr; }
  // Those that never change, as pack(from, to) writes them.
  template <class PackInto>
  void PackWeights(int64_t floats, const PackInto& pack) {
    const std::shared_ptr<char[]> packed = AlignedBytes(floats * static_cast<int64_t>(sizeof(float)));
    pack(Floats(constant_weights_.get()), reinterpret_cast<float*>(packed.get()));
    constant_weights_ = packed;
  }
  // Null where there is none.
  const float* Bias(const Frame& frame) const { return Elements(constant_bias_, bias_, frame); }
  // Where the result is written, and what brings it to where it belongs.
  float* Result(const Frame& frame) const { return reinterpret_cast<float*>(out_.Result(frame)); }
  void Store(const Frame& frame) const { out_.Store(frame); }

 private:
  static const float* Floats(const char* bytes) { return reinterpret_cast<const float*>(bytes); }
  static const float* Elements(const std::shared_ptr<const char[]>& constant, const PackedOperand& given,
                               const Frame& frame) {
    if (constant != nullptr) return Floats(constant.get());
    return given.present() ? Floats(given.Loaded(frame)) : nullptr;
  }

  std::shared_ptr<const char[]> constant_weights_, constant_bias_;  // null: read at each run
  PackedOperand input_, weight_, bias_, out_;
};

}  // namespace belay::ops
