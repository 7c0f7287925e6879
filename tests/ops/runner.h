// Runs a case through aclnn<Function>GetWorkspaceSize and aclnn<Function>, found by name as a
// framework finds them.
#pragma once

#include <cstdint>
#include <string>

#include "case.h"

namespace belay::cases {

enum class How { kOnce, kRepeatable, kCaptured };

// Empty when the case passed, else what was wrong. The tensors' values come from `seed`.
std::string RunCase(const Case& c, How how, uint32_t seed);

}  // namespace belay::cases
