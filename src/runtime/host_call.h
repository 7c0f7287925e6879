// User functions queued on a stream (aclrtLaunchHostFunc, aclrtLaunchCallback).
#pragma once

#include <memory>
#include <new>
#include <string>

#include "runtime/callback_pool.h"
#include "runtime/stream.h"
#include "runtime/task.h"

namespace belay::rt {

struct HostCall;

// Whose threads run a host function.
struct HostCallScheme {
  // Begins the call; done(context) is called once when it is over, however it ends. Throws when nobody can
  // run it.
  void (*start)(const HostCall& call, HostFunction done, void* context);
  // Takes a call back that has not begun, or says that somebody runs it. It may only try locks. Null: a call
  // cannot be taken back.
  CancelResult (*withdraw)(void* context);
};

// What the body of each task of class kHostCall begins with: a replay needs no more of it.
struct HostCall {
  HostFunction function;
  void* argument;
  const HostCallScheme* scheme;
};

// The runtime's own threads.
inline constexpr HostCallScheme kCallbackPool{[](const HostCall& call, HostFunction done, void* context) {
                                                RunOnCallbackThread(call.function, call.argument, done,
                                                                    context);
                                              },
                                              nullptr};

// Runs on a callback thread; the stream is parked meanwhile.
struct HostCallTask {
  static constexpr const char* kName = "host function";
  static constexpr TaskClass kClass = TaskClass::kHostCall;
  HostCall call;

  HostCallTask(HostFunction function, void* argument) : call{function, argument, &kCallbackPool} {}

  void Ranges(RangeVisitor& visit) const { visit.TouchesUnknown(); }
  bool Proceed(Stream& stream) const {
    if (stream.TakeCallbackDone()) return true;
    if (Observers::any()) [[unlikely]]
      TellHostLearned(stream, stream.completed());
    HostCall copy = call;  // once parked, this body may be gone
    stream.Park({ParkReason::kCallback});
    std::exception_ptr failure;
    try {
      copy.scheme->start(
          copy, [](void* s) { static_cast<Stream*>(s)->CallbackDone(); }, &stream);
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure != nullptr) stream.CallbackDone(std::move(failure));  // and the task fails when it goes on
    return false;
  }
};

}  // namespace belay::rt
