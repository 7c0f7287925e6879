// Parts of tensors, and results whose dimensions each choose where their elements come from.
#pragma once

#include <vector>

#include "graph/ops/bind.h"
#include "graph/translation.h"
#include "ops/layout/rearranged.h"

namespace belay::graph {

// `size` elements of a dimension from `first` on.
Tensor Part(const Tensor& whole, int axis, int64_t first, int64_t size);
// The elements at `place` of a dimension.
Tensor WithoutDim(const Tensor& whole, int axis, int64_t place);
// The shape with one more dimension in front of `axis`.
Shape WithDim(const Translation& node, const Shape& shape, int axis, int64_t size);

std::vector<ops::AxisMap> Identities(const Shape& shape);
Shape LengthsOf(const std::vector<ops::AxisMap>& maps);

// A step: out[i, j, ...] = from[maps[0][i], maps[1][j], ...], zero (or `fill`) where there is no source.
void Rearrange(Translation& node, const Tensor& from, const Tensor& out,
               const std::vector<ops::AxisMap>& maps, const void* fill = nullptr);
// The same as output 0, whose shape the maps give.
void OutRearranged(Translation& node, const Tensor& from, const std::vector<ops::AxisMap>& maps,
                   const void* fill = nullptr);

}  // namespace belay::graph
