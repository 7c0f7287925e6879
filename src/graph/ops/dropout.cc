// Dropout: nothing happens unless the node says that it trains.
#include "ops/layout/dropout.h"

#include <algorithm>

#include "graph/ops/bind.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/kernels.h"
#include "ops/random/drop_mask.h"

namespace belay::graph::translate {

void Dropout(Translation& node) {
  const Tensor& x = node.in(0);
  double ratio = node.has(1) ? node.value(1).Reals().at(0) : 0.5;
  bool drops = node.has(2) && node.ints(2).at(0) != 0 && ratio != 0;
  if (ratio < 0 || ratio > 1) node.Refuse("a ratio of " + std::to_string(ratio) + " is not between 0 and 1");
  if (!drops) {
    node.OutSame(0, x, x.shape);
    if (node.output_count() < 2) return;
    auto kept = std::make_shared<HostTensor>(DType::kBool, x.shape);
    std::fill_n(kept->as<uint8_t>(), kept->count(), uint8_t{1});
    return node.OutValue(1, kept);
  }
  if (!IsFloat(x.dtype)) node.Refuse("only floats can be dropped out");
  Tensor out = node.Out(0, x.dtype, x.shape);
  Tensor mask =
      node.output_count() > 1 ? node.Out(1, DType::kBool, x.shape) : node.Temporary(DType::kBool, x.shape);
  node.Step("Dropout", [&](ops::Plan& plan) {
    ops::Operand in = ReadFrom(plan, x, "x"), y = WrittenTo(plan, out, "y");
    ops::PlanDropout(plan, in, ratio, node.Sequence(), y, WrittenTo(plan, mask, "mask"));
  });
}

namespace {

// How much larger what a mask of bytes keeps of x becomes.
double ScaleOfKept(const Translation& node, const Tensor& x, const Tensor& mask) {
  if (!IsFloat(x.dtype) || mask.dtype != DType::kU8 || mask.count() < x.count())
    node.Refuse("there are floats, and a mask of uint8 with as many elements");
  const double keep = node.Float("input_keep_prob");
  if (!(keep >= 0 && keep <= 1)) node.Refuse("input_keep_prob is from 0 to 1");
  return keep == 0 ? 0 : 1 / keep;
}

void KeepMasked(Translation& node, const Tensor& x, const Tensor& mask, double scale, const Tensor& out) {
  node.Step("KeepMasked", [&](ops::Plan& plan) {
    const ops::Operand from = ReadFrom(plan, x, "x"), kept = ReadFrom(plan, mask, "mask");
    ops::PlanApplyMask(plan, ops::MaskUnit::kByte, from, kept, scale, WrittenTo(plan, out, "y"));
  });
}

int64_t SoftmaxAxis(const Translation& node, const char* name, const Shape& shape) {
  const std::vector<int64_t> axes = node.Ints(name);
  if (axes.size() != 1 || shape.rank() == 0) node.Refuse("a softmax goes along one axis");
  return node.Axis(axes[0], shape.rank());
}

}  // namespace

// Inputs: x1, x2, mask.
void AxpyWithSoftmaxAndDropOutDoMask(Translation& node) {
  const Tensor &x1 = node.in(0), &x2 = node.in(1), &mask = node.in(2);
  if (x2.shape != x1.shape || x2.dtype != x1.dtype) node.Refuse("x1 and x2 have one type and shape");
  const double scale = ScaleOfKept(node, x1, mask), alpha = node.Float("alpha");
  const int64_t axis = SoftmaxAxis(node, "axis", x1.shape);
  const Tensor soft = node.Out(0, x1.dtype, x1.shape), sum = node.Temporary(DType::kF32, x1.shape);
  node.Step("AddScaled", [&](ops::Plan& plan) {
    const ops::Operand a = ReadFrom(plan, x1, "x1"), b = ReadFrom(plan, x2, "x2");
    ops::kernels::Add(plan, DType::kF32, a, b, Scalar(&alpha, DType::kF64), WrittenTo(plan, sum, "sum"));
  });
  node.Step("Softmax", [&](ops::Plan& plan) {
    const ops::Operand from = ReadFrom(plan, sum, "sum");
    ops::kernels::Softmax(plan, DType::kF32, from, axis, WrittenTo(plan, soft, "y1"));
  });
  if (node.output_count() > 1) KeepMasked(node, soft, mask, scale, node.Out(1, x1.dtype, x1.shape));
}

// Inputs: y_grad, mask, softmax_output.
void DropoutWithMulsAndSoftmaxGrad(Translation& node) {
  const Tensor &grad = node.in(0), &mask = node.in(1), &soft = node.in(2);
  if (grad.shape != soft.shape || !IsFloat(soft.dtype))
    node.Refuse("the gradient has the shape of the softmax");
  const double scale = ScaleOfKept(node, grad, mask), alpha = node.Float("alpha");
  const int64_t axis = SoftmaxAxis(node, "axes", soft.shape);
  const Tensor kept = node.Temporary(DType::kF32, grad.shape),
               slope = node.Temporary(DType::kF32, grad.shape);
  KeepMasked(node, node.Cast(grad, DType::kF32), mask, scale, kept);
  const Tensor wide = node.Cast(soft, DType::kF32);
  node.Step("SoftmaxGradient", [&](ops::Plan& plan) {
    const ops::Operand from = ReadFrom(plan, kept, "y_grad"), y = ReadFrom(plan, wide, "softmax_output");
    ops::kernels::SoftmaxBackward(plan, DType::kF32, from, y, axis, WrittenTo(plan, slope, "x_grad"));
  });
  const Tensor out = node.Out(0, soft.dtype, soft.shape);
  node.Step("Scale", [&](ops::Plan& plan) {
    const Scalar factor(&alpha, DType::kF64);
    const ops::Operand from = ReadFrom(plan, slope, "x_grad");
    ops::kernels::Mul(plan, DType::kF32, from, {nullptr, &factor, -1, "alpha"},
                      WrittenTo(plan, out, "x_grad"));
  });
}

}  // namespace belay::graph::translate
