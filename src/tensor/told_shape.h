// The shape of a result that only its execution tells: aclGetViewShape has it once the stream has come that
// far.
#pragma once

#include <mutex>
#include <optional>

#include "tensor/dims.h"

namespace belay::tensor {

// Shared by the tensor and by the plan that tells it, whichever goes first.
class ToldShape {
 public:
  void Tell(const Shape& shape) {
    std::lock_guard lock(mutex_);
    shape_ = shape;
  }
  std::optional<Shape> told() const {
    std::lock_guard lock(mutex_);
    return shape_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Shape> shape_;
};

}  // namespace belay::tensor
