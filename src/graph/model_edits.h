// What options change of a model before it is compiled, by atc or by a program: which outputs it has, and in
// which types it takes and gives its tensors.
#pragma once

#include <string>

#include "graph/ir.h"
#include "graph/onnx/model.h"

namespace belay::graph {

// out_nodes, "node:0;node:1" (outputs of nodes, by number) or "tensor;tensor": these become the model's
// outputs, in this order. A graph's are named by its nodes alone.
void ChooseOutputs(onnx::ModelData& model, const std::string& out_nodes);
void ChooseOutputs(Graph& graph, const std::string& out_nodes);

// output_type, "FP16" for all outputs, or "node:0:FP16;node:1:FP32" for those of out_nodes. The results are
// converted behind what computes them.
void ConvertOutputs(Graph& graph, const std::string& output_type, const std::string& out_nodes);

// The outputs of a graph as out_nodes would name them.
std::string OutNodesOf(const Graph& graph);

// input_fp16_nodes, "name;name": these inputs are given as FLOAT16, and converted before they are used.
void TakeHalfInputs(Graph& graph, const std::string& names);

}  // namespace belay::graph
