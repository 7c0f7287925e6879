// Recurrent networks.
#include "graph/onnx/importer.h"

namespace belay::graph::onnx {
namespace {

Attributes AttributesOf(const OnnxNode& node) {
  return {{"direction", node.String("direction", "forward")},
          {"hidden_size", node.Int("hidden_size", 0)},
          {"layout", node.Int("layout", 0)},
          {"clip", node.Float("clip", 0)},
          {"activations", node.Strings("activations")},
          {"activation_alpha", node.Floats("activation_alpha")},
          {"activation_beta", node.Floats("activation_beta")}};
}

void Recurrent(OnnxNode& node) {
  Attributes attributes = AttributesOf(node);
  if (node.type() == "GRU") attributes["linear_before_reset"] = node.Int("linear_before_reset", 0);
  if (node.type() == "LSTM") attributes["input_forget"] = node.Int("input_forget", 0);
  node.Become(node.type(), attributes);
}

// Weights [directions, k, n] with a scale for each direction, or for each of its columns, as [directions, n, k].
Port RealWeights(OnnxNode& node, Port weights, Port scale, Port zero) {
  auto spread = [&](Port port) {
    Port real = node.Add("Cast", {port}, {{"dst_type", DType::kF32}});
    return node.Add("Reshape", {real, node.Ints({0, 1, -1})});
  };
  Port whole = node.Add("Cast", {weights}, {{"dst_type", DType::kF32}});
  Port real = node.Add("Mul", {node.Add("Sub", {whole, spread(zero)}), spread(scale)});
  return node.Add("TransposeD", {real}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
}

// onnxruntime rounds the states of each step to integers too; here they keep their precision.
void DynamicQuantizeLstm(OnnxNode& node) {
  std::vector<Port> inputs = node.inputs();
  if (inputs.size() < 12) node.Refuse("it has twelve inputs");
  inputs[1] = RealWeights(node, inputs[1], inputs[8], inputs[9]);
  inputs[2] = RealWeights(node, inputs[2], inputs[10], inputs[11]);
  inputs.resize(8);
  Attributes attributes = AttributesOf(node);
  attributes["input_forget"] = node.Int("input_forget", 0);
  node.Become("LSTM", std::move(inputs), std::move(attributes));
}

constexpr ImportRow kRows[] = {{"RNN", Recurrent},
                               {"GRU", Recurrent},
                               {"LSTM", Recurrent},
                               {"DynamicQuantizeLSTM", DynamicQuantizeLstm, "com.microsoft"}};

}  // namespace

std::span<const ImportRow> RnnImports() { return kRows; }

}  // namespace belay::graph::onnx
