#include "acl/acl.h"

int main() { return aclInit(nullptr) == ACL_SUCCESS ? aclFinalize() : 1; }
