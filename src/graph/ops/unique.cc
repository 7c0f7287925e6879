// The different values of a tensor, or the different slices along an axis.
#include <algorithm>
#include <cstring>
#include <map>

#include "graph/ops/axes.h"
#include "graph/translation.h"
#include "graph/translations.h"

namespace belay::graph::translate {
namespace {

// Row i: the numbers of slice i, so that slices compare as lists do. f64 holds what the types hold but
// for large integers, which are compared as such.
template <class T>
std::vector<std::vector<T>> SlicesOf(const std::vector<T>& values, const Shape& shape, int axis) {
  int64_t outer = 1, inner = 1, size = shape[axis];
  for (int d = 0; d < axis; ++d) outer *= shape[d];
  for (int d = axis + 1; d < shape.rank(); ++d) inner *= shape[d];
  std::vector<std::vector<T>> slices(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t k = 0; k < inner; ++k) {
        slices[static_cast<size_t>(i)].push_back(values[static_cast<size_t>((o * size + i) * inner + k)]);
      }
    }
  }
  return slices;
}

struct Groups {
  std::vector<int64_t> first;    // of each group
  std::vector<int64_t> inverse;  // the group of each slice
  std::vector<int64_t> counts;
};

template <class T>
Groups GroupsOf(const std::vector<std::vector<T>>& slices, bool sorted) {
  std::map<std::vector<T>, int64_t> known;
  Groups groups;
  for (size_t i = 0; i < slices.size(); ++i) {
    auto [it, added] = known.emplace(slices[i], static_cast<int64_t>(groups.first.size()));
    if (added) {
      groups.first.push_back(static_cast<int64_t>(i));
      groups.counts.push_back(0);
    }
    groups.inverse.push_back(it->second);
    ++groups.counts[static_cast<size_t>(it->second)];
  }
  if (!sorted) return groups;
  std::vector<int64_t> place(groups.first.size());
  Groups ordered{{}, groups.inverse, {}};
  for (const auto& [slice, group] : known) {
    place[static_cast<size_t>(group)] = static_cast<int64_t>(ordered.first.size());
    ordered.first.push_back(groups.first[static_cast<size_t>(group)]);
    ordered.counts.push_back(groups.counts[static_cast<size_t>(group)]);
  }
  for (int64_t& group : ordered.inverse) group = place[static_cast<size_t>(group)];
  return ordered;
}

}  // namespace

void Unique(Translation& node) {
  const HostTensor& x = node.value(0);
  Tensor view = node.in(0);
  if (node.Bool("flat")) view = Translation::Reshaped(view, {view.count()});
  int axis = node.Bool("flat") ? 0 : node.Axis(node.Int("axis"), view.shape.rank());
  bool sorted = node.Bool("sorted");
  Groups groups = IsFloat(x.dtype()) ? GroupsOf(SlicesOf(x.Reals(), view.shape, axis), sorted)
                                     : GroupsOf(SlicesOf(x.Ints(), view.shape, axis), sorted);
  std::vector<ops::AxisMap> maps = Identities(view.shape);
  maps[static_cast<size_t>(axis)] = groups.first;
  OutRearranged(node, view, maps);
  const std::vector<int64_t>* more[] = {&groups.first, &groups.inverse, &groups.counts};
  for (int i = 1; i < node.output_count(); ++i) node.OutValue(i, IntsConstant(*more[i - 1]));
}

}  // namespace belay::graph::translate
