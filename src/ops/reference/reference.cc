#include "ops/reference/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace belay::ops::reference {
namespace {

// Rounds to a binary format with `digits` significant bits and least exponent `least`, ties to
// even.
Real RoundToFormat(Real value, int digits, int least, Real largest) {
  if (!std::isfinite(value) || value == 0) return value;
  int exponent = std::max(std::ilogb(value), least);
  Real unit = std::ldexp(Real{1}, exponent - digits + 1);
  Real rounded = std::nearbyint(value / unit) * unit;
  return std::fabs(rounded) > largest ? std::copysign(INFINITY, value) : rounded;
}

template <class T>
Real RoundToInt(Real value) {
  if (std::isnan(value)) return 0;
  Real whole = std::trunc(value);
  Real span = std::ldexp(Real{1}, 8 * sizeof(T));
  Real low = std::numeric_limits<T>::min();
  return whole - std::floor((whole - low) / span) * span;
}

template <class T>
T Load(const void* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
template <class T>
void Store(void* p, T value) {
  std::memcpy(p, &value, sizeof value);
}

Real LoadHalf(const void* p, int mantissa_bits, int exponent_bits) {
  auto bits = Load<uint16_t>(p);
  int bias = (1 << (exponent_bits - 1)) - 1;
  int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  int mantissa = bits & ((1 << mantissa_bits) - 1);
  Real value = exponent == 0
                   ? std::ldexp(Real(mantissa), 1 - bias - mantissa_bits)
                   : std::ldexp(Real(mantissa + (1 << mantissa_bits)), exponent - bias - mantissa_bits);
  if (exponent == (1 << exponent_bits) - 1) value = mantissa != 0 ? NAN : INFINITY;
  return bits & 0x8000 ? -value : value;
}

void StoreHalf(void* p, Real value, int mantissa_bits, int exponent_bits) {
  int bias = (1 << (exponent_bits - 1)) - 1;
  int top = ((1 << exponent_bits) - 1) << mantissa_bits;
  int sign = std::signbit(value) ? 0x8000 : 0;
  int bits = 0;
  if (std::isnan(value)) {
    bits = top | 1 << (mantissa_bits - 1);
  } else if (std::isinf(value)) {
    bits = top;
  } else if (value != 0) {
    int exponent = std::max(std::ilogb(value), 1 - bias);
    auto significand = static_cast<int>(std::ldexp(std::fabs(value), mantissa_bits - exponent));
    bits = ((exponent + bias - 1) << mantissa_bits) + significand;
    if (significand < 1 << mantissa_bits) bits = significand;  // subnormal
  }
  Store(p, static_cast<uint16_t>(sign | bits));
}

Real LoadElement(DType type, const void* p) {
  switch (type) {
    case DType::kF32:
      return Load<float>(p);
    case DType::kF64:
      return Load<double>(p);
    case DType::kF16:
      return LoadHalf(p, 10, 5);
    case DType::kBF16:
      return LoadHalf(p, 7, 8);
    case DType::kI8:
      return Load<int8_t>(p);
    case DType::kI16:
      return Load<int16_t>(p);
    case DType::kI32:
      return Load<int32_t>(p);
    case DType::kI64:
      return Load<int64_t>(p);
    case DType::kU8:
      return Load<uint8_t>(p);
    case DType::kU16:
      return Load<uint16_t>(p);
    case DType::kU32:
      return Load<uint32_t>(p);
    case DType::kU64:
      return Load<uint64_t>(p);
    case DType::kBool:
      return Load<uint8_t>(p) != 0;
    default:
      return NAN;
  }
}

// `value` is one that the type holds.
void StoreElement(DType type, void* p, Real value) {
  switch (type) {
    case DType::kF32:
      return Store(p, static_cast<float>(value));
    case DType::kF64:
      return Store(p, static_cast<double>(value));
    case DType::kF16:
      return StoreHalf(p, value, 10, 5);
    case DType::kBF16:
      return StoreHalf(p, value, 7, 8);
    case DType::kI8:
      return Store(p, static_cast<int8_t>(value));
    case DType::kI16:
      return Store(p, static_cast<int16_t>(value));
    case DType::kI32:
      return Store(p, static_cast<int32_t>(value));
    case DType::kI64:
      return Store(p, static_cast<int64_t>(value));
    case DType::kU8:
      return Store(p, static_cast<uint8_t>(value));
    case DType::kU16:
      return Store(p, static_cast<uint16_t>(value));
    case DType::kU32:
      return Store(p, static_cast<uint32_t>(value));
    case DType::kU64:
      return Store(p, static_cast<uint64_t>(value));
    case DType::kBool:
      return Store(p, static_cast<uint8_t>(value != 0));
    default:
      return;
  }
}

char* AddressOf(const Tensor& tensor, const Shape& index) {
  int64_t element = tensor.offset;
  int skip = index.rank() - tensor.shape.rank();
  for (int i = 0; i < tensor.shape.rank(); ++i) {
    if (tensor.shape[i] != 1) element += index[i + skip] * tensor.strides[i];
  }
  return static_cast<char*>(tensor.data) + element * static_cast<int64_t>(BytesOf(tensor.dtype));
}

}  // namespace

Real Rounded(Real value, DType type) {
  switch (type) {
    case DType::kF32:
      return RoundToFormat(value, 24, -126, std::numeric_limits<float>::max());
    case DType::kF64:
      return RoundToFormat(value, 53, -1022, std::numeric_limits<double>::max());
    case DType::kF16:
      return RoundToFormat(value, 11, -14, 65504);
    case DType::kBF16:
      return RoundToFormat(value, 8, -126, std::ldexp(Real{255}, 120));
    case DType::kI8:
      return RoundToInt<int8_t>(value);
    case DType::kI16:
      return RoundToInt<int16_t>(value);
    case DType::kI32:
      return RoundToInt<int32_t>(value);
    case DType::kI64:
      return RoundToInt<int64_t>(value);
    case DType::kU8:
      return RoundToInt<uint8_t>(value);
    case DType::kU16:
      return RoundToInt<uint16_t>(value);
    case DType::kU32:
      return RoundToInt<uint32_t>(value);
    case DType::kU64:
      return RoundToInt<uint64_t>(value);
    case DType::kBool:
      return value != 0;
    default:
      return value;
  }
}

Real Converted(Real value, DType from, DType to) {
  bool to_half = to == DType::kF16 || to == DType::kBF16;
  if (to_half) return Rounded(Rounded(value, DType::kF32), to);  // there is no way past f32
  if (IsFloat(from) && IsInt(to) && !std::isnan(value)) {
    bool is_signed = InfoOf(to).is_signed;
    Real span = std::ldexp(Real{1}, InfoOf(to).bits - (is_signed ? 1 : 0));
    value = std::clamp(std::trunc(value), is_signed ? -span : 0, span - 1);
  }
  return Rounded(value, to);
}

Real Get(const Tensor& tensor, const Shape& index) {
  return LoadElement(tensor.dtype, AddressOf(tensor, index));
}
void Set(const Tensor& tensor, const Shape& index, Real value) {
  StoreElement(tensor.dtype, AddressOf(tensor, index), Rounded(value, tensor.dtype));
}
Real ValueOf(const Scalar& scalar) { return LoadElement(scalar.dtype(), scalar.data()); }

void ForEach(const Shape& shape, const std::function<void(const Shape&)>& visit) {
  if (CountOf(shape) == 0) return;
  Shape index = Shape::Filled(shape.rank(), 0);
  for (;;) {
    visit(index);
    int d = shape.rank() - 1;
    while (d >= 0 && ++index[d] == shape[d]) index[d--] = 0;
    if (d < 0) return;
  }
}

void Elementwise(const Binary& f, DType promoted, const Tensor& self, const Tensor* other, Real other_value,
                 const Tensor& out) {
  ForEach(out.shape, [&](const Shape& i) {
    Real a = Converted(Get(self, i), self.dtype, promoted);
    // A scalar is not rounded to a 16-bit type: it takes part in the computation, which is in f32.
    bool half = promoted == DType::kF16 || promoted == DType::kBF16;
    Real b = other != nullptr ? Converted(Get(*other, i), other->dtype, promoted)
                              : Rounded(other_value, half ? DType::kF32 : promoted);
    Set(out, i, Converted(Rounded(f(a, b), promoted), promoted, out.dtype));
  });
}

void Copy(const Tensor& src, const Tensor& out) {
  ForEach(out.shape, [&](const Shape& i) { Set(out, i, Converted(Get(src, i), src.dtype, out.dtype)); });
}

void Fill(Real value, const Tensor& out) {
  ForEach(out.shape, [&](const Shape& i) { Set(out, i, value); });
}

void Matmul(const Tensor& self, const Tensor& mat2, const Tensor& out, bool round) {
  Tensor a = self, b = mat2, c = out;
  auto insert = [](Tensor& t, int at) {  // a dimension of size one
    Shape shape, strides;
    for (int i = 0; i <= t.shape.rank(); ++i) {
      if (i == at) shape.push_back(1), strides.push_back(0);
      if (i < t.shape.rank()) shape.push_back(t.shape[i]), strides.push_back(t.strides[i]);
    }
    t.shape = shape, t.strides = strides;
  };
  if (self.shape.rank() == 1) insert(a, 0), insert(c, std::max(mat2.shape.rank() - 2, 0));
  if (mat2.shape.rank() == 1) insert(b, 1), insert(c, c.shape.rank());
  int64_t depth = a.shape.back(0);
  auto input = [round](Real x) { return round ? Rounded(x, DType::kF16) : x; };
  ForEach(c.shape, [&](const Shape& i) {
    Real sum = 0;
    for (int64_t k = 0; k < depth; ++k) {
      Shape ia = i, ib = i;
      ia.back(0) = k;
      ib.back(1) = k;
      sum += input(Get(a, ia)) * input(Get(b, ib));
    }
    Set(c, i, sum);
  });
}

void Sum(const Tensor& self, std::vector<int64_t> dims, bool keep, DType type, const Tensor& out) {
  bool reduced[tensor::kMaxRank] = {};
  for (int i = 0; i < self.shape.rank(); ++i) reduced[i] = dims.empty();
  for (int64_t d : dims) {
    if (self.shape.rank() > 0) reduced[d < 0 ? d + self.shape.rank() : d] = true;
  }
  std::vector<Real> sums(static_cast<size_t>(CountOf(out.shape)), 0);
  auto place = [&](const Shape& i) {
    size_t flat = 0;
    for (int d = 0; d < self.shape.rank(); ++d) {
      if (!reduced[d]) flat = flat * static_cast<size_t>(self.shape[d]) + static_cast<size_t>(i[d]);
    }
    return flat;
  };
  ForEach(self.shape, [&](const Shape& i) { sums[place(i)] += Converted(Get(self, i), self.dtype, type); });
  size_t next = 0;
  (void)keep;  // the order of the elements is the same
  ForEach(out.shape, [&](const Shape& i) { Set(out, i, Rounded(sums[next++], type)); });
}

void Softmax(const Tensor& self, int64_t dim, const Tensor& out) {
  if (self.shape.rank() == 0) return Fill(std::isnan(Get(self, {})) ? NAN : 1, out);
  int d = static_cast<int>(dim < 0 ? dim + self.shape.rank() : dim);
  Shape outer = self.shape;
  outer[d] = std::min<int64_t>(outer[d], 1);
  ForEach(outer, [&](Shape i) {
    Real most = -INFINITY, sum = 0;
    for (i[d] = 0; i[d] < self.shape[d]; ++i[d]) most = std::max(most, Get(self, i));
    for (i[d] = 0; i[d] < self.shape[d]; ++i[d]) sum += std::exp(Get(self, i) - most);
    for (i[d] = 0; i[d] < self.shape[d]; ++i[d]) Set(out, i, std::exp(Get(self, i) - most) / sum);
  });
}

}  // namespace belay::ops::reference
