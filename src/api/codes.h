// Codes of errors that several files of this room use, by what they mean here.
#pragma once

#include "base/codes.h"

namespace belay::api {

inline constexpr int kBadArgument = codes::kInvalidParam;
inline constexpr int kNotSupported = codes::kRtFeatureNotSupport;

}  // namespace belay::api
