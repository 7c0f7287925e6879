// Gathering and scattering.
#include "graph/onnx/importer.h"

namespace belay::graph::onnx {
namespace {

void Gather(OnnxNode& node) { node.Become("GatherV2D", {{"axis", node.Int("axis", 0)}}); }
void GatherElements(OnnxNode& node) { node.Become("GatherElements", {{"dim", node.Int("axis", 0)}}); }
void GatherND(OnnxNode& node) { node.Become("GatherNd", {{"batch_dims", node.Int("batch_dims", 0)}}); }

void ScatterElements(OnnxNode& node) {
  node.Become("ScatterElements",
              {{"axis", node.Int("axis", 0)}, {"reduction", node.String("reduction", "none")}});
}

void ScatterND(OnnxNode& node) {
  node.Become("TensorScatterUpdate", {{"reduction", node.String("reduction", "none")}});
}

// The third input holds the values for off and on.
void OneHot(OnnxNode& node) {
  auto pick = [&](int64_t i) {
    return node.Add("GatherV2D", {node.in(2), node.Const(IntConstant(i))}, {{"axis", int64_t{0}}});
  };
  Port off = pick(0), on = pick(1);
  node.Become("OneHot", std::vector<Port>{node.in(0), node.in(1), on, off}, {{"axis", node.Int("axis", -1)}});
}

void NonZero(OnnxNode& node) { node.Become("NonZero", {{"transpose", true}}); }

void Compress(OnnxNode& node) {
  node.Become("Compress", {{"axis", node.Int("axis", 0)}, {"flat", !node.HasAttribute("axis")}});
}

void Unique(OnnxNode& node) {
  node.Become("Unique", {{"axis", node.Int("axis", 0)},
                         {"flat", !node.HasAttribute("axis")},
                         {"sorted", node.Int("sorted", 1) != 0}});
}

constexpr ImportRow kIndexRows[] = {
    {"Gather", Gather},           {"GatherElements", GatherElements},
    {"GatherND", GatherND},       {"ScatterElements", ScatterElements},
    {"Scatter", ScatterElements}, {"ScatterND", ScatterND},
    {"OneHot", OneHot},           {"NonZero", NonZero},
    {"Compress", Compress},       {"Unique", Unique},
};

}  // namespace

std::span<const ImportRow> IndexImports() { return kIndexRows; }

}  // namespace belay::graph::onnx
