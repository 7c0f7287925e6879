// The element in the middle of each row, of two the lesser one, and where it is.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/error.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/pipeline.h"
#include "ops/reduce/along_axis.h"
#include "ops/rules.h"
#include "ops/scratch.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

template <class T>
struct MedianBody {
  LoopNest lines;              // values, indices, in: the first elements
  PieceScratch<char> scratch;  // the places of a row's numbers, the row
  int64_t size, step;          // elements of a row, and the bytes between them
  int64_t bytes;               // of an element
  Lane in;
  bool ignores_nan, has_indices;
  int bindings[3];  // of absent indices: the input's

  void operator()(const Frame& frame) const {
    char* base[3];
    for (int k = 0; k < 3; ++k) base[k] = frame.at[bindings[k]] + lines.offset(k);
    scratch.For(frame, [&](int64_t begin, int64_t end, char* memory) {
      auto* order = reinterpret_cast<int64_t*>(memory);
      auto* row = reinterpret_cast<T*>(order + size);
      lines.Walk(base, begin, end, [&](char** at, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
          const char* from = at[2] + i * lines.step(2);
          Load(from, row);
          const int64_t place = Middle(row, order);
          std::memcpy(at[0] + i * lines.step(0), from + place * step, static_cast<size_t>(bytes));
          if (has_indices) std::memcpy(at[1] + i * lines.step(1), &place, sizeof(place));
        }
      });
    });
  }

  void Load(const char* from, T* row) const {
    alignas(64) T block[kBlock];
    for (int64_t k = 0; k < size; k += kBlock) {
      const int64_t n = std::min(kBlock, size - k);
      std::copy_n(static_cast<const T*>(in.Load(block, from + k * step, n)), n, row + k);
    }
  }

  static bool IsNan(T x) {
    if constexpr (std::is_floating_point_v<T>) return x != x;
    return false;
  }

  // A NaN is the median of a row that has one, unless it is ignored: then of a row of nothing else.
  int64_t Middle(const T* row, int64_t* order) const {
    int64_t held = 0;
    for (int64_t k = 0; k < size; ++k) {
      if (!IsNan(row[k])) {
        order[held++] = k;
      } else if (!ignores_nan) {
        return k;
      }
    }
    if (held == 0) return 0;
    int64_t* middle = order + (held - 1) / 2;
    std::nth_element(order, middle, order + held,
                     [row](int64_t a, int64_t b) { return row[a] < row[b] || (row[a] == row[b] && a < b); });
    return *middle;
  }
};

template <class T>
void PlanMedianAs(Plan& plan, const Operand& self, int dim, bool ignores_nan, const Operand& values,
                  const Operand& indices) {
  const Tensor& in = *self.tensor;
  const Tensor rest = tensor::WithoutDim(in, dim);
  const auto part = [&](const Operand& out) {
    if (!out.present()) return rest;
    return out.shape().rank() == in.shape.rank() ? tensor::WithoutDim(*out.tensor, dim) : *out.tensor;
  };
  const Tensor values_rest = part(values), indices_rest = part(indices);
  MedianBody<T> body;
  body.lines = LoopNest(rest.shape, {Operand{&values_rest}, Operand{&indices_rest}, Operand{&rest}});
  body.size = SizeOf(in, dim);
  body.step = tensor::StepOf(in, dim);
  body.bytes = static_cast<int64_t>(BytesOf(in.dtype));
  body.in = Lane(in.dtype, in.dtype, body.step);
  body.ignores_nan = ignores_nan;
  body.has_indices = indices.present();
  body.bindings[0] = values.binding;
  body.bindings[1] = indices.present() ? indices.binding : self.binding;
  body.bindings[2] = self.binding;
  const int64_t grain = std::max<int64_t>(1, 8 * 1024 / body.size);
  body.scratch = {plan, body.lines.count(), grain,
                  body.size * static_cast<int64_t>(sizeof(int64_t) + sizeof(T))};
  plan.SetCost(100 + static_cast<uint64_t>(in.count()) * 10);
  plan.SetBody(body);
}

// Along `dim`; indices may be absent, and are of i64.
void PlanMedian(Plan& plan, const Operand& self, int dim, bool ignores_nan, const Operand& values,
                const Operand& indices) {
  if (values.tensor->empty()) return;
  if (SizeOf(*self.tensor, dim) == 0)
    Fail(tensor::kInvalidArgument, "op-empty-dim", "dimension {} of {} is empty: it has no median", dim,
         self.name);
  switch (ComputeType(self.dtype())) {
    case DType::kF32:
      return PlanMedianAs<float>(plan, self, dim, ignores_nan, values, indices);
    case DType::kF64:
      return PlanMedianAs<double>(plan, self, dim, ignores_nan, values, indices);
    case DType::kI64:
      return PlanMedianAs<int64_t>(plan, self, dim, ignores_nan, values, indices);
    default:
      return PlanMedianAs<int32_t>(plan, self, dim, ignores_nan, values, indices);
  }
}

void AlongDim(Plan& plan, const Operand& self, int64_t dim, bool keep, bool ignores_nan,
              const Operand& values, const Operand& indices) {
  const Shape shape = rules::ReducedOne(self, dim, keep);
  CheckSameType(self, values);
  CheckShape(values, shape);
  CheckShape(indices, shape);
  PlanMedian(plan, self, rules::WrapDim(self, dim), ignores_nan, values, indices);
}

void OfAll(Plan& plan, const Operand& self, bool ignores_nan, const Operand& out) {
  CheckSameType(self, out);
  if (self.tensor->empty())
    Fail(tensor::kInvalidArgument, "op-empty-dim", "{} is empty: it has no median", self.name);
  const auto find = [&](Plan& part, const Operand& packed, const Operand& to) {
    Tensor flat = *packed.tensor, one = *to.tensor;
    flat.shape = Shape{flat.count()}, flat.strides = tensor::Strides{1};
    one.shape = one.strides = {};
    PlanMedian(part, {&flat, nullptr, packed.binding, packed.name}, 0, ignores_nan,
               {&one, nullptr, to.binding, to.name}, {});
  };
  if (tensor::IsPacked(self.shape(), self.tensor->strides)) return find(plan, self, out);
  PlanThrough(
      plan, tensor::PackedOf(self.dtype(), self.shape()), {&self}, out,
      [&](Plan& part, const auto& in, const Operand& packed) {
        kernels::Copy(part, self.dtype(), in[0], packed);
      },
      [&](Plan& part, const auto&, const Operand& packed, const Operand& to) { find(part, packed, to); });
}

}  // namespace

namespace kernels {

void Median(Plan& plan, DType, const Operand& self, const Operand& out) { OfAll(plan, self, false, out); }

void NanMedian(Plan& plan, DType, const Operand& self, const Operand& out) { OfAll(plan, self, true, out); }

void MedianDim(Plan& plan, DType, const Operand& self, int64_t dim, bool keepDim, const Operand& valuesOut,
               const Operand& indicesOut) {
  AlongDim(plan, self, dim, keepDim, false, valuesOut, indicesOut);
}

void NanMedianDim(Plan& plan, DType, const Operand& self, int64_t dim, bool keepDim, const Operand& out,
                  const Operand& indicesOut) {
  AlongDim(plan, self, dim, keepDim, true, out, indicesOut);
}

}  // namespace kernels
}  // namespace belay::ops
