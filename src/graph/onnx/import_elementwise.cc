// Operators that work element by element.
#include "graph/onnx/importer.h"
#include "graph/onnx/read_model.h"

namespace belay::graph::onnx {
namespace {

// The number is a TensorProto.DataType.
void Cast(OnnxNode& node) {
  node.WithoutEffect({"saturate", "round_mode"});  // of floats of 8 bits, which are not supported
  node.Become("Cast", {node.in(0)}, {{"dst_type", TypeOf(static_cast<int32_t>(node.Int("to", 1)))}});
}

// The second operand with as many dimensions of size 1 at its end that its first one is that of `axis`.
Port FromAxis(OnnxNode& node, int64_t axis) {
  if (axis < 0) node.Refuse("an axis that is counted from the end is not supported");
  const auto shape = [&](Port x) { return node.Add("Shape", {x}, {{"dtype", DType::kI64}}); };
  const auto rank = [&](Port x) { return node.Add("Size", {shape(x)}, {{"dtype", DType::kI64}}); };
  const Port behind =
      node.Add("Sub", {node.Add("Sub", {rank(node.in(0)), rank(node.in(1))}), node.Ints({axis})});
  const Port ones = node.Add("Fill", {behind, node.Const(IntConstant(1))});
  const Port sizes =
      node.Add("ConcatD", {shape(node.in(1)), ones}, {{"concat_dim", int64_t{0}}, {"N", int64_t{2}}});
  return node.Add("Reshape", {node.in(1), sizes}, {{"allowzero", int64_t{1}}});
}

// Before opset 7 shapes are broadcast only if an attribute says so, and from an axis on; without that it is
// the last dimensions that match, as ever since.
void Broadcast(OnnxNode& node) {
  Port second = node.in(1);
  if (node.opset() < 7) {
    const bool broadcast = node.Int("broadcast", 0) != 0;
    const int64_t axis = node.Int("axis", -1);
    if (broadcast && axis != -1) second = FromAxis(node, axis);
  }
  const std::string& type = node.type();
  const bool logical = type == "And" || type == "Or" || type == "Xor";
  node.Become(logical ? "Logical" + type : type, {node.in(0), second}, {});
}

void Selu(OnnxNode& node) {
  const bool first = node.opset() < 6;
  node.Become("Selu", {{"alpha", node.Float("alpha", first ? 1.6732 : 1.6732632423543772)},
                       {"gamma", node.Float("gamma", first ? 1.0507 : 1.0507009873554805)}});
}
void PRelu(OnnxNode& node) { node.Become("PRelu", {{"broadcast", true}}); }

// The bounds are attributes before opset 11; there only f32 existed in practice.
void Clip(OnnxNode& node) {
  if (node.opset() >= 11) return node.Become("ClipByValueV2");
  Port low, high;
  if (node.HasAttribute("min")) low = node.Const(RealConstant(node.Float("min", 0)));
  if (node.HasAttribute("max")) high = node.Const(RealConstant(node.Float("max", 0)));
  node.Become("ClipByValueV2", {node.in(0), low, high}, {});
}

void Mod(OnnxNode& node) { node.Become(node.Int("fmod", 0) != 0 ? "Mod" : "FloorMod"); }

void BitShift(OnnxNode& node) {
  std::string direction = node.String("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") node.Refuse("the direction of a shift is LEFT or RIGHT");
  node.Become(direction == "LEFT" ? "LeftShift" : "RightShift");
}

// Of integers too, of which doubles hold those of up to 32 bits.
void Shrink(OnnxNode& node) {
  const DType type = node.type_of(0).dtype;
  const bool whole = tensor::IsInt(type) && tensor::BytesOf(type) <= 4;
  const Port x = whole ? node.Add("Cast", {node.in(0)}, {{"dst_type", DType::kF64}}) : node.in(0);
  const Attributes attributes{{"lambd", node.Float("lambd", 0.5)}, {"bias", node.Float("bias", 0)}};
  const Port y = node.Add("Shrink", {x}, attributes);
  node.Out(0, whole ? node.Add("Cast", {y}, {{"dst_type", type}}) : y);
}

// com.microsoft: gelu of x + bias.
Port WithBias(OnnxNode& node) { return node.has(1) ? node.Add("Add", {node.in(0), node.in(1)}) : node.in(0); }
void BiasGelu(OnnxNode& node) { node.Become("Gelu", {WithBias(node)}, {}); }
// Not GE's operator of that name, which is x sigmoid(1.702 x).
void FastGelu(OnnxNode& node) {
  node.Become("GeluV2", {WithBias(node)}, {{"approximate", std::string("tanh")}});
}

constexpr ImportRow kElementwiseRows[] = {
    {"Cast", Cast},
    {"And", Broadcast},
    {"Or", Broadcast},
    {"Xor", Broadcast},
    {"Selu", Selu},
    {"Shrink", Shrink},
    {"PRelu", PRelu},
    {"Clip", Clip},
    {"Mod", Mod},
    {"BitShift", BitShift},
    {"BiasGelu", BiasGelu, kContribDomain},
    {"FastGelu", FastGelu, kContribDomain},
    {"Add", Broadcast},
    {"Sub", Broadcast},
    {"Mul", Broadcast},
    {"Div", Broadcast},
    {"Pow", Broadcast},
    {"Equal", Broadcast},
    {"Greater", Broadcast},
    {"Less", Broadcast},
};

}  // namespace

std::span<const ImportRow> ElementwiseImports() { return kElementwiseRows; }

}  // namespace belay::graph::onnx
