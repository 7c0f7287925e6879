#include "ge/infer.h"

#include <algorithm>

#include "base/error.h"
#include "ge/codes.h"
#include "ge/graph_impl.h"
#include "ge/tensor_impl.h"
#include "graph/translation.h"

namespace ge {
namespace {

using belay::graph::KnownInput;
using belay::graph::ValueType;

// Of what the input reads, when that is described; else the input's own.
ValueType TypeOfInput(const InputSlot& slot) {
  if (slot.source != nullptr) {
    const Slot* from = slot.source->Output(slot.output);
    if (from != nullptr && from->described) return ValueTypeOf(from->desc);
  }
  return ValueTypeOf(slot.desc);
}

KnownInput KnownOf(OperatorImpl& node, int input, bool* all_concrete) {
  const InputSlot& slot = node.inputs[static_cast<size_t>(input)];
  if (slot.source == nullptr && !slot.described) return {};
  Tensor constant;
  if (node.ConstantInput(input, &constant)) {
    auto value = ConstantOf(constant, "input '" + slot.name + "' of '" + node.name + "'");
    return {true, value->dtype(), value->shape(), value, true};
  }
  ValueType type = TypeOfInput(slot);
  *all_concrete &= type.concrete();
  return {true, type.dtype, type.shape, nullptr, false};
}

void LeaveOpen(OperatorImpl& node) {
  for (Slot& slot : node.outputs) slot.desc.SetUnknownDimNumShape();
}

}  // namespace

void InferTypes(OperatorImpl& node) {
  if (node.schema == nullptr) {
    belay::Fail(belay::graph_interface::kNotSupported, "ge-operator-type",
                "there is no operator type '{}' ('{}')", node.type, node.name);
  }
  if (node.schema->translate == nullptr) return;  // Data, constants, control flow: what the program said
  bool all_concrete = true;
  std::vector<KnownInput> known;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    known.push_back(KnownOf(node, static_cast<int>(i), &all_concrete));
  if (!all_concrete) return LeaveOpen(node);
  try {
    auto translated = belay::graph::TranslateNode(LoweredNode(node), known);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const auto& value = translated.values[static_cast<size_t>(translated.inputs) + i];
      node.outputs[i].desc = DescOf({value.dtype, belay::graph::Format::kND, true, value.shape});
      node.outputs[i].described = true;
    }
  } catch (const belay::graph::NeedsValue&) {
    LeaveOpen(node);
  }
}

}  // namespace ge
