// The status codes that operators answer with.
#pragma once

#include "base/codes.h"

namespace belay::tensor {

inline constexpr int kNullArgument = codes::kAclnnParamNullptr;
inline constexpr int kInvalidArgument = codes::kAclnnParamInvalid;
inline constexpr int kRuntimeFailure = codes::kAclnnRuntimeError;
inline constexpr int kNoExecutor = codes::kAclnnInnerCreateExecutor;
inline constexpr int kInnerNull = codes::kAclnnInnerNullptr;

}  // namespace belay::tensor
