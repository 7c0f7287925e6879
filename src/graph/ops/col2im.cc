// Columns of patches as images.
#include "ops/layout/col2im.h"
#include "graph/ops/bind.h"
#include "graph/ops/window.h"
#include "graph/translation.h"
#include "graph/translations.h"

namespace belay::graph::translate {
namespace {

std::vector<int64_t> AttributeOr(const Translation& node, const char* name, size_t count, int64_t missing) {
  std::vector<int64_t> values = node.Ints(name);
  if (values.empty()) values.assign(count, missing);
  if (values.size() != count) node.Refuse(std::string(name) + " needs " + std::to_string(count) + " numbers");
  CheckWindowNumbers(node, values);
  return values;
}

}  // namespace

void Col2Im(Translation& node) {
  std::vector<int64_t> image = node.ints(1), block = node.ints(2);
  size_t rank = image.size();
  CheckWindowNumbers(node, image);
  CheckWindowNumbers(node, block);
  if (block.size() != rank || rank == 0 || rank > 6)
    node.Refuse("image_shape and block_shape differ in length");
  std::vector<int64_t> dilations = AttributeOr(node, "dilations", rank, 1),
                       strides = AttributeOr(node, "strides", rank, 1);
  std::vector<int64_t> pads = AttributeOr(node, "pads", 2 * rank, 0);
  std::vector<ops::PatchAxis> axes;
  std::vector<int64_t> patches;
  const Shape& x = node.shape(0);
  if (x.rank() != 3) node.Refuse("the input has shape " + x.ToString() + "; three dimensions are needed");
  for (size_t d = 0; d < rank; ++d) {
    int64_t room = image[d] + pads[d] + pads[rank + d] - dilations[d] * (block[d] - 1) - 1;
    if (room < 0 || strides[d] < 1 || block[d] < 1) node.Refuse("a block does not fit into the image");
    axes.push_back({image[d], block[d], dilations[d], strides[d], pads[d], room / strides[d] + 1});
    patches.push_back(axes.back().patches);
  }
  const auto blocks = tensor::CheckedCount(block), columns = tensor::CheckedCount(patches);
  if (!blocks || x[1] % *blocks != 0 || columns != x[2])
    node.Refuse("columns of " + x.ToString() + " do not fit these blocks");
  Shape shape{x[0], x[1] / *blocks};
  for (int64_t size : image) shape.push_back(size);
  Tensor out = node.Out(0, node.dtype(0), shape);
  node.Step("Col2Im", [&](ops::Plan& plan) {
    ops::PlanColumnsToImage(plan, ReadFrom(plan, node.in(0), "x"), WrittenTo(plan, out, "y"), axes);
  });
}

}  // namespace belay::graph::translate
