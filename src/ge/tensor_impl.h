// What stands behind ge::Shape, ge::TensorDesc and ge::Tensor.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/host_tensor.h"
#include "graph/ir.h"
#include "graph/tensor.h"

namespace ge {

class ShapeImpl {
 public:
  std::vector<int64_t> dims;
};

class TensorDescImpl {
 public:
  std::vector<int64_t> dims, origin_dims;
  std::vector<std::pair<int64_t, int64_t>> range;
  Format format = FORMAT_ND, origin_format = FORMAT_ND;
  DataType dtype = DT_FLOAT;
  Placement placement = kPlacementHost;
  std::string name, expand_dims_rule;
  int64_t size = 0, real_dims = 0;
  std::shared_ptr<uint8_t[]> constant;
  size_t constant_bytes = 0;
};

// Whether the type's numbers are known to Belay, and as what.
belay::graph::DType DTypeOf(DataType dtype);
DataType DataTypeOf(belay::graph::DType dtype);
// What a description says of a value: -1 and -2 are unknown sizes and an unknown number of them.
belay::graph::ValueType ValueTypeOf(const TensorDesc& desc);
TensorDesc DescOf(const belay::graph::ValueType& type);

// A constant of a graph from a tensor that lies on the host, and back, both without a copy. Throws Error.
belay::graph::Constant ConstantOf(const Tensor& tensor, const std::string& where);
Tensor TensorOf(const belay::graph::Constant& constant);

}  // namespace ge
