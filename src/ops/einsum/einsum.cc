#include "ops/einsum/einsum.h"

#include <algorithm>

#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/pipeline.h"
#include "ops/reduce/reduce.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

template <class T>
struct SumBody {
  LabelledSum sum;
  DType type, compute;
  std::vector<int64_t> counts, offsets;  // of the operands: elements, bytes to the first one
  std::vector<int> bindings;             // of the operands, then of the result
  int64_t results, out_offset;
  std::vector<Scratch<T>> parts;  // of the operands, then of the result
  // Where the operands are read: for the result's labels, then for each summed one with those before it.
  PieceScratch<const T*> places;

  void operator()(const Frame& frame) const {
    for (size_t i = 0; i < counts.size(); ++i) {
      tensor::Convert(compute, parts[i].At(frame), type, frame.at[bindings[i]] + offsets[i], counts[i]);
    }
    T* out = parts.back().At(frame);
    places.For(frame, [&](int64_t begin, int64_t end, const T** at) {
      for (int64_t i = begin; i < end; ++i) out[i] = Element(frame, i, at);
    });
    tensor::Convert(type, frame.at[bindings.back()] + out_offset, compute, out, results);
  }

  T Element(const Frame& frame, int64_t place, const T** at) const {
    for (size_t i = 0; i < counts.size(); ++i) at[i] = parts[i].At(frame);
    for (int label = sum.result_labels - 1; label >= 0; --label) {
      auto l = static_cast<size_t>(label);
      int64_t i = place % sum.sizes[l];
      place /= sum.sizes[l];
      for (size_t k = 0; k < counts.size(); ++k) at[k] += i * sum.strides[k][l];
    }
    return Summed(at, static_cast<size_t>(sum.result_labels));
  }

  T Summed(const T** from, size_t label) const {
    if (label == sum.sizes.size()) {
      T product = 1;
      for (size_t k = 0; k < counts.size(); ++k) product *= *from[k];
      return product;
    }
    const T** at = from + counts.size();
    std::copy_n(from, counts.size(), at);
    T total = 0;
    for (int64_t i = 0; i < sum.sizes[label]; ++i) {
      total += Summed(at, label + 1);
      for (size_t k = 0; k < counts.size(); ++k) at[k] += sum.strides[k][label];
    }
    return total;
  }
};

template <class T>
void PlanIn(Plan& plan, DType compute, const OperandList& operands, const LabelledSum& sum,
            const Operand& out) {
  SumBody<T> body;
  body.sum = sum;
  body.type = out.dtype();
  body.compute = compute;
  auto bytes = static_cast<int64_t>(BytesOf(body.type));
  for (const Operand& operand : operands) {
    body.counts.push_back(operand.tensor->count());
    body.offsets.push_back(operand.tensor->offset * bytes);
    body.bindings.push_back(operand.binding);
    body.parts.emplace_back(plan, operand.tensor->count());
  }
  body.bindings.push_back(out.binding);
  body.results = out.tensor->count();
  body.parts.emplace_back(plan, body.results);
  body.out_offset = out.tensor->offset * bytes;
  const auto summed = static_cast<int64_t>(sum.sizes.size()) - sum.result_labels;
  body.places =
      PieceScratch<const T*>(plan, body.results, 64, (summed + 1) * static_cast<int64_t>(body.counts.size()));
  int64_t products = 1;
  for (int64_t size : sum.sizes) products *= size;
  plan.SetCost(200 + static_cast<uint64_t>(products) * 5);
  plan.SetBody(body);
}

// One operand is a view of it, of which dimensions are summed or not. Returns false where there are too many.
bool PlanView(Plan& plan, const Operand& operand, const LabelledSum& sum, const Operand& out) {
  const auto labels = static_cast<int>(sum.sizes.size());
  if (labels > tensor::kMaxRank || operand.dtype() != out.dtype()) return false;
  Tensor view = *operand.tensor;
  view.shape = Shape::Of(sum.sizes.data(), labels);
  view.strides = Shape::Of(sum.strides[0].data(), labels);
  const Operand seen{&view, nullptr, operand.binding, operand.name};
  if (labels == sum.result_labels) {
    kernels::Copy(plan, out.dtype(), seen, out);
  } else {
    const uint32_t summed = (uint32_t{1} << labels) - (uint32_t{1} << sum.result_labels);
    PlanReduce(plan, {}, IsFloat(out.dtype()) ? out.dtype() : DType::kI64, seen, summed, out);
  }
  return true;
}

}  // namespace

void PlanLabelledSum(Plan& plan, const OperandList& operands, const LabelledSum& sum, const Operand& out) {
  CheckNumeric(out);
  if (out.tensor->empty()) return;
  if (operands.size() == 1 && PlanView(plan, operands[0], sum, out)) return;
  if (IsFloat(out.dtype())) {
    PlanIn<double>(plan, DType::kF64, operands, sum, out);
  } else {
    PlanIn<int64_t>(plan, DType::kI64, operands, sum, out);
  }
}

}  // namespace belay::ops
