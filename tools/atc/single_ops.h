// --singleop: operators that are described in a JSON file, each compiled to a file that
// aclopSetModelDir and aclopLoad take.
#pragma once

#include <string>
#include <vector>

#include "graph/single_op.h"

namespace atc {

struct DescribedOp {
  std::string name;  // of its file, without .om
  belay::graph::SingleOp op;
};

// Throws belay::Error that names the operator and the field that cannot be used.
std::vector<DescribedOp> ReadSingleOps(const std::string& json);

// Writes folder/<name>.om for each; the folder is made.
void CompileSingleOps(const std::string& json_path, const std::string& folder);

}  // namespace atc
