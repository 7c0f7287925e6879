#include "ops/norm/nll.h"

#include "base/error.h"
#include "ops/index/indices.h"
#include "ops/layout/moves.h"
#include "tensor/codes.h"
#include "tensor/convert.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// The elements of an operand, whatever its type and strides, by row and class.
class Cells {
 public:
  Cells() = default;
  // Without a dimension of classes: -1.
  Cells(const Operand& operand, int class_dim) {
    if (!operand.present()) return;
    const Tensor& tensor = *operand.tensor;
    const Tensor rows = class_dim < 0 ? tensor : WithoutDim(tensor, class_dim);
    binding_ = operand.binding, type_ = tensor.dtype, offset_ = OffsetOf(tensor);
    step_ = class_dim < 0 ? 0 : StepOf(tensor, class_dim);
    rows_ = OffsetsOf(rows, 0, rows.shape.rank());
  }
  bool present() const { return binding_ >= 0; }
  double Get(const Frame& frame, int64_t row, int64_t at = 0) const {
    double value = 0;
    tensor::Convert(DType::kF64, &value, type_, Address(frame, row, at), 1);
    return value;
  }
  void Set(const Frame& frame, int64_t row, int64_t at, double value) const {
    tensor::Convert(type_, Address(frame, row, at), DType::kF64, &value, 1);
  }

 private:
  char* Address(const Frame& frame, int64_t row, int64_t at) const {
    return frame.at[binding_] + offset_ + rows_[static_cast<size_t>(row)] + at * step_;
  }
  int binding_ = -1;
  DType type_ = DType::kUndefined;
  int64_t offset_ = 0, step_ = 0;
  std::vector<int64_t> rows_;
};

// The class of each row, and the weight of what has that class.
struct Targets {
  Indices indices;
  int binding;
  int64_t classes, ignored;
  Cells weight;

  Targets(Plan& plan, const Operand& target, const Operand& weights, int64_t of, int64_t without)
      : indices(plan, *target.tensor),
        binding(target.binding),
        classes(of),
        ignored(without),
        weight(weights, 0) {}

  // row(number, class, weight) for each that is not ignored.
  template <class Row>
  void Each(const Frame& frame, const Row& row) const {
    const std::span<const int64_t> chosen = indices.Read(frame, binding);
    for (size_t i = 0; i < chosen.size(); ++i) {
      if (chosen[i] == ignored) continue;
      if (chosen[i] < 0 || chosen[i] >= classes) {
        Fail(tensor::kRuntimeFailure, "nll-class", "target {} is {}; there are {} classes", i, chosen[i],
             classes);
      }
      row(static_cast<int64_t>(i), chosen[i], weight.present() ? weight.Get(frame, 0, chosen[i]) : 1);
    }
  }
};

struct NllBody {
  Targets targets;
  Cells x, out, total;
  LossReduction reduction;

  void operator()(const Frame& frame) const {
    double losses = 0, weights = 0;
    if (reduction == LossReduction::kNone) {
      for (int64_t i = 0; i < targets.indices.count(); ++i) out.Set(frame, i, 0, 0);
    }
    targets.Each(frame, [&](int64_t row, int64_t chosen, double weight) {
      const double loss = -weight * x.Get(frame, row, chosen);
      if (reduction == LossReduction::kNone) out.Set(frame, row, 0, loss);
      losses += loss, weights += weight;
    });
    if (reduction == LossReduction::kSum) out.Set(frame, 0, 0, losses);
    if (reduction == LossReduction::kMean) out.Set(frame, 0, 0, losses / weights);
    if (total.present()) total.Set(frame, 0, 0, weights);
  }
};

struct NllGradientBody {
  Targets targets;
  Cells gradient, total, out;
  LossReduction reduction;

  void operator()(const Frame& frame) const {
    const double share = reduction == LossReduction::kMean ? 1 / total.Get(frame, 0) : 1;
    targets.Each(frame, [&](int64_t row, int64_t chosen, double weight) {
      const double of_row = gradient.Get(frame, reduction == LossReduction::kNone ? row : 0);
      out.Set(frame, row, chosen, -weight * of_row * share);
    });
  }
};

int ClassDim(const Operand& x) { return x.shape().rank() == 1 ? 0 : 1; }

}  // namespace

void PlanNll(Plan& plan, const NllArgs& args) {
  const int dim = ClassDim(args.x);
  plan.SetCost(500 + static_cast<uint64_t>(args.target.tensor->count()) * 20);
  plan.SetBody(NllBody{{plan, args.target, args.weight, args.x.shape()[dim], args.ignored},
                       Cells(args.x, dim),
                       Cells(args.out, -1),
                       Cells(args.total, -1),
                       args.reduction});
}

void PlanNllGradient(Plan& plan, const NllGradientArgs& args) {
  const int dim = ClassDim(args.out);
  plan.SetCost(500 + static_cast<uint64_t>(args.target.tensor->count()) * 20);
  plan.SetBody(NllGradientBody{{plan, args.target, args.weight, args.out.shape()[dim], args.ignored},
                               Cells(args.gradient, -1),
                               Cells(args.total, -1),
                               Cells(args.out, dim),
                               args.reduction});
}

}  // namespace belay::ops
