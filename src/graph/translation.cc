#include "graph/translation.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/thread.h"
#include "graph/codes.h"
#include "tensor/codes.h"

namespace belay::graph {
namespace {

// While plans are made, a tensor's address is only a mark that tells which value it is.
constexpr int kMarkShift = 40;
void* MarkOf(int number) { return reinterpret_cast<void*>(static_cast<uintptr_t>(number + 1) << kMarkShift); }
int NumberOfMark(const void* mark) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(mark) >> kMarkShift) - 1;
}

void CheckInputs(const Node& node, const OpSchema& schema, std::span<const KnownInput> inputs) {
  for (size_t i = 0; i < schema.inputs.size(); ++i) {
    const PortSchema& port = schema.inputs[i];
    if (port.kind == PortKind::kDynamic) return;  // what follows has no fixed place
    if (port.kind == PortKind::kRequired && (i >= inputs.size() || !inputs[i].present)) {
      Fail(kGraphInvalid, "graph-input-absent", "node '{}' ({}) lacks its input '{}'", node.name, node.type,
           port.name);
    }
  }
  if (inputs.size() > schema.inputs.size()) {
    Fail(kGraphInvalid, "graph-input-count", "node '{}' ({}) has {} inputs; it takes {} at most", node.name,
         node.type, inputs.size(), schema.inputs.size());
  }
}

}  // namespace

Translation::Translation(const Node& node, const OpSchema& schema, std::span<const KnownInput> inputs,
                         Purpose purpose)
    : node_(node), schema_(schema), purpose_(purpose), inputs_(inputs.begin(), inputs.end()) {
  CheckInputs(node, schema, inputs);
  CheckAttributes(node, schema);
  result_.inputs = static_cast<int>(inputs.size());
  result_.outputs = node.outputs;
  result_.looked_at.resize(inputs.size());
  result_.values.resize(inputs.size() + static_cast<size_t>(node.outputs));
  for (size_t i = 0; i < inputs.size(); ++i) {
    result_.values[i].dtype = inputs[i].dtype;
    result_.values[i].shape = inputs[i].shape;
    tensors_.push_back(NewTensor(static_cast<int>(i)));
  }
}

Tensor Translation::NewTensor(int number) const {
  const LocalValue& value = result_.values[static_cast<size_t>(number)];
  Tensor tensor;
  tensor.dtype = value.dtype;
  tensor.shape = value.shape;
  tensor.strides = tensor::PackedStrides(value.shape);
  tensor.storage_count = tensor.count();
  tensor.data = MarkOf(number);
  return tensor;
}

const Tensor& Translation::in(int i) const {
  if (!has(i)) Refuse("input " + std::to_string(i) + " is missing");
  return tensors_[static_cast<size_t>(i)];
}

const HostTensor& Translation::value(int i) const {
  in(i);
  const Constant& known = inputs_[static_cast<size_t>(i)].value;
  if (known == nullptr) throw NeedsValue{i};
  result_.looked_at[static_cast<size_t>(i)] = true;
  return *known;
}

Constant Translation::constant(int i) const {
  const KnownInput& input = inputs_[static_cast<size_t>(i)];
  if (!input.constant) return nullptr;
  result_.looked_at[static_cast<size_t>(i)] = true;
  return input.value;
}

std::optional<ops::PackedWeights> Translation::PackedInput(int i) const {
  std::string layout = String("packed_layout");
  if (layout.empty()) return std::nullopt;
  value(i);
  const Constant& bytes = inputs_[static_cast<size_t>(i)].value;
  return ops::PackedWeights{std::move(layout),
                            String("packed_for"),
                            {bytes, reinterpret_cast<const char*>(bytes->data())},
                            static_cast<int64_t>(bytes->bytes())};
}

Tensor Translation::PackedShape() const {
  std::vector<int64_t> sizes = Ints("packed_shape");
  if (sizes.empty() || sizes.size() > static_cast<size_t>(tensor::kMaxRank))
    Refuse("packed_shape is missing");
  Tensor tensor;
  tensor.dtype = DType::kF32;
  tensor.shape = Shape::Of(sizes.data(), static_cast<int>(sizes.size()));
  CheckShape(tensor.shape);
  tensor.strides = tensor::PackedStrides(tensor.shape);
  tensor.storage_count = tensor.count();
  return tensor;
}

const AttributeSchema& Translation::Schema(std::string_view name) const {
  for (const AttributeSchema& schema : schema_.attributes) {
    if (name == schema.name) return schema;
  }
  Refuse("there is no attribute '" + std::string(name) + "'");
}

// One that was not loaded is at its beginning.
std::shared_ptr<ops::RandomSequence> Translation::Sequence() const {
  return node_.sequence != nullptr ? node_.sequence : NewSequence(node_);
}

void Translation::Refuse(const std::string& sentence) const {
  Fail(kGraphInvalid, "graph-node", "node '{}' ({}): {}", node_.name, node_.type, sentence);
}

// Sizes that the model decides, so they may be anything.
void Translation::CheckShape(const Shape& shape) const {
  constexpr int64_t kMostElements = int64_t{1} << 40;
  auto count = tensor::CheckedCount({shape.begin(), shape.end()});
  bool negative = std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; });
  if (negative || !count || *count > kMostElements)
    Refuse("a result would have the shape " + shape.ToString());
}

LocalValue& Translation::Output(int i) {
  if (i >= result_.outputs) Refuse("it has " + std::to_string(result_.outputs) + " outputs, and needs more");
  return result_.values[static_cast<size_t>(result_.inputs + i)];
}

Tensor Translation::Out(int i, DType dtype, const Shape& shape) {
  CheckShape(shape);
  LocalValue& value = Output(i);
  value.dtype = dtype;
  value.shape = shape;
  return NewTensor(result_.inputs + i);
}

Tensor Translation::Temporary(DType dtype, const Shape& shape) {
  CheckShape(shape);
  result_.values.push_back({dtype, shape, -1, nullptr});
  return NewTensor(static_cast<int>(result_.values.size()) - 1);
}

void Translation::OutSame(int i, const Tensor& source, const Shape& shape) {
  CheckShape(shape);
  if (!IsPacked(source.shape, source.strides) || source.offset != 0 || CountOf(shape) != source.count()) {
    if (CountOf(shape) != source.count()) {
      Refuse("a tensor of shape " + source.shape.ToString() + " cannot get the shape " + shape.ToString());
    }
    return Copy(Reshaped(Packed(source), shape), Out(i, source.dtype, shape));
  }
  LocalValue& value = Output(i);
  value.dtype = source.dtype;
  value.shape = shape;
  value.same_memory_as = NumberOfMark(source.data);
}

void Translation::OutValue(int i, Constant value) {
  LocalValue& out = Output(i);
  out.dtype = value->dtype();
  out.shape = value->shape();
  out.given = std::move(value);
}

void Translation::AddStep(ops::PlanRef plan) {
  std::vector<int> values;
  for (int i = 0; i < plan->binding_count(); ++i) {
    const ops::Binding& binding = plan->binding(i);
    values.push_back(binding.present ? NumberOfMark(binding.address) : -1);
  }
  if (plan->has_work()) result_.steps.push_back({std::move(plan), std::move(values)});
}

ops::PlanRef Translation::NewPlan(const char* name) { return ops::NewPlan(name); }

void Translation::Run(const ops::Form& form, std::vector<Arg> args) {
  if (purpose_ != Purpose::kPlans) return;
  DefaultFloatMode mode;
  AddStep(ops::WithoutHandle(ops::MakePlan(form, args)));
}

Tensor Translation::View(const Tensor& tensor, const Shape& shape, const tensor::Strides& strides,
                         int64_t offset) {
  Tensor view = tensor;
  view.shape = shape;
  view.strides = strides;
  view.offset += offset;
  return view;
}

Tensor Translation::Reshaped(const Tensor& packed, const Shape& shape) {
  return View(packed, shape, tensor::PackedStrides(shape));
}

Tensor Translation::Transposed(const Tensor& tensor, std::span<const int64_t> order) {
  Shape shape, strides;
  for (int64_t axis : order) {
    shape.push_back(tensor.shape[static_cast<int>(axis)]);
    strides.push_back(tensor.strides[static_cast<int>(axis)]);
  }
  return View(tensor, shape, strides);
}

Tensor Translation::Cast(const Tensor& source, DType dtype) {
  if (source.dtype == dtype) return source;
  Tensor result = Temporary(dtype, source.shape);
  Copy(source, result);
  return result;
}

Tensor Translation::Packed(const Tensor& source) {
  if (IsPacked(source.shape, source.strides) && source.offset == 0) return source;
  Tensor result = Temporary(source.dtype, source.shape);
  Copy(source, result);
  return result;
}

void Translation::Copy(const Tensor& source, const Tensor& destination) {
  Run(ops::forms::InplaceCopy, {Arg(&destination), Arg(&source)});
}

int Translation::Axis(int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank) {
    Refuse("axis " + std::to_string(axis) + " is not one of a tensor with " + std::to_string(rank) +
           " dimensions");
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Translated Translation::Finish() {
  for (int i = 0; i < result_.outputs; ++i) {
    if (result_.values[static_cast<size_t>(result_.inputs + i)].dtype == DType::kUndefined) {
      Refuse("its output " + std::to_string(i) + " is not computed by this version");
    }
  }
  return std::move(result_);
}

Translated TranslateNode(const Node& node, std::span<const KnownInput> inputs, Purpose purpose) {
  const OpSchema* schema = FindOp(node.type);
  if (schema == nullptr || schema->translate == nullptr) {
    Fail(kUnsupported, "graph-op-unknown", "node '{}': there is no operator '{}' in this version", node.name,
         node.type);
  }
  Translation translation(node, *schema, inputs, purpose);
  try {
    schema->translate(translation);
  } catch (const Error& error) {
    if (std::strcmp(error.id(), "graph-node") == 0) throw;
    // The rules of operators fail with the codes of aclnn.
    const int code = error.code() == tensor::kInvalidArgument ? kGraphInvalid : error.code();
    Fail(code, error.id(), "node '{}' ({}): {}", node.name, node.type, error.sentence());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {  // an attribute or a constant with fewer elements than expected
    Fail(kGraphInvalid, "graph-node", "node '{}' ({}): {}", node.name, node.type, error.what());
  }
  return translation.Finish();
}

}  // namespace belay::graph
