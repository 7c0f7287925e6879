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
