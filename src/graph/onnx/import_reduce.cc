// Reductions.
#include "graph/onnx/importer.h"

namespace belay::graph::onnx {
namespace {

// The axes are an attribute until opset 18; of ReduceSum until 13. GE's type has the same name.
void Reduce(OnnxNode& node) {
  Attributes attributes{{"keep_dims", node.Int("keepdims", 1) != 0},
                        {"noop_with_empty_axes", node.Int("noop_with_empty_axes", 0) != 0}};
  Port axes = node.in(1);
  if (!axes.present() && node.HasAttribute("axes")) axes = node.Const(IntsConstant(node.Ints("axes")));
  std::vector<Port> inputs{node.in(0)};
  if (axes.present()) inputs.push_back(axes);
  node.Become(node.type(), std::move(inputs), std::move(attributes));
}

void Arg(OnnxNode& node) {
  Attributes attributes{{"dtype", DType::kI64},
                        {"keep_dims", node.Int("keepdims", 1) != 0},
                        {"select_last_index", node.Int("select_last_index", 0) != 0}};
  Port axis = node.Const(IntConstant(node.Int("axis", 0)));
  node.Become(node.type() == "ArgMax" ? "ArgMaxV2" : "ArgMin", {node.in(0), axis}, std::move(attributes));
}

void CumSum(OnnxNode& node) {
  node.Become("Cumsum",
              {{"exclusive", node.Int("exclusive", 0) != 0}, {"reverse", node.Int("reverse", 0) != 0}});
}

constexpr ImportRow kReduceRows[] = {
    {"ReduceSum", Reduce},       {"ReduceMean", Reduce},      {"ReduceMax", Reduce}, {"ReduceMin", Reduce},
    {"ReduceProd", Reduce},      {"ReduceL1", Reduce},        {"ReduceL2", Reduce},  {"ReduceLogSum", Reduce},
    {"ReduceLogSumExp", Reduce}, {"ReduceSumSquare", Reduce}, {"ArgMax", Arg},       {"ArgMin", Arg},
    {"CumSum", CumSum},
};

}  // namespace

std::span<const ImportRow> ReduceImports() { return kReduceRows; }

}  // namespace belay::graph::onnx
