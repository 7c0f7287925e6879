// The gradients of softmax and its logarithm, from their results: a sum along each row, then each element.
// Rows are converted in blocks, twice; nothing of a row's length is kept.
#include "base/error.h"
#include "ops/gradient/gradient_loops.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/loop_nest.h"
#include "ops/pipeline.h"
#include "ops/reduce/along_axis.h"
#include "ops/reduce/fold_loops.h"
#include "ops/rules.h"

namespace belay::ops {
namespace {

// What differs between the two: what is added up, and the element once the sum is known.
struct SoftmaxGradient {
  bool sums_products;
  PointwiseLoop product, element;
};

template <class T>
struct SoftmaxGradBody {
  LoopNest rows;  // out, gradient, result: the first elements of the rows
  int64_t size;
  Lane lanes[3];
  int bindings[3];
  SoftmaxGradient how;
  const FoldLoops<T>* sum;

  void operator()(const Frame& frame) const {
    char* base[3];
    for (int k = 0; k < 3; ++k) base[k] = frame.at[bindings[k]] + rows.offset(k);
    const int64_t grain = std::max<int64_t>(1, LoopNest::kGrain / 4 / size);
    ParallelFor(rows.count(), grain, [&](int64_t begin, int64_t end) {
      rows.Walk(base, begin, end, [&](char** at, int64_t n) {
        for (int64_t i = 0; i < n; ++i)
          Row(at[0] + i * rows.step(0), at[1] + i * rows.step(1), at[2] + i * rows.step(2));
      });
    });
  }

  void Row(char* out, const char* gradient, const char* result) const {
    alignas(64) T a[kBlock], b[kBlock], c[kBlock];
    LoopAttributes attributes;
    double total = 0;
    for (int64_t i = 0; i < size; i += kBlock) {
      const int64_t n = std::min(kBlock, size - i);
      const void* in[2] = {Load(1, a, gradient, i, n),
                           how.sums_products ? Load(2, b, result, i, n) : nullptr};
      if (how.sums_products) how.product(c, in, attributes, n);
      total += sum->fold(how.sums_products ? c : static_cast<const T*>(in[0]), n, 0);
    }
    attributes.real[0] = total;
    for (int64_t i = 0; i < size; i += kBlock) {
      const int64_t n = std::min(kBlock, size - i);
      const void* in[2] = {Load(1, a, gradient, i, n), Load(2, b, result, i, n)};
      how.element(c, in, attributes, n);
      lanes[0].Store(out + i * lanes[0].step(), c, n, false);
    }
  }

  const void* Load(int k, T* to, const char* from, int64_t i, int64_t n) const {
    return lanes[k].Load(to, from + i * lanes[k].step(), n);
  }
};

template <class T>
void PlanSoftmaxGrad(Plan& plan, const SoftmaxGradient& how, const Operand& gradient, const Operand& result,
                     int dim, const Operand& out) {
  const Operand* operands[3] = {&out, &gradient, &result};
  Tensor rest[3];
  SoftmaxGradBody<T> body{{}, SizeOf(*out.tensor, dim), {}, {}, how, &BestFoldLoops<T>(Fold::kSum)};
  for (int k = 0; k < 3; ++k) {
    rest[k] = WithoutDim(*operands[k]->tensor, dim);
    body.lanes[k] = Lane(operands[k]->dtype(), gradient.dtype(), StepOf(*operands[k]->tensor, dim));
    body.bindings[k] = operands[k]->binding;
  }
  body.rows = LoopNest(rest[0].shape, {Operand{&rest[0]}, Operand{&rest[1]}, Operand{&rest[2]}});
  plan.SetCost(50 + static_cast<uint64_t>(out.tensor->count()));
  plan.SetBody(body);
}

void PlanByType(Plan& plan, bool sums_products, const PointwiseLoops& element, const Operand& gradient,
                const Operand& result, int64_t dim, const Operand& out) {
  const int wrapped = rules::WrapDim(gradient, dim);
  CheckShape(result, gradient.shape());
  CheckSameType(result, gradient);
  if (out.tensor->empty()) return;
  const PointwiseLoops product = BestProductLoops();
  if (ComputeType(gradient.dtype()) == DType::kF64) {
    PlanSoftmaxGrad<double>(plan, {sums_products, product.f64, element.f64}, gradient, result, wrapped, out);
  } else {
    PlanSoftmaxGrad<float>(plan, {sums_products, product.f32, element.f32}, gradient, result, wrapped, out);
  }
}

}  // namespace

namespace kernels {

void SoftmaxBackward(Plan& plan, DType, const Operand& gradOutput, const Operand& output, int64_t dim,
                     const Operand& out) {
  PlanByType(plan, true, BestSoftmaxGradLoops(), gradOutput, output, dim, out);
}

void LogSoftmaxBackward(Plan& plan, DType, const Operand& gradOutput, const Operand& output, int64_t dim,
                        const Operand& out) {
  PlanByType(plan, false, BestLogSoftmaxGradLoops(), gradOutput, output, dim, out);
}

}  // namespace kernels
}  // namespace belay::ops
