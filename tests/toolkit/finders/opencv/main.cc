#include <acl/acl.h>

#include "built-in/op_proto/inc/all_ops.h"
#include "ge/ge_api_types.h"
#include "ge/ge_ir_build.h"
#include "graph/graph.h"

int main() {
  ge::op::Relu relu("relu");
  ge::AscendString option(ge::ir_option::SOC_VERSION);
  return option.GetLength() > 0 && aclInit(nullptr) == ACL_SUCCESS ? aclFinalize() : 1;
}
