// Operators that work together with the other ranks of a group: what both stages have in common.
#pragma once

#include <aclnn/acl_meta.h>

#include <cstdint>

namespace conformance {

// What a stage refuses an argument with: a pointer that is null, and any other.
inline constexpr int kNull = 161001, kInvalid = 161002;

using Stage2 = aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);

}  // namespace conformance
