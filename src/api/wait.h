// What the waiting calls share: time limits, what they refuse, and how a failed task surfaces.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/context.h"
#include "runtime/stream.h"

namespace belay::api {

// Waiting inside a callback would wait for itself. Throws 100000.
void RefuseInCallback(const char* call);

// A limit in milliseconds as the pages define it: -1 for ever, else at least 0. Throws 107000 otherwise.
// The result is a NowNs deadline, or -1.
int64_t DeadlineOf(int32_t timeout_ms);

// After a wait: throws 100001 when aclFinalize ended it.
void CheckNotEnded(const char* what);

// Waits until the stream has completed `position`; false when the deadline comes first. pthread_cancel
// may end the wait.
bool WaitUntil(rt::Stream& stream, uint64_t position, int64_t deadline_ns);

// After a wait for the stream: throws 107022 when its tasks were dropped meanwhile. `aborts` is its count
// from before the wait.
void CheckNotAborted(const rt::Stream& stream, uint32_t aborts);

// Waits for all that is on the stream now; surfaces its first failure. Throws timeout_code when the
// deadline comes first.
void WaitForStream(rt::Stream& stream, int64_t deadline_ns, int timeout_code);

// Waits for all that is on the device's streams now, for `call`, and takes the first failure there, if any.
// Throws 107019 when the deadline comes first; 107027 when one of them is being captured.
std::optional<rt::TaskFailure> WaitForDevice(rt::Device& device, const char* call, int64_t deadline_ns);

// Throws what a failed task left, with the task and the call that submitted it.
void Surface(const std::optional<rt::TaskFailure>& failure);

}  // namespace belay::api
