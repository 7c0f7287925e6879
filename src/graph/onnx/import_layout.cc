// Moving data.
#include <limits>

#include "graph/onnx/importer.h"

namespace belay::graph::onnx {
namespace {

void Concat(OnnxNode& node) {
  node.Become("ConcatD",
              {{"concat_dim", node.Int("axis", 1)}, {"N", static_cast<int64_t>(node.input_count())}});
}

// The sizes are an input, an attribute, or not given: equal pieces, the last one smaller.
void Split(OnnxNode& node) {
  int64_t axis = node.Int("axis", 0);
  Attributes pieces{{"num_split", static_cast<int64_t>(node.output_count())}};
  if (node.opset() >= 18) node.Only("num_outputs", static_cast<int64_t>(node.output_count()));
  if (node.opset() < 13 && node.HasAttribute("split")) {
    Attributes sizes{{"size_splits", node.Ints("split")}, {"split_dim", axis}};
    return node.Become("SplitVD", std::vector<Port>{node.in(0)}, std::move(sizes));
  }
  if (node.opset() >= 13 && node.has(1)) {
    return node.Become("SplitV", std::vector<Port>{node.in(0), node.in(1), node.Const(IntConstant(axis))},
                       pieces);
  }
  pieces["split_dim"] = axis;
  node.Become("SplitD", std::vector<Port>{node.in(0)}, pieces);
}

std::vector<int64_t> Numbered(size_t n) {
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < n; ++i) numbers.push_back(static_cast<int64_t>(i));
  return numbers;
}

void Slice(OnnxNode& node) {
  if (node.opset() >= 10) {
    return node.Become("StridedSliceV2");
  }
  std::vector<int64_t> starts = node.Ints("starts"), ends = node.Ints("ends");
  std::vector<int64_t> axes = node.Ints("axes", Numbered(starts.size()));
  node.Become("StridedSliceV2",
              std::vector<Port>{node.in(0), node.Const(IntsConstant(starts)), node.Const(IntsConstant(ends)),
                                node.Const(IntsConstant(axes))});
}

void Pad(OnnxNode& node) {
  Attributes mode{{"mode", node.String("mode", "constant")}};
  if (node.opset() >= 11) return node.Become("PadAxes", mode);
  Port pads = node.Const(IntsConstant(node.Ints(node.opset() < 2 ? "paddings" : "pads")));
  Port value = node.Const(RealConstant(node.Float("value", 0)));
  node.Become("PadAxes", std::vector<Port>{node.in(0), pads, value}, mode);
}

void Tile(OnnxNode& node) { node.Become("Tile"); }

void DepthToSpace(OnnxNode& node) {
  node.Become("DepthToSpace", {{"block_size", node.Int("blocksize", 0)},
                               {"mode", node.String("mode", "DCR")},
                               {"data_format", std::string("NCHW")}});
}

void SpaceToDepth(OnnxNode& node) {
  node.Only("mode", "DCR");
  node.Become("SpaceToDepth",
              {{"block_size", node.Int("blocksize", 0)}, {"data_format", std::string("NCHW")}});
}

void ReverseSequence(OnnxNode& node) {
  node.Become("ReverseSequence",
              {{"seq_dim", node.Int("time_axis", 0)}, {"batch_dim", node.Int("batch_axis", 1)}});
}

void Trilu(OnnxNode& node) { node.Become("Trilu", {{"upper", node.Int("upper", 1)}}); }
void CenterCropPad(OnnxNode& node) { node.Become("CenterCropPad", {{"axes", node.Ints("axes")}}); }
void Col2Im(OnnxNode& node) {
  node.Become("Col2Im", {{"dilations", node.Ints("dilations")},
                         {"pads", node.Ints("pads")},
                         {"strides", node.Ints("strides")}});
}

constexpr ImportRow kLayoutRows[] = {
    {"Concat", Concat},
    {"Split", Split},
    {"Slice", Slice},
    {"Pad", Pad},
    {"Tile", Tile},
    {"DepthToSpace", DepthToSpace},
    {"SpaceToDepth", SpaceToDepth},
    {"ReverseSequence", ReverseSequence},
    {"Trilu", Trilu},
    {"CenterCropPad", CenterCropPad},
    {"Col2Im", Col2Im},
};

}  // namespace

std::span<const ImportRow> LayoutImports() { return kLayoutRows; }

}  // namespace belay::graph::onnx
