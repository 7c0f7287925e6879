// Operators that only look at shapes or give the same elements another one.
#include <limits>

#include "graph/onnx/importer.h"
#include "graph/onnx/read_model.h"

namespace belay::graph::onnx {
namespace {

void Identity(OnnxNode& node) { node.Out(0, node.in(0)); }

void Reshape(OnnxNode& node) {
  Port shape = node.opset() < 5 ? node.Const(IntsConstant(node.Ints("shape"))) : node.in(1);
  node.Become("Reshape", {node.in(0), shape}, {{"allowzero", node.Int("allowzero", 0)}});
}

void Transpose(OnnxNode& node) { node.Become("TransposeD", {{"perm", node.Ints("perm")}}); }

void ShapeNode(OnnxNode& node) {
  node.Become("Shape", {{"dtype", DType::kI64},
                        {"start", node.Int("start", 0)},
                        {"end", node.Int("end", std::numeric_limits<int64_t>::max())}});
}

void Size(OnnxNode& node) { node.Become("Size", {{"dtype", DType::kI64}}); }

void Squeeze(OnnxNode& node) {
  if (node.opset() >= 13) return node.Become("SqueezeV3");
  node.Become("Squeeze", {{"axis", node.Ints("axes")}});
}

void Unsqueeze(OnnxNode& node) {
  if (node.opset() >= 13) return node.Become("UnsqueezeV3");
  node.Become("Unsqueeze", {{"axes", node.Ints("axes")}});
}

void Flatten(OnnxNode& node) { node.Become("Flatten", {{"axis", node.Int("axis", 1)}}); }

void ConstantOfShape(OnnxNode& node) {
  Constant value = node.Value("value");
  if (value == nullptr) value = RealConstant(0);
  node.Become("Fill", std::vector<Port>{node.in(0), node.Const(value)});
}

Constant RealsConstant(const std::vector<double>& values) {
  auto tensor = std::make_shared<HostTensor>(DType::kF32, Shape{static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) tensor->as<float>()[i] = static_cast<float>(values[i]);
  return tensor;
}

void ConstantNode(OnnxNode& node) {
  Constant value = node.Value("value");
  if (node.HasAttribute("value_int")) value = IntConstant(node.Int("value_int", 0));
  if (node.HasAttribute("value_ints")) value = IntsConstant(node.Ints("value_ints"));
  if (node.HasAttribute("value_float")) value = RealConstant(node.Float("value_float", 0));
  if (node.HasAttribute("value_floats")) value = RealsConstant(node.Floats("value_floats"));
  if (value == nullptr) node.Refuse("only constants of numbers are supported");
  node.Out(0, node.Const(value));
}

// Ones of the shape of the input: what a dropout that drops nothing says that it kept.
Port AllKept(OnnxNode& node) {
  Port shape = node.Add("Shape", {node.in(0)}, {{"dtype", DType::kI64}});
  DType type = node.opset() < 10 ? DType::kF32 : DType::kBool;
  return node.Add("Fill", {shape, node.Const(IntConstant(1, type))});
}

// Before opset 12 nothing ever trains, and the ratio is an attribute without effect.
void Dropout(OnnxNode& node) {
  if (node.opset() >= 12) {
    return node.Become("Dropout",
                       {{"seed", node.Int("seed", 0)}, {"seed2", int64_t{node.HasAttribute("seed")}}});
  }
  node.WithoutEffect({"ratio", "is_test"});
  node.Out(0, node.Add("Identity", {node.in(0)}));
  if (node.wants(1)) node.Out(1, AllKept(node));
}

void EyeLike(OnnxNode& node) {
  bool like = !node.HasAttribute("dtype");
  DType type = like ? DType::kF32 : TypeOf(static_cast<int32_t>(node.Int("dtype", 1)));
  node.Become("EyeLike", {{"k", node.Int("k", 0)}, {"dtype", type}, {"like_input", like}});
}

void CastLike(OnnxNode& node) {
  node.WithoutEffect({"saturate", "round_mode"});  // of floats of 8 bits, which are not supported
  node.Become("CastLike");
}

// The numbers are counted in their own type; a wider one to add them up is not there.
void Range(OnnxNode& node) {
  node.Only("stash_type", 1);
  node.Become("Range");
}

// An empty sequence has no element that could be of a type.
void SequenceEmpty(OnnxNode& node) {
  node.WithoutEffect({"dtype"});
  node.Become("SequenceEmpty");
}

void Einsum(OnnxNode& node) { node.Become("Einsum", {{"equation", node.String("equation", "")}}); }

void SplitToSequence(OnnxNode& node) {
  node.Become("SplitToSequence", {{"axis", node.Int("axis", 0)}, {"keepdims", node.Int("keepdims", 1)}});
}

void ConcatFromSequence(OnnxNode& node) {
  node.Become("ConcatFromSequence", {{"axis", node.Int("axis", 0)}, {"new_axis", node.Int("new_axis", 0)}});
}

// A value is there or not, and which of the two the model says: an optional tensor is a tensor.
void OptionalHasElement(OnnxNode& node) {
  node.Out(0, node.Const(IntConstant(node.in(0).present() ? 1 : 0, DType::kBool)));
}

void Optional(OnnxNode& node) {
  node.WithoutEffect({"type"});  // of the value that is there
  if (!node.has(0)) node.Refuse("an optional value that is not there is not supported");
  node.Out(0, node.in(0));
}

constexpr ImportRow kStructureRows[] = {
    {"Optional", Optional},
    {"OptionalHasElement", OptionalHasElement},
    {"OptionalGetElement", Identity},
    {"Identity", Identity},
    {"Reshape", Reshape},
    {"Transpose", Transpose},
    {"Shape", ShapeNode},
    {"Size", Size},
    {"Squeeze", Squeeze},
    {"Unsqueeze", Unsqueeze},
    {"Flatten", Flatten},
    {"ConstantOfShape", ConstantOfShape},
    {"Range", Range},
    {"Constant", ConstantNode},
    {"Dropout", Dropout},
    {"EyeLike", EyeLike},
    {"CastLike", CastLike},
    {"Einsum", Einsum},
    {"SequenceEmpty", SequenceEmpty},
    {"SplitToSequence", SplitToSequence},
    {"ConcatFromSequence", ConcatFromSequence},
};

}  // namespace

std::span<const ImportRow> StructureImports() { return kStructureRows; }

}  // namespace belay::graph::onnx
