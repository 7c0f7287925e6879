// The different values of a tensor, or the different slices along an axis.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "graph/ops/axes.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/sort/keys.h"

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

// The places of slices in order: a NaN is equal to nothing, and comes behind the numbers.
template <class T>
std::vector<int64_t> InOrder(const std::vector<std::vector<T>>& slices) {
  std::vector<int64_t> places(slices.size());
  std::iota(places.begin(), places.end(), int64_t{0});
  const auto less = [](T x, T y) { return ops::OrderKey(x) < ops::OrderKey(y); };
  std::stable_sort(places.begin(), places.end(), [&](int64_t i, int64_t j) {
    const auto &a = slices[static_cast<size_t>(i)], &b = slices[static_cast<size_t>(j)];
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), less);
  });
  return places;
}
template <class T>
std::vector<int64_t> InOrder(const std::vector<T>& numbers) {
  std::vector<ops::WideKey> keys(2 * numbers.size());
  std::vector<int64_t> places(numbers.size());
  ops::PlacesInOrder(numbers.data(), static_cast<int64_t>(numbers.size()), keys.data(), places.data());
  return places;
}

// In the order in which their first slices stand.
Groups AsTheyStand(const Groups& groups) {
  std::vector<int64_t> order(groups.first.size()), place(groups.first.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return groups.first[static_cast<size_t>(a)] < groups.first[static_cast<size_t>(b)];
  });
  Groups standing{{}, groups.inverse, {}};
  for (int64_t group : order) {
    place[static_cast<size_t>(group)] = static_cast<int64_t>(standing.first.size());
    standing.first.push_back(groups.first[static_cast<size_t>(group)]);
    standing.counts.push_back(groups.counts[static_cast<size_t>(group)]);
  }
  for (int64_t& group : standing.inverse) group = place[static_cast<size_t>(group)];
  return standing;
}

// Of numbers, or of slices.
template <class Values>
Groups GroupsOf(const Values& values, bool sorted) {
  const std::vector<int64_t> places = InOrder(values);
  Groups groups{{}, std::vector<int64_t>(places.size()), {}};
  for (size_t i = 0; i < places.size(); ++i) {
    const auto at = static_cast<size_t>(places[i]);
    if (i == 0 || values[at] != values[static_cast<size_t>(places[i - 1])]) {
      groups.first.push_back(places[i]);
      groups.counts.push_back(0);
    }
    groups.inverse[at] = static_cast<int64_t>(groups.first.size()) - 1;
    ++groups.counts.back();
  }
  return sorted ? groups : AsTheyStand(groups);
}

// A group ends where the next slice differs.
template <class Values>
Groups RunsOf(const Values& values) {
  Groups groups;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i == 0 || values[i] != values[i - 1]) {
      groups.first.push_back(static_cast<int64_t>(i));
      groups.counts.push_back(0);
    }
    groups.inverse.push_back(static_cast<int64_t>(groups.first.size()) - 1);
    ++groups.counts.back();
  }
  return groups;
}

// Output 0 is the first slice of each group; `find` makes groups of slices, or of numbers where a slice is
// one.
template <class Find>
Groups OutGroups(Translation& node, const Tensor& view, int axis, const Find& find) {
  const HostTensor& x = node.value(0);
  const auto found = [&](const auto& values) {
    return view.count() == view.shape[axis] ? find(values) : find(SlicesOf(values, view.shape, axis));
  };
  const auto of_integers = [&](const std::vector<int64_t>& values) {
    return x.dtype() == DType::kU64 ? found(std::vector<uint64_t>(values.begin(), values.end()))
                                    : found(values);
  };
  Groups groups = IsFloat(x.dtype()) ? found(x.Reals()) : of_integers(x.Ints());
  std::vector<ops::AxisMap> maps = Identities(view.shape);
  maps[static_cast<size_t>(axis)] = groups.first;
  OutRearranged(node, view, maps);
  return groups;
}

Tensor Flat(const Tensor& packed) { return Translation::Reshaped(packed, {packed.count()}); }

void OutNumbers(Translation& node, int output, const std::vector<int64_t>& numbers, const Shape& shape) {
  if (output >= node.output_count()) return;
  auto value = std::make_shared<HostTensor>(DType::kI64, shape);
  std::copy(numbers.begin(), numbers.end(), value->as<int64_t>());
  node.OutValue(output, value);
}

// Outputs 1 and 2: the group of each slice and how many a group has, none of them where not asked for.
void OutInverseAndCounts(Translation& node, const Groups& groups, const Shape& shape, bool inverse,
                         bool counts) {
  inverse ? OutNumbers(node, 1, groups.inverse, shape) : OutNumbers(node, 1, {}, {0});
  counts ? OutNumbers(node, 2, groups.counts, {static_cast<int64_t>(groups.counts.size())})
         : OutNumbers(node, 2, {}, {0});
}

}  // namespace

void Unique(Translation& node) {
  const bool flat = node.Bool("flat"), sorted = node.Bool("sorted");
  const Tensor view = flat ? Flat(node.in(0)) : node.in(0);
  const int axis = flat ? 0 : node.Axis(node.Int("axis"), view.shape.rank());
  const Groups groups =
      OutGroups(node, view, axis, [&](const auto& values) { return GroupsOf(values, sorted); });
  const std::vector<int64_t>* more[] = {&groups.first, &groups.inverse, &groups.counts};
  for (int i = 1; i < node.output_count(); ++i) node.OutValue(i, IntsConstant(*more[i - 1]));
}

void UniqueWithCountsAndSorting(Translation& node) {
  const bool counts = node.Bool("return_counts"), sorted = node.Bool("sorted");
  const Groups groups =
      OutGroups(node, Flat(node.in(0)), 0, [&](const auto& values) { return GroupsOf(values, sorted); });
  OutInverseAndCounts(node, groups, node.shape(0), counts || node.Bool("return_inverse"), counts);
}

void UniqueWithCountsExt2(Translation& node) {
  const std::vector<int64_t> axes = node.ints(1);
  if (axes.size() != 1) node.Refuse("axis is one number");
  const int axis = node.Axis(axes[0], node.shape(0).rank());
  const bool sorted = node.Bool("sorted");
  const Groups groups =
      OutGroups(node, node.in(0), axis, [&](const auto& values) { return GroupsOf(values, sorted); });
  const Shape each{static_cast<int64_t>(groups.inverse.size())};
  OutNumbers(node, 1, groups.inverse, each);
  OutNumbers(node, 2, groups.counts, {static_cast<int64_t>(groups.counts.size())});
  OutNumbers(node, 3, groups.inverse, each);
}

void UniqueConsecutive(Translation& node) {
  constexpr int64_t kFlat = 1000;  // what callers that name no axis leave the attribute at
  const bool flat = node.Int("axis") == kFlat;
  const Tensor view = flat ? Flat(node.in(0)) : node.in(0);
  const int axis = flat ? 0 : node.Axis(node.Int("axis"), view.shape.rank());
  const Groups groups = OutGroups(node, view, axis, [](const auto& values) { return RunsOf(values); });
  OutInverseAndCounts(node, groups, flat ? node.shape(0) : Shape{view.shape[axis]}, node.Bool("return_idx"),
                      node.Bool("return_counts"));
}

}  // namespace belay::graph::translate
