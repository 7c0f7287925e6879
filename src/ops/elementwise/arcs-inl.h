// asin, acos and atan of vectors of f32, as close to the exact value as from f64: what roundings on the way
// leave out is carried beside the value and added last. That takes fused products, so where an instruction
// set has none there is nothing here. Included once per instruction set.
#include "hwy/highway.h"

#if defined(BELAY_OPS_ELEMENTWISE_ARCS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BELAY_OPS_ELEMENTWISE_ARCS_INL_H_
#undef BELAY_OPS_ELEMENTWISE_ARCS_INL_H_
#else
#define BELAY_OPS_ELEMENTWISE_ARCS_INL_H_
#endif

#if HWY_NATIVE_FMA
HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

template <class D>
struct ArcMath {
  using V = hwy::HWY_NAMESPACE::Vec<D>;
  D d;

  HWY_INLINE V Of(float x) const { return hwy::HWY_NAMESPACE::Set(d, x); }

  // quarters pi / 2 + far + near, where |far| is no more than the first or that is 0, and near is small
  HWY_INLINE V Sum(V quarters, V far, V near) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const V base = hn::Mul(quarters, Of(1.57079637f)), sum = hn::Add(base, far);
    const V lost = hn::Add(hn::Sub(base, sum), far);
    return hn::Add(sum, hn::Add(lost, hn::MulAdd(quarters, Of(-4.37113883e-8f), near)));
  }

  // asin(s) = s + tail of s = |x|, or from a half on of s = sqrt((1 - |x|) / 2): asin(|x|) = pi / 2 - 2
  // asin(s)
  struct Arc {
    hwy::HWY_NAMESPACE::Mask<D> small;
    V s, tail;
  };
  HWY_INLINE Arc ArcOf(V x) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const V size = hn::Abs(x), half = hn::Mul(hn::Sub(Of(1), size), Of(0.5f)), root = hn::Sqrt(half);
    const V doubled = hn::Add(hn::Max(root, Of(1e-4f)), root);  // of 0, too, it has a reciprocal
    const V lost = hn::Mul(hn::NegMulAdd(root, root, half), hn::ApproximateReciprocal(doubled));
    const auto small = hn::Le(size, Of(0.5f));
    const V s = hn::IfThenElse(small, size, root), z = hn::IfThenElse(small, hn::Mul(x, x), half);
    V t = hn::MulAdd(Of(0.0336908475f), z, Of(0.0171492379f));
    t = hn::MulAdd(t, z, Of(0.0311006624f));
    t = hn::MulAdd(t, z, Of(0.0445994027f));
    t = hn::MulAdd(t, z, Of(0.0750009418f));
    t = hn::MulAdd(t, z, Of(0.166666657f));
    return {small, s, hn::MulAdd(hn::Mul(s, z), t, hn::IfThenZeroElse(small, lost))};
  }
  HWY_INLINE V Asin(V x) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const Arc arc = ArcOf(x);
    const V quarters = hn::IfThenZeroElse(arc.small, Of(1)), k = hn::IfThenElse(arc.small, Of(1), Of(-2));
    return hn::CopySign(Sum(quarters, hn::Mul(k, arc.s), hn::Mul(k, arc.tail)), x);
  }
  HWY_INLINE V Acos(V x) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const Arc arc = ArcOf(x);
    const V sign = hn::CopySign(Of(1), x), k = hn::Mul(hn::IfThenElse(arc.small, Of(-1), Of(2)), sign);
    const V quarters = hn::IfThenElse(arc.small, Of(1), hn::Sub(Of(1), sign));
    return Sum(quarters, hn::Mul(k, arc.s), hn::Mul(k, arc.tail));
  }

  // atan(x) is pi / 2 - atan(1 / x), and pi / 4 + atan((x - 1) / (x + 1))
  HWY_INLINE V Atan(V x) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const V size = hn::Min(Of(1e30f), hn::Abs(x));  // a NaN stays: it is the second operand
    const auto large = hn::Gt(size, Of(2)), beyond = hn::Gt(size, Of(0.5f));
    const auto middle = hn::AndNot(large, beyond);
    const V up = hn::Add(size, Of(1)), up_lost = hn::Sub(size, hn::Sub(up, Of(1)));
    const V above = hn::IfThenElse(large, Of(-1), hn::IfThenElse(middle, hn::Sub(size, Of(1)), size));
    const V below = hn::IfThenElse(large, size, hn::IfThenElse(middle, up, Of(1)));
    const V t = hn::Div(above, below), z = hn::Mul(t, t);
    const V rest = hn::NegMulAdd(t, hn::IfThenElseZero(middle, up_lost), hn::NegMulAdd(t, below, above));
    V p = hn::MulAdd(Of(0.0422475003f), z, Of(-0.0823497623f));
    p = hn::MulAdd(p, z, Of(0.11006777f));
    p = hn::MulAdd(p, z, Of(-0.142797932f));
    p = hn::MulAdd(p, z, Of(0.199998751f));
    p = hn::MulAdd(p, z, Of(-0.333333343f));
    const V near = hn::MulAdd(hn::Mul(t, z), p, hn::Mul(rest, hn::ApproximateReciprocal(below)));
    const V quarters = hn::IfThenElse(large, Of(1), hn::IfThenElseZero(middle, Of(0.5f)));
    return hn::CopySign(Sum(quarters, t, near), x);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();
#endif
#endif
