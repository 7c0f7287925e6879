#include "tensor/promote.h"

#include <utility>

namespace belay::tensor {
namespace {

// Unsigned types of two bytes and up combine with themselves only.
bool IsLoner(DType type) { return type == DType::kU16 || type == DType::kU32 || type == DType::kU64; }

DType PromoteInts(DType a, DType b) {
  if (BytesOf(a) < BytesOf(b)) std::swap(a, b);
  // i8 with u8: neither holds the other.
  return BytesOf(a) == 1 ? DType::kI16 : a;
}

DType PromoteFloats(DType a, DType b) {
  if (a == DType::kF64 || b == DType::kF64) return DType::kF64;
  return DType::kF32;  // f32 with anything, and f16 with bf16
}

DType PromoteComplex(DType a, DType b) {
  if (a == DType::kC128 || b == DType::kC128) return DType::kC128;
  if (a == DType::kC64 || b == DType::kC64) return DType::kC64;
  return DType::kC32;
}

}  // namespace

DType Promote(DType a, DType b) {
  TypeClass class_a = ClassOf(a);
  TypeClass class_b = ClassOf(b);
  bool arithmetic = class_a != TypeClass::kUnknown && class_a != TypeClass::kPacked &&
                    class_b != TypeClass::kUnknown && class_b != TypeClass::kPacked;
  if (!arithmetic) return DType::kUndefined;
  if (a == b) return a;
  if (IsLoner(a) || IsLoner(b)) return DType::kUndefined;
  if (class_a == TypeClass::kComplex || class_b == TypeClass::kComplex) return PromoteComplex(a, b);
  if (class_a != class_b) return class_a > class_b ? a : b;
  return class_a == TypeClass::kFloat ? PromoteFloats(a, b) : PromoteInts(a, b);
}

DType PromoteScalar(DType tensor, DType scalar) {
  TypeClass class_t = ClassOf(tensor);
  TypeClass class_s = ClassOf(scalar);
  if (Promote(tensor, tensor) != tensor || Promote(scalar, scalar) != scalar) {
    return DType::kUndefined;
  }
  if (class_s <= class_t) return tensor;
  if (class_s == TypeClass::kFloat) return DType::kF32;
  if (class_s == TypeClass::kComplex) return tensor == DType::kF64 ? DType::kC128 : DType::kC64;
  return scalar;
}

bool CanCast(DType from, DType to) {
  TypeClass class_from = ClassOf(from);
  TypeClass class_to = ClassOf(to);
  if (class_to == TypeClass::kUnknown || class_to == TypeClass::kPacked) return from == to;
  return class_from <= class_to;
}

}  // namespace belay::tensor
