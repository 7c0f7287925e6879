// Random numbers.
#include "ops/random/random.h"

#include "graph/ops/bind.h"
#include "graph/translation.h"
#include "graph/translations.h"

namespace belay::graph::translate {
namespace {

void Draw(Translation& node, ops::Distribution distribution) {
  Shape shape;
  for (int64_t size : node.ints(0)) {
    if (size < 0 || shape.rank() == tensor::kMaxRank)
      node.Refuse("shape holds up to eight sizes that are at least 0");
    shape.push_back(size);
  }
  const DType dtype = node.Type("dtype");
  if (!IsFloat(dtype)) node.Refuse("random numbers are of a float type");
  Tensor out = node.Out(0, dtype, shape);
  node.Step("Random", [&](ops::Plan& plan) {
    ops::PlanRandom(plan, distribution, node.Sequence(), WrittenTo(plan, out, "y"));
  });
}

}  // namespace

void RandomUniform(Translation& node) { Draw(node, ops::Distribution::kUniform); }
void RandomStandardNormal(Translation& node) { Draw(node, ops::Distribution::kNormal); }

void Multinomial(Translation& node) {
  const Shape& shape = node.shape(0);
  const std::vector<int64_t> count = node.ints(1);
  if (shape.rank() != 2 || shape[1] == 0) node.Refuse("logits has two dimensions, and classes");
  if (count.size() != 1 || count[0] < 0) node.Refuse("num_samples is one number that is at least 0");
  Tensor logits = node.Cast(node.in(0), DType::kF32),
         out = node.Out(0, node.Type("dtype"), {shape[0], count[0]});
  Tensor drawn = out.dtype == DType::kI64 ? out : node.Temporary(DType::kI64, out.shape);
  node.Step("Multinomial", [&](ops::Plan& plan) {
    const ops::Operand from = ReadFrom(plan, logits, "logits");
    ops::PlanMultinomial(plan, from, node.Sequence(), WrittenTo(plan, drawn, "y"));
  });
  if (out.dtype != DType::kI64) node.Copy(drawn, out);
}

}  // namespace belay::graph::translate
