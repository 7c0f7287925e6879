// One operator run by its name: a graph of one node, kept for the next call with the same types.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/handle_table.h"
#include "graph/instance.h"

namespace belay::graph {

// aclopAttr
struct OpAttributes {
  Attributes values;
};

// An argument of a single operator.
struct OpArgument {
  bool present = true;
  ValueType type;
  Constant value;        // elements that are given with the description; such an input has no buffer
  bool on_host = false;  // where its buffer lies
  std::vector<int64_t> tiles = {};  // of ACL_FORMAT_FRACTAL_NZ: the dimensions of the buffer's elements
};

struct SingleOp {
  std::string type;
  std::vector<OpArgument> inputs;
  int outputs = 0;
  Attributes attributes;
  std::vector<ValueType> results = {};  // as the caller describes them; empty: not at all
  std::vector<std::vector<int64_t>> result_tiles =
      {};  // of each result, as for arguments; empty: none has any
};

// The operator as a node without inputs, with the attributes that follow from the descriptions.
Node NodeOf(const SingleOp& op);
// The operator as a node with its inputs and constants. Single operators of one device that draw random
// numbers share a sequence where type and seeds are the same, whatever else differs.
Graph GraphOf(const SingleOp& op);

// aclopHandle
struct OpHandle {
  SingleOp op;
};

extern HandleTable<OpAttributes, HandleKind::kOpAttributes> g_op_attributes;
extern HandleTable<OpHandle, HandleKind::kOpHandle> g_op_handles;

// Ready to run on the device. What draws random numbers goes on in one sequence for its type and seeds,
// whatever else differs from call to call. Its inputs are those that are present and not constant.
std::shared_ptr<Instance> InstanceOf(rt::Device& device, const SingleOp& op);

// Some callers (onnxruntime) give the pads of a window in ONNX's order, all begins before all ends. Puts them
// in ours where only that gives the output that the caller describes.
void FitPads(SingleOp& op);

// Types of the results. Throws Error where elements of an input decide and are not given.
std::vector<ValueType> InferOutputs(const SingleOp& op);

// An instance for it is kept.
bool IsPrepared(rt::Device& device, const SingleOp& op);

// How many prepared operators are kept.
void SetMostKept(size_t count);
void ForgetPreparedOps();

}  // namespace belay::graph
