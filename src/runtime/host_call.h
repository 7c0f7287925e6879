// User functions queued on a stream (aclrtLaunchHostFunc, aclrtLaunchCallback).
#pragma once

#include <string>

#include "runtime/callback_pool.h"
#include "runtime/stream.h"
#include "runtime/task.h"

namespace belay::rt {

// Runs on a callback thread; the stream is parked meanwhile.
struct HostCallTask {
  static constexpr const char* kName = "host function";
  static constexpr TaskClass kClass = TaskClass::kHostCall;
  HostFunction function;
  void* argument;

  bool Proceed(Stream& stream) const {
    if (stream.TakeCallbackDone()) return true;
    HostCallTask copy = *this;  // once parked, this body may be gone
    stream.Park({ParkReason::kCallback});
    try {
      RunOnCallbackThread(copy.function, copy.argument, [](void* s) { static_cast<Stream*>(s)->CallbackDone(); },
                          &stream);
    } catch (const Error& error) {
      stream.StoreFailure(std::make_unique<TaskFailure>(
          TaskFailure{error.code(), error.id(), error.sentence(), kName, 0, stream.completed() + 1}));
      stream.CallbackDone();
    }
    return false;
  }
};

}  // namespace belay::rt
