// What the generated tables say about operators, and the arguments that reach one. An Op is an
// operator with its parameters in an order of its own; a Form is one way to call it (aclnnAdd,
// aclnnInplaceAdds, ...): it says which argument of the call is which parameter of the operator.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ops/plan.h"
#include "tensor/objects.h"

namespace belay::ops {

using tensor::DType;
using tensor::Scalar;
using tensor::Shape;
using tensor::Tensor;
using tensor::TypeSet;

inline constexpr int kMaxParams = 56;

enum class ArgKind : uint8_t {
  kTensor,
  kScalar,
  kInts,
  kFloats,
  kBools,
  kTensors,
  kScalars,
  kInt,
  kDouble,
  kBool,
  kDType,
  kString,
};

// Whether a program passes an address, which may be null.
constexpr bool IsAddress(ArgKind kind) { return kind <= ArgKind::kScalars || kind == ArgKind::kString; }

// One argument of a call. Objects may be null where the parameter is optional.
struct Arg {
  Arg() = default;
  explicit Arg(const Tensor* t) : kind(ArgKind::kTensor), tensor(t) {}
  explicit Arg(const Scalar* s) : kind(ArgKind::kScalar), scalar(s) {}
  explicit Arg(const tensor::IntArray* a) : kind(ArgKind::kInts), ints(a) {}
  explicit Arg(const tensor::FloatArray* a) : kind(ArgKind::kFloats), floats(a) {}
  explicit Arg(const tensor::BoolArray* a) : kind(ArgKind::kBools), bools(a) {}
  explicit Arg(const tensor::TensorList* a) : kind(ArgKind::kTensors), tensors(a) {}
  explicit Arg(const tensor::ScalarList* a) : kind(ArgKind::kScalars), scalars(a) {}
  explicit Arg(int64_t value) : kind(ArgKind::kInt), integer(value) {}
  explicit Arg(double value) : kind(ArgKind::kDouble), real(value) {}
  explicit Arg(bool value) : kind(ArgKind::kBool), integer(value) {}
  explicit Arg(DType value) : kind(ArgKind::kDType), integer(static_cast<int64_t>(value)) {}
  explicit Arg(const char* value) : kind(ArgKind::kString), string(value) {}

  ArgKind kind = ArgKind::kInt;
  int16_t binding = -1;  // of a tensor; the first one of a list
  union {
    const Tensor* tensor;
    const Scalar* scalar;
    const tensor::IntArray* ints;
    const tensor::FloatArray* floats;
    const tensor::BoolArray* bools;
    const tensor::TensorList* tensors;
    const tensor::ScalarList* scalars;
    int64_t integer = 0;
    double real;
    const char* string;
  };
};

// A tensor, or a scalar in a place where either may stand, as rules and kernels take it.
struct Operand {
  const Tensor* tensor = nullptr;
  const Scalar* scalar = nullptr;
  int binding = -1;
  const char* name = "";

  bool present() const { return tensor != nullptr || scalar != nullptr; }
  DType dtype() const { return tensor != nullptr ? tensor->dtype : scalar->dtype(); }
  Shape shape() const { return tensor != nullptr ? tensor->shape : Shape{}; }
};

// The same layout and type: on the same address, element i of one is element i of the other.
inline bool IsSameView(const Operand& operand, const Operand& out) {
  return operand.tensor != nullptr && operand.binding >= 0 && operand.dtype() == out.dtype() &&
         operand.tensor->shape == out.tensor->shape && operand.tensor->strides == out.tensor->strides &&
         operand.tensor->offset == out.tensor->offset;
}

using OperandList = std::vector<Operand>;

struct Form;

// The arguments of one call in the order of the operator's parameters.
class Args {
 public:
  Args(const Form& form, const Arg* in_call_order) : form_(form), args_(in_call_order) {}

  const char* name(int param) const;
  Operand operand(int param) const;
  OperandList operands(int param) const;  // the members of a list; none where it was not given
  const Tensor& tensor(int param) const { return *at(param).tensor; }
  const Scalar& scalar(int param) const { return *at(param).scalar; }
  // Empty where the array is optional and was not given.
  std::span<const int64_t> ints(int param) const {
    const tensor::IntArray* array = at(param).ints;
    return array == nullptr ? std::span<const int64_t>() : array->items;
  }
  std::span<const uint8_t> bools(int param) const {
    const tensor::BoolArray* array = at(param).bools;
    return array == nullptr ? std::span<const uint8_t>() : array->items;
  }
  std::vector<Scalar> scalars(int param) const;  // the members of a list; none where it was not given
  int64_t integer(int param) const { return at(param).integer; }
  double real(int param) const { return at(param).real; }
  bool boolean(int param) const { return at(param).integer != 0; }
  DType dtype(int param) const { return static_cast<DType>(at(param).integer); }
  const char* string(int param) const { return at(param).string; }

 private:
  const Arg& at(int param) const;

  const Form& form_;
  const Arg* args_;
};

struct Param {
  const char* name;
  TypeSet types;  // of a tensor or scalar; empty: whatever the operator's rules take
  bool optional = false;
  bool is_weight = false;                // may have the format that aclnnTransMatmulWeight gives
  KnownPart part = KnownPart::kUnknown;  // of it, where the operator has InPart
};

// Whether the kernel may touch less than all elements of its tensors: those that the data or the attributes
// say.
enum class InPart : uint8_t { kNo, kReads, kAll };

struct Op {
  const char* name;
  std::span<const Param> params;
  int out;                      // the parameter that receives the result, -1: none or several
  Shape (*shape)(const Args&);  // the result's; null: the kernel checks
  DType (*dtype)(const Args&);  // in which the result is computed; null: the kernel decides
  void (*plan)(Plan&, const Args&, DType compute);
  InPart in_part = InPart::kNo;
};

struct FormParam {
  const char* name;
  Access access;  // of a tensor
  uint8_t param;  // the operator's parameter whose types it must have
};

struct Form {
  const char* function;
  const Op* op;
  std::span<const FormParam> params;  // in the order of the call
  uint8_t from[kMaxParams];           // operator's parameter -> position in the call
};

inline const Arg& Args::at(int param) const { return args_[form_.from[param]]; }
inline const char* Args::name(int param) const { return form_.params[form_.from[param]].name; }
inline Operand Args::operand(int param) const {
  const Arg& arg = at(param);
  if (arg.kind == ArgKind::kTensor) return {arg.tensor, nullptr, arg.binding, name(param)};
  return {nullptr, arg.scalar, -1, name(param)};
}

// Checks the arguments and makes the plan; throws Error 161001 or 161002 that names the argument.
// The arguments come in the order of the call and get their binding numbers.
PlanRef MakePlan(const Form& form, std::span<Arg> args);

// From now on plans know where their elements lie, for those who watch what tasks touch.
void KeepViewsOfAllPlans();

}  // namespace belay::ops
