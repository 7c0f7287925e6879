#include "ops/experts/group_factors.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ops/matmul/packed_scale.h"
#include "ops/quant/quant_loops.h"
#include "ops/quant/small_numbers.h"
#include "tensor/convert.h"
#include "tensor/views.h"

namespace belay::ops {

WholeRow::WholeRow(const Operand& operand, int64_t row) : binding(operand.binding) {
  const Tensor& t = *operand.tensor;
  const int last = t.shape.rank() - 1;
  at = tensor::OffsetOf(t) + (last > 0 ? row * tensor::StepOf(t, 0) : 0);
  step = tensor::StepOf(t, last);
}

void RoundToHalf(float* values, int64_t n) {
  uint16_t halves[kBlock];
  tensor::Convert(DType::kF16, halves, DType::kF32, values, n);
  tensor::Convert(DType::kF32, values, DType::kF16, halves, n);
}

void GroupFactors::Add(const Frame& frame, int64_t first, int64_t n, int32_t* sums) const {
  if (!bias.present()) return;
  for (int64_t i = 0; i < n; ++i)
    sums[i] = static_cast<int32_t>(static_cast<uint32_t>(sums[i]) + bias.Get<uint32_t>(frame, first + i));
}

void GroupFactors::Scale(const Frame& frame, const int32_t* sums, int64_t token_row, int64_t first, int64_t n,
                         bool to_bytes, float* to) const {
  const float by_row = token.present() ? token.At(frame, token_row, 0) : 1.0f;
  if (packed.present()) {
    for (int64_t i = 0; i < n; ++i) {
      const auto factor = packed.Get<uint64_t>(frame, first + i);
      to[i] = static_cast<float>(sums[i]) * ScaleOf(factor) * by_row;
      if (to_bytes) to[i] = RoundedToByte(to[i] + OffsetIn(factor));
    }
    return;
  }
  alignas(64) float buffer[kBlock];
  const float* by = scale.Load(frame, row, first, n, buffer);
  BestQuantLoops().scale_sums(to, sums, by, 1, by_row, n);
}

void GroupFactors::Spread(const Frame& frame, int64_t r, int64_t c, int64_t rows, int64_t columns,
                          const GemmMatrix& block) const {
  alignas(64) float scale_buffer[kBlock], shift_buffer[kBlock];
  const int64_t down = block.transposed ? 1 : block.ld, across = block.transposed ? block.ld : 1;
  auto* values = const_cast<float*>(static_cast<const float*>(block.data));
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t group = row + (r + i) / depth;
    const float* by = weight_scale.Load(frame, group, c, columns, scale_buffer);
    const float* plus =
        weight_shift.present() ? weight_shift.Load(frame, group, c, columns, shift_buffer) : nullptr;
    float* at = values + i * down;
    alignas(64) float spread[kBlock];
    for (int64_t j = 0; j < columns; ++j) spread[j] = at[j * across] + (plus == nullptr ? 0.0f : plus[j]);
    if (in_half && plus != nullptr) RoundToHalf(spread, columns);
    for (int64_t j = 0; j < columns; ++j) spread[j] *= by[j];
    if (in_half) RoundToHalf(spread, columns);
    for (int64_t j = 0; j < columns; ++j) at[j * across] = spread[j];
  }
}

NibblePlace::NibblePlace(const Operand& operand, int64_t index) : binding(operand.binding) {
  const Tensor& t = *operand.tensor;
  const int rank = t.shape.rank();
  const int64_t each = t.dtype == DType::kI32 ? 8 : 1;
  at = t.offset * each;
  rows = t.shape[rank - 2], columns = t.shape[rank - 1];
  row = t.strides[rank - 2] * each, column = t.strides[rank - 1] * each;
  for (int d = rank - 3; d >= 0; --d) {
    at += index % t.shape[d] * t.strides[d] * each;
    index /= t.shape[d];
  }
  if (each == 1) return;
  if (t.strides[rank - 1] == 1) {
    columns *= each, column = 1;
  } else if (t.strides[rank - 2] == 1) {
    rows *= each, row = 1;
  } else {
    binding = -1;
  }
}

GemmMatrix NibblePlace::Block(const Frame& frame, int64_t r, int64_t n, int64_t c, int64_t m,
                              float* buffer) const {
  const auto* from = reinterpret_cast<const uint8_t*>(frame.at[binding]);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < m; ++j) {
      buffer[i * m + j] = static_cast<float>(NibbleAt(from, at + (r + i) * row + (c + j) * column));
    }
  }
  return {buffer, m, false};
}

}  // namespace belay::ops
