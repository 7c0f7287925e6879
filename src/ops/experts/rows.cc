#include "ops/experts/rows.h"

#include <algorithm>
#include <cstring>

#include "base/copy_memory.h"
#include "tensor/convert.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// Dimensions [0, rank) of a tensor, innermost first, those that follow each other as one.
int OuterDims(const Tensor& t, int rank, int64_t* sizes, int64_t* steps) {
  int dims = 0;
  for (int d = rank - 1; d >= 0; --d) {
    const int64_t size = t.shape[d], step = tensor::StepOf(t, d);
    if (size == 1) continue;
    if (dims > 0 && step == steps[dims - 1] * sizes[dims - 1]) {
      sizes[dims - 1] *= size;
      continue;
    }
    sizes[dims] = size, steps[dims] = step, ++dims;
  }
  return dims;
}

int64_t OffsetOfRow(int64_t index, int rank, const int64_t* sizes, const int64_t* steps) {
  int64_t at = 0;
  for (int d = 0; d < rank; ++d) {
    at += index % sizes[d] * steps[d];
    index /= sizes[d];
  }
  return at;
}

}  // namespace

Rows::Rows(const Operand& operand, bool one_each) {
  if (!operand.present()) return;
  const Tensor& t = *operand.tensor;
  const int last = t.shape.rank() - 1, outer = one_each || last < 0 ? last + 1 : last;
  binding_ = operand.binding, type_ = t.dtype, offset_ = tensor::OffsetOf(t);
  width_ = outer <= last ? t.shape[last] : 1;
  step_ = outer <= last ? tensor::StepOf(t, last) : static_cast<int64_t>(tensor::BytesOf(type_));
  count_ = 1;
  for (int d = 0; d < outer; ++d) count_ *= t.shape[d];
  rank_ = OuterDims(t, outer, sizes_, steps_);
  lane_ = Lane(type_, DType::kF32, step_);
}

char* Rows::Place(const Frame& frame, int64_t row) const {
  return frame.at[binding_] + offset_ + OffsetOfRow(row, rank_, sizes_, steps_);
}

const float* Rows::Load(const Frame& frame, int64_t row, int64_t first, int64_t n, float* buffer) const {
  return static_cast<const float*>(lane_.Load(buffer, Place(frame, row) + first * step_, n));
}

void Rows::Store(const Frame& frame, int64_t row, int64_t first, int64_t n, const float* values) const {
  lane_.Store(Place(frame, row) + first * step_, values, n, false);
}

const float* Rows::Load(const Frame& frame, int64_t row, float* buffer) const {
  const char* at = Place(frame, row);
  if (lane_.direct()) return reinterpret_cast<const float*>(at);
  for (int64_t i = 0; i < width_; i += kBlock)
    lane_.Load(buffer + i, at + i * step_, std::min(kBlock, width_ - i));
  return buffer;
}

void Rows::Store(const Frame& frame, int64_t row, const float* values) const {
  char* at = Place(frame, row);
  for (int64_t i = 0; i < width_; i += kBlock)
    lane_.Store(at + i * step_, values + i, std::min(kBlock, width_ - i), false);
}

void Rows::Clear(const Frame& frame, int64_t row) const {
  alignas(64) static constexpr float kZeros[kBlock] = {};
  for (int64_t i = 0; i < width_; i += kBlock) Store(frame, row, i, std::min(kBlock, width_ - i), kZeros);
}

void Rows::Copy(const Frame& frame, int64_t row, const Rows& other, int64_t from) const {
  if (width_ == 0) return;  // there may be no memory
  const auto bytes = static_cast<int64_t>(tensor::BytesOf(type_));
  if (type_ == other.type_ && step_ == bytes && other.step_ == bytes) {
    CopyMemory(Place(frame, row), other.Place(frame, from), static_cast<size_t>(width_ * bytes));
    return;
  }
  alignas(64) float block[kBlock];
  for (int64_t i = 0; i < width_; i += kBlock) {
    const int64_t n = std::min(kBlock, width_ - i);
    Store(frame, row, i, n, other.Load(frame, from, i, n, block));
  }
}

WholeOut::WholeOut(const Operand& operand) {
  if (!operand.present()) return;
  const Tensor& t = *operand.tensor;
  binding_ = operand.binding, type_ = t.dtype, offset_ = tensor::OffsetOf(t), count_ = t.count();
  rank_ = OuterDims(t, t.shape.rank(), sizes_, steps_);
}

void WholeOut::Set(const Frame& frame, int64_t i, int64_t value) const {
  char* at = frame.at[binding_] + offset_ + OffsetOfRow(i, rank_, sizes_, steps_);
  if (type_ == DType::kI64) {
    *reinterpret_cast<int64_t*>(at) = value;
  } else {
    *reinterpret_cast<int32_t*>(at) = static_cast<int32_t>(value);
  }
}

}  // namespace belay::ops
