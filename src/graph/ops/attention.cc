// Attention as one node, which the pass makes of its parts.
#include "ops/matmul/attention.h"

#include <algorithm>
#include <numeric>

#include "graph/ops/bind.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/forms.h"

namespace belay::graph::translate {
namespace {

std::vector<int64_t> Order(const Translation& node, const char* name) {
  const auto rank = static_cast<size_t>(node.shape(0).rank());
  std::vector<int64_t> order = node.Ints(name), sorted = order, all(rank);
  std::iota(all.begin(), all.end(), 0);
  if (order.empty()) return all;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != all) node.Refuse(std::string(name) + " is no order of the dimensions");
  return order;
}

// Four dimensions of three.
Tensor WithBatch(Tensor t) {
  if (t.shape.rank() == 4) return t;
  t.shape = {1, t.shape[0], t.shape[1], t.shape[2]};
  t.strides = {t.strides[0], t.strides[0], t.strides[1], t.strides[2]};
  return t;
}

// With four dimensions, in that order.
Tensor HeadsOrdered(const Translation& node, int input, const char* name) {
  const int rank = node.shape(input).rank();
  if (node.dtype(input) != DType::kF32 || (rank != 3 && rank != 4) || rank != node.shape(0).rank()) {
    node.Refuse("three or four dimensions of float are attended to");
  }
  return WithBatch(Translation::Transposed(node.in(input), Order(node, name)));
}

Tensor RowsAlong(Translation& node, const Tensor& t) { return t.strides.back(0) == 1 ? t : node.Packed(t); }
Tensor RowsOrColumnsAlong(Translation& node, const Tensor& t) {
  return t.strides.back(1) == 1 ? t : RowsAlong(node, t);
}

Tensor MaskFor(const Translation& node, const Shape& scores) {
  Tensor mask = node.in(3);
  if (mask.dtype != DType::kF32 || tensor::BroadcastShapes(mask.shape, scores) != scores) {
    node.Refuse("the mask " + mask.shape.ToString() + " does not fit scores of " + scores.ToString());
  }
  mask.strides = tensor::BroadcastStrides(mask.shape, mask.strides, scores);
  mask.shape = scores;
  return mask;
}

// The result as the node gives it, seen in the order of the computation.
Tensor Result(Translation& node, const Shape& shape) {
  const std::vector<int64_t> order = Order(node, "perm_y");
  const auto rank = static_cast<int>(order.size());
  Shape given;
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    given.push_back(shape[4 - rank + static_cast<int>(order[i])]);
    back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  if (order.back() != rank - 1) node.Refuse("perm_y keeps the last dimension where it is");
  return WithBatch(Translation::Transposed(node.Out(0, DType::kF32, given), back));
}

}  // namespace

void FusedAttention(Translation& node) {
  const Tensor query = RowsAlong(node, HeadsOrdered(node, 0, "perm_x1"));
  const Tensor key = RowsOrColumnsAlong(node, HeadsOrdered(node, 1, "perm_x2"));
  const Tensor value = RowsOrColumnsAlong(node, HeadsOrdered(node, 2, "perm_x3"));
  const Shape &q = query.shape, &k = key.shape, &v = value.shape;
  const bool fits =
      q[0] == k[0] && q[0] == v[0] && q[1] == k[1] && q[1] == v[1] && q[3] == k[2] && k[3] == v[2];
  if (!fits || q[3] == 0 || k[3] == 0) node.Refuse("query, key and value do not fit each other");
  Tensor mask;
  if (node.has(3)) mask = MaskFor(node, {q[0], q[1], q[2], k[3]});
  const Tensor out = Result(node, {q[0], q[1], q[2], v[3]});
  node.Step("FusedAttention", [&](ops::Plan& plan) {
    ops::AttentionArgs args;
    args.query = ReadFrom(plan, query, "x1"), args.key = ReadFrom(plan, key, "x2");
    args.value = ReadFrom(plan, value, "x3");
    if (node.has(3)) args.mask = ReadFrom(plan, mask, "mask");
    args.out = WrittenTo(plan, out, "y");
    args.scale = static_cast<float>(node.Float("scale"));
    ops::PlanAttention(plan, args);
  });
}

void RotaryMul(Translation& node) {
  constexpr int64_t kHalves = 0;
  const Tensor y = node.Out(0, node.dtype(0), node.shape(0));
  node.Run(ops::forms::RotaryPositionEmbedding,
           {Arg(&node.in(0)), Arg(&node.in(1)), Arg(&node.in(2)), Arg(kHalves), Arg(&y)});
}

}  // namespace belay::graph::translate
