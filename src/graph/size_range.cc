#include "graph/size_range.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "graph/codes.h"
#include "graph/option_text.h"

namespace belay::graph {
namespace {

// Least and most of each size, where one of them is bounded.
constexpr std::string_view kRangesAttribute = "shape_range";

[[noreturn]] void BadShapes(std::string_view text, std::string_view reason) {
  Fail(
      kGraphInvalid, "build-input-shape",
      "E10002: '{}': {}; write \"input_name1:n1,c1,h1,w1;input_name2:n2\", -1 for a size that is open, 1~4 for "
      "a range",
      text, reason);
}

// A size, -1, or least~most; nothing where it is none of them.
std::optional<SizeRange> ParseRange(std::string_view text) {
  SizeRange range;
  if (const size_t tilde = text.find('~'); tilde != std::string_view::npos) {
    const bool good = ParseInt(text.substr(0, tilde), &range.least) &&
                      ParseInt(text.substr(tilde + 1), &range.most) && range.least >= 0 &&
                      (range.most == kUnknownDim || range.least <= range.most);
    return good ? std::optional(range) : std::nullopt;
  }
  int64_t size = 0;
  if (!ParseInt(text, &size) || size < kUnknownDim || size > INT32_MAX) return std::nullopt;
  return size == kUnknownDim ? range : SizeRange{size, size};
}

std::optional<SizeRanges> ParseRanges(std::string_view text) {
  SizeRanges ranges;
  for (std::string_view part : SplitFilled(text, ',')) {
    const std::optional<SizeRange> range = ParseRange(part);
    if (!range) return std::nullopt;
    ranges.push_back(*range);
  }
  return ranges;
}

// The name, if there is one, and the sizes.
std::pair<std::string_view, std::string_view> NameAndSizes(const Graph& graph, std::string_view entry) {
  size_t colon = entry.rfind(':');  // names may hold colons too
  if (colon != std::string_view::npos && colon > 0 && entry[colon - 1] == ':') colon = std::string_view::npos;
  if (colon != std::string_view::npos) return {entry.substr(0, colon), entry.substr(colon + 1)};
  const bool is_name = graph.FindInput(entry) >= 0 || !ParseRanges(entry);
  return is_name ? std::pair(entry, std::string_view()) : std::pair(std::string_view(), entry);
}

}  // namespace

Shape ShapeOf(const SizeRanges& ranges) {
  Shape shape;
  for (const SizeRange& range : ranges) shape.push_back(range.fixed() ? range.least : kUnknownDim);
  return shape;
}

SizeRanges SizeRangesOf(const Node& input) { return SizeRangesOf(input, input.types[0].shape); }

SizeRanges SizeRangesOf(const Node& input, const Shape& shape) {
  SizeRanges ranges;
  for (int64_t size : shape) ranges.push_back(size < 0 ? SizeRange{} : SizeRange{size, size});
  const auto* bounds = FindAttribute<std::vector<int64_t>>(input, kRangesAttribute);
  if (bounds == nullptr || bounds->size() != 2 * ranges.size()) return ranges;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (!ranges[i].fixed()) ranges[i] = {(*bounds)[2 * i], (*bounds)[2 * i + 1]};
  }
  return ranges;
}

bool HasBounds(const Node& input) { return FindAttribute<std::vector<int64_t>>(input, kRangesAttribute); }

void SetSizeRanges(Node& input, const SizeRanges& ranges) {
  ValueType& type = input.types[0];
  type.rank_known = true;
  type.shape = ShapeOf(ranges);
  std::vector<int64_t> bounds;
  bool open = false;
  for (const SizeRange& range : ranges) {
    bounds.insert(bounds.end(), {range.least, range.most});
    open = open || (!range.fixed() && range.bounded());
  }
  input.attributes.erase(std::string(kRangesAttribute));
  if (open) input.attributes[std::string(kRangesAttribute)] = std::move(bounds);
}

void NeedSizesInRange(const Graph& graph, std::span<const ValueType> inputs) {
  for (size_t i = 0; i < inputs.size() && i < graph.inputs.size(); ++i) {
    const Node& input = graph.nodes[static_cast<size_t>(graph.inputs[i])];
    if (!HasBounds(input)) continue;
    const SizeRanges ranges = SizeRangesOf(input);
    for (size_t d = 0; d < ranges.size() && d < static_cast<size_t>(inputs[i].shape.rank()); ++d) {
      const int64_t size = inputs[i].shape[static_cast<int>(d)];
      if (ranges[d].Admits(size)) continue;
      Fail(kShapeInvalid, "model-size-range",
           "input {} ('{}') is passed as {}, but the model was built for {}~{} in dimension {}; pass a size "
           "within it, or build the model for a wider range",
           i, input.name, inputs[i].ToString(), ranges[d].least, ranges[d].most, d);
    }
  }
}

bool AreInputShapes(std::string_view text) {
  const std::vector<std::string_view> entries = SplitFilled(text, ';');
  return !entries.empty() && std::all_of(entries.begin(), entries.end(), [](std::string_view entry) {
    return ParseRanges(NameAndSizes({}, entry).second).has_value();
  });
}

std::vector<InputShape> ReadInputShapes(const Graph& graph, std::string_view text) {
  std::vector<InputShape> shapes;
  const std::vector<std::string_view> entries = Split(text, ';');
  for (size_t place = 0; place < entries.size(); ++place) {
    if (entries[place].empty()) continue;
    const auto [name, sizes] = NameAndSizes(graph, entries[place]);
    const std::optional<SizeRanges> ranges = ParseRanges(sizes);
    if (!ranges) BadShapes(text, fmt::format("'{}' is no list of sizes and ranges", sizes));
    if (ranges->size() > tensor::kMaxRank)
      BadShapes(text, fmt::format("'{}' has more than eight sizes", entries[place]));
    if (name.empty() && place >= graph.inputs.size())
      BadShapes(text, fmt::format("shape {} is one too many for {} inputs", place, graph.inputs.size()));
    const int input = name.empty() ? static_cast<int>(place) : graph.FindInput(name);
    InputShape shape{input, std::string(name), *ranges};
    auto same = [&](const InputShape& s) { return input < 0 ? s.name == shape.name : s.input == input; };
    if (std::any_of(shapes.begin(), shapes.end(), same))
      BadShapes(text, fmt::format("'{}' names an input twice", entries[place]));
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

void ApplyInputShapes(Graph& graph, std::string_view text) {
  for (const InputShape& shape : ReadInputShapes(graph, text)) {
    if (shape.input < 0) continue;
    Node& input = graph.nodes[static_cast<size_t>(graph.inputs[static_cast<size_t>(shape.input)])];
    const ValueType& declared = input.types[0];
    if (declared.rank_known && declared.shape.rank() != static_cast<int>(shape.sizes.size())) {
      BadShapes(text, fmt::format("it gives '{}' {} sizes, but the model declares {}", input.name,
                                  shape.sizes.size(), declared.ToString()));
    }
    SetSizeRanges(input, shape.sizes);
  }
}

}  // namespace belay::graph
