#include "graph/ops/axes.h"

namespace belay::graph {

Tensor Part(const Tensor& whole, int axis, int64_t first, int64_t size) {
  Tensor part = whole;
  part.offset += first * whole.strides[axis];
  part.shape[axis] = size;
  return part;
}

Tensor WithoutDim(const Tensor& whole, int axis, int64_t place) {
  Tensor part = whole;
  part.offset += place * whole.strides[axis];
  part.shape = part.strides = {};
  for (int d = 0; d < whole.shape.rank(); ++d) {
    if (d == axis) continue;
    part.shape.push_back(whole.shape[d]);
    part.strides.push_back(whole.strides[d]);
  }
  return part;
}

Shape WithDim(const Translation& node, const Shape& shape, int axis, int64_t size) {
  if (shape.rank() >= tensor::kMaxRank) node.Refuse("more than eight dimensions are not supported");
  Shape whole;
  for (int d = 0; d <= shape.rank(); ++d) {
    if (d == axis) whole.push_back(size);
    if (d < shape.rank()) whole.push_back(shape[d]);
  }
  return whole;
}

std::vector<ops::AxisMap> Identities(const Shape& shape) {
  std::vector<ops::AxisMap> maps;
  for (int64_t size : shape) maps.push_back(ops::IdentityMap(size));
  return maps;
}

Shape LengthsOf(const std::vector<ops::AxisMap>& maps) {
  Shape shape;
  for (const ops::AxisMap& map : maps) shape.push_back(static_cast<int64_t>(map.size()));
  return shape;
}

void Rearrange(Translation& node, const Tensor& from, const Tensor& out,
               const std::vector<ops::AxisMap>& maps, const void* fill) {
  node.Step(node.node().type.c_str(), [&](ops::Plan& plan) {
    ops::PlanRearranged(plan, ReadFrom(plan, from, "x"), WrittenTo(plan, out, "y"), maps, fill);
  });
}

void OutRearranged(Translation& node, const Tensor& from, const std::vector<ops::AxisMap>& maps,
                   const void* fill) {
  Tensor out = node.Out(0, from.dtype, LengthsOf(maps));
  Rearrange(node, from, out, maps, fill);
}

}  // namespace belay::graph
