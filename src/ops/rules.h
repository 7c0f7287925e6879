// The shape and type rules that rows of spec/ops name.
#pragma once

#include "ops/schema.h"

namespace belay::ops::rules {

// --- shapes of the result
Shape Same(const Operand& self);
Shape Broadcast(const Operand& self, const Operand& other);
Shape BroadcastAll(const Operand& a, const Operand& b, const Operand& c);
// self's shape, onto which `other` must broadcast.
Shape BroadcastOnto(const Operand& self, const Operand& other);
// That of self: src broadcasts to it, or one of them is a vector with as many elements as the other has.
Shape CopiedOnto(const Operand& self, const Operand& src);
Shape Matrix(const Operand& self, const Operand& mat2);
Shape BatchMatrix(const Operand& self, const Operand& mat2);
Shape AnyMatrix(const Operand& self, const Operand& mat2);
Shape MatrixTimesVector(const Operand& self, const Operand& vec);
Shape Reduced(const Operand& self, std::span<const int64_t> dims, bool keep);
Shape ReducedOne(const Operand& self, int64_t dim, bool keep);
// No dimensions, or the one of size 1 that the pages give the result.
Shape ReducedAll(const Operand& self, const Operand& out);
// Reduced; when nothing is left of the dimensions, also one of size 1, as ggml's backend calls
// aclnnReduceSum.
Shape ReducedOrOne(const Operand& self, std::span<const int64_t> dims, bool keep, const Operand& out);
// Half of the size along dim, which must be even.
Shape Halved(const Operand& self, int64_t dim);

// Its dimensions in the order of perm and then in a shape, or, unless permuted first, the shape in that
// order.
Shape Rearranged(const Operand& self, std::span<const int64_t> perm, std::span<const int64_t> shape,
                 bool permuted_first);

// Bit i: dimension i is folded away. No dims at all mean every one.
uint32_t ReducedDims(const Operand& self, std::span<const int64_t> dims);
// A dimension counted from either end, as one counted from the front.
int WrapDim(const Operand& self, int64_t dim);

// --- types in which the result is computed. Without `out` they are the type that the result has by itself.
// A scalar operand is weak; one that is a float but a whole number may join integers, because
// programs pass every scalar as ACL_FLOAT.
DType Promote(const Operand& self, const Operand& other, const Operand& out);
// The same whatever the result is written to.
DType Common(const Operand& self, const Operand& other);
DType PromoteAll(const Operand& a, const Operand& b, const Operand& c);  // what is absent does not join
// That of Promote with each of two numbers, either of which may be absent.
DType PromoteBounds(const Operand& self, const Operand& low, const Operand& high, const Operand& out);
// Also checks that alpha fits.
DType PromoteAlpha(const Operand& self, const Operand& other, const Scalar& alpha, const Operand& out);
// Functions into the real numbers compute integers as FLOAT, or as DOUBLE when the result is that.
DType FloatType(const Operand& self, const Operand& out);
DType PromoteFloat(const Operand& self, const Operand& other, const Operand& out);
// Only mode 0, the exact quotient, leaves the integers.
DType PromoteDiv(const Operand& self, const Operand& other, int64_t mode, const Operand& out);
// BOOL, which every type may receive; the operands must have a common type.
DType Truth(const Operand& self);
DType Truth(const Operand& self, const Operand& other);
DType OfSelf(const Operand& self);
// In which its elements are added up by themselves: floats and complex numbers in their own, others in INT64.
DType SumOf(const Operand& self);
// That of the parts of a complex operand, else its own; the second one for functions that are no integer.
DType SizeOf(const Operand& self);
DType AngleOf(const Operand& self, const Operand& out);
// `dtype` must be out's type; self may be converted to it from anything.
DType Wanted(DType dtype, const Operand& out);
// FLOAT16 inputs may have a FLOAT result.
DType MatrixType(const Operand& self, const Operand& mat2, const Operand& out);

}  // namespace belay::ops::rules
