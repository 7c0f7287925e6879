// The codes that the graph engine answers with; spec/errors.yaml names them.
#pragma once

#include "base/codes.h"

namespace belay::graph {

inline constexpr int kGraphInvalid = codes::kGeParamInvalid;
inline constexpr int kShapeInvalid = codes::kGeShapeInvalid;
inline constexpr int kTypeInvalid = codes::kGeDatatypeInvalid;
inline constexpr int kMemoryExhausted = codes::kRtMemoryAllocation;
inline constexpr int kUnsupported = codes::kApiNotSupport;
inline constexpr int kModelLoad = codes::kGeLoadModel;
inline constexpr int kFileUnreadable = codes::kInvalidFile;
inline constexpr int kFileUnwritable = codes::kWriteFile;
inline constexpr int kFileCorrupt = codes::kParseFile;

}  // namespace belay::graph
