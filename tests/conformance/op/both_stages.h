// What tests of aclnn functions share.
#pragma once

#include <aclnn/acl_meta.h>

#include <cstdint>

#include "runtime_fixture.h"

namespace conformance {

class OperatorTest : public RuntimeTest {
 protected:
  // Both stages of a function on the default stream, and the wait.
  template <class Plan, class Run>
  static aclnnStatus Call(Plan plan, Run run) {
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    if (aclnnStatus code = plan(&size, &executor); code != 0) return code;
    void* workspace = nullptr;
    if (size > 0) {
      EXPECT_EQ(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    }
    EXPECT_EQ(run(workspace, size, executor, nullptr), 0);
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
    if (workspace != nullptr) {
      EXPECT_EQ(aclrtFree(workspace), ACL_SUCCESS);
    }
    return 0;
  }
};

}  // namespace conformance
