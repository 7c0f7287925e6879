// Arguments of calls whose work reaches the memory of one device.
#pragma once

#include <cstddef>

#include "api/codes.h"
#include "base/error.h"
#include "runtime/context.h"
#include "runtime/memory.h"

namespace belay::api {

// Throws Error unless [p, p+bytes) is memory of the stream's device. `argument` names the parameter.
inline void CheckOnDeviceOf(const rt::Stream& stream, const void* p, size_t bytes, const char* argument) {
  const rt::MemoryRange range = rt::CheckRange(p, bytes, argument);
  const int device = stream.context().device().id();
  if (range.kind == rt::MemoryKind::kDevice && range.device == device) return;
  Fail(kBadArgument, "memory-not-of-device", "{} is {}; memory of device {} is wanted", argument,
       rt::DescribeAddress(p), device);
}

}  // namespace belay::api
