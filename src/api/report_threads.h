// The older scheme of callbacks: a thread of the program subscribes to streams and runs their callbacks
// inside aclrtProcessReport.
#pragma once

#include <cstdint>

#include "runtime/stream.h"

namespace belay::api {

void SubscribeReport(uint64_t thread, rt::Stream& stream);    // 107011 when the stream has a thread
void UnsubscribeReport(uint64_t thread, rt::Stream& stream);  // 107011 / 107012 when it does not match
// 107015 when no thread subscribed to the stream.
void LaunchReport(rt::Stream& stream, void (*function)(void*), void* argument, bool blocks);
// Runs the callbacks that are due, waiting for the first until the deadline (-1: for ever). 107012 when the
// calling thread did not subscribe, 107019 when nothing came.
void ProcessReport(int64_t deadline_ns);

// The stream has gone.
void ForgetSubscription(HandleBits stream);
// aclFinalize: no thread waits for callbacks any more.
void CloseReports();

}  // namespace belay::api
