// The two stages of an operator's function, for the generated entries: each of them is one call here.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "aclnn/aclnn_base.h"
#include "api/functions.h"
#include "ops/schema.h"

namespace belay::api {

// An argument as the program passed it: of an object there is a handle, which stage 1 looks up.
inline ops::Arg GivenHandle(ops::ArgKind kind, const void* handle) {
  ops::Arg arg(static_cast<int64_t>(reinterpret_cast<uintptr_t>(handle)));
  arg.kind = kind;
  return arg;
}
inline ops::Arg Given(const aclTensor* tensor) { return GivenHandle(ops::ArgKind::kTensor, tensor); }
inline ops::Arg Given(const aclScalar* scalar) { return GivenHandle(ops::ArgKind::kScalar, scalar); }
inline ops::Arg Given(const aclIntArray* array) { return GivenHandle(ops::ArgKind::kInts, array); }
inline ops::Arg Given(const aclFloatArray* array) { return GivenHandle(ops::ArgKind::kFloats, array); }
inline ops::Arg Given(const aclBoolArray* array) { return GivenHandle(ops::ArgKind::kBools, array); }
inline ops::Arg Given(const aclTensorList* list) { return GivenHandle(ops::ArgKind::kTensors, list); }
inline ops::Arg Given(const aclScalarList* list) { return GivenHandle(ops::ArgKind::kScalars, list); }
inline ops::Arg Given(aclDataType type) { return ops::Arg(static_cast<tensor::DType>(type)); }
inline ops::Arg Given(const char* text) { return ops::Arg(text); }
inline ops::Arg Given(bool value) { return ops::Arg(value); }
inline ops::Arg Given(std::integral auto value) { return ops::Arg(static_cast<int64_t>(value)); }
inline ops::Arg Given(std::floating_point auto value) { return ops::Arg(static_cast<double>(value)); }

// Looks up the arguments (in the order of the call), checks them, makes the plan, and hands out its workspace
// size and its handle.
int RunStage1(Fn fn, const ops::Form& form, std::span<ops::Arg> args, uint64_t* workspace_size,
              aclOpExecutor** executor);

// Checks the addresses and submits the plan. Spends the executor unless it is repeatable.
int RunStage2(Fn fn, const ops::Form& form, void* workspace, uint64_t workspace_size, aclOpExecutor* executor,
              aclrtStream stream);

}  // namespace belay::api
