// Codes of errors that several files of this room use, by what they mean here.
#pragma once

#include "base/codes.h"

namespace belay::rt {

inline constexpr int kBadArgument = codes::kInvalidParam;
inline constexpr int kOutOfMemory = codes::kRtMemoryAllocation;
inline constexpr int kNoSuchOffer = codes::kRtInvalidHandle;

}  // namespace belay::rt
