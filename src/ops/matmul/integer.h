// Products of bytes less their zero points, summed exactly in i32.
#pragma once

#include <cstdint>

#include "ops/schema.h"

namespace belay::ops {

// c = (a - a_zero) x (b - b_zero). Rows are packed up to their leading dimension. The layout is shared with
// libbelay_dnnl.so.
struct IntegerGemm {
  int64_t m, n, k;
  const uint8_t* a;
  int64_t lda;
  uint8_t a_zero;
  const int8_t* b;
  int64_t ldb;
  int8_t b_zero;
  int32_t* c;
  int64_t ldc;
};

// Computes on the calling thread; false: cannot.
using IntegerGemmFunction = bool (*)(const IntegerGemm& gemm);

// Whether the processor has instructions that sum products of bytes without cutting them off. Without them
// oneDNN adds pairs of products in 16 bits, which may not hold them.
bool SumsBytesExactly();

// Plain loops, or oneDNN where the processor sums bytes exactly and it is the faster.
IntegerGemmFunction BestIntegerGemm();
bool PlainIntegerGemm(const IntegerGemm& gemm);

// c -= the sums of the rows of (a - a_zero) x zeros, one for each column, of i8 or u8.
void SubtractColumnZeros(const IntegerGemm& gemm, const uint8_t* zeros, bool is_signed);

// Both signs of a byte as the one that the product takes: the order of values is kept, 128 further up or
// down.
inline uint8_t Moved(uint8_t byte) { return byte ^ 0x80; }
void MoveBytes(const uint8_t* from, int64_t count, uint8_t* to);

// out [m, n] i32 = (a - a_zero) x (b - b_zero), a [m, k] and b [k, n] packed, of u8 or i8. The zero points
// may be absent; that of a is one number, that of b one or n.
struct IntegerProductArgs {
  Operand a, b, a_zero, b_zero, out;
};
void PlanIntegerProduct(Plan& plan, const IntegerProductArgs& args);

}  // namespace belay::ops
