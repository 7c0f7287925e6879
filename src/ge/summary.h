// What stands behind a ge::CompiledGraphSummary.
#pragma once

#include <vector>

#include "ge/ge_graph_compile_summary.h"
#include "graph/model.h"

namespace ge {

class SummaryData {
 public:
  static CompiledGraphSummaryPtr Of(belay::graph::Model& model);

  bool is_static = false;
  size_t constant_bytes = 0, work_bytes = 0;
  std::vector<Shape> shapes;
  std::vector<DataType> dtypes;
};

}  // namespace ge
