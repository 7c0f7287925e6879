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
  if (node.opset() < 7) node.WithoutEffect({"output_sequence"});  // the results that are wanted say it
  if (node.type() == "GRU") attributes["linear_before_reset"] = node.Int("linear_before_reset", 0);
  if (node.type() != "GRU" && node.type() != "RNN") attributes["input_forget"] = node.Int("input_forget", 0);
  node.Become(node.type(), attributes);
}

constexpr ImportRow kRnnRows[] = {{"RNN", Recurrent},
                                  {"GRU", Recurrent},
                                  {"LSTM", Recurrent},
                                  {"DynamicQuantizeLSTM", Recurrent, kContribDomain}};

}  // namespace

std::span<const ImportRow> RnnImports() { return kRnnRows; }

}  // namespace belay::graph::onnx
