// Status codes of sessions.
#pragma once

#include <cstdint>

#include "../graph/ge_error_codes.h"

namespace ge {

using Status = uint32_t;

constexpr Status SUCCESS = 0;
constexpr Status FAILED = 0xFFFFFFFF;
constexpr Status PARAM_INVALID = 0x50100001;
constexpr Status GE_CLI_GE_NOT_INITIALIZED = 0x5010100B;

}  // namespace ge
