// Dropout: nothing happens unless the node says that it trains.
#include "ops/layout/dropout.h"

#include <algorithm>

#include "graph/ops/bind.h"
#include "graph/translation.h"
#include "graph/translations.h"

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

}  // namespace belay::graph::translate
