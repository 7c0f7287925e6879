#include "ops/testing/sample.h"

#include <cmath>

#include "ops/reference/reference.h"

namespace belay::ops::testing {

const std::vector<DType> kArithmetic = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8,
                                        DType::kI16, DType::kI32, DType::kI64,  DType::kU8,  DType::kBool};

Sample::Sample(DType dtype, const Shape& shape, Layout layout) {
  tensor.dtype = dtype;
  tensor.shape = shape;
  tensor.strides = PackedStrides(shape);
  int rank = shape.rank();
  if (layout == Layout::kTransposed) {
    int64_t step = 1;
    for (int i = 0; i < rank; ++i) {
      tensor.strides[i] = step;
      step *= shape[i];
    }
  }
  if (layout == Layout::kStepped) {
    int64_t step = 2;
    for (int i = rank - 1; i >= 0; --i) {
      tensor.strides[i] = step;
      step = step * std::max<int64_t>(shape[i], 1) + 2;
    }
  }
  if (layout == Layout::kRepeated && rank > 0) tensor.strides[rank - 1] = 0;
  if (layout == Layout::kOffset) tensor.offset = 5;
  tensor.storage_count = tensor.offset + ExtentOf(shape, tensor.strides).value_or(0);
  storage.resize(static_cast<size_t>(tensor.storage_count) * BytesOf(dtype) + 16);
  tensor.data = storage.data();
}

Sample& Sample::Randomise(std::mt19937& rng, int range) {
  std::uniform_int_distribution<int> pick(-range * 8, range * 8);
  reference::ForEach(tensor.shape, [&](const Shape& i) {
    reference::Real value = pick(rng) / 8.0L;
    if (!IsFloat(tensor.dtype)) value = std::trunc(value);
    reference::Set(tensor, i, value);
  });
  return *this;
}

Sample Sample::Copied() const {
  Sample copy = *this;
  copy.tensor.data = copy.storage.data();
  return copy;
}

Operand Sample::BoundTo(Plan& plan, Access access, const char* name) {
  return {&tensor, nullptr, plan.Bind(&tensor, access, name, plan.binding_count(), 0), name};
}

void RunPlan(const Plan& plan) {
  std::vector<char*> at;
  for (int i = 0; i < plan.binding_count(); ++i) {
    at.push_back(static_cast<char*>(plan.binding(i).address));
  }
  std::vector<char> workspace(plan.workspace_bytes() + 64, '\xff');  // NaN where nothing was written
  char* aligned = workspace.data() + (64 - reinterpret_cast<uintptr_t>(workspace.data()) % 64);
  plan.Run({at.data(), aligned});
}

PlanRef NewPlan() { return PlanRef(g_plans.Retire(g_plans.Create("test"))); }

double Distance(const Tensor& a, const Tensor& b) {
  double worst = 0;
  reference::ForEach(b.shape, [&](const Shape& i) {
    reference::Real x = reference::Get(a, i), y = reference::Get(b, i);
    if (x == y || (std::isnan(x) && std::isnan(y))) return;
    auto distance = static_cast<double>(std::fabs(x - y) / std::max(reference::Real{1}, std::fabs(y)));
    worst = std::isnan(distance) ? INFINITY : std::max(worst, distance);
  });
  return worst;
}

}  // namespace belay::ops::testing
