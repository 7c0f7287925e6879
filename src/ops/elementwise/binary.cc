// Operators of two operands: one line each at BELAY_BINARY_OPERATORS. The loop is compiled for each
// compute type and instruction set; types, strides and broadcasting are the pipeline's business.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/elementwise/binary.cc"
#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef BELAY_OPS_BINARY_ONCE
#define BELAY_OPS_BINARY_ONCE
#include "ops/elementwise/binary.h"

// name, value of one element from a, b and alpha
#define BELAY_BINARY_OPERATORS(X) \
  X(Add, a + alpha * b)           \
  X(Sub, a - alpha * b)           \
  X(Mul, a* b)
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

// The result may be one of the operands, element for element, which is what ivdep promises.
#define BELAY_DEFINE_LOOP(Name, value)                                                            \
  template <class T>                                                                              \
  void Name##Loop(void* out, const void* left, const void* right,                                 \
                  const BinaryAttributes& attributes, int64_t n) {                                \
    auto* o = static_cast<T*>(out);                                                               \
    const auto* x = static_cast<const T*>(left);                                                  \
    const auto* y = static_cast<const T*>(right);                                                 \
    [[maybe_unused]] const T alpha = attributes.Alpha<T>();                                       \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) {                                        \
      T a = x[i], b = y[i];                                                                       \
      o[i] = value;                                                                               \
    }                                                                                             \
  }                                                                                               \
  BinaryLoops Name##Loops() {                                                                     \
    return {&Name##Loop<float>, &Name##Loop<double>, &Name##Loop<int32_t>, &Name##Loop<int64_t>}; \
  }
BELAY_BINARY_OPERATORS(BELAY_DEFINE_LOOP)

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {

#define BELAY_EXPORT_LOOPS(Name, value) BELAY_SIMD_EXPORT(Name##Loops);
BELAY_BINARY_OPERATORS(BELAY_EXPORT_LOOPS)

namespace kernels {

#define BELAY_DEFINE_KERNEL(Name, value)                                                  \
  void Name(Plan& plan, DType compute, const Operand& self, const Operand& other,         \
            const Scalar& alpha, const Operand& out) {                                    \
    PlanBinary(plan, BELAY_SIMD_CALL(Name##Loops)(), compute, self, other, &alpha, out);  \
  }                                                                                       \
  void Name(Plan& plan, DType compute, const Operand& self, const Operand& other,         \
            const Operand& out) {                                                         \
    PlanBinary(plan, BELAY_SIMD_CALL(Name##Loops)(), compute, self, other, nullptr, out); \
  }
BELAY_BINARY_OPERATORS(BELAY_DEFINE_KERNEL)

}  // namespace kernels
}  // namespace belay::ops
#endif  // HWY_ONCE
