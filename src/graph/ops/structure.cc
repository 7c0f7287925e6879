// Operators that only arrange what others computed.
#include <numeric>

#include "graph/translation.h"
#include "graph/translations.h"

namespace belay::graph::translate {
namespace {

// 0 keeps a size (unless `zero_is_zero`), -1 takes what is left.
Shape ResolvedShape(const Translation& node, const Shape& from, const std::vector<int64_t>& wanted, bool zero_is_zero) {
  if (wanted.size() > tensor::kMaxRank) node.Refuse("more than eight dimensions are not supported");
  Shape shape;
  int open = -1;
  int64_t product = 1;
  for (size_t i = 0; i < wanted.size(); ++i) {
    int64_t size = wanted[i];
    if (size == 0 && !zero_is_zero) {
      if (static_cast<int>(i) >= from.rank()) node.Refuse("a size of 0 copies a dimension that the input lacks");
      size = from[static_cast<int>(i)];
    }
    if (size == -1) {
      if (open >= 0) node.Refuse("only one size may be -1");
      open = static_cast<int>(i);
      size = 1;
    }
    product *= size;
    shape.push_back(size);
  }
  if (open >= 0) shape[open] = product == 0 ? 0 : CountOf(from) / product;
  return shape;
}

void Permute(Translation& node, const std::vector<int64_t>& order) {
  int rank = node.shape(0).rank();
  std::vector<bool> seen(static_cast<size_t>(rank), false);
  if (order.size() != static_cast<size_t>(rank)) node.Refuse("perm must name each dimension once");
  std::vector<int64_t> axes;
  for (int64_t axis : order) {
    axes.push_back(node.Axis(axis, rank));
    if (seen[static_cast<size_t>(axes.back())]) node.Refuse("perm must name each dimension once");
    seen[static_cast<size_t>(axes.back())] = true;
  }
  Tensor view = Translation::Transposed(node.in(0), axes);
  if (IsPacked(view.shape, view.strides)) return node.OutSame(0, node.in(0), view.shape);
  Tensor out = node.Out(0, view.dtype, view.shape);
  node.Copy(view, out);
}

}  // namespace

void Identity(Translation& node) { node.OutSame(0, node.in(0), node.shape(0)); }

void Reshape(Translation& node) {
  const Shape& from = node.shape(0);
  node.OutSame(0, node.in(0), ResolvedShape(node, from, node.ints(1), node.Int("allowzero") != 0));
}

void Transpose(Translation& node) { Permute(node, node.ints(1)); }
void TransposeD(Translation& node) { Permute(node, node.Ints("perm")); }

}  // namespace belay::graph::translate
