#include "graph/tiled_ports.h"

#include <initializer_list>
#include <string>
#include <utility>

#include "graph/host_tensor.h"
#include "ops/matmul/tiles.h"

namespace belay::graph {
namespace {

// [n] is [n, 1], and no dimensions are [1, 1].
Shape MatrixOf(Shape shape) {
  while (shape.rank() < 2) shape.push_back(1);
  return shape;
}

Port Reshaped(Graph& graph, Port x, const std::vector<int64_t>& sizes) {
  const std::string name = "sizes" + std::to_string(graph.nodes.size());
  Node node{.name = name + " reshaped",
            .type = "Reshape",
            .inputs = {x, graph.AddConstant(name, IntsConstant(sizes))}};
  node.attributes["allowzero"] = int64_t{1};
  return {graph.Add(std::move(node))};
}

Port WithInts(Graph& graph, Port x, const char* type,
              std::initializer_list<std::pair<const char*, std::vector<int64_t>>> lists) {
  Node node{.name = type + std::to_string(graph.nodes.size()), .type = type, .inputs = {x}};
  for (const auto& [name, values] : lists) node.attributes[name] = values;
  return {graph.Add(std::move(node))};
}

// The order of the last four dimensions, behind as many batches as there are.
std::vector<int64_t> Order(size_t rank, std::initializer_list<int64_t> last) {
  std::vector<int64_t> order;
  const auto batches = static_cast<int64_t>(rank) - 4;
  for (int64_t d = 0; d < batches; ++d) order.push_back(d);
  for (int64_t d : last) order.push_back(batches + d);
  return order;
}

}  // namespace

bool TilesFit(const std::vector<int64_t>& tiles, const Shape& shape) {
  constexpr size_t kMost = 8;  // dimensions
  return tiles.size() <= kMost && ops::TilingOf(tiles, MatrixOf(shape), DType::kI8).has_value();
}

Port OutOfTiles(Graph& graph, Port stored, const std::vector<int64_t>& tiles, const Shape& shape) {
  const size_t rank = tiles.size();
  const Shape matrix = MatrixOf(shape);
  Port rows = WithInts(graph, stored, "TransposeD", {{"perm", Order(rank, {1, 2, 0, 3})}});
  std::vector<int64_t> whole(tiles.begin(), tiles.end() - 4);
  whole.push_back(tiles[rank - 3] * tiles[rank - 2]);
  whole.push_back(tiles[rank - 4] * tiles[rank - 1]);
  rows = Reshaped(graph, rows, whole);
  rows = WithInts(
      graph, rows, "SliceD",
      {{"offsets", std::vector<int64_t>(whole.size(), 0)}, {"size", {matrix.begin(), matrix.end()}}});
  return matrix == shape ? rows : Reshaped(graph, rows, {shape.begin(), shape.end()});
}

Port IntoTiles(Graph& graph, Port value, const std::vector<int64_t>& tiles, const Shape& shape) {
  const size_t rank = tiles.size();
  const Shape matrix = MatrixOf(shape);
  value = Reshaped(graph, value, {matrix.begin(), matrix.end()});
  const int64_t row_tiles = tiles[rank - 3], height = tiles[rank - 2], column_tiles = tiles[rank - 4];
  std::vector<int64_t> pads(static_cast<size_t>(matrix.rank()) * 2, 0);
  pads[pads.size() - 3] = row_tiles * height - matrix.back(1);
  pads[pads.size() - 1] = column_tiles * tiles[rank - 1] - matrix.back(0);
  value = WithInts(graph, value, "PadD", {{"paddings", pads}});
  std::vector<int64_t> split(tiles.begin(), tiles.end() - 4);
  split.insert(split.end(), {row_tiles, height, column_tiles, tiles[rank - 1]});
  value = Reshaped(graph, value, split);
  return WithInts(graph, value, "TransposeD", {{"perm", Order(rank, {2, 0, 1, 3})}});
}

}  // namespace belay::graph
