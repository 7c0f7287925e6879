#include "tensor/dtype.h"

#include <array>
#include <cstring>

namespace belay::tensor {
namespace {

struct Row {
  DType type;
  DTypeInfo info;
};

constexpr Row kRows[] = {
    {DType::kF32, {"f32", "ACL_FLOAT", 32, TypeClass::kFloat, true}},
    {DType::kF16, {"f16", "ACL_FLOAT16", 16, TypeClass::kFloat, true}},
    {DType::kBF16, {"bf16", "ACL_BF16", 16, TypeClass::kFloat, true}},
    {DType::kF64, {"f64", "ACL_DOUBLE", 64, TypeClass::kFloat, true}},
    {DType::kI8, {"i8", "ACL_INT8", 8, TypeClass::kInt, true}},
    {DType::kI16, {"i16", "ACL_INT16", 16, TypeClass::kInt, true}},
    {DType::kI32, {"i32", "ACL_INT32", 32, TypeClass::kInt, true}},
    {DType::kI64, {"i64", "ACL_INT64", 64, TypeClass::kInt, true}},
    {DType::kU8, {"u8", "ACL_UINT8", 8, TypeClass::kInt, false}},
    {DType::kU16, {"u16", "ACL_UINT16", 16, TypeClass::kInt, false}},
    {DType::kU32, {"u32", "ACL_UINT32", 32, TypeClass::kInt, false}},
    {DType::kU64, {"u64", "ACL_UINT64", 64, TypeClass::kInt, false}},
    {DType::kBool, {"bool", "ACL_BOOL", 8, TypeClass::kBool, false}},
    {DType::kC32, {"c32", "ACL_COMPLEX32", 32, TypeClass::kComplex, true}},
    {DType::kC64, {"c64", "ACL_COMPLEX64", 64, TypeClass::kComplex, true}},
    {DType::kC128, {"c128", "ACL_COMPLEX128", 128, TypeClass::kComplex, true}},
    {DType::kString, {"string", "ACL_STRING", 64, TypeClass::kUnknown, false}},
    {DType::kI4, {"i4", "ACL_INT4", 4, TypeClass::kPacked, true}},
    {DType::kU1, {"u1", "ACL_UINT1", 1, TypeClass::kPacked, false}},
    {DType::kHiF8, {"hif8", "ACL_HIFLOAT8", 8, TypeClass::kPacked, true}},
    {DType::kF8E5M2, {"f8e5m2", "ACL_FLOAT8_E5M2", 8, TypeClass::kPacked, true}},
    {DType::kF8E4M3, {"f8e4m3", "ACL_FLOAT8_E4M3FN", 8, TypeClass::kPacked, true}},
    {DType::kF8E8M0, {"f8e8m0", "ACL_FLOAT8_E8M0", 8, TypeClass::kPacked, true}},
    {DType::kF6E3M2, {"f6e3m2", "ACL_FLOAT6_E3M2", 6, TypeClass::kPacked, true}},
    {DType::kF6E2M3, {"f6e2m3", "ACL_FLOAT6_E2M3", 6, TypeClass::kPacked, true}},
    {DType::kF4E2M1, {"f4e2m1", "ACL_FLOAT4_E2M1", 4, TypeClass::kPacked, true}},
    {DType::kF4E1M2, {"f4e1m2", "ACL_FLOAT4_E1M2", 4, TypeClass::kPacked, true}},
};

constexpr DTypeInfo kUnknown{"?", "an unknown data type", 0, TypeClass::kUnknown, false};

// Indexed by the type's number; slot 0 of the extra entry stands for everything out of range.
constexpr auto kTable = [] {
  std::array<DTypeInfo, kDTypeCount> table{};
  table.fill(kUnknown);
  for (const Row& row : kRows) table[static_cast<size_t>(row.type)] = row.info;
  return table;
}();

}  // namespace

const DTypeInfo& InfoOf(DType type) {
  auto index = static_cast<uint8_t>(type);
  return index < kDTypeCount ? kTable[index] : kUnknown;
}

DType DTypeNamed(const char* name) {
  for (const Row& row : kRows) {
    if (std::strcmp(row.info.name, name) == 0) return row.type;
  }
  return DType::kUndefined;
}

std::string TypeSet::ToString() const {
  std::string text;
  for (const Row& row : kRows) {
    if (!Has(row.type)) continue;
    if (!text.empty()) text += ", ";
    text += row.info.acl;
  }
  return text;
}

}  // namespace belay::tensor
