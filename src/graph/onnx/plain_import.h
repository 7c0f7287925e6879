// Operators of ONNX that are an operator of the graph's under another name (`onnx` in the rows of spec/).
#pragma once

#include <span>

#include "graph/onnx/importer.h"
#include "graph/op_schema.h"

namespace belay::graph::onnx {

struct PlainAttribute {
  const char* name;           // ONNX's
  AttributeSchema attribute;  // the node's, with ONNX's default
};

struct PlainImport {
  const char* name;
  const char* type;
  std::span<const PlainAttribute> attributes;
  const char* domain;
};

std::span<const PlainImport> PlainImports();

void ImportPlain(OnnxNode& node, const PlainImport& row);

}  // namespace belay::graph::onnx
