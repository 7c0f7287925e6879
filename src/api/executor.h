// The two stages of an operator's function, for the generated handlers: each of them is one call
// here.
#pragma once

#include <cstdint>
#include <span>

#include "aclnn/aclnn_base.h"
#include "ops/schema.h"

namespace belay::rt {
class Stream;
}

namespace belay::api {

// Stage 1: checks the arguments, makes the plan, and hands out its workspace size and its handle.
void MakeExecutor(const ops::Form& form, std::span<ops::Arg> args, uint64_t* workspace_size,
                  aclOpExecutor** executor);

// Stage 2: checks the addresses and submits the plan. Spends the executor unless it is repeatable.
void RunExecutor(const ops::Form& form, void* workspace, uint64_t workspace_size, aclOpExecutor* executor,
                 rt::Stream& stream);

}  // namespace belay::api
