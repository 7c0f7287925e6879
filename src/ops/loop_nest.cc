#include "ops/loop_nest.h"

#include <cstdlib>
#include <utility>

namespace belay::ops {

LoopNest::LoopNest(const Shape& shape, std::initializer_list<Operand> operands) {
  count_ = CountOf(shape);
  for (int d = shape.rank() - 1; d >= 0; --d) {
    if (shape[d] != 1) dims_[rank_++].size = shape[d];
  }
  for (const Operand& operand : operands) AddOperand(shape, operand);
  if (rank_ == 0) {
    rank_ = 1;
    dims_[0].size = 1;
    for (int k = 0; k < operands_; ++k) dims_[0].stride[k] = 0;
    return;
  }
  if (rank_ == 1) return;
  SortByResult();
  Merge();
}

void LoopNest::AddOperand(const Shape& shape, const Operand& operand) {
  int k = operands_++;
  if (operand.tensor == nullptr) {
    for (int d = 0; d < rank_; ++d) dims_[d].stride[k] = 0;
    return;
  }
  const Tensor& tensor = *operand.tensor;
  auto size = static_cast<int64_t>(BytesOf(tensor.dtype));
  offset_[k] = tensor.offset * size;
  int d = 0;
  for (int i = 0; i < shape.rank(); ++i) {  // i counts from the innermost dimension
    if (shape.back(i) == 1) continue;
    bool repeats = i >= tensor.shape.rank() || tensor.shape.back(i) == 1;
    dims_[d++].stride[k] = repeats ? 0 : tensor.strides.back(i) * size;
  }
}

// Bytes from one element to the next, of all operands.
int64_t LoopNest::Spread(int dim) const {
  int64_t bytes = 0;
  for (int k = 0; k < operands_; ++k) bytes += std::abs(dims_[dim].stride[k]);
  return bytes;
}

void LoopNest::MakeRowsLong() {
  constexpr int64_t kShort = 8, kNear = 256;
  if (dims_[0].size >= kShort) return;
  int best = 0;
  for (int d = 1; d < rank_; ++d) {
    if (dims_[d].size < 2 * kShort || Spread(d) > kNear) continue;
    if (best == 0 || Spread(d) < Spread(best)) best = d;
  }
  std::swap(dims_[0], dims_[best]);
}

// Insertion sort: ranks are small and mostly in order. The result's memory decides; where it
// repeats (stride 0) the order stays.
void LoopNest::SortByResult() {
  for (int i = 1; i < rank_; ++i) {
    for (int d = i; d > 0 && dims_[d].stride[0] != 0 && dims_[d].stride[0] < dims_[d - 1].stride[0]; --d) {
      std::swap(dims_[d], dims_[d - 1]);
    }
  }
}

void LoopNest::Merge() {
  int last = 0;
  for (int d = 1; d < rank_; ++d) {
    bool fits = true;
    for (int k = 0; k < operands_; ++k) {
      fits = fits && dims_[d].stride[k] == dims_[last].stride[k] * dims_[last].size;
    }
    if (fits) {
      dims_[last].size *= dims_[d].size;
      continue;
    }
    dims_[++last] = dims_[d];
  }
  rank_ = last + 1;
}

}  // namespace belay::ops
