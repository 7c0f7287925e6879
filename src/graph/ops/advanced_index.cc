// Operators that pick and write the places that several tensors of indices name together.
#include <algorithm>

#include "graph/ops/axes.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/forms.h"
#include "ops/index/advanced.h"
#include "ops/index/scatter.h"

namespace belay::graph::translate {
namespace {

using ops::Combination;

// The input of the index of each dimension of x, -1 for those without one. Input `mask` holds a number for
// each dimension, zero where it has no index; the indices are the inputs from `first` on.
std::vector<int> IndexInputs(const Translation& node, int mask, int first) {
  const std::vector<int64_t> named = node.ints(mask);
  std::vector<int> inputs;
  int next = first;
  for (int d = 0; d < node.shape(0).rank(); ++d) {
    const bool has_index = d < static_cast<int>(named.size()) && named[static_cast<size_t>(d)] != 0;
    inputs.push_back(has_index ? next++ : -1);
  }
  if (next == first || next != node.input_count()) {
    node.Refuse("indexed_sizes names " + std::to_string(next - first) + " dimensions of x " +
                node.shape(0).ToString() + ", but there are " + std::to_string(node.input_count() - first) +
                " indices");
  }
  return inputs;
}

Shape PickedShape(const Translation& node, const std::vector<int>& inputs) {
  ops::IndexShapes shapes;
  for (const int input : inputs) shapes.push_back(input < 0 ? nullptr : &node.in(input).shape);
  return ops::IndexedShape(node.shape(0), shapes);
}

ops::OperandList IndicesRead(ops::Plan& plan, const Translation& node, const std::vector<int>& inputs) {
  ops::OperandList indices;
  for (const int input : inputs)
    indices.push_back(input < 0 ? ops::Operand{} : ReadFrom(plan, node.in(input), "indices"));
  return indices;
}

void WriteBlocks(Translation& node, const Tensor& x, const Tensor& names, const Tensor& updates,
                 Combination how, const Tensor& out) {
  node.Step(node.node().type.c_str(), [&](ops::Plan& plan) {
    ops::PlanScatterNd(plan, ReadFrom(plan, x, "x"), ReadFrom(plan, names, "indices"),
                       ReadFrom(plan, updates, "updates"), how, WrittenTo(plan, out, "y"));
  });
}

// 0, 1, 2, ...
Tensor Counting(Translation& node, int64_t count) {
  Tensor numbers = node.Temporary(DType::kI64, {count});
  const int64_t bounds[] = {0, count, 1};
  const Scalar start(&bounds[0], DType::kI64), end(&bounds[1], DType::kI64), step(&bounds[2], DType::kI64);
  node.Run(ops::forms::Arange, {Arg(&start), Arg(&end), Arg(&step), Arg(&numbers)});
  return numbers;
}

}  // namespace

void Index(Translation& node) {
  const Tensor& x = node.in(0);
  const std::vector<int> inputs = IndexInputs(node, 1, 3);
  const Tensor out = node.Out(0, x.dtype, PickedShape(node, inputs));
  node.Step("Index", [&](ops::Plan& plan) {
    const ops::Operand from = ReadFrom(plan, x, "x");
    ops::PlanIndex(plan, from, IndicesRead(plan, node, inputs), WrittenTo(plan, out, "y"));
  });
}

void IndexPutV2(Translation& node) {
  const Tensor& x = node.in(0);
  const std::vector<int> inputs = IndexInputs(node, 2, 4);
  const Tensor value = node.Cast(node.in(1), x.dtype), out = node.Out(0, x.dtype, x.shape);
  node.Step("IndexPutV2", [&](ops::Plan& plan) {
    const ops::Operand from = ReadFrom(plan, x, "x"), values = ReadFrom(plan, value, "value");
    ops::PlanIndexPut(plan, from, IndicesRead(plan, node, inputs), values,
                      node.Bool("accumulate") ? Combination::kAdd : Combination::kReplace,
                      WrittenTo(plan, out, "x"));
  });
}

// Row indices[i] of var becomes row i of updates.
void ScatterUpdate(Translation& node) {
  const Tensor out = node.Out(0, node.dtype(0), node.shape(0));
  const Tensor& indices = node.in(1);
  const Tensor names = Translation::Reshaped(indices, WithDim(node, indices.shape, indices.shape.rank(), 1));
  WriteBlocks(node, node.in(0), names, node.in(2), Combination::kReplace, out);
}

// Member b of the batch gets updates[b] from place indices[b] of the axis on.
void Scatter(Translation& node) {
  const Tensor& var = node.in(0);
  const Tensor& updates = node.in(2);
  const int axis = node.Axis(node.Int("axis"), var.shape.rank());
  if (node.String("reduce") != "update") node.Refuse("reduce is update");
  if (axis == 0 || node.shape(1).rank() != 1 || updates.shape.rank() != var.shape.rank() ||
      node.shape(1)[0] != updates.shape[0]) {
    node.Refuse("indices has one place behind the first dimension for each member of updates");
  }
  const int64_t members = updates.shape[0], length = updates.shape[axis];
  const Tensor names = node.Temporary(DType::kI64, {members, length, 2});
  const Tensor member = Counting(node, members), step = Counting(node, length);
  node.Copy(Translation::Reshaped(member, {members, 1}), WithoutDim(names, 2, 0));
  const Tensor starts = Translation::Reshaped(node.Cast(node.in(1), DType::kI64), {members, 1});
  const Tensor sum = WithoutDim(names, 2, 1);
  const int64_t one = 1;
  const Scalar factor(&one, DType::kI64);
  node.Run(ops::forms::Add, {Arg(&starts), Arg(&step), Arg(&factor), Arg(&sum)});
  const Tensor out = node.Out(0, var.dtype, var.shape);
  std::vector<int64_t> order = {0, axis};
  for (int d = 1; d < var.shape.rank(); ++d) {
    if (d != axis) order.push_back(d);
  }
  WriteBlocks(node, Translation::Transposed(var, order), names, Translation::Transposed(updates, order),
              Combination::kReplace, Translation::Transposed(out, order));
}

// Rows of `axis`, times alpha, are added to those that the indices name.
void InplaceIndexAdd(Translation& node) {
  const double alpha = node.has(3) ? node.value(3).Reals().at(0) : 1;
  const Tensor out = node.Out(0, node.dtype(0), node.shape(0));
  node.Step("InplaceIndexAdd", [&](ops::Plan& plan) {
    ops::PlanScatterRows(plan, ReadFrom(plan, node.in(0), "var"), node.Int("axis"),
                         ReadFrom(plan, node.in(1), "indices"), ReadFrom(plan, node.in(2), "updates"),
                         Combination::kAdd, alpha, WrittenTo(plan, out, "var"));
  });
}

// The second input is 1 where x stays and 0 elsewhere, the third one what is there then.
void IndexFillD(Translation& node) {
  const Tensor& x = node.in(0);
  const Tensor keeps = node.Cast(node.in(1), DType::kBool), filling = node.Cast(node.in(2), x.dtype);
  const Tensor out = node.Out(0, x.dtype, x.shape);
  node.Run(ops::forms::SWhere, {Arg(&keeps), Arg(&x), Arg(&filling), Arg(&out)});
}

// Rows of grad summed up by index; those of padding_idx stay zero. By frequency: their mean.
void EmbeddingDenseGrad(Translation& node) {
  const Tensor &grad = node.in(0), &indices = node.in(1);
  const int64_t rows = node.Int("num_weights"), padding = node.Int("padding_idx");
  if (grad.shape.rank() == 0 || rows < 0 || grad.count() != indices.count() * grad.shape.back(0))
    node.Refuse("grad has a row for each of the indices");
  const int64_t width = grad.shape.back(0), count = indices.count();
  const Tensor zeros = node.Temporary(grad.dtype, {rows, width}), out = node.Out(0, grad.dtype, zeros.shape);
  node.Run(ops::forms::InplaceZero, {Arg(&zeros)});
  const Tensor names = Translation::Reshaped(indices, {count, 1});
  WriteBlocks(node, zeros, names, Translation::Reshaped(grad, {count, width}), Combination::kAdd, out);
  if (node.Bool("scale_grad_by_freq")) {
    const Tensor none = node.Temporary(DType::kF32, {rows}), each = node.Temporary(DType::kF32, {count}),
                 times = node.Temporary(DType::kF32, {rows});
    const int64_t one = 1;
    const Scalar least(&one, DType::kI64);
    node.Run(ops::forms::InplaceZero, {Arg(&none)});
    node.Run(ops::forms::InplaceOne, {Arg(&each)});
    WriteBlocks(node, none, names, each, Combination::kAdd, times);
    node.Run(ops::forms::ClampMin, {Arg(&times), Arg(&least), Arg(&none)});
    const Tensor column = Translation::Reshaped(none, {rows, 1});
    node.Run(ops::forms::InplaceDiv, {Arg(&out), Arg(&column)});
  }
  if (padding < 0 || padding >= rows) return;
  const Tensor row = Part(out, 0, padding, 1);
  node.Run(ops::forms::InplaceZero, {Arg(&row)});
}

}  // namespace belay::graph::translate
