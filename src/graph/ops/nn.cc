// Operators of neural networks.
#include "graph/translation.h"
#include "graph/translations.h"

namespace belay::graph::translate {

void SoftmaxV2(Translation& node) {
  std::vector<int64_t> axes = node.Ints("axes");
  if (axes.size() != 1) node.Refuse("one axis is supported");
  Tensor out = node.Out(0, node.dtype(0), node.shape(0));
  node.Run(ops::forms::Softmax, {Arg(&node.in(0)), Arg(axes[0]), Arg(&out)});
}

}  // namespace belay::graph::translate
