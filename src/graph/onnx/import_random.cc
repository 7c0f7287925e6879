// Random numbers.
#include <bit>

#include "graph/onnx/importer.h"
#include "graph/onnx/model.h"
#include "graph/onnx/read_model.h"

namespace belay::graph::onnx {
namespace {

// The seed of ONNX is a float.
Attributes Drawn(const OnnxNode& node, DType dtype) {
  Attributes attributes{{"dtype", dtype}};
  if (node.HasAttribute("seed")) {
    attributes["seed"] = static_cast<int64_t>(std::bit_cast<uint64_t>(node.Float("seed", 0)));
    attributes["seed2"] = int64_t{1};
  }
  return attributes;
}

void Random(OnnxNode& node) {
  const bool like = node.type().ends_with("Like"), normal = node.type().starts_with("RandomNormal");
  Port shape = like ? node.Add("Shape", {node.in(0)}, {{"dtype", DType::kI64}})
                    : node.Const(IntsConstant(node.Ints("shape")));
  const double shift = node.Float(normal ? "mean" : "low", 0);
  const double scale = normal ? node.Float("scale", 1) : node.Float("high", 1) - shift;
  Port drawn = node.Add(normal ? "RandomStandardNormal" : "RandomUniform", {shape},
                        Drawn(node, TypeOf(static_cast<int32_t>(node.Int("dtype", kFloat)))));
  if (like && !node.HasAttribute("dtype")) drawn = node.Add("CastLike", {drawn, node.in(0)});
  if (scale != 1) drawn = node.Add("Muls", {drawn}, {{"value", scale}});
  if (shift != 0) drawn = node.Add("Adds", {drawn}, {{"value", shift}});
  node.Out(0, drawn);
}

// 1 with the probability that the input gives.
void Bernoulli(OnnxNode& node) {
  Port shape = node.Add("Shape", {node.in(0)}, {{"dtype", DType::kI64}});
  Port likely = node.Add("Cast", {node.in(0)}, {{"dst_type", DType::kF64}});
  Port hit = node.Add("Less", {node.Add("RandomUniform", {shape}, Drawn(node, DType::kF64)), likely});
  if (!node.HasAttribute("dtype")) return node.Out(0, node.Add("CastLike", {hit, node.in(0)}));
  node.Out(0,
           node.Add("Cast", {hit}, {{"dst_type", TypeOf(static_cast<int32_t>(node.Int("dtype", kFloat)))}}));
}

void Multinomial(OnnxNode& node) {
  Port count = node.Const(IntConstant(node.Int("sample_size", 1)));
  node.Out(0, node.Add("Multinomial", {node.in(0), count},
                       Drawn(node, TypeOf(static_cast<int32_t>(node.Int("dtype", kInt32))))));
}

constexpr ImportRow kRandomRows[] = {{"RandomUniform", Random}, {"RandomUniformLike", Random},
                                     {"RandomNormal", Random},  {"RandomNormalLike", Random},
                                     {"Bernoulli", Bernoulli},  {"Multinomial", Multinomial}};

}  // namespace

std::span<const ImportRow> RandomImports() { return kRandomRows; }

}  // namespace belay::graph::onnx
