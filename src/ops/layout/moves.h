// Moving elements without looking at them: rows with any steps, and packed blocks that repeat.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/dims.h"
#include "tensor/objects.h"

namespace belay::ops {

// n elements of `bytes` bytes from src to dst. Steps are in bytes and may be negative or zero.
void MoveRow(char* dst, int64_t dst_step, const char* src, int64_t src_step, int64_t n, int64_t bytes);

// The same with a place in `src` for each element: offsets in bytes. Where they are negative, `fill` is
// taken; null: they are not.
void PickRow(char* dst, int64_t dst_step, const char* src, const int64_t* offsets, int64_t n, int64_t bytes,
             const char* fill = nullptr);

// Of packed elements the first `kept` whose condition is not 0, packed.
void KeepRow(char* dst, const char* src, const uint8_t* condition, int64_t kept, int64_t bytes);

// Each of n packed elements as often as `times` says, packed.
void RepeatRow(char* dst, const char* src, int64_t n, int64_t times, int64_t bytes);

// The byte offset of each element of a view, in row-major order.
std::vector<int64_t> OffsetsOf(const tensor::Shape& shape, const tensor::Strides& strides, int64_t bytes);
// The same for dimensions [first, end) of a view, from its own offset 0.
std::vector<int64_t> OffsetsOf(const tensor::Tensor& t, int first, int end);

}  // namespace belay::ops
