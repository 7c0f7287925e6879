#include <acl/acl.h>
#include <acl/acl_op_compiler.h>

#include <map>

#include "ge/ge_ir_build.h"
#include "graph/graph.h"
#include "parser/onnx_parser.h"

// What the libraries that are linked need themselves must be found through them: aclgrphBuildInitialize is
// in none of the three.
int Provide() {
  std::map<ge::AscendString, ge::AscendString> options;
  if (aclInit(nullptr) != ACL_SUCCESS || ge::aclgrphBuildInitialize(options) != ge::GRAPH_SUCCESS) return 1;
  ge::Graph graph("empty");
  ge::graphStatus refused = ge::aclgrphParseONNXFromMem("no model", 8, options, graph);
  ge::aclgrphBuildFinalize();
  return aclFinalize() == ACL_SUCCESS && refused != ge::GRAPH_SUCCESS ? 0 : 2;
}
