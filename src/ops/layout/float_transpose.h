// Matrices of floats, or of anything else of four bytes, turned: rows become columns.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace belay::ops {

using tensor::DType;

// [batch][rows][columns] to [batch][columns][rows], over the cores.
void TransposeFloats(const float* from, float* to, int64_t batch, int64_t rows, int64_t columns);
// One matrix of those, or a part of one; steps, from row to row, in elements.
void TurnFloats(const float* from, int64_t from_step, float* to, int64_t to_step, int64_t rows,
                int64_t columns);

// The same on the way from any type to floats, and from floats to any.
void LoadTransposed(DType type, const char* from, float* to, int64_t batch, int64_t rows, int64_t columns);
void StoreTransposed(DType type, const float* from, char* to, int64_t batch, int64_t rows, int64_t columns);

// The same of elements of two bytes, which stay what they are; of one matrix, or a part of one, as above.
void TurnHalves(const uint16_t* from, int64_t from_step, uint16_t* to, int64_t to_step, int64_t rows,
                int64_t columns);
void TransposeHalves(const char* from, char* to, int64_t batch, int64_t rows, int64_t columns);

}  // namespace belay::ops
