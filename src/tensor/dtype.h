// Element types. The numbers are those of aclDataType, so a value crosses the C interface unchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace belay::tensor {

enum class DType : int8_t {
  kUndefined = -1,
  kF32 = 0,
  kF16 = 1,
  kI8 = 2,
  kI32 = 3,
  kU8 = 4,
  kI16 = 6,
  kU16 = 7,
  kU32 = 8,
  kI64 = 9,
  kU64 = 10,
  kF64 = 11,
  kBool = 12,
  kString = 13,
  kC64 = 16,
  kC128 = 17,
  kBF16 = 27,
  kI4 = 29,
  kU1 = 30,
  kC32 = 33,
  kHiF8 = 34,
  kF8E5M2 = 35,
  kF8E4M3 = 36,
  kF8E8M0 = 37,
  kF6E3M2 = 38,
  kF6E2M3 = 39,
  kF4E2M1 = 40,
  kF4E1M2 = 41,
};
inline constexpr int kDTypeCount = 42;

enum class TypeClass : uint8_t { kUnknown, kBool, kInt, kFloat, kComplex, kPacked };

struct DTypeInfo {
  const char* name;  // as in test cases and specifications: "f32"
  const char* acl;   // as a program writes it: "ACL_FLOAT"
  uint8_t bits;
  TypeClass type_class;
  bool is_signed;
};

// Never fails: an unknown number has the entry "?" with zero bits.
const DTypeInfo& InfoOf(DType type);

inline const char* NameOf(DType type) { return InfoOf(type).acl; }
inline bool IsKnown(DType type) { return InfoOf(type).bits != 0; }
inline TypeClass ClassOf(DType type) { return InfoOf(type).type_class; }
inline bool IsFloat(DType type) { return ClassOf(type) == TypeClass::kFloat; }
// Two bytes a number: operators compute with FLOAT and round what they make.
inline bool IsHalf(DType type) { return type == DType::kF16 || type == DType::kBF16; }
inline bool IsInt(DType type) { return ClassOf(type) == TypeClass::kInt; }
inline bool IsComplex(DType type) { return ClassOf(type) == TypeClass::kComplex; }

// Bytes of one element; 0 for types that are smaller than a byte or unknown.
inline size_t BytesOf(DType type) { return InfoOf(type).bits / 8; }

// The type with a specification's short name ("bf16"), or kUndefined.
DType DTypeNamed(const char* name);

// A set of element types.
class TypeSet {
 public:
  constexpr TypeSet() = default;
  template <class... T>
  constexpr explicit TypeSet(T... types) : bits_((uint64_t{0} | ... | Bit(types))) {}
  constexpr bool Has(DType type) const { return (bits_ & Bit(type)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  std::string ToString() const;  // "ACL_FLOAT, ACL_FLOAT16"

 private:
  static constexpr uint64_t Bit(DType type) {
    int value = static_cast<int>(type);
    return value < 0 || value >= kDTypeCount ? 0 : uint64_t{1} << value;
  }
  uint64_t bits_ = 0;
};

}  // namespace belay::tensor
