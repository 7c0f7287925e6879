#include "ops/sort/sort.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/layout/moves.h"
#include "ops/pipeline.h"
#include "ops/reduce/reduce.h"
#include "ops/rules.h"
#include "ops/scratch.h"
#include "ops/sort/few.h"
#include "ops/sort/keys.h"
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

// Rows that lie side by side are read together, a line of the cache for each place in them.
constexpr int64_t kTogether = kRowsAcross;

template <class T>
struct SortBody {
  using Keyed = std::conditional_t<sizeof(T) == sizeof(uint32_t), NarrowKey, WideKey>;

  Side in, values, indices;
  Lane along, across;
  PieceScratch<char> scratch;  // room for keys, then for rows
  DType type, index_type;
  int64_t size, skip, keep;
  bool descending, is_unsigned, copied;
  bool across_rows;  // few of many rows, of which each has a lane of the vectors

  void operator()(const Frame& frame) const {
    scratch.For(frame, [&](int64_t begin, int64_t end, char* memory) {
      auto* order = reinterpret_cast<int64_t*>(memory);
      auto* copy = reinterpret_cast<T*>(memory + KeyBytes());
      if (across_rows) return RowsAcross(frame, begin, end, copy);
      for (int64_t i = begin, rows; i < end; i += rows) {
        rows = SideBySide(i, end);
        const T* row = Load(frame.at[in.binding] + in.rows[static_cast<size_t>(i)], rows, copy);
        for (int64_t r = 0; r < rows; ++r) Row(frame, static_cast<size_t>(i + r), row + r * size, order);
      }
    });
  }

  void Reserve(Plan& plan) {
    const auto bytes = static_cast<int64_t>(BytesOf(type));
    along = Lane(type, type, in.step), across = Lane(type, type, bytes);
    copied = !along.direct() || is_unsigned;
    const int64_t grain = std::max<int64_t>(1, 8 * 1024 / std::max<int64_t>(1, size));
    across_rows = keep <= kMostAcross && !is_unsigned && (in.step != bytes || size <= kShortRow) &&
                  static_cast<int64_t>(in.rows.size()) >= kTogether / 4;
    const int64_t rows = across_rows ? kTogether : !copied ? 0 : in.step == bytes ? 1 : kTogether;
    scratch = {plan, static_cast<int64_t>(in.rows.size()), grain,
               KeyBytes() + rows * size * static_cast<int64_t>(sizeof(T))};
  }

  // Keys in two places where they are sorted by digits.
  int64_t KeyBytes() const {
    const int64_t each = HasNarrowPlaces() ? sizeof(Keyed) : sizeof(WideKey);
    return size * each * (keep == size && size >= kManyDigits ? 2 : 1);
  }
  bool HasNarrowPlaces() const { return size <= std::numeric_limits<uint32_t>::max(); }

  // Comparing all of a few costs less than asking which of them can be left.
  bool IsShort() const {
    constexpr int64_t kShort = 16;
    return std::is_same_v<Keyed, NarrowKey> && keep <= kFour && size <= kShort;
  }

  static constexpr int64_t kShortRow = 64;

  void RowsAcross(const Frame& frame, int64_t begin, int64_t end, T* copy) const {
    int64_t places[kMostAcross * kTogether], order[kMostAcross];
    for (int64_t i = begin, rows; i < end; i += rows) {
      const bool along_memory = in.step == static_cast<int64_t>(BytesOf(type));
      rows = along_memory ? std::min(kTogether, end - i) : SideBySide(i, end);
      const char* from = frame.at[in.binding] + in.rows[static_cast<size_t>(i)];
      if (rows == kTogether && !along_memory && across.direct() &&
          in.step % static_cast<int64_t>(sizeof(T)) == 0) {
        FirstFewAcross(reinterpret_cast<const T*>(from), in.step / static_cast<int64_t>(sizeof(T)), size,
                       keep, descending, places);
      } else {
        along_memory ? LoadTurned(frame, i, rows, copy) : LoadLines(from, rows, copy);
        FirstFewAcross(copy, kTogether, size, keep, descending, places);
      }
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t k = 0; k < keep; ++k) order[k] = places[k * kTogether + r];
        Tell(frame, static_cast<size_t>(i + r), order);
      }
    }
  }

  // Rows of a few elements, so that those of the same place lie side by side. Lanes without a row have zeros.
  void LoadTurned(const Frame& frame, int64_t i, int64_t rows, T* copy) const {
    alignas(64) T block[kShortRow];
    if (rows < kTogether) std::fill_n(copy, kTogether * size, T{0});
    for (int64_t r = 0; r < rows; ++r) {
      const char* from = frame.at[in.binding] + in.rows[static_cast<size_t>(i + r)];
      const auto* row = static_cast<const T*>(along.Load(block, from, size));
      for (int64_t k = 0; k < size; ++k) copy[k * kTogether + r] = row[k];
    }
  }

  void LoadLines(const char* from, int64_t rows, T* copy) const {
    alignas(64) T block[kTogether];
    for (int64_t k = 0; k < size; ++k) {
      T* to = copy + k * kTogether;
      std::copy_n(static_cast<const T*>(across.Load(block, from + k * in.step, rows)), rows, to);
      std::fill(to + rows, to + kTogether, T{0});
    }
  }

  int64_t SideBySide(int64_t i, int64_t end) const {
    const auto bytes = static_cast<int64_t>(BytesOf(type));
    if (in.step == bytes) return 1;
    const auto at = [this](int64_t row) { return in.rows[static_cast<size_t>(row)]; };
    int64_t rows = 1;
    while (rows < kTogether && i + rows < end && at(i + rows) == at(i) + rows * bytes) ++rows;
    return rows;
  }

  const T* Load(const char* from, int64_t rows, T* copy) const {
    if (!copied) return reinterpret_cast<const T*>(from);
    alignas(64) T block[kBlock];
    if (rows == 1) {
      for (int64_t k = 0; k < size; k += kBlock) {
        const int64_t n = std::min(kBlock, size - k);
        std::copy_n(static_cast<const T*>(along.Load(block, from + k * in.step, n)), n, copy + k);
      }
    } else {
      for (int64_t k = 0; k < size; ++k) {
        const auto* loaded = static_cast<const T*>(across.Load(block, from + k * in.step, rows));
        for (int64_t r = 0; r < rows; ++r) copy[r * size + k] = loaded[r];
      }
    }
    if constexpr (std::is_same_v<T, int64_t>) {
      for (int64_t k = 0; is_unsigned && k < rows * size; ++k)
        copy[k] = static_cast<T>(static_cast<uint64_t>(copy[k]) ^ (uint64_t{1} << 63));
    }
    return copy;
  }

  void Row(const Frame& frame, size_t i, const T* row, int64_t* order) const {
    if (IsShort()) {
      ArrangeAll<Keyed>(row, order);
    } else if (keep <= kMostFew && keep * 4 <= size) {
      FirstFew(row, size, keep, descending, order);
    } else if (HasNarrowPlaces()) {
      ArrangeAll<Keyed>(row, order);
    } else {
      ArrangeAll<WideKey>(row, order);
    }
    Tell(frame, i, order);
  }

  // The places of the first ones of a row in their order, which are lost.
  void Tell(const Frame& frame, size_t i, int64_t* order) const {
    const int64_t n = keep - skip;
    order += skip;
    if (indices.binding >= 0) StoreIndices(frame.at[indices.binding] + indices.rows[i], order, n);
    if (values.binding < 0) return;
    for (int64_t k = 0; k < n; ++k) order[k] *= in.step;
    PickRow(frame.at[values.binding] + values.rows[i], values.step, frame.at[in.binding] + in.rows[i], order,
            n, static_cast<int64_t>(BytesOf(type)));
  }

  // Keys and places share their memory: a key is not needed any more where a place is written.
  template <class E>
  void ArrangeAll(const T* row, int64_t* order) const {
    auto* keys = reinterpret_cast<E*>(order);
    for (int64_t k = 0; k < size; ++k) {
      const auto key = OrderKey(row[k]);
      keys[k] = E{descending ? ~key : key, k};
    }
    if constexpr (std::is_same_v<E, NarrowKey>) {
      IsShort() ? FirstOfFew(keys, size, keep) : SortKeys(keys, size, keep);
    } else {
      SortKeys(keys, size, keep);
    }
    for (int64_t k = 0; k < keep; ++k) order[k] = keys[k].place();
  }

  void StoreIndices(char* to, const int64_t* order, int64_t n) const {
    if (index_type == DType::kI64) return StoreIndicesAs<int64_t>(to, order, n);
    if (index_type == DType::kI32) return StoreIndicesAs<int32_t>(to, order, n);
    const auto bytes = static_cast<int64_t>(BytesOf(index_type));
    for (int64_t k = 0; k < n; ++k) {
      alignas(8) char number[8];
      tensor::Convert(index_type, number, DType::kI64, &order[k], 1);
      MoveRow(to + k * indices.step, bytes, number, bytes, 1, bytes);
    }
  }
  template <class Index>
  void StoreIndicesAs(char* to, const int64_t* order, int64_t n) const {
    for (int64_t k = 0; k < n; ++k) {
      const auto index = static_cast<Index>(order[k]);
      std::memcpy(to + k * indices.step, &index, sizeof(index));
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

namespace {

// The first alone, where lines are better taken side by side: of 32 bits at most.
bool IsBestPlace(const Operand& self, int axis, const SortOrder& order) {
  constexpr int64_t kShort = 16;
  const Tensor& t = *self.tensor;
  if (order.keep != 1 || order.skip != 0 || t.shape.rank() == 0) return false;
  const bool apart = t.strides[axis] != 1 && t.count() > t.shape[axis];
  return (apart || t.shape[axis] <= kShort) && t.shape[axis] <= std::numeric_limits<int32_t>::max();
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
  if (IsBestPlace(self, axis, order)) {
    const Extreme extreme{.largest = order.descending, .nan_wins = order.descending};
    return PlanArg(plan, extreme, self, axis, values != nullptr ? *values : Operand{},
                   indices != nullptr ? *indices : Operand{});
  }
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
