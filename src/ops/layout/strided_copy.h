// A copy between two views of one shape, as part of a larger piece of work.
#pragma once

#include "ops/loop_nest.h"
#include "ops/schema.h"

namespace belay::ops {

class StridedCopy {
 public:
  StridedCopy() = default;
  // `in` broadcasts to the shape of `out`. Elements are converted where the types differ.
  StridedCopy(const Tensor& out, const Tensor& in);

  int64_t count() const { return nest_.count(); }
  // Bytes that only move from one place to another; 0 where there is more to it.
  int64_t packed_bytes() const {
    const bool packed =
        to_ == from_ && nest_.has_one_level() && nest_.step(0) == to_bytes_ && nest_.step(1) == to_bytes_;
    return packed || (to_ == from_ && nest_.count() == 1) ? nest_.count() * to_bytes_ : 0;
  }
  // The addresses are those of the tensors' storage.
  void Run(char* out, const char* in) const;
  // The same on this thread, from the first elements of the views.
  void RunHere(char* out, const char* in) const;

 private:
  void Row(char* dst, const char* src, int64_t n) const;

  LoopNest nest_;  // out, in
  DType to_ = DType::kUndefined, from_ = DType::kUndefined;
  int64_t to_bytes_ = 0, from_bytes_ = 0;
};

}  // namespace belay::ops
