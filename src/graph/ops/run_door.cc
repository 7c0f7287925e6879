// Nodes that are operators of spec/ops under other names.
#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/door.h"
#include "graph/translation.h"
#include "graph/translations.h"

namespace belay::graph::translate {
namespace {

using ops::ArgKind;

// The operator's arguments; the results are absent until they are known.
class DoorArguments {
 public:
  DoorArguments(Translation& node, const Door& door) : node_(node), door_(door) {
    for (const Source& source : door.sources) args_.push_back(ArgumentOf(source));
  }
  DoorArguments(const DoorArguments&) = delete;
  DoorArguments& operator=(const DoorArguments&) = delete;

  std::vector<Arg>& args() { return args_; }
  // Their memory is that of the node's outputs; what a node leaves out is computed all the same.
  void SetResults() {
    const ops::Args asked(door_.form, args_.data());
    for (const ops::ResultRule& rule : door_.results) AddResult(rule.dtype(asked), rule.shape(asked));
    for (size_t i = 0; i < args_.size(); ++i) {
      if (door_.sources[i].way == Way::kOutput) args_[i] = Arg(&results_[door_.sources[i].index]);
    }
  }

 private:
  void AddResult(DType dtype, const Shape& shape) {
    const int at = static_cast<int>(results_.size());
    results_.push_back(at < node_.output_count() ? node_.Out(at, dtype, shape)
                                                 : node_.Temporary(dtype, shape));
  }

  Arg ArgumentOf(const Source& source) {
    switch (source.way) {
      case Way::kInput:
        return source.kind == ArgKind::kTensor ? TensorAt(source.index) : ElementsOf(source);
      case Way::kOutput:
        return Arg(static_cast<const Tensor*>(nullptr));
      case Way::kAttribute:
        return AttributeAs(source);
      case Way::kWord:
        return Arg(WordOf(source));
      case Way::kWhole:
        return Whole(source.kind, static_cast<int64_t>(source.number));
      case Way::kReal:
        return Real(source.kind, source.number);
    }
    return {};
  }

  Arg TensorAt(int input) {
    if (!node_.has(input)) return Arg(static_cast<const Tensor*>(nullptr));
    return Arg(&node_.in(input));
  }

  Arg ElementsOf(const Source& source) {
    if (source.kind == ArgKind::kDType) return Arg(node_.dtype(source.index));
    const std::vector<int64_t> values =
        node_.has(source.index) ? node_.ints(source.index) : std::vector<int64_t>();
    if (source.kind == ArgKind::kInts) return Ints(values);
    if (values.size() != 1)
      node_.Refuse("input '" + std::string(node_.schema().inputs[source.index].name) + "' is one number");
    return Arg(values[0]);
  }

  Arg AttributeAs(const Source& source) {
    const AttributeSchema& schema = node_.schema().attributes[source.index];
    if (source.kind == ArgKind::kInts) return Ints(node_.Ints(schema.name));
    if (source.kind == ArgKind::kDType) return Arg(node_.Type(schema.name));
    if (schema.kind == AttributeKind::kBool) return Whole(source.kind, node_.Bool(schema.name));
    if (schema.kind == AttributeKind::kInt) return Whole(source.kind, node_.Int(schema.name));
    return Real(source.kind, node_.Float(schema.name));
  }

  int64_t WordOf(const Source& source) {
    const std::string_view name = node_.schema().attributes[source.index].name;
    const auto found = std::ranges::find(source.words, node_.String(name));
    if (found == source.words.end())
      node_.Refuse(fmt::format("attribute '{}' is one of {}", name, fmt::join(source.words, ", ")));
    return found - source.words.begin();
  }

  Arg Ints(const std::vector<int64_t>& values) {
    return Arg(&lists_.emplace_back(values.data(), values.size()));
  }

  // Numbers as arguments of the kind: scalars also where a tensor or a scalar may stand.
  Arg Whole(ArgKind kind, int64_t value) {
    if (kind == ArgKind::kBool) return Arg(value != 0);
    if (kind == ArgKind::kInt) return Arg(value);
    if (kind == ArgKind::kDouble) return Arg(static_cast<double>(value));
    return Arg(&scalars_.emplace_back(&value, DType::kI64));
  }
  Arg Real(ArgKind kind, double value) {
    if (kind == ArgKind::kDouble) return Arg(value);
    return Arg(&scalars_.emplace_back(&value, DType::kF64));
  }

  Translation& node_;
  const Door& door_;
  std::vector<Arg> args_;
  std::deque<Scalar> scalars_;  // whose places stay
  std::deque<tensor::IntArray> lists_;
  std::deque<Tensor> results_;
};

}  // namespace

void RunDoor(Translation& node) {
  const Door& door = *node.schema().door;
  DoorArguments arguments(node, door);
  arguments.SetResults();
  node.Run(door.form, arguments.args());
}

}  // namespace belay::graph::translate
