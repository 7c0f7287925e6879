#include "ops/experts/experts.h"

#include <algorithm>

#include "base/error.h"
#include "ops/quant/quant_loops.h"
#include "tensor/codes.h"

namespace belay::ops {

void SortPlaces(std::span<const int64_t> numbers, Placed* order) {
  for (size_t i = 0; i < numbers.size(); ++i) order[i] = {numbers[i], static_cast<int64_t>(i)};
  std::sort(order, order + numbers.size());
}

void RefuseExperts(const Plan& plan, std::string_view sentence) {
  Fail(tensor::kInvalidArgument, "experts-argument", "{}: {}", plan.function(), sentence);
}

void CheckExpertShape(const Plan& plan, const Operand& operand, const Shape& wanted) {
  if (operand.shape() == wanted) return;
  Fail(tensor::kInvalidArgument, "experts-shape", "{}: {} has shape {}; with these arguments it is {}",
       plan.function(), operand.name, operand.shape().ToString(), wanted.ToString());
}

void CheckExpertRank(const Plan& plan, const Operand& operand, int least, int most) {
  const int rank = operand.shape().rank();
  if (rank >= least && rank <= most) return;
  Fail(tensor::kInvalidArgument, "experts-shape", "{}: {} has shape {}; it has {} to {} dimensions",
       plan.function(), operand.name, operand.shape().ToString(), least, most);
}

float DivideByLargest(float* values, int64_t n) {
  const QuantLoops& loops = BestQuantLoops();
  const QuantRange range = loops.range(values, n);
  const float step = std::max(range.most, -range.least) / 127;
  loops.divide(values, step, n);
  return step;
}

void RoundToBytes(float* values, int64_t n) { BestQuantLoops().round(values, 0, n, {-128, 127}); }

}  // namespace belay::ops
