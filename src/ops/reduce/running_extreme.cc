// The largest or least element so far, and where it is.
#include <algorithm>
#include <type_traits>

#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/pipeline.h"
#include "ops/reduce/along_axis.h"
#include "ops/reduce/reduce.h"
#include "ops/rules.h"

namespace belay::ops {
namespace {

template <class T>
struct RunningExtremeBody {
  LoopNest lines;  // values, places, x: the first elements
  int64_t size;
  int64_t steps[3];  // bytes along a line
  Lane in, out;
  DType place_type;
  int bindings[3];
  bool largest;

  void operator()(const Frame& frame) const {
    char* base[3];
    for (int k = 0; k < 3; ++k) base[k] = frame.at[bindings[k]] + lines.offset(k);
    const int64_t grain = std::max<int64_t>(1, LoopNest::kGrain / 8 / size);
    ParallelFor(lines.count(), grain, [&](int64_t begin, int64_t end) {
      lines.Walk(base, begin, end, [this](char** at, int64_t n) {
        for (int64_t i = 0; i < n; ++i)
          Line(at[0] + i * lines.step(0), at[1] + i * lines.step(1), at[2] + i * lines.step(2));
      });
    });
  }

  // Of equal ones the last; a NaN stays.
  bool Better(T x, T best) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (x != x) return true;
      if (best != best) return false;
    }
    return largest ? x >= best : x <= best;
  }

  void Line(char* values, char* places, const char* from) const {
    alignas(64) T buffer[kBlock], best_of[kBlock];
    alignas(64) int64_t where_of[kBlock];
    T best{};
    int64_t where = -1;
    for (int64_t k = 0; k < size; k += kBlock) {
      const int64_t n = std::min(kBlock, size - k);
      const T* x = static_cast<const T*>(in.Load(buffer, from + k * steps[2], n));
      for (int64_t i = 0; i < n; ++i) {
        if (where < 0 || Better(x[i], best)) best = x[i], where = k + i;
        best_of[i] = best, where_of[i] = where;
      }
      out.Store(values + k * steps[0], best_of, n, false);
      StorePlaces(places + k * steps[1], where_of, n);
    }
  }

  void StorePlaces(char* to, const int64_t* where, int64_t n) const {
    const auto bytes = static_cast<int64_t>(BytesOf(place_type));
    alignas(64) char narrow[kBlock * sizeof(int64_t)];
    tensor::Convert(place_type, narrow, DType::kI64, where, n);
    tensor::Scatter(to, steps[1], narrow, n, static_cast<size_t>(bytes));
  }
};

template <class T>
void PlanRunningAs(Plan& plan, bool largest, const Operand& x, int dim, const Operand& values,
                   const Operand& places) {
  RunningExtremeBody<T> body;
  const Operand* all[3] = {&values, &places, &x};
  Tensor rest[3];
  for (int k = 0; k < 3; ++k) {
    rest[k] = tensor::WithoutDim(*all[k]->tensor, dim);
    body.steps[k] = tensor::StepOf(*all[k]->tensor, dim);
    body.bindings[k] = all[k]->binding;
  }
  body.lines = LoopNest(rest[2].shape, {Operand{&rest[0]}, Operand{&rest[1]}, Operand{&rest[2]}});
  body.size = SizeOf(*x.tensor, dim);
  body.in = Lane(x.dtype(), x.dtype(), body.steps[2]);
  body.out = Lane(values.dtype(), x.dtype(), body.steps[0]);
  body.place_type = places.dtype();
  body.largest = largest;
  plan.SetCost(50 + static_cast<uint64_t>(x.tensor->count()) * 2);
  plan.SetBody(body);
}

}  // namespace

void PlanRunningExtreme(Plan& plan, bool largest, const Operand& x, int dim, const Operand& values,
                        const Operand& places) {
  CheckNumeric(x);
  if (x.tensor->empty()) return;
  switch (ComputeType(x.dtype())) {
    case DType::kF32:
      return PlanRunningAs<float>(plan, largest, x, dim, values, places);
    case DType::kF64:
      return PlanRunningAs<double>(plan, largest, x, dim, values, places);
    case DType::kI64:
      return PlanRunningAs<int64_t>(plan, largest, x, dim, values, places);
    default:
      return PlanRunningAs<int32_t>(plan, largest, x, dim, values, places);
  }
}

namespace kernels {
namespace {

void RunningExtreme(Plan& plan, bool largest, const Operand& self, int64_t dim, const Operand& values,
                    const Operand& indices) {
  const int axis = rules::WrapDim(self, dim);
  CheckSameType(self, values);
  CheckShape(values, self.shape());
  CheckShape(indices, self.shape());
  PlanRunningExtreme(plan, largest, self, axis, values, indices);
}

}  // namespace

void Cummax(Plan& plan, DType, const Operand& self, int64_t dim, const Operand& valuesOut,
            const Operand& indicesOut) {
  RunningExtreme(plan, true, self, dim, valuesOut, indicesOut);
}

void Cummin(Plan& plan, DType, const Operand& self, int64_t dim, const Operand& valuesOut,
            const Operand& indicesOut) {
  RunningExtreme(plan, false, self, dim, valuesOut, indicesOut);
}

}  // namespace kernels
}  // namespace belay::ops
