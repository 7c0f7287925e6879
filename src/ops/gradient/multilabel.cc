// The margin loss of several classes that a row may have at once.
#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "ops/gradient/checks.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/packed_floats.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

struct MultilabelBody {
  PackedFloats x, out, marks;
  Indices targets;
  int binding;  // of the targets
  int64_t rows, classes;
  LossReduction reduction;

  void operator()(const Frame& frame) const {
    const float* from = x.Load(frame);
    const int64_t* named = targets.Read(frame, binding).data();
    float *to = out.Begin(frame), *mark = marks.Begin(frame);
    double total = 0;
    for (int64_t r = 0; r < rows; ++r) {
      const double loss = Row(from + r * classes, named + r * classes, mark + r * classes);
      if (reduction == LossReduction::kNone) to[r] = static_cast<float>(loss);
      total += loss;
    }
    if (reduction == LossReduction::kMean) total /= static_cast<double>(rows);
    if (reduction != LossReduction::kNone) *to = static_cast<float>(total);
    out.Finish(frame);
    marks.Finish(frame);
  }

  double Row(const float* x_row, const int64_t* named, float* mark) const {
    std::fill_n(mark, classes, 0.0f);
    int64_t count = 0;
    for (; count < classes && named[count] >= 0; ++count) {
      if (named[count] >= classes) {
        Fail(tensor::kRuntimeFailure, "nll-class", "target {} is {}; there are {} classes", count,
             named[count], classes);
      }
      mark[named[count]] = 1;
    }
    double sum = 0;
    for (int64_t k = 0; k < count; ++k) {
      const double margin = 1 - static_cast<double>(x_row[named[k]]);
      for (int64_t j = 0; j < classes; ++j) {
        if (mark[j] == 0) sum += std::max(0.0, margin + static_cast<double>(x_row[j]));
      }
    }
    return sum / static_cast<double>(classes);
  }
};

}  // namespace

namespace kernels {

void MultilabelMarginLoss(Plan& plan, DType, const Operand& self, const Operand& target, int64_t reduction,
                          const Operand& out, const Operand& isTarget) {
  const LossReduction how = LossReductionOf(reduction);
  const Shape shape = self.shape();
  if (shape.rank() > 2 || self.tensor->empty()) {
    Fail(tensor::kInvalidArgument, "op-multilabel", "{} has the shape {}; it is rows of classes, or one row",
         self.name, shape.ToString());
  }
  CheckShape(target, shape);
  CheckShape(isTarget, shape);
  CheckSameType(self, out);
  const int64_t classes = shape.rank() == 0 ? 1 : shape.back(0), rows = self.tensor->count() / classes;
  CheckShape(out, how == LossReduction::kNone && shape.rank() == 2 ? Shape{rows} : Shape{});
  plan.SetCost(100 + static_cast<uint64_t>(self.tensor->count() * classes));
  plan.SetBody(MultilabelBody{{self, Flow::kIn, plan},
                              {out, Flow::kOut, plan},
                              {isTarget, Flow::kOut, plan},
                              {plan, *target.tensor},
                              target.binding,
                              rows,
                              classes,
                              how});
}

}  // namespace kernels
}  // namespace belay::ops
