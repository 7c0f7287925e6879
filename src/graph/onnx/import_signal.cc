// Spectra, windows, bags of n-grams.
#include "graph/onnx/importer.h"
#include "graph/onnx/read_model.h"

namespace belay::graph::onnx {
namespace {

// The axis is an input from opset 20 on.
void Dft(OnnxNode& node) {
  std::vector<Port> inputs{node.in(0), node.in(1)};
  if (node.opset() >= 20) inputs.push_back(node.in(2));
  node.Become("DFT", inputs,
              {{"axis", node.opset() >= 20 ? int64_t{-2} : node.Int("axis", 1)},
               {"inverse", node.Int("inverse", 0) != 0},
               {"onesided", node.Int("onesided", 0) != 0}});
}

void Stft(OnnxNode& node) { node.Become("STFT", {{"onesided", node.Int("onesided", 1) != 0}}); }

constexpr int64_t kFloatType = 1;

void Window(OnnxNode& node) {
  node.Become(node.type(), {{"periodic", node.Int("periodic", 1) != 0},
                            {"dtype", TypeOf(static_cast<int>(node.Int("output_datatype", kFloatType)))}});
}

void Mel(OnnxNode& node) {
  node.Become("MelWeightMatrix",
              {{"dtype", TypeOf(static_cast<int>(node.Int("output_datatype", kFloatType)))}});
}

void TfIdf(OnnxNode& node) {
  if (node.HasAttribute("pool_strings")) node.Refuse("n-grams of strings are not supported");
  node.Become("TfIdfVectorizer", {{"mode", node.String("mode", "TF")},
                                  {"min_gram_length", node.Int("min_gram_length", 1)},
                                  {"max_gram_length", node.Int("max_gram_length", 1)},
                                  {"max_skip_count", node.Int("max_skip_count", 0)},
                                  {"ngram_counts", node.Ints("ngram_counts")},
                                  {"ngram_indexes", node.Ints("ngram_indexes")},
                                  {"pool_int64s", node.Ints("pool_int64s")},
                                  {"weights", node.Floats("weights")}});
}

constexpr ImportRow kSignalRows[] = {{"DFT", Dft},
                                     {"STFT", Stft},
                                     {"HannWindow", Window},
                                     {"HammingWindow", Window},
                                     {"BlackmanWindow", Window},
                                     {"MelWeightMatrix", Mel},
                                     {"TfIdfVectorizer", TfIdf}};

}  // namespace

std::span<const ImportRow> SignalImports() { return kSignalRows; }

}  // namespace belay::graph::onnx
