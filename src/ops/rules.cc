#include "ops/rules.h"

#include <algorithm>

#include "base/error.h"
#include "tensor/codes.h"
#include "tensor/promote.h"

namespace belay::ops::rules {

using tensor::kInvalidArgument;

Shape Same(const Operand& self) { return self.shape(); }

Shape Broadcast(const Operand& self, const Operand& other) {
  if (other.tensor == nullptr) return self.shape();
  std::optional<Shape> shape = BroadcastShapes(self.tensor->shape, other.tensor->shape);
  if (!shape) {
    Fail(kInvalidArgument, "op-broadcast", "{} {} and {} {} do not broadcast together", self.name,
         self.shape().ToString(), other.name, other.shape().ToString());
  }
  return *shape;
}

Shape BroadcastAll(const Operand& a, const Operand& b, const Operand& c) {
  Tensor both;
  both.shape = Broadcast(a, b);
  return Broadcast({&both, nullptr, -1, a.name}, c);
}

Shape BroadcastOnto(const Operand& self, const Operand& other) {
  if (!BroadcastsTo(other.shape(), self.shape())) {
    Fail(kInvalidArgument, "op-broadcast", "{} {} does not broadcast to {} {}", other.name,
         other.shape().ToString(), self.name, self.shape().ToString());
  }
  return self.shape();
}

Shape CopiedOnto(const Operand& self, const Operand& src) {
  const Shape to = self.shape(), from = src.shape();
  const bool vector = to.rank() <= 1 || from.rank() <= 1;
  if (vector && CountOf(to) == CountOf(from)) return to;
  return BroadcastOnto(self, src);
}

namespace {

[[noreturn, gnu::cold]] void FailMatrix(const Operand& self, const Operand& mat2, const char* wanted) {
  Fail(kInvalidArgument, "op-matrix-shape", "{} {} and {} {} cannot be multiplied: {}", self.name,
       self.shape().ToString(), mat2.name, mat2.shape().ToString(), wanted);
}

void CheckRanks(const Operand& self, const Operand& mat2, int rank, const char* wanted) {
  if (self.shape().rank() != rank || mat2.shape().rank() != rank) FailMatrix(self, mat2, wanted);
}

// The sizes before the last two.
Shape BatchOf(const Shape& shape) { return Shape::Of(shape.data(), shape.rank() > 2 ? shape.rank() - 2 : 0); }

}  // namespace

Shape Matrix(const Operand& self, const Operand& mat2) {
  CheckRanks(self, mat2, 2, "both need two dimensions");
  return AnyMatrix(self, mat2);
}

Shape BatchMatrix(const Operand& self, const Operand& mat2) {
  CheckRanks(self, mat2, 3, "both need three dimensions");
  return AnyMatrix(self, mat2);
}

Shape MatrixTimesVector(const Operand& self, const Operand& vec) {
  if (self.shape().rank() != 2 || vec.shape().rank() != 1)
    FailMatrix(self, vec, "a matrix and a vector are needed");
  return AnyMatrix(self, vec);
}

Shape AnyMatrix(const Operand& self, const Operand& mat2) {
  const Shape& a = self.tensor->shape;
  const Shape& b = mat2.tensor->shape;
  constexpr int kMostDims = 6;
  if (a.rank() < 1 || b.rank() < 1 || a.rank() > kMostDims || b.rank() > kMostDims) {
    FailMatrix(self, mat2, "each needs one to six dimensions");
  }
  int64_t depth = b.rank() == 1 ? b[0] : b.back(1);
  if (a.back(0) != depth) FailMatrix(self, mat2, "the inner sizes differ");
  std::optional<Shape> shape = BroadcastShapes(BatchOf(a), BatchOf(b));
  if (!shape) FailMatrix(self, mat2, "the batches do not broadcast");
  if (a.rank() > 1) shape->push_back(a.back(1));
  if (b.rank() > 1) shape->push_back(b.back(0));
  return *shape;
}

Shape Reduced(const Operand& self, std::span<const int64_t> dims, bool keep) {
  const Shape& shape = self.tensor->shape;
  uint32_t mask = ReducedDims(self, dims);
  Shape result;
  for (int i = 0; i < shape.rank(); ++i) {
    bool folded = (mask >> i & 1) != 0;
    if (!folded || keep) result.push_back(folded ? 1 : shape[i]);
  }
  return result;
}

Shape ReducedOne(const Operand& self, int64_t dim, bool keep) {
  return Reduced(self, std::span(&dim, 1), keep);
}

Shape ReducedAll(const Operand&, const Operand& out) { return out.shape() == Shape{1} ? Shape{1} : Shape{}; }

Shape ReducedOrOne(const Operand& self, std::span<const int64_t> dims, bool keep, const Operand& out) {
  const Shape shape = Reduced(self, dims, keep);
  return shape.rank() == 0 ? ReducedAll(self, out) : shape;
}

Shape Halved(const Operand& self, int64_t dim) {
  int axis = WrapDim(self, dim);
  Shape shape = self.shape();
  if (shape.rank() == 0 || shape[axis] % 2 != 0) {
    Fail(kInvalidArgument, "op-odd-size", "{} {} cannot be halved along dimension {}", self.name,
         shape.ToString(), dim);
  }
  shape[axis] /= 2;
  return shape;
}

Shape Rearranged(const Operand& self, std::span<const int64_t> perm, std::span<const int64_t> shape,
                 bool permuted_first) {
  if (shape.size() > tensor::kMaxRank || tensor::CheckedCount(shape) != self.tensor->count() ||
      std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; })) {
    Fail(kInvalidArgument, "op-reshape", "shape does not hold the {} elements of {} {}", self.tensor->count(),
         self.name, self.shape().ToString());
  }
  const Shape wanted = Shape::Of(shape.data(), static_cast<int>(shape.size()));
  const Shape permuted = permuted_first ? self.shape() : wanted;
  Shape result;
  uint32_t seen = 0;
  for (const int64_t dim : perm) {
    if (dim < 0 || dim >= permuted.rank() || (seen >> dim & 1) != 0) break;
    seen |= 1u << dim;
    result.push_back(permuted[static_cast<int>(dim)]);
  }
  if (static_cast<int>(perm.size()) != permuted.rank() || result.rank() != permuted.rank()) {
    Fail(kInvalidArgument, "op-permutation", "perm does not name each of the {} dimensions once",
         permuted.rank());
  }
  return permuted_first ? wanted : result;
}

uint32_t ReducedDims(const Operand& self, std::span<const int64_t> dims) {
  int rank = self.tensor->shape.rank();
  uint32_t mask = dims.empty() ? (1u << rank) - 1 : 0;
  for (int64_t dim : dims) {
    uint32_t bit = 1u << WrapDim(self, dim);
    if ((mask & bit) != 0) {
      Fail(kInvalidArgument, "op-dims-twice", "dimension {} of {} is named twice; a dimension is folded once",
           dim, self.name);
    }
    mask |= bit;
  }
  return mask;
}

int WrapDim(const Operand& self, int64_t dim) {
  int rank = self.tensor->shape.rank();
  int64_t limit = rank == 0 ? 1 : rank;  // a tensor without dimensions takes 0 and -1
  if (dim < -limit || dim >= limit) {
    Fail(kInvalidArgument, "op-dim", "dimension {} is not one of {}, which has {}", dim, self.name, rank);
  }
  return static_cast<int>(dim < 0 ? dim + limit : dim);
}

DType Common(const Operand& self, const Operand& other) {
  DType type = other.tensor != nullptr ? tensor::Promote(self.dtype(), other.dtype())
                                       : PromoteScalar(self.dtype(), other.dtype());
  if (type == DType::kUndefined) {
    Fail(kInvalidArgument, "op-promote", "{} ({}) and {} ({}) have no common type", self.name,
         NameOf(self.dtype()), other.name, NameOf(other.dtype()));
  }
  return type;
}

DType Promote(const Operand& self, const Operand& other, const Operand& out) {
  // A result is asked for: a number beside a tensor does not widen it.
  if (!out.present() && other.tensor == nullptr) return self.dtype();
  DType type = Common(self, other);
  if (!out.present()) return type;
  bool weak = other.tensor == nullptr && !CanCast(type, out.dtype()) && CanCast(self.dtype(), out.dtype()) &&
              other.scalar->IsWhole();
  return weak ? self.dtype() : type;
}

DType PromoteAll(const Operand& a, const Operand& b, const Operand& c) {
  DType type = a.dtype();
  for (const Operand* o : {&b, &c}) {
    Tensor joined;
    joined.dtype = type;
    if (o->present()) type = Common({&joined, nullptr, -1, a.name}, *o);
  }
  return type;
}

DType PromoteBounds(const Operand& self, const Operand& low, const Operand& high, const Operand& out) {
  DType type = self.dtype();
  for (const Operand* o : {&low, &high}) {
    Tensor joined;
    joined.dtype = type;
    if (o->present()) type = Promote({&joined, nullptr, -1, self.name}, *o, out);
  }
  return type;
}

namespace {

DType FloatFor(DType type, const Operand& out) {
  if (IsFloat(type) || IsComplex(type)) return type;
  return out.present() && out.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
}

}  // namespace

DType FloatType(const Operand& self, const Operand& out) { return FloatFor(self.dtype(), out); }

DType PromoteFloat(const Operand& self, const Operand& other, const Operand& out) {
  return FloatFor(Common(self, other), out);
}

DType PromoteDiv(const Operand& self, const Operand& other, int64_t mode, const Operand& out) {
  if (mode < 0 || mode > 2) {
    Fail(kInvalidArgument, "op-div-mode", "mode is {}; it is 0, 1 or 2", mode);
  }
  return mode == 0 ? PromoteFloat(self, other, out) : Promote(self, other, out);
}

DType Truth(const Operand&) { return DType::kBool; }

DType Truth(const Operand& self, const Operand& other) {
  Common(self, other);
  return DType::kBool;
}

DType PromoteAlpha(const Operand& self, const Operand& other, const Scalar& alpha, const Operand& out) {
  DType type = Promote(self, other, out);
  if (!CanCast(alpha.dtype(), type) && !alpha.IsWhole()) {
    Fail(kInvalidArgument, "op-alpha", "alpha is {}, which cannot be converted to {}", alpha.ToString(),
         NameOf(type));
  }
  return type;
}

DType OfSelf(const Operand& self) { return self.dtype(); }

DType SumOf(const Operand& self) {
  return IsFloat(self.dtype()) || IsComplex(self.dtype()) ? self.dtype() : DType::kI64;
}

DType SizeOf(const Operand& self) { return self.dtype() == DType::kC64 ? DType::kF32 : self.dtype(); }

DType AngleOf(const Operand& self, const Operand& out) { return FloatFor(SizeOf(self), out); }

DType Wanted(DType dtype, const Operand& out) {
  if (out.present() && dtype != out.dtype()) {
    Fail(kInvalidArgument, "op-wanted-dtype", "dtype is {}, but {} is {}", NameOf(dtype), out.name,
         NameOf(out.dtype()));
  }
  return dtype;
}

DType MatrixType(const Operand& self, const Operand& mat2, const Operand& out) {
  DType type = Promote(self, mat2, out);
  if (out.dtype() != type && !(type == DType::kF16 && out.dtype() == DType::kF32)) {
    Fail(kInvalidArgument, "op-out-dtype", "the result is {}, which cannot be written to {} ({})",
         NameOf(type), out.name, NameOf(out.dtype()));
  }
  return type;
}

}  // namespace belay::ops::rules
