// The code in the texts of the graph interface's own errors; its functions return a status of their own.
#pragma once

#include "base/codes.h"

namespace belay::graph_interface {

inline constexpr int kBadArgument = codes::kGeParamInvalid;
inline constexpr int kHostMemory = codes::kBadAlloc;
inline constexpr int kNotInitialised = codes::kUninitialize;
inline constexpr int kNoResource = codes::kRtResourceAllocFail;
inline constexpr int kNotSupported = codes::kApiNotSupport;

}  // namespace belay::graph_interface
