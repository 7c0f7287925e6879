#include "graph/ops/window.h"

#include <algorithm>

namespace belay::graph {
namespace {

void SetSame(Window* window, const Shape& sizes, bool upper) {
  for (size_t i = 0; i < window->kernel.size(); ++i) {
    int64_t size = sizes[static_cast<int>(i)], stride = window->strides[i];
    int64_t out = (size + stride - 1) / stride;
    int64_t reach = (window->kernel[i] - 1) * window->dilations[i] + 1;
    int64_t total = std::max<int64_t>(0, (out - 1) * stride + reach - size);
    window->before.push_back(upper ? total / 2 : total - total / 2);
    window->after.push_back(total - window->before.back());
  }
}

void SetPads(const Translation& node, Window* window, const std::vector<int64_t>& pads, PadOrder order) {
  size_t count = window->kernel.size();
  window->before.assign(count, 0);
  window->after.assign(count, 0);
  if (pads.empty()) return;
  if (pads.size() != 2 * count && pads.size() != 1)
    node.Refuse("pads has two numbers for each spatial dimension");
  CheckWindowNumbers(node, pads);
  for (size_t i = 0; i < count; ++i) {
    bool pairs = order == PadOrder::kPairs;
    window->before[i] = pads.size() == 1 ? pads[0] : pads[pairs ? 2 * i : i];
    window->after[i] = pads.size() == 1 ? pads[0] : pads[pairs ? 2 * i + 1 : count + i];
  }
}

}  // namespace

bool ChannelsLast(std::string_view data_format) { return !data_format.empty() && data_format.back() == 'C'; }

void CheckWindowNumbers(const Translation& node, const std::vector<int64_t>& list) {
  constexpr int64_t kMost = int64_t{1} << 31;
  for (int64_t value : list) {
    if (value > kMost || value < -kMost) node.Refuse(std::to_string(value) + " is beyond reason here");
  }
}

std::vector<int64_t> SpatialOf(const Translation& node, const std::vector<int64_t>& list, int rank,
                               bool channels_last, int64_t missing) {
  auto spatial = static_cast<size_t>(rank - 2);
  CheckWindowNumbers(node, list);
  if (list.empty()) return std::vector<int64_t>(spatial, missing);
  if (list.size() == spatial) return list;
  if (list.size() == 1) return std::vector<int64_t>(spatial, list[0]);
  if (list.size() != spatial + 2)
    node.Refuse("a list has neither a number for each dimension nor one for each spatial one");
  auto first = list.begin() + (channels_last ? 1 : 2);
  return {first, first + static_cast<std::ptrdiff_t>(spatial)};
}

Window ReadWindow(const Translation& node, const Shape& sizes, std::vector<int64_t> kernel,
                  bool channels_last, std::string_view auto_pad, PadOrder order, const char* dilations) {
  int rank = sizes.rank() + 2;
  Window window{.kernel = std::move(kernel), .strides = {}, .dilations = {}, .before = {}, .after = {}};
  window.strides = SpatialOf(node, node.Ints("strides"), rank, channels_last, 1);
  window.dilations = SpatialOf(node, node.Ints(dilations), rank, channels_last, 1);
  for (const auto* list : {&window.kernel, &window.strides, &window.dilations}) {
    if (list->size() != static_cast<size_t>(sizes.rank()))
      node.Refuse("the kernel has another number of dimensions");
    for (int64_t value : *list) {
      if (value < 1) node.Refuse("kernel sizes, strides and dilations are at least 1");
    }
  }
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME" || auto_pad == "SAME_LOWER") {
    SetSame(&window, sizes, auto_pad != "SAME_LOWER");
  } else if (auto_pad == "VALID") {
    SetPads(node, &window, {}, order);
  } else {
    SetPads(node, &window, node.Ints("pads"), order);
  }
  return window;
}

Tensor ChannelsFirst(const Tensor& tensor, bool channels_last) {
  int rank = tensor.shape.rank();
  if (!channels_last || rank < 3) return tensor;
  std::vector<int64_t> order{0, rank - 1};
  for (int d = 1; d < rank - 1; ++d) order.push_back(d);
  return Translation::Transposed(tensor, order);
}

Shape WithLayout(const Shape& channels_first, bool channels_last) {
  if (!channels_last) return channels_first;
  Shape shape{channels_first[0]};
  for (int d = 2; d < channels_first.rank(); ++d) shape.push_back(channels_first[d]);
  shape.push_back(channels_first[1]);
  return shape;
}

Shape SpatialSizes(const Shape& channels_first) {
  return Shape::Of(channels_first.data() + 2, std::max(0, channels_first.rank() - 2));
}

}  // namespace belay::graph
