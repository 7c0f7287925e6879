#include <acl/acl.h>

#include "built-in/op_proto/inc/all_ops.h"
#include "ge/ge_ir_build.h"
#include "graph/graph.h"

int main() {
  ge::op::Relu relu("relu");
  return aclInit(nullptr) == ACL_SUCCESS ? aclFinalize() : 1;
}
