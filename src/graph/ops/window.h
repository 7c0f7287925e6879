// Windows that slide over the spatial dimensions of [n, c, spatial...] or [n, spatial..., c]: what
// convolutions and pooling have in common.
#pragma once

#include <string_view>
#include <vector>

#include "graph/translation.h"

namespace belay::graph {

struct Window {
  std::vector<int64_t> kernel, strides, dilations, before, after;  // one for each spatial dimension
};

bool ChannelsLast(std::string_view data_format);

// Refuses numbers that no window has, so that sums and products of a few of them are right.
void CheckWindowNumbers(const Translation& node, const std::vector<int64_t>& list);

// The spatial ones of a list that has one number for each of them, or one for each dimension of the
// tensor; `missing` for each where the list is empty.
std::vector<int64_t> SpatialOf(const Translation& node, const std::vector<int64_t>& list, int rank,
                               bool channels_last, int64_t missing);

enum class PadOrder { kPairs, kBeginsThenEnds };  // (top, bottom, left, right) or (top, left, bottom, right)

// Reads strides, dilations and pads of the node. `auto_pad` is NOTSET, SAME_UPPER, SAME_LOWER or VALID (also
// SAME and CALCULATED). `sizes`: of the input's spatial dimensions.
Window ReadWindow(const Translation& node, const Shape& sizes, std::vector<int64_t> kernel,
                  bool channels_last, std::string_view auto_pad, PadOrder order,
                  const char* dilations = "dilations");

// The tensor with the dimensions [n, c, spatial...], wherever they lie.
Tensor ChannelsFirst(const Tensor& tensor, bool channels_last);
// And the shape of a tensor that is declared so.
Shape WithLayout(const Shape& channels_first, bool channels_last);
Shape SpatialSizes(const Shape& channels_first);

// Binds tensors to a plan and makes operands of them.
class Binder {
 public:
  explicit Binder(ops::Plan& plan) : plan_(plan) {}
  ops::Operand Read(const Tensor& tensor, const char* name) { return Bind(tensor, ops::Access::kRead, name); }
  ops::Operand Write(const Tensor& tensor, const char* name) {
    return Bind(tensor, ops::Access::kWrite, name);
  }

 private:
  ops::Operand Bind(const Tensor& tensor, ops::Access access, const char* name) {
    int binding = plan_.Bind(&tensor, access, name, count_++, 0);
    return {&tensor, nullptr, binding, name};
  }

  ops::Plan& plan_;
  int count_ = 0;
};

}  // namespace belay::graph
