// Branches and loops.
#include "graph/onnx/importer.h"

namespace belay::graph::onnx {
namespace {

std::vector<Port> With(std::vector<Port> ports, const std::vector<Port>& more) {
  ports.insert(ports.end(), more.begin(), more.end());
  return ports;
}

void Finish(OnnxNode& node, Port first) {
  for (int i = 0; i < node.output_count(); ++i) node.Out(i, OnnxNode::OutputOf(first, i));
}

void If(OnnxNode& node) {
  std::vector<Port> captured;
  auto bodies = node.Bodies({"then_branch", "else_branch"}, &captured);
  Attributes attributes{{"then_branch", bodies[0]}, {"else_branch", bodies[1]}};
  Finish(node, node.Add("If", With({node.in(0)}, captured), std::move(attributes), node.output_count()));
}

void Loop(OnnxNode& node) {
  std::vector<Port> captured;
  auto bodies = node.Bodies({"body"}, &captured);
  auto carried = static_cast<int64_t>(node.input_count()) - 2;
  if (carried < 0) node.Refuse("a loop has at least a trip count and a condition");
  Attributes attributes{{"body", bodies[0]}, {"carried", carried}};
  Finish(node, node.Add("Loop", With(node.inputs(), captured), std::move(attributes), node.output_count()));
}

void Scan(OnnxNode& node) {
  if (node.opset() < 9)
    node.Refuse("scans of batches are not supported; convert the model to opset 9 or newer");
  std::vector<Port> captured;
  auto bodies = node.Bodies({"body"}, &captured);
  int64_t scanned = node.Int("num_scan_inputs", 1);
  Attributes attributes{{"body", bodies[0]},
                        {"scanned", scanned},
                        {"states", node.input_count() - scanned},
                        {"input_axes", node.Ints("scan_input_axes")},
                        {"input_directions", node.Ints("scan_input_directions")},
                        {"output_axes", node.Ints("scan_output_axes")},
                        {"output_directions", node.Ints("scan_output_directions")}};
  Finish(node, node.Add("Scan", With(node.inputs(), captured), std::move(attributes), node.output_count()));
}

void SequenceMap(OnnxNode& node) {
  std::vector<Port> captured;
  auto bodies = node.Bodies({"body"}, &captured);
  Attributes attributes{{"body", bodies[0]}, {"mapped", static_cast<int64_t>(node.input_count())}};
  Finish(node,
         node.Add("SequenceMap", With(node.inputs(), captured), std::move(attributes), node.output_count()));
}

constexpr ImportRow kControlRows[] = {
    {"If", If}, {"Loop", Loop}, {"Scan", Scan}, {"SequenceMap", SequenceMap}};

}  // namespace

std::span<const ImportRow> ControlImports() { return kControlRows; }

}  // namespace belay::graph::onnx
