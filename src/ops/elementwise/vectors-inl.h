// The functions of math-inl.h that networks use most, once more as vectors by hand: with the same
// polynomials, so with the same errors. What the compiler makes of two bounds is two choices each. Included
// once per instruction set; where that has no vectors there is nothing here.
#include "hwy/highway.h"
#include "ops/elementwise/pointwise.h"

#if defined(BELAY_OPS_ELEMENTWISE_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BELAY_OPS_ELEMENTWISE_VECTORS_INL_H_
#undef BELAY_OPS_ELEMENTWISE_VECTORS_INL_H_
#else
#define BELAY_OPS_ELEMENTWISE_VECTORS_INL_H_
#endif

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
struct VectorMath {
  using V = hn::Vec<D>;
  using Bits = hn::RebindToUnsigned<D>;
  D d;

  HWY_INLINE V Of(float x) const { return hn::Set(d, x); }
  // A NaN stays: it is the second operand.
  HWY_INLINE V AtMost(V x, float most) const { return hn::Min(Of(most), x); }
  HWY_INLINE V AtLeast(V x, float least) const { return hn::Max(Of(least), x); }

  // x = n ln 2 + r, as in math-inl.h
  struct Reduced {
    V shifted, r;
  };
  HWY_INLINE Reduced Reduce(V x) const {
    const V shifted = hn::MulAdd(x, Of(1.44269504f), Of(12582912.0f)), n = hn::Sub(shifted, Of(12582912.0f));
    const V near = hn::NegMulAdd(n, Of(0.693145751953125f), x);
    return {shifted, hn::NegMulAdd(n, Of(1.42860682e-6f), near)};
  }
  // e^r - 1
  HWY_INLINE V Rest(V r) const {
    const V z = hn::Mul(r, r);
    const V high =
        hn::MulAdd(Of(1.392692661e-3f), z, hn::MulAdd(Of(8.363773874e-3f), r, Of(4.166655011e-2f)));
    const V tail = hn::MulAdd(high, z, hn::MulAdd(Of(1.666657338e-1f), r, Of(0.5f)));
    return hn::MulAdd(tail, z, r);
  }
  HWY_INLINE V PlusBits(V x, hn::Vec<Bits> bits) const {
    return hn::BitCast(d, hn::Add(hn::BitCast(Bits(), x), bits));
  }
  HWY_INLINE hn::Vec<Bits> Exponent(V shifted) const {
    return hn::ShiftLeft<23>(hn::BitCast(Bits(), shifted));
  }
  // e^x, where it is a normal number
  HWY_INLINE V Normal(const Reduced& reduced) const {
    return PlusBits(hn::Add(Rest(reduced.r), Of(1)), Exponent(reduced.shifted));
  }
  HWY_INLINE V Power(V shifted) const {
    return hn::BitCast(d, hn::Add(Exponent(shifted), hn::Set(Bits(), 0x3f800000u)));
  }

  HWY_INLINE V Exp(V x) const {
    const Reduced reduced = Reduce(AtLeast(AtMost(x, 89.5f), -105.0f));
    const auto whole = Exponent(reduced.shifted);
    const auto half = hn::ShiftLeft<23>(hn::ShiftRight<1>(hn::BitCast(Bits(), reduced.shifted)));
    const V factor = hn::BitCast(d, hn::Add(hn::Sub(whole, half), hn::Set(Bits(), 0x3f800000u)));
    return hn::Mul(PlusBits(hn::Add(Rest(reduced.r), Of(1)), half), factor);
  }

  HWY_INLINE V Sigmoid(V x) const {
    constexpr float kLeast = -88.3f;
    const V t = AtMost(AtLeast(x, kLeast), 87.0f);
    const V value = hn::Div(Of(1), hn::Add(Of(1), Normal(Reduce(hn::Neg(t)))));
    return hn::IfThenZeroElse(hn::Lt(x, Of(kLeast)), value);
  }

  HWY_INLINE V Tanh(V x) const {
    const V size = AtMost(hn::Abs(x), 9.1f);
    const Reduced reduced = Reduce(hn::Add(size, size));
    const V power = Power(reduced.shifted);
    const V t = hn::MulAdd(power, Rest(reduced.r), hn::Sub(power, Of(1)));
    return hn::CopySign(hn::Div(t, hn::Add(t, Of(2))), x);
  }

  // Of positive normal numbers: those of math-inl.h's Log without the others' choices.
  HWY_INLINE V LogOfNormal(V x) const {
    const auto bits = hn::Sub(hn::BitCast(Bits(), x), hn::Set(Bits(), 0x3f3504f3u));  // sqrt(1/2) becomes 0
    const hn::RebindToSigned<D> whole;
    const V e = hn::ConvertTo(d, hn::ShiftRight<23>(hn::BitCast(whole, bits)));
    const auto fraction = hn::Add(hn::And(bits, hn::Set(Bits(), 0x007fffffu)), hn::Set(Bits(), 0x3f3504f3u));
    const V f = hn::Sub(hn::BitCast(d, fraction), Of(1)), square = hn::Mul(f, f);
    V t = hn::MulAdd(Of(6.980701959e-2f), f, Of(-1.149454661e-1f));
    t = hn::MulAdd(t, f, Of(1.168907114e-1f));
    t = hn::MulAdd(t, f, Of(-1.242403772e-1f));
    t = hn::MulAdd(t, f, Of(1.424855126e-1f));
    t = hn::MulAdd(t, f, Of(-1.666785097e-1f));
    t = hn::MulAdd(t, f, Of(2.00007305e-1f));
    t = hn::MulAdd(t, f, Of(-2.499999663e-1f));
    t = hn::MulAdd(t, f, Of(3.333333112e-1f));
    const V low =
        hn::MulAdd(Of(-0.5f), square, hn::MulAdd(hn::Mul(t, f), square, hn::Mul(e, Of(1.42860682e-6f))));
    return hn::MulAdd(e, Of(0.693145751953125f), hn::Add(f, low));
  }

  HWY_INLINE V Erf(V x) const {
    const V z = hn::Mul(x, x), size = hn::Abs(x), t = AtMost(size, 4.0f);
    V s = hn::MulAdd(Of(7.875875063e-5f), z, Of(-8.016864287e-4f));
    s = hn::MulAdd(s, z, Of(5.189087423e-3f));
    s = hn::MulAdd(s, z, Of(-2.685421201e-2f));
    s = hn::MulAdd(s, z, Of(1.128359472e-1f));
    s = hn::MulAdd(s, z, Of(-3.761262667e-1f));
    s = hn::MulAdd(s, z, Of(1.128379166f));
    V l = hn::MulAdd(Of(1.637151415e-6f), t, Of(-4.605804269e-5f));
    l = hn::MulAdd(l, t, Of(5.968056257e-4f));
    l = hn::MulAdd(l, t, Of(-4.759596293e-3f));
    l = hn::MulAdd(l, t, Of(2.642113601e-2f));
    l = hn::MulAdd(l, t, Of(-1.100800829e-1f));
    l = hn::MulAdd(l, t, Of(-6.318260516e-1f));
    l = hn::MulAdd(l, t, Of(-1.130233435f));
    l = hn::MulAdd(l, t, Of(3.201380497e-4f));
    const V large = hn::CopySign(hn::Sub(Of(1), Normal(Reduce(l))), x);
    return hn::IfThenElse(hn::Lt(size, Of(1)), hn::Mul(s, x), large);
  }
};

// value(Math, x, p) for each vector of elements; what is left is computed as a vector, too.
template <template <class> class Math = VectorMath, class Value>
HWY_INLINE void EachVector(void* out, const void* const* in, const LoopAttributes& attributes, int64_t n,
                           Value value) {
  const hn::ScalableTag<float> d;
  const Math<hn::ScalableTag<float>> math{d};
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto p = hn::Set(d, attributes.As<float>(0));
  const auto* x = static_cast<const float*>(in[0]);
  auto* o = static_cast<float*>(out);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(value(math, hn::LoadU(d, x + i), p), d, o + i);
  if (i == n) return;
  HWY_ALIGN float rest[HWY_MAX_BYTES / sizeof(float)] = {};
  for (int64_t k = i; k < n; ++k) rest[k - i] = x[k];
  hn::Store(value(math, hn::Load(d, rest), p), d, rest);
  for (int64_t k = i; k < n; ++k) o[k] = rest[k - i];
}

#define BELAY_VECTOR_LOOP(Name, value)                                                                       \
  inline void Name##Vectors(void* out, const void* const* in, const LoopAttributes& attributes, int64_t n) { \
    EachVector(out, in, attributes, n,                                                                       \
               [](const auto& m, auto a, [[maybe_unused]] auto p) { return value; });                        \
  }
BELAY_VECTOR_LOOP(Exp, m.Exp(a))
BELAY_VECTOR_LOOP(Tanh, m.Tanh(a))
BELAY_VECTOR_LOOP(Erf, m.Erf(a))
BELAY_VECTOR_LOOP(Sigmoid, m.Sigmoid(a))
BELAY_VECTOR_LOOP(Silu, hn::Mul(a, m.Sigmoid(a)))
BELAY_VECTOR_LOOP(Swish, hn::Mul(a, m.Sigmoid(hn::Mul(p, a))))
BELAY_VECTOR_LOOP(Gelu, hn::Mul(hn::Mul(m.Of(0.5f), a),
                                hn::Add(m.Of(1), m.Erf(hn::Mul(a, m.Of(0.70710678118654752f))))))
BELAY_VECTOR_LOOP(
    GeluTanh, hn::Mul(a, m.Sigmoid(hn::Mul(m.Of(1.5957691216057308f),
                                           hn::Add(a, hn::Mul(hn::Mul(hn::Mul(m.Of(0.044715f), a), a), a))))))

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();
#endif
#endif
