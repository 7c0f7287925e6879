// The status codes that operators answer with. The headers in include/ carry the same numbers for
// programs (spec/errors.yaml); a static_assert in src/api holds the two together.
#pragma once

namespace belay::tensor {

inline constexpr int kNullArgument = 161001;     // ACLNN_ERR_PARAM_NULLPTR
inline constexpr int kInvalidArgument = 161002;  // ACLNN_ERR_PARAM_INVALID
inline constexpr int kRuntimeFailure = 361001;   // ACLNN_ERR_RUNTIME_ERROR
inline constexpr int kNoExecutor = 561101;       // ACLNN_ERR_INNER_CREATE_EXECUTOR
inline constexpr int kInnerNull = 561103;        // ACLNN_ERR_INNER_NULLPTR

}  // namespace belay::tensor
