/**
 * What C++ programs have besides the C functions since version 9.1: typed pointers without a cast and
 * defaults. Each calls the C function that its comment names. acl/acl_rt.h includes this header.
 */
#ifndef BELAY_ACL_ACL_RT_OVERLOADS_H_
#define BELAY_ACL_ACL_RT_OVERLOADS_H_

#include "acl/acl_rt.h"

/** aclrtCreateStreamWithConfig. Page: aclcppdevg_03_2222 */
inline aclError aclrtCreateStream(aclrtStream *stream, uint32_t priority, uint32_t flag) {
  return aclrtCreateStreamWithConfig(stream, priority, flag);
}

/** aclrtSynchronizeStreamWithTimeout; timeout in milliseconds, -1 is no limit. */
inline aclError aclrtSynchronizeStream(aclrtStream stream, int32_t timeout) {
  return aclrtSynchronizeStreamWithTimeout(stream, timeout);
}

/** aclrtMallocWithCfg, huge pages preferred. Page: aclcppdevg_03_2235 */
template <typename T>
aclError aclrtMalloc(T **devPtr, size_t size, aclrtMallocConfig *cfg = nullptr) {
  return aclrtMallocWithCfg(reinterpret_cast<void **>(devPtr), size, ACL_MEM_MALLOC_HUGE_FIRST, cfg);
}

/** aclrtMallocWithCfg. Page: aclcppdevg_03_2235 */
template <typename T>
aclError aclrtMalloc(T **devPtr, size_t size, aclrtMemMallocPolicy policy,
                     aclrtMallocConfig *cfg = nullptr) {
  return aclrtMallocWithCfg(reinterpret_cast<void **>(devPtr), size, policy, cfg);
}

/** aclrtMemcpy. Page: aclcppdevg_03_2237 */
template <typename T, typename U>
aclError aclrtMemcpy(T *dst, size_t destMax, const U *src, size_t count, aclrtMemcpyKind kind) {
  return aclrtMemcpy(static_cast<void *>(dst), destMax, static_cast<const void *>(src), count, kind);
}

/** aclrtMemcpyAsync. Page: aclcppdevg_03_2238 */
template <typename T, typename U>
aclError aclrtMemcpyAsync(T *dst, size_t destMax, const U *src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream) {
  return aclrtMemcpyAsync(static_cast<void *>(dst), destMax, static_cast<const void *>(src), count,
                          kind, stream);
}

#endif  /* BELAY_ACL_ACL_RT_OVERLOADS_H_ */
