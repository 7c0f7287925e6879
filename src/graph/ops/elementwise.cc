// Operators that work element by element.
#include "graph/translation.h"
#include "graph/translations.h"

namespace belay::graph::translate {
namespace {

Shape Broadcast(const Translation& node) {
  auto shape = tensor::BroadcastShapes(node.shape(0), node.shape(1));
  if (!shape) {
    node.Refuse("shapes " + node.shape(0).ToString() + " and " + node.shape(1).ToString() +
                " do not broadcast to one another");
  }
  return *shape;
}

const Scalar& One() {
  static const int64_t value = 1;
  static const Scalar one(&value, DType::kI64);
  return one;
}

void WithAlpha(Translation& node, const ops::Form& form) {
  Tensor out = node.Out(0, node.dtype(0), Broadcast(node));
  node.Run(form, {Arg(&node.in(0)), Arg(&node.in(1)), Arg(&One()), Arg(&out)});
}

void Binary(Translation& node, const ops::Form& form) {
  Tensor out = node.Out(0, node.dtype(0), Broadcast(node));
  node.Run(form, {Arg(&node.in(0)), Arg(&node.in(1)), Arg(&out)});
}

}  // namespace

void Add(Translation& node) { WithAlpha(node, ops::forms::Add); }
void Sub(Translation& node) { WithAlpha(node, ops::forms::Sub); }
void Mul(Translation& node) { Binary(node, ops::forms::Mul); }

void Cast(Translation& node) {
  Tensor out = node.Out(0, node.Type("dst_type"), node.shape(0));
  node.Copy(node.in(0), out);
}

}  // namespace belay::graph::translate
