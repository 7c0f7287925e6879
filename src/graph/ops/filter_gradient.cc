// The gradient of a convolution's filter.
#include "graph/ops/window.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/forms.h"

namespace belay::graph::translate {

// Inputs: x, the sizes of the filter, and the gradient of the result.
void Conv2DBackpropFilter(Translation& node) {
  const Tensor &x = node.in(0), &dy = node.in(2);
  const std::vector<int64_t> sizes = node.ints(1);
  if (node.String("data_format") != "NCHW") node.Refuse("data_format is NCHW");
  if (x.shape.rank() != 4 || dy.shape.rank() != 4 || sizes.size() != 4 || x.dtype != dy.dtype)
    node.Refuse("x, out_backprop and the filter have four dimensions, and both inputs one type");
  for (const int64_t size : sizes) {
    if (size < 1) node.Refuse("filter_size has numbers of one and up");
  }
  const Window window =
      ReadWindow(node, SpatialSizes(x.shape), {sizes[2], sizes[3]}, false, "NOTSET", PadOrder::kPairs);
  if (window.before != window.after) node.Refuse("pads are the same on both sides");
  const auto list = [](const std::vector<int64_t>& numbers) {
    return tensor::IntArray(numbers.data(), numbers.size());
  };
  const tensor::IntArray strides = list(window.strides), pads = list(window.before),
                         dilations = list(window.dilations), more = list({0, 0});
  constexpr bool kOnlyTheFilter[] = {false, true, false};
  const tensor::BoolArray mask(kOnlyTheFilter, 3);
  const Shape shape = Shape::Of(sizes.data(), 4);
  // Only the shape of the filter itself is looked at.
  const Tensor filter = node.Temporary(x.dtype, shape), out = node.Out(0, x.dtype, shape);
  const tensor::IntArray* no_sizes = nullptr;
  const Tensor* none = nullptr;
  node.Run(
      ops::forms::ConvolutionBackward,
      {Arg(&dy), Arg(&x), Arg(&filter), Arg(no_sizes), Arg(&strides), Arg(&pads), Arg(&dilations), Arg(false),
       Arg(&more), Arg(node.Int("groups")), Arg(&mask), Arg(int64_t{0}), Arg(none), Arg(&out), Arg(none)});
}

}  // namespace belay::graph::translate
