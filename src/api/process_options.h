// Options of the whole process that calls set. aclInit puts the defaults back when it starts afresh.
#pragma once

#include <atomic>
#include <cstdint>

#include "acl/acl_rt.h"

namespace belay::api {

struct ProcessOptions {
  std::atomic<uint32_t> wait_limit_s{0};  // aclrtSetOpWaitTimeout; 0: none
  std::atomic<int> saturation{ACL_RT_OVERFLOW_MODE_INFNAN};

  void Reset() {
    wait_limit_s.store(0);
    saturation.store(ACL_RT_OVERFLOW_MODE_INFNAN);
  }
};

inline constinit ProcessOptions g_options;
inline ProcessOptions& Options() { return g_options; }

}  // namespace belay::api
