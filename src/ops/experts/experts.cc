#include "ops/experts/experts.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/quant/small_numbers.h"
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
  float most = 0;
  for (int64_t i = 0; i < n; ++i) most = std::max(most, std::fabs(values[i]));
  const float step = most / 127;
  for (int64_t i = 0; i < n; ++i) values[i] = step == 0 ? 0 : values[i] / step;
  return step;
}

void RoundToBytes(float* values, int64_t n) {
  for (int64_t i = 0; i < n; ++i) values[i] = RoundedToByte(values[i]);
}

}  // namespace belay::ops
