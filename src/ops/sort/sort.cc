#include "ops/sort/sort.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/layout/moves.h"
#include "ops/pipeline.h"
#include "ops/rules.h"
#include "ops/scratch.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

using tensor::kInvalidArgument;

// One result or the input: where its rows begin and how they run.
struct Side {
  std::vector<int64_t> rows;  // byte offsets
  int64_t step = 0;
  int binding = -1;
};

Side SideOf(const Operand& operand, int axis) {
  const Tensor& t = *operand.tensor;
  auto bytes = static_cast<int64_t>(BytesOf(t.dtype));
  Shape shape, strides;
  for (int d = 0; d < t.shape.rank(); ++d) {
    if (d == axis) continue;
    shape.push_back(t.shape[d]);
    strides.push_back(t.strides[d]);
  }
  Side side{OffsetsOf(shape, strides, bytes), t.shape.rank() == 0 ? bytes : t.strides[axis] * bytes,
            operand.binding};
  for (int64_t& row : side.rows) row += t.offset * bytes;
  return side;
}

template <class T>
bool Before(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b) return a == a;  // NaN is the largest
  }
  return a < b;
}

// Numbers of 32 bits whose order is that of the values, the largest first where that is wanted: zeros of both
// signs are equal, NaN is the largest.
uint32_t Key(float x, bool descending) {
  const auto bits = std::bit_cast<uint32_t>(x == 0 ? 0.0F : x);
  const uint32_t ordered = (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
  const uint32_t key = x == x ? ordered : 0xffffffffU;
  return descending ? ~key : key;
}
uint32_t Key(int32_t x, bool descending) {
  const uint32_t key = static_cast<uint32_t>(x) ^ 0x80000000U;
  return descending ? ~key : key;
}

// By the upper half, digit by digit from the last: what is equal stays in order. `other` is room for as many.
void SortByDigits(uint64_t* keys, uint64_t* other, int64_t n) {
  constexpr int kBits = 11, kDigits = 3, kFirst = 32;
  constexpr uint64_t kValues = 1U << kBits;
  uint32_t begins[kDigits][kValues] = {};
  const auto digit = [](uint64_t key, int d) { return key >> (kFirst + d * kBits) & (kValues - 1); };
  for (int64_t i = 0; i < n; ++i) {
    for (int d = 0; d < kDigits; ++d) ++begins[d][digit(keys[i], d)];
  }
  uint64_t *from = keys, *to = other;
  for (int d = 0; d < kDigits; ++d) {
    if (begins[d][digit(keys[0], d)] == static_cast<uint64_t>(n)) continue;  // all have the same
    uint32_t begin = 0;
    for (uint32_t& count : begins[d]) begin += std::exchange(count, begin);
    for (int64_t i = 0; i < n; ++i) to[begins[d][digit(from[i], d)]++] = from[i];
    std::swap(from, to);
  }
  if (from != keys) std::copy_n(from, n, keys);
}

template <class T>
struct SortBody {
  Side in, values, indices;
  PieceScratch<char> scratch;  // a row's places in order, room for as many where that is needed, the row
  DType type, index_type;
  int64_t size, skip, keep;
  bool descending, is_unsigned;

  void operator()(const Frame& frame) const {
    scratch.For(frame, [&](int64_t begin, int64_t end, char* memory) {
      auto* order = reinterpret_cast<int64_t*>(memory);
      auto* row = reinterpret_cast<T*>(order + (ByDigits() ? 2 : 1) * size);
      for (int64_t i = begin; i < end; ++i) Row(frame, static_cast<size_t>(i), row, order);
    });
  }

  void Reserve(Plan& plan) {
    const int64_t grain = std::max<int64_t>(1, 8 * 1024 / std::max<int64_t>(1, size));
    scratch = {plan, static_cast<int64_t>(in.rows.size()), grain,
               size * static_cast<int64_t>((ByDigits() ? 2 : 1) * sizeof(int64_t) + sizeof(T))};
  }

  static constexpr bool kHasKeys = sizeof(T) == sizeof(uint32_t);
  static constexpr int64_t kManyDigits = 1024;  // are sorted faster than by comparing
  bool ByDigits() const {
    return kHasKeys && keep == size && size >= kManyDigits && size <= std::numeric_limits<uint32_t>::max();
  }

  void Row(const Frame& frame, size_t i, T* row, int64_t* order) const {
    const char* from = frame.at[in.binding] + in.rows[i];
    Load(from, row);
    if (keep <= kFew && keep * 4 <= size) {
      Few(row, order);
    } else {
      ArrangeAll(row, order);
    }
    auto bytes = static_cast<int64_t>(BytesOf(type));
    for (int64_t k = skip; values.binding >= 0 && k < keep; ++k) {
      MoveRow(frame.at[values.binding] + values.rows[i] + (k - skip) * values.step, bytes,
              from + order[k] * in.step, bytes, 1, bytes);
    }
    if (indices.binding >= 0) StoreIndices(frame.at[indices.binding] + indices.rows[i], order);
  }

  void Load(const char* from, T* row) const {
    Lane lane(type, type, in.step);
    alignas(64) T block[kBlock];
    for (int64_t k = 0; k < size; k += kBlock) {
      int64_t n = std::min(kBlock, size - k);
      const auto* loaded = static_cast<const T*>(lane.Load(block, from + k * in.step, n));
      std::copy_n(loaded, n, row + k);
    }
    if constexpr (std::is_same_v<T, int64_t>) {
      if (!is_unsigned) return;
      for (int64_t k = 0; k < size; ++k)
        row[k] = static_cast<T>(static_cast<uint64_t>(row[k]) ^ (uint64_t{1} << 63));
    }
  }

  static constexpr int64_t kFew = 128;

  bool Precedes(T x, T y) const { return descending ? Before(y, x) : Before(x, y); }

  // The first few of many, kept in order while the row goes by: nearly all elements are compared with the
  // last of them and left. A later one that is equal comes behind.
  void Few(const T* row, int64_t* order) const {
    int64_t held = 0;
    for (int64_t k = 0; k < size; ++k) {
      if (held == keep) {
        k = NextBetter(row, k, row[order[keep - 1]]);
        if (k == size) return;
      }
      int64_t at = held < keep ? held++ : keep - 1;
      for (; at > 0 && Precedes(row[k], row[order[at - 1]]); --at) order[at] = order[at - 1];
      order[at] = k;
    }
  }

  // The first element from k on that precedes `last`, or `size`.
  int64_t NextBetter(const T* row, int64_t k, T last) const {
    // Beside a number, in comparisons that the compiler does many of at once.
    if (last == last) {
      return descending ? NextOf(row, k, [last](T x) { return !(x <= last); })
                        : NextOf(row, k, [last](T x) { return x < last; });
    }
    return NextOf(row, k, [this, last](T x) { return Precedes(x, last); });
  }

  template <class Better>
  int64_t NextOf(const T* row, int64_t k, const Better& better) const {
    constexpr int64_t kTogether = 16;
    for (; k + kTogether <= size; k += kTogether) {
      int some = 0;
      for (int64_t j = 0; j < kTogether; ++j) some |= better(row[k + j]) ? 1 : 0;
      if (some != 0) break;
    }
    while (k < size && !better(row[k])) ++k;
    return k;
  }

  void ArrangeAll(const T* row, int64_t* order) const {
    if constexpr (kHasKeys) {
      if (size <= std::numeric_limits<uint32_t>::max()) return ByKeys(row, order);
    }
    std::iota(order, order + size, int64_t{0});
    Order(row, order);
  }

  // With its place behind it each key is another one, and in order where two values are equal.
  void ByKeys(const T* row, int64_t* order) const {
    auto* keys = reinterpret_cast<uint64_t*>(order);
    for (int64_t k = 0; k < size; ++k) {
      keys[k] = uint64_t{Key(row[k], descending)} << 32 | static_cast<uint64_t>(k);
    }
    if (ByDigits()) {
      SortByDigits(keys, keys + size, size);
    } else {
      if (keep > 0 && keep < size) std::nth_element(keys, keys + keep - 1, keys + size);
      std::sort(keys, keys + keep);
    }
    for (int64_t k = 0; k < keep; ++k) order[k] = static_cast<int64_t>(keys[k] & 0xffffffffU);
  }

  void Order(const T* row, int64_t* order) const {
    auto before = [&](int64_t a, int64_t b) {
      T x = row[a], y = row[b];
      if (descending ? Before(y, x) : Before(x, y)) return true;
      if (descending ? Before(x, y) : Before(y, x)) return false;
      return a < b;
    };
    if (keep < size) {
      int64_t* middle = order + keep;
      if (keep > 0) std::nth_element(order, middle - 1, order + size, before);
      std::sort(order, middle, before);
      return;
    }
    std::sort(order, order + size, before);
  }

  void StoreIndices(char* to, const int64_t* order) const {
    auto bytes = static_cast<int64_t>(BytesOf(index_type));
    for (int64_t k = skip; k < keep; ++k) {
      alignas(8) char number[8];
      tensor::Convert(index_type, number, DType::kI64, &order[k], 1);
      MoveRow(to + (k - skip) * indices.step, bytes, number, bytes, 1, bytes);
    }
  }
};

template <class T>
void PlanRows(Plan& plan, const Operand& self, int axis, const SortOrder& order, const Operand* values,
              const Operand* indices) {
  SortBody<T> body;
  const Shape& shape = self.tensor->shape;
  body.in = SideOf(self, axis);
  if (values != nullptr) body.values = SideOf(*values, axis);
  if (indices != nullptr) body.indices = SideOf(*indices, axis);
  body.type = self.dtype();
  body.index_type = indices != nullptr ? indices->dtype() : DType::kI64;
  body.size = shape.rank() == 0 ? 1 : shape[axis];
  body.keep = order.keep < 0 ? body.size : order.keep;
  body.skip = order.skip;
  body.descending = order.descending;
  body.is_unsigned = self.dtype() == DType::kU64;
  body.Reserve(plan);
  plan.SetCost(100 + static_cast<uint64_t>(self.tensor->count()) * 20);
  plan.SetBody(body);
}

}  // namespace

void PlanSort(Plan& plan, const Operand& self, int64_t dim, const SortOrder& order, const Operand* values,
              const Operand* indices) {
  CheckNumeric(self);
  int axis = rules::WrapDim(self, dim);
  Shape wanted = self.tensor->shape;
  int64_t size = wanted.rank() == 0 ? 1 : wanted[axis];
  const bool none_of_one = wanted.rank() == 0 && order.keep == 0;  // a scalar has no shape without elements
  if (order.keep > size || order.keep < -1 || none_of_one) {
    Fail(kInvalidArgument, "op-topk", "{} elements cannot be taken from {}", order.keep, size);
  }
  if (order.keep >= 0 && wanted.rank() > 0) wanted[axis] = order.keep - order.skip;
  if (values != nullptr) {
    CheckShape(*values, wanted);
    CheckSameType(self, *values);
  }
  if (indices != nullptr) CheckShape(*indices, wanted);
  if (CountOf(wanted) == 0) return;
  switch (ComputeType(self.dtype())) {
    case DType::kF64:
      return PlanRows<double>(plan, self, axis, order, values, indices);
    case DType::kF32:
      return PlanRows<float>(plan, self, axis, order, values, indices);
    case DType::kI64:
      return PlanRows<int64_t>(plan, self, axis, order, values, indices);
    default:
      return PlanRows<int32_t>(plan, self, axis, order, values, indices);
  }
}

namespace kernels {

void Argsort(Plan& plan, DType, const Operand& self, int64_t dim, bool descending, const Operand& out) {
  PlanSort(plan, self, dim, {.descending = descending}, nullptr, &out);
}

void Sort(Plan& plan, DType, const Operand& self, bool /*stable*/, int64_t dim, bool descending,
          const Operand& values, const Operand& indices) {
  PlanSort(plan, self, dim, {.descending = descending}, &values, &indices);
}

void Topk(Plan& plan, DType, const Operand& self, int64_t k, int64_t dim, bool largest, bool /*sorted*/,
          const Operand& values, const Operand& indices) {
  PlanSort(plan, self, dim, {.descending = largest, .keep = k}, &values, &indices);
}

// The place k of each row alone: sorted up to it.
void Kthvalue(Plan& plan, DType, const Operand& self, int64_t k, int64_t dim, bool keepdim,
              const Operand& values, const Operand& indices) {
  const int axis = rules::WrapDim(self, dim);
  const Shape shape = rules::ReducedOne(self, dim, keepdim);
  CheckShape(values, shape);
  CheckShape(indices, shape);
  if (k < 1) Fail(kInvalidArgument, "op-topk", "k is {}; the first element is the one that k = 1 names", k);
  Tensor views[2] = {*values.tensor, *indices.tensor};
  for (Tensor& view : views) {
    if (self.shape().rank() == 0 || keepdim) continue;
    Shape all, strides;
    for (int d = 0, from = 0; d < self.shape().rank(); ++d) {
      all.push_back(d == axis ? 1 : view.shape[from]);
      strides.push_back(d == axis ? 0 : view.strides[from]);
      from += d == axis ? 0 : 1;
    }
    view.shape = all, view.strides = strides;
  }
  const Operand value{&views[0], nullptr, values.binding, values.name};
  const Operand index{&views[1], nullptr, indices.binding, indices.name};
  PlanSort(plan, self, dim, {.keep = k, .skip = k - 1}, &value, &index);
}

}  // namespace kernels
}  // namespace belay::ops
