#include <acl/acl.h>
#include <aclnn/aclnn_base.h>
#include <aclnnop/aclnn_add.h>

// Found only with the second and the third include folder.
#include <acl_meta.h>

int main() {
  void* functions[] = {reinterpret_cast<void*>(&aclnnAdd), reinterpret_cast<void*>(&aclDestroyTensor)};
  return aclInit(nullptr) == ACL_SUCCESS && functions[0] != functions[1] ? aclFinalize() : 1;
}
