// Views of memory that callers describe by strides.
#include "graph/translation.h"
#include "graph/translations.h"

namespace belay::graph::translate {
namespace {

// The view of a packed tensor that three inputs describe: sizes, strides, and where it begins.
Tensor DescribedView(const Translation& node, const Tensor& whole, int sizes_input) {
  const std::vector<int64_t> sizes = node.ints(sizes_input), strides = node.ints(sizes_input + 1);
  const std::vector<int64_t> offset =
      node.has(sizes_input + 2) ? node.ints(sizes_input + 2) : std::vector<int64_t>{0};
  if (sizes.size() != strides.size() || sizes.size() > tensor::kMaxRank || offset.size() != 1)
    node.Refuse("a view has up to eight sizes, as many strides, and one offset");
  const auto rank = static_cast<int>(sizes.size());
  const int64_t room = whole.count();
  int64_t last = offset[0];  // the furthest element
  bool fits = last >= 0 && last <= room;
  bool empty = false;
  for (size_t d = 0; d < sizes.size(); ++d) empty = empty || sizes[d] == 0;
  for (size_t d = 0; d < sizes.size() && fits && !empty; ++d) {
    fits = sizes[d] > 0 && strides[d] >= 0 && (sizes[d] == 1 || strides[d] <= room / (sizes[d] - 1));
    if (fits) last += strides[d] * (sizes[d] - 1);
    fits = fits && last < room;
  }
  if (!fits || (!empty && last >= room))
    node.Refuse("a view does not lie inside the " + std::to_string(room) + " elements of its tensor");
  return Translation::View(whole, Shape::Of(sizes.data(), rank), Shape::Of(strides.data(), rank), offset[0]);
}

}  // namespace

void AsStrided(Translation& node) {
  const Tensor view = DescribedView(node, node.in(0), 1);
  node.Copy(view, node.Out(0, view.dtype, view.shape));
}

// dst with the elements of one view replaced by those of a view of src.
void ViewCopy(Translation& node) {
  const Tensor& dst = node.in(0);
  const Tensor out = node.Out(0, dst.dtype, dst.shape);
  node.Copy(dst, out);
  node.Copy(DescribedView(node, node.in(4), 5), DescribedView(node, out, 1));
}

}  // namespace belay::graph::translate
