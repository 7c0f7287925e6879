#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "ops/loop_nest.h"
#include "ops/reduce/reduce.h"

namespace belay::ops {
namespace {

using Wide = std::complex<double>;

struct ComplexFoldBody {
  ComplexFold fold;
  LoopNest kept, folded;  // out and self; self along what is folded away
  int bindings[2];

  void operator()(const Frame& frame) const {
    char* base[2];
    for (int k = 0; k < 2; ++k) base[k] = frame.at[bindings[k]] + kept.offset(k);
    const int64_t grain = 1 + LoopNest::kGrain / 8 / (folded.count() + 1);
    ParallelFor(kept.count(), grain, [&](int64_t begin, int64_t end) {
      kept.Walk(base, begin, end, [this](char** at, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
          char* from = at[1] + i * kept.step(1);
          const std::complex<float> result(fold == ComplexFold::kProduct ? Product(from) : LogSumExp(from));
          std::memcpy(at[0] + i * kept.step(0), &result, sizeof(result));
        }
      });
    });
  }

  // take(x) of each element
  template <class Take>
  void ForFolded(char* from, const Take& take) const {
    char* base[1] = {from};
    folded.Walk(base, 0, folded.count(), [&](char** at, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        std::complex<float> x;
        std::memcpy(&x, at[0] + i * folded.step(0), sizeof(x));
        take(Wide(x));
      }
    });
  }

  Wide Product(char* from) const {
    Wide product = 1;
    ForFolded(from, [&](Wide x) { product *= x; });
    return product;
  }

  // The largest real part is taken out of all first.
  Wide LogSumExp(char* from) const {
    double most = -std::numeric_limits<double>::infinity();
    ForFolded(from, [&](Wide x) { most = std::max(most, x.real()); });
    if (!std::isfinite(most)) most = 0;
    Wide sum = 0;
    ForFolded(from, [&](Wide x) { sum += std::exp(x - most); });
    return std::log(sum) + most;
  }
};

}  // namespace

void PlanComplexFold(Plan& plan, ComplexFold fold, const Operand& self, uint32_t mask, const Operand& out) {
  if (out.tensor->empty()) return;
  const Tensor& from = *self.tensor;
  Tensor rest = from, away = from, to = *out.tensor;
  rest.shape = rest.strides = away.shape = away.strides = to.shape = to.strides = Shape{};
  const bool keeps = out.shape().rank() == from.shape.rank();
  int next = 0;
  for (int d = 0; d < from.shape.rank(); ++d) {
    const bool gone = (mask >> d & 1) != 0;
    Tensor& side = gone ? away : rest;
    side.shape.push_back(from.shape[d]), side.strides.push_back(from.strides[d]);
    if (!gone) {
      const int at = keeps ? d : next++;
      to.shape.push_back(out.shape()[at]), to.strides.push_back(out.tensor->strides[at]);
    }
  }
  away.offset = 0;
  ComplexFoldBody body{};
  body.fold = fold;
  body.kept = LoopNest(to.shape, {Operand{&to}, Operand{&rest}});
  body.folded = LoopNest(away.shape, {Operand{&away}});
  body.bindings[0] = out.binding, body.bindings[1] = self.binding;
  plan.SetCost(100 + static_cast<uint64_t>(from.count()) * 3);
  plan.SetBody(body);
}

}  // namespace belay::ops
