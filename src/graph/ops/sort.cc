// Operators that put rows in order or choose the best of them.
#include "ops/sort/sort.h"
#include "graph/ops/bind.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/sort/nms.h"
#include "ops/sort/search.h"

namespace belay::graph::translate {
namespace {

void SortOrdered(Translation& node, int64_t dim, const ops::SortOrder& order, DType index_type) {
  Shape shape = node.shape(0);
  int axis = shape.rank() == 0 ? 0 : node.Axis(dim, shape.rank());
  if (order.keep >= 0 && shape.rank() > 0) {
    if (order.keep > shape[axis]) node.Refuse("k is larger than dimension " + std::to_string(axis));
    shape[axis] = order.keep;
  }
  Tensor values = node.Out(0, node.dtype(0), shape);
  Tensor indices =
      node.output_count() > 1 ? node.Out(1, index_type, shape) : node.Temporary(index_type, shape);
  node.Step("Sort", [&](ops::Plan& plan) {
    ops::Operand in = ReadFrom(plan, node.in(0), "x");
    ops::Operand first = WrittenTo(plan, values, "values"), second = WrittenTo(plan, indices, "indices");
    ops::PlanSort(plan, in, axis, order, &first, &second);
  });
}

ops::SortOrder Best(const Translation& node, int64_t k) {
  if (k < 0) node.Refuse("k is negative");
  return {.descending = node.Bool("largest"), .keep = k};
}

double RealOr(const Translation& node, int input, double missing) {
  if (!node.has(input) || node.value(input).count() == 0) return missing;
  return node.value(input).Reals()[0];
}

int64_t WholeOr(const Translation& node, int input, int64_t missing) {
  if (!node.has(input) || node.value(input).count() == 0) return missing;
  return node.ints(input)[0];
}

}  // namespace

void TopK(Translation& node) {
  SortOrdered(node, node.Int("dim"), Best(node, node.ints(1).at(0)), DType::kI32);
}
void TopKV2(Translation& node) {
  SortOrdered(node, node.Int("dim"), Best(node, node.ints(1).at(0)), node.Type("indices_dtype"));
}
void TopKD(Translation& node) {
  SortOrdered(node, node.Int("dim"), Best(node, node.Int("k")), node.Type("indices_dtype"));
}

void Sort(Translation& node) {
  SortOrdered(node, node.Int("axis"), {.descending = node.Bool("descending")}, DType::kI32);
}

// How many elements of its row of sorted_sequence come before each value.
void SearchSorted(Translation& node) {
  const Shape &rows = node.shape(0), &shape = node.shape(1);
  bool fits = rows.rank() == 1 || rows.rank() == shape.rank();
  for (int d = 0; d + 1 < rows.rank() && fits; ++d) fits = rows[d] == shape[d];
  if (rows.rank() == 0 || !fits)
    node.Refuse("sorted_sequence is one row, or has a row for each of the values");
  const bool real = IsFloat(node.dtype(0)) || IsFloat(node.dtype(1));
  const DType compared = real ? DType::kF64 : DType::kI64, dtype = node.Type("dtype");
  const Tensor sorted = node.Cast(node.in(0), compared), values = node.Cast(node.in(1), compared);
  const Tensor out = node.Out(0, dtype, shape);
  const Tensor places = dtype == DType::kI64 ? out : node.Temporary(DType::kI64, shape);
  node.Step("SearchSorted", [&](ops::Plan& plan) {
    const ops::Operand row = ReadFrom(plan, sorted, "sorted_sequence"), at = ReadFrom(plan, values, "values");
    ops::PlanSearchSorted(plan, row, at, node.Bool("right"), WrittenTo(plan, places, "out"));
  });
  if (dtype != DType::kI64) node.Copy(places, out);
}

void NonMaxSuppressionV7(Translation& node) {
  const Shape& boxes = node.shape(0);
  const Shape& scores = node.shape(1);
  if (boxes.rank() != 3 || scores.rank() != 3 || boxes[2] != 4 || scores[0] != boxes[0] ||
      scores[2] != boxes[1]) {
    node.Refuse("boxes of " + boxes.ToString() + " and scores of " + scores.ToString() +
                " do not fit together");
  }
  ops::BoxChoice choice;
  choice.most = WholeOr(node, 2, node.Int("max_boxes_size"));  // torch writes the largest number for all
  choice.overlap = RealOr(node, 3, 0);
  choice.has_least_score = node.has(4);
  choice.least_score = RealOr(node, 4, 0);
  choice.centred = node.Int("center_point_box") != 0;
  auto chosen =
      ops::ChooseBoxes(node.value(0).Reals(), node.value(1).Reals(), boxes[0], scores[1], boxes[1], choice);
  auto result = std::make_shared<HostTensor>(DType::kI64, Shape{static_cast<int64_t>(chosen.size()), 3});
  for (size_t i = 0; i < chosen.size(); ++i)
    std::copy(chosen[i].begin(), chosen[i].end(), result->as<int64_t>() + 3 * i);
  node.OutValue(0, result);
}

}  // namespace belay::graph::translate
