#include "belay_graph/layout.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace belay::graph_tool {
namespace {

constexpr int kOrderSweeps = 12;
constexpr int kPositionSweeps = 9;
constexpr double kBendWidth = 10;  // room for an edge that passes a layer

// A box, or a bend: the place where an edge passes a layer.
struct Item {
  double width = 0;
  double height = 0;
  int layer = 0;
  bool bend = false;
  std::vector<int> above;  // items of the layer above that it is linked with
  std::vector<int> below;
  double x = 0;  // of its middle
};

class Placement {
 public:
  Placement(const std::vector<Box>& boxes, const std::vector<Edge>& edges, Gaps gaps)
      : edges_(edges), gaps_(gaps) {
    for (const Box& box : boxes) items_.push_back({box.width, box.height, 0, false, {}, {}, 0});
    AssignLayers(boxes.size());
    AddLinks();
    FillLayers();
  }

  Layout Run(size_t boxes) {
    ReduceCrossings();
    PlaceAcross();
    return Result(boxes);
  }

 private:
  Item& At(int i) { return items_[static_cast<size_t>(i)]; }

  // As high as what a box needs allows; boxes that need nothing lie just above their first user.
  void AssignLayers(size_t boxes) {
    std::vector<bool> needs(boxes, false);
    std::vector<int> first_user(boxes, -1);
    std::vector<Edge> sorted = edges_;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Edge& a, const Edge& b) { return a.from < b.from; });
    for (const Edge& edge : sorted) {
      At(edge.to).layer = std::max(At(edge.to).layer, At(edge.from).layer + 1);
      needs[static_cast<size_t>(edge.to)] = true;
    }
    for (const Edge& edge : edges_) {
      int& user = first_user[static_cast<size_t>(edge.from)];
      int layer = At(edge.to).layer;
      user = user < 0 ? layer : std::min(user, layer);
    }
    for (size_t i = 0; i < boxes; ++i) {
      if (!needs[i] && first_user[i] > 0) items_[i].layer = first_user[i] - 1;
    }
  }

  void Link(int upper, int lower) {
    At(upper).below.push_back(lower);
    At(lower).above.push_back(upper);
  }

  void AddLinks() {
    for (const Edge& edge : edges_) {
      std::vector<int> bends;
      int last = edge.from;
      for (int layer = At(edge.from).layer + 1; layer < At(edge.to).layer; ++layer) {
        items_.push_back({kBendWidth, 0, layer, true, {}, {}, 0});
        bends.push_back(static_cast<int>(items_.size()) - 1);
        Link(last, bends.back());
        last = bends.back();
      }
      Link(last, edge.to);
      bends_.push_back(std::move(bends));
    }
  }

  void FillLayers() {
    int count = 0;
    for (const Item& item : items_) count = std::max(count, item.layer + 1);
    layers_.resize(static_cast<size_t>(count));
    for (size_t i = 0; i < items_.size(); ++i)
      layers_[static_cast<size_t>(items_[i].layer)].push_back(static_cast<int>(i));
  }

  // --- the order in each layer

  std::vector<int> Positions() const {
    std::vector<int> position(items_.size());
    for (const auto& layer : layers_) {
      for (size_t i = 0; i < layer.size(); ++i) position[static_cast<size_t>(layer[i])] = static_cast<int>(i);
    }
    return position;
  }

  size_t Crossings() const {
    std::vector<int> position = Positions();
    size_t crossings = 0;
    for (const auto& layer : layers_) {
      std::vector<int> ends;  // positions below, in the order above
      for (int item : layer) {
        std::vector<int> mine;
        for (int lower : items_[static_cast<size_t>(item)].below)
          mine.push_back(position[static_cast<size_t>(lower)]);
        std::sort(mine.begin(), mine.end());
        for (int end : mine)
          crossings +=
              static_cast<size_t>(std::count_if(ends.begin(), ends.end(), [&](int e) { return e > end; }));
        ends.insert(ends.end(), mine.begin(), mine.end());
      }
    }
    return crossings;
  }

  // Sorts each layer by the mean position of its neighbours in the layer before it, down or up.
  void Sweep(bool down) {
    std::vector<int> position = Positions();
    for (size_t step = 1; step < layers_.size(); ++step) {
      auto& layer = layers_[down ? step : layers_.size() - 1 - step];
      std::vector<std::pair<double, int>> keyed;
      for (int item : layer) {
        const auto& neighbours = down ? At(item).above : At(item).below;
        double sum = 0;
        for (int other : neighbours) sum += position[static_cast<size_t>(other)];
        double own = position[static_cast<size_t>(item)];
        keyed.push_back({neighbours.empty() ? own : sum / static_cast<double>(neighbours.size()), item});
      }
      std::stable_sort(keyed.begin(), keyed.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (size_t i = 0; i < layer.size(); ++i) {
        layer[i] = keyed[i].second;
        position[static_cast<size_t>(layer[i])] = static_cast<int>(i);
      }
    }
  }

  void ReduceCrossings() {
    auto best = layers_;
    size_t fewest = Crossings();
    for (int i = 0; i < kOrderSweeps && fewest != 0; ++i) {
      Sweep(i % 2 == 0);
      size_t crossings = Crossings();
      if (crossings >= fewest) continue;
      fewest = crossings;
      best = layers_;
    }
    layers_ = std::move(best);
  }

  // --- where each item lies in its layer

  double Distance(int left, int right) { return (At(left).width + At(right).width) / 2 + gaps_.across; }

  // The places nearest to the wanted ones (least squares, bends count more) that keep order and
  // distances: items that would collide move together, as a block.
  void Settle(const std::vector<int>& layer, const std::vector<double>& wanted,
              const std::vector<double>& weight) {
    struct Block {
      double sum, weight;
      size_t first;
      double at() const { return sum / weight; }
    };
    std::vector<double> shift(layer.size(), 0);  // distance from the first item of the layer
    for (size_t i = 1; i < layer.size(); ++i) shift[i] = shift[i - 1] + Distance(layer[i - 1], layer[i]);
    std::vector<Block> blocks;
    for (size_t i = 0; i < layer.size(); ++i) {
      blocks.push_back({weight[i] * (wanted[i] - shift[i]), weight[i], i});
      while (blocks.size() > 1 && blocks[blocks.size() - 2].at() > blocks.back().at()) {
        Block last = blocks.back();
        blocks.pop_back();
        blocks.back().sum += last.sum;
        blocks.back().weight += last.weight;
      }
    }
    for (size_t b = 0; b < blocks.size(); ++b) {
      size_t end = b + 1 < blocks.size() ? blocks[b + 1].first : layer.size();
      for (size_t i = blocks[b].first; i < end; ++i) At(layer[i]).x = blocks[b].at() + shift[i];
    }
  }

  // Where an item wants to lie because of its neighbours in the layer that was placed before: under
  // (or above) them. A box does not heed bends where it has boxes, and a bend first follows its own
  // edge, so that the main line of the graph is straight, and long edges too.
  double Wanted(const Item& item, const std::vector<int>& neighbours) {
    double sum = 0;
    double count = 0;
    for (bool alike : {true, false}) {
      for (int other : neighbours) {
        if ((At(other).bend == item.bend) != alike) continue;
        sum += At(other).x;
        count += 1;
      }
      if (count != 0) return sum / count;
    }
    return item.x;
  }

  void PlaceSweep(bool down) {
    for (size_t step = 0; step < layers_.size(); ++step) {
      const auto& layer = layers_[down ? step : layers_.size() - 1 - step];
      std::vector<double> wanted;
      std::vector<double> weight;
      for (int i : layer) {
        const auto& neighbours = down ? At(i).above : At(i).below;
        wanted.push_back(Wanted(At(i), neighbours));
        weight.push_back(neighbours.empty() ? 0.1 : At(i).bend ? 0.01 : 1);
      }
      Settle(layer, wanted, weight);
    }
  }

  void PlaceAcross() {
    for (const auto& layer : layers_) {
      Settle(layer, std::vector<double>(layer.size(), 0), std::vector<double>(layer.size(), 1));
    }
    for (int i = 0; i < kPositionSweeps; ++i) PlaceSweep(i % 2 == 0);  // the last one goes down
  }

  Layout Result(size_t boxes) {
    Layout layout;
    std::vector<double> top(layers_.size(), 0);
    std::vector<double> bottom(layers_.size(), 0);
    double y = 0;
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      double height = 0;
      for (int item : layers_[layer]) height = std::max(height, At(item).height);
      top[layer] = y;
      bottom[layer] = y + height;
      y = bottom[layer] + gaps_.down;
    }
    layout.height = bottom.empty() ? 0 : bottom.back();
    MoveToLeftEdge(layout);
    for (size_t i = 0; i < boxes; ++i) {
      const Item& item = items_[i];
      double middle = (top[static_cast<size_t>(item.layer)] + bottom[static_cast<size_t>(item.layer)]) / 2;
      layout.corners.push_back({item.x - item.width / 2, middle - item.height / 2});
      layout.layers.push_back(item.layer);
    }
    for (size_t e = 0; e < edges_.size(); ++e) layout.paths.push_back(PathOf(e, layout, top, bottom));
    return layout;
  }

  void MoveToLeftEdge(Layout& layout) {
    double left = 0;
    double right = 0;
    for (size_t i = 0; i < items_.size(); ++i) {
      left = i == 0 ? items_[i].x - items_[i].width / 2 : std::min(left, items_[i].x - items_[i].width / 2);
      right = i == 0 ? items_[i].x + items_[i].width / 2 : std::max(right, items_[i].x + items_[i].width / 2);
    }
    for (Item& item : items_) item.x -= left;
    layout.width = right - left;
  }

  std::vector<Point> PathOf(size_t e, const Layout& layout, const std::vector<double>& top,
                            const std::vector<double>& bottom) {
    const Edge& edge = edges_[e];
    const Item& from = At(edge.from);
    std::vector<Point> path = {{from.x, layout.corners[static_cast<size_t>(edge.from)].y + from.height}};
    for (int bend : bends_[e]) {
      auto layer = static_cast<size_t>(At(bend).layer);
      path.push_back({At(bend).x, top[layer]});
      if (bottom[layer] > top[layer]) path.push_back({At(bend).x, bottom[layer]});
    }
    path.push_back({At(edge.to).x, layout.corners[static_cast<size_t>(edge.to)].y});
    return path;
  }

  const std::vector<Edge>& edges_;
  const Gaps gaps_;
  std::vector<Item> items_;              // boxes first, then bends
  std::vector<std::vector<int>> bends_;  // of each edge
  std::vector<std::vector<int>> layers_;
};

}  // namespace

Layout PlaceBoxes(const std::vector<Box>& boxes, const std::vector<Edge>& edges, Gaps gaps) {
  return Placement(boxes, edges, gaps).Run(boxes.size());
}

}  // namespace belay::graph_tool
