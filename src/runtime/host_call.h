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

// While there is one observers take the calling thread to be in a function that this task calls: also when
// that ends the thread.
class TellsOfCallback {
 public:
  TellsOfCallback(const Stream& stream, uint64_t position) : stream_(stream), position_(position) {
    Observers::Tell([&](Observer& o) { o.CallbackBegins(stream_, position_); });
  }
  ~TellsOfCallback() {
    Observers::Tell([&](Observer& o) { o.CallbackIsOver(stream_, position_); });
  }
  TellsOfCallback(const TellsOfCallback&) = delete;
  TellsOfCallback& operator=(const TellsOfCallback&) = delete;

 private:
  const Stream& stream_;
  const uint64_t position_;
};

// A call of which observers are told.
struct WatchedCall {
  HostFunction function;
  void* argument;
  const Stream& stream;
  uint64_t position;

  static void Run(void* taken) {
    const std::unique_ptr<WatchedCall> call(static_cast<WatchedCall*>(taken));
    const TellsOfCallback tells(call->stream, call->position);
    call->function(call->argument);
  }
};

// Runs on a callback thread; the stream is parked meanwhile.
struct HostCallTask {
  static constexpr const char* kName = "host function";
  static constexpr TaskClass kClass = TaskClass::kHostCall;
  HostCall call;

  HostCallTask(HostFunction function, void* argument) : call{function, argument, &kCallbackPool} {}

  void Ranges(RangeVisitor& visit) const { visit.TouchesUnknown(); }
  bool Proceed(Stream& stream) const {
    if (stream.TakeCallbackDone()) return true;
    HostCall copy = call;  // once parked, this body may be gone
    std::unique_ptr<WatchedCall> watched;
    if (Observers::any()) [[unlikely]] {
      TellHostLearned(stream, stream.completed());
      watched.reset(new WatchedCall{call.function, call.argument, stream, stream.completed() + 1});
      copy.function = &WatchedCall::Run;
      copy.argument = watched.get();
    }
    stream.Park({ParkReason::kCallback});
    std::exception_ptr failure;
    try {
      copy.scheme->start(
          copy, [](void* s) { static_cast<Stream*>(s)->CallbackDone(); }, &stream);
      (void)watched.release();  // the function's
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure != nullptr) stream.CallbackDone(std::move(failure));  // and the task fails when it goes on
    return false;
  }
};

}  // namespace belay::rt
