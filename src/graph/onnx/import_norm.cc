// Normalisations and softmax.
#include <fmt/format.h>

#include <limits>

#include "graph/onnx/importer.h"

namespace belay::graph::onnx {
namespace {

// Before opset 13 all dimensions from the axis on are one, and the axis is 1 unless it is given.
int64_t SoftmaxAxis(const OnnxNode& node) { return node.Int("axis", node.opset() < 13 ? 1 : -1); }

void Softmax(OnnxNode& node) {
  node.Become(node.type() == "Softmax" ? "SoftmaxV2" : "LogSoftmaxV2",
              {{"axes", std::vector<int64_t>{SoftmaxAxis(node)}}, {"flatten", node.opset() < 13}});
}

void Hardmax(OnnxNode& node) {
  node.Become("HardMax", {{"axis", SoftmaxAxis(node)}, {"flatten", node.opset() < 13}});
}

// The results behind y are running statistics, which only training has.
void BatchNormalization(OnnxNode& node) {
  if (node.opset() < 9) node.Only("spatial", 1);
  if (node.opset() < 7) node.WithoutEffect({"is_test"});  // the results that are wanted say it
  bool training = node.Int("training_mode", 0) != 0;
  Attributes attributes{{"epsilon", node.Float("epsilon", 1e-5)},
                        {"data_format", std::string("NCHW")},
                        {"is_training", training},
                        {"exponential_avg_factor", 1 - node.Float("momentum", 0.9)}};
  int outputs = training ? node.output_count() : 1;
  Port first = node.Add("BatchNorm", node.inputs(), std::move(attributes), outputs);
  for (int i = 0; i < outputs; ++i) node.Out(i, OnnxNode::OutputOf(first, i));
}

void Layer(OnnxNode& node, std::string_view type, std::vector<Port> inputs, Attributes attributes) {
  Port first = node.Add(type, std::move(inputs), std::move(attributes), node.output_count());
  for (int i = 0; i < node.output_count(); ++i) node.Out(i, OnnxNode::OutputOf(first, i));
}

void LayerNormalization(OnnxNode& node) {
  int64_t axis = node.Int("axis", -1);
  node.Only("stash_type", 1);
  Layer(node, "LayerNormV3", node.inputs(),
        {{"begin_norm_axis", axis}, {"begin_params_axis", axis}, {"epsilon", node.Float("epsilon", 1e-5)}});
}

// GE's operator normalises as many dimensions as the scale has.
void RmsNormalization(OnnxNode& node) {
  node.Only("stash_type", 1);
  const int64_t axis = node.Int("axis", -1);
  const ValueType x = node.type_of(0), scale = node.type_of(1);
  if (axis >= 0 && !x.rank_known)
    node.Refuse("an axis that is counted from the front needs an input of known rank");
  const int64_t over = axis < 0 ? -axis : x.shape.rank() - axis;
  if (scale.rank_known ? scale.shape.rank() != over : over != 1)
    node.Refuse(fmt::format("the scale must have the {} dimensions from axis {} on", over, axis));
  Layer(node, "RmsNorm", node.inputs(), {{"epsilon", node.Float("epsilon", 1e-5)}});
}

// com.microsoft: the sum of input, skip and bias is normalised; it is the fourth result.
void SkipLayer(OnnxNode& node, bool simplified) {
  int bias = simplified ? 3 : 4;
  Port sum = node.Add("Add", {node.in(0), node.in(1)});
  if (node.has(bias)) sum = node.Add("Add", {sum, node.in(bias)});
  double epsilon = node.Float("epsilon", 1e-12);
  bool statistics = node.wants(1) || node.wants(2);
  if (statistics && simplified) node.Refuse("its statistics are not supported as results");
  int outputs = statistics ? 3 : 1;
  Port first;
  if (simplified) {
    first = node.Add("RmsNorm", {sum, node.in(2)}, {{"epsilon", epsilon}}, outputs);
  } else {
    std::vector<Port> inputs{sum, node.in(2)};
    if (node.has(3)) inputs.push_back(node.in(3));
    first = node.Add("LayerNormV3", std::move(inputs),
                     {{"begin_norm_axis", int64_t{-1}}, {"epsilon", epsilon}}, outputs);
  }
  for (int i = 0; i < outputs; ++i) node.Out(i, OnnxNode::OutputOf(first, i));
  if (node.wants(3)) node.Out(3, sum);
}
void SkipLayerNormalization(OnnxNode& node) { SkipLayer(node, false); }
void SkipSimplifiedLayerNormalization(OnnxNode& node) { SkipLayer(node, true); }

// com.microsoft: rows of two or three tables are added and normalised. Positions count from 0 unless they are
// given; the second result is how many places of each row the mask has.
void EmbedLayerNormalization(OnnxNode& node) {
  node.Only("mask_index_type", 0);
  const auto rows = [&](Port table, Port ids) {
    return node.Add("GatherV2D", {table, ids}, {{"axis", int64_t{0}}});
  };
  Port places = node.in(8);
  if (!places.present()) places = Counting(node, SizeOf(node, node.in(0), 1));
  Port sum = node.Add("Add", {rows(node.in(2), node.in(0)), rows(node.in(3), places)});
  if (node.has(1)) sum = node.Add("Add", {sum, rows(node.in(4), node.in(1))});
  node.Out(0, node.Add("LayerNormV3", {sum, node.in(5), node.in(6)},
                       {{"begin_norm_axis", int64_t{-1}}, {"epsilon", node.Float("epsilon", 1e-12)}}));
  if (node.wants(2)) node.Out(2, sum);
  if (!node.wants(1)) return;
  const Port mask = node.has(7) ? node.in(7) : node.Add("ZerosLike", {node.in(0)});
  node.Out(1, node.Add("ReduceSum", {mask, node.Ints({1})}, {{"keep_dims", false}}));
}

void InstanceNormalization(OnnxNode& node) {
  node.Become("InstanceNorm",
              {{"epsilon", node.Float("epsilon", 1e-5)}, {"data_format", std::string("NCHW")}});
}

// The weights are those of groups before opset 21.
void GroupNormalization(OnnxNode& node) {
  node.Only("stash_type", 1);
  node.Become("GroupNorm", {{"num_groups", node.Int("num_groups", 1)},
                            {"eps", node.Float("epsilon", 1e-5)},
                            {"data_format", std::string("NCHW")},
                            {"per_group", node.opset() < 21}});
}

void LpNormalization(OnnxNode& node) {
  node.Become("LpNormalization", {{"axis", node.Int("axis", -1)}, {"p", node.Int("p", 2)}});
}

void MeanVarianceNormalization(OnnxNode& node) {
  node.Become("MVNV2", {{"axes", node.Ints("axes", {0, 2, 3})}});
}

void Lrn(OnnxNode& node) {
  node.Become("LRN", {{"size", node.Int("size", 0)},
                      {"alpha", node.Float("alpha", 1e-4)},
                      {"beta", node.Float("beta", 0.75)},
                      {"bias", node.Float("bias", 1)}});
}

// The likelihoods are given as logarithms. Without ignore_index every target is a class.
Port LossOf(OnnxNode& node, Port likelihoods) {
  return node.Add("NLLLoss", {likelihoods, node.in(1), node.in(2)},
                  {{"reduction", node.String("reduction", "mean")},
                   {"ignore_index", node.Int("ignore_index", std::numeric_limits<int64_t>::min())}});
}

void NegativeLogLikelihoodLoss(OnnxNode& node) { node.Out(0, LossOf(node, node.in(0))); }

void SoftmaxCrossEntropyLoss(OnnxNode& node) {
  Port likelihoods = node.Add("LogSoftmaxV2", {node.in(0)}, {{"axes", std::vector<int64_t>{1}}});
  node.Out(0, LossOf(node, likelihoods));
  if (node.wants(1)) node.Out(1, likelihoods);
}

constexpr ImportRow kNormRows[] = {
    {"NegativeLogLikelihoodLoss", NegativeLogLikelihoodLoss},
    {"SoftmaxCrossEntropyLoss", SoftmaxCrossEntropyLoss},
    {"Softmax", Softmax},
    {"LogSoftmax", Softmax},
    {"Hardmax", Hardmax},
    {"BatchNormalization", BatchNormalization},
    {"LayerNormalization", LayerNormalization},
    {"RMSNormalization", RmsNormalization},
    {"SimplifiedLayerNormalization", RmsNormalization},
    {"EmbedLayerNormalization", EmbedLayerNormalization, kContribDomain},
    {"SkipLayerNormalization", SkipLayerNormalization, kContribDomain},
    {"SkipSimplifiedLayerNormalization", SkipSimplifiedLayerNormalization, kContribDomain},
    {"InstanceNormalization", InstanceNormalization},
    {"GroupNormalization", GroupNormalization},
    {"LpNormalization", LpNormalization},
    {"MeanVarianceNormalization", MeanVarianceNormalization},
    {"LRN", Lrn},
};

}  // namespace

std::span<const ImportRow> NormImports() { return kNormRows; }

}  // namespace belay::graph::onnx
