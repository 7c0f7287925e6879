// Columns of patches as images.
#include "ops/layout/col2im.h"
#include "graph/ops/bind.h"
#include "graph/ops/window.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/forms.h"

namespace belay::graph::translate {
namespace {

std::vector<int64_t> AttributeOr(const Translation& node, const char* name, size_t count, int64_t missing) {
  std::vector<int64_t> values = node.Ints(name);
  if (values.empty()) values.assign(count, missing);
  if (values.size() != count) node.Refuse(std::string(name) + " needs " + std::to_string(count) + " numbers");
  CheckWindowNumbers(node, values);
  return values;
}

tensor::IntArray ArrayOf(const std::vector<int64_t>& numbers) { return {numbers.data(), numbers.size()}; }

struct Folding {
  std::vector<int64_t> image, block, dilations, strides, pads;  // pads: all begins, then all ends
};

// x is packed: [n, channels * blocks, patches].
void Fold(Translation& node, const Tensor& packed, const Folding& how) {
  const size_t rank = how.image.size();
  CheckWindowNumbers(node, how.image);
  CheckWindowNumbers(node, how.block);
  if (how.block.size() != rank || rank == 0 || rank > 6)
    node.Refuse("the sizes of the image and of a block differ in length");
  std::vector<ops::PatchAxis> axes;
  std::vector<int64_t> patches;
  const Shape& x = packed.shape;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t room =
        how.image[d] + how.pads[d] + how.pads[rank + d] - how.dilations[d] * (how.block[d] - 1) - 1;
    if (room < 0 || how.strides[d] < 1 || how.block[d] < 1)
      node.Refuse("a block does not fit into the image");
    axes.push_back({how.image[d], how.block[d], how.dilations[d], how.strides[d], how.pads[d],
                    room / how.strides[d] + 1});
    patches.push_back(axes.back().patches);
  }
  const auto blocks = tensor::CheckedCount(how.block), columns = tensor::CheckedCount(patches);
  if (!blocks || x[1] % *blocks != 0 || columns != x[2])
    node.Refuse("columns of " + x.ToString() + " do not fit these blocks");
  Shape shape{x[0], x[1] / *blocks};
  for (int64_t size : how.image) shape.push_back(size);
  Tensor out = node.Out(0, node.dtype(0), shape);
  node.Step("Col2Im", [&](ops::Plan& plan) {
    ops::PlanColumnsToImage(plan, ReadFrom(plan, packed, "x"), WrittenTo(plan, out, "y"), axes);
  });
}

}  // namespace

void Col2Im(Translation& node) {
  const std::vector<int64_t> image = node.ints(1);
  const size_t rank = image.size();
  const Shape& x = node.shape(0);
  if (x.rank() != 3) node.Refuse("the input has shape " + x.ToString() + "; three dimensions are needed");
  Fold(node, node.in(0),
       {image, node.ints(2), AttributeOr(node, "dilations", rank, 1), AttributeOr(node, "strides", rank, 1),
        AttributeOr(node, "pads", 2 * rank, 0)});
}

// x is [n, channels, blocks, patches]; both sides are padded alike.
void Col2im(Translation& node) {
  const Shape& x = node.shape(0);
  if (x.rank() != 4) node.Refuse("the input has shape " + x.ToString() + "; four dimensions are needed");
  constexpr size_t kRank = 2;
  const std::vector<int64_t> image = node.ints(1);
  if (image.size() != kRank) node.Refuse("output_size is two numbers");
  std::vector<int64_t> pads = AttributeOr(node, "padding", kRank, 0);
  pads.insert(pads.end(), {pads[0], pads[1]});
  Fold(node, Translation::Reshaped(node.in(0), {x[0], x[1] * x[2], x[3]}),
       {image, AttributeOr(node, "kernel_size", kRank, 1), AttributeOr(node, "dilation", kRank, 1),
        AttributeOr(node, "stride", kRank, 1), pads});
}

// pads are given in pairs.
void Im2col(Translation& node) {
  const Shape& x = node.shape(0);
  const std::vector<int64_t> ends = AttributeOr(node, "pads", 4, 0);
  const std::vector<int64_t> sides = {ends[0], ends[2]};
  const tensor::IntArray kernel = ArrayOf(AttributeOr(node, "ksizes", 2, 1)),
                         dilation = ArrayOf(AttributeOr(node, "dilations", 2, 1)),
                         stride = ArrayOf(AttributeOr(node, "strides", 2, 1)), padding = ArrayOf(sides);
  if (x.rank() != 4 || ends[0] != ends[1] || ends[2] != ends[3] ||
      node.String("padding_mode") != "CALCULATED")
    node.Refuse("x has four dimensions, and both of its sides are padded alike");
  Shape shape{x[0], x[1] * kernel.items[0] * kernel.items[1], 1};
  for (size_t d = 0; d < 2; ++d) {
    const int64_t room =
        x[static_cast<int>(d) + 2] + 2 * padding.items[d] - dilation.items[d] * (kernel.items[d] - 1) - 1;
    if (room < 0 || stride.items[d] < 1) node.Refuse("a block does not fit into the image");
    shape[2] *= room / stride.items[d] + 1;
  }
  const Tensor y = node.Out(0, node.dtype(0), shape);
  node.Run(ops::forms::Im2col,
           {Arg(&node.in(0)), Arg(&kernel), Arg(&dilation), Arg(&padding), Arg(&stride), Arg(&y)});
}

}  // namespace belay::graph::translate
