// The code in the texts of the graph interface's own errors; its functions return a status of their own.
#pragma once

namespace belay::graph_interface {

inline constexpr int kBadArgument = 145000;     // ACL_ERROR_GE_PARAM_INVALID
inline constexpr int kHostMemory = 200000;      // ACL_ERROR_BAD_ALLOC
inline constexpr int kNotInitialised = 100001;  // ACL_ERROR_UNINITIALIZE
inline constexpr int kNoResource = 207005;      // ACL_ERROR_RT_RESOURCE_ALLOC_FAIL
inline constexpr int kNotSupported = 200001;    // ACL_ERROR_FEATURE_UNSUPPORTED

}  // namespace belay::graph_interface
