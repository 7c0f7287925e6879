// The codes that the graph engine answers with; spec/errors.yaml names them.
#pragma once

namespace belay::graph {

inline constexpr int kGraphInvalid = 145000;     // ACL_ERROR_GE_PARAM_INVALID
inline constexpr int kShapeInvalid = 145021;     // ACL_ERROR_GE_SHAPE_INVALID
inline constexpr int kTypeInvalid = 145022;      // ACL_ERROR_GE_DATATYPE_INVALID
inline constexpr int kMemoryExhausted = 207001;  // ACL_ERROR_RT_MEMORY_ALLOCATION
inline constexpr int kUnsupported = 200001;      // ACL_ERROR_FEATURE_UNSUPPORTED
inline constexpr int kModelLoad = 545001;        // ACL_ERROR_GE_LOAD_MODEL
inline constexpr int kFileUnreadable = 100003;   // ACL_ERROR_INVALID_FILE
inline constexpr int kFileUnwritable = 100004;   // ACL_ERROR_WRITE_FILE
inline constexpr int kFileCorrupt = 100006;      // ACL_ERROR_PARSE_FILE

}  // namespace belay::graph
