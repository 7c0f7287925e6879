// Threads that run user code queued on streams. The pool grows whenever all its threads are busy, so a
// callback that blocks starves nobody; waiting calls inside a callback are refused (InCallback).
//
// The thread that became idle last is called first, so those that a burst has left over stay idle and end
// after a while: all but one. aclFinalize ends and joins the rest.
#pragma once

#include <cstdint>

namespace belay::rt {

using HostFunction = void (*)(void*);

// Runs function(argument) on a callback thread, then done(context) on the same thread.
void RunOnCallbackThread(HostFunction function, void* argument, void (*done)(void*), void* context);

// The same, and waits for its end: for callbacks that the caller has to tell of something before it goes on.
// Where no thread can be started the caller runs it.
void TellOnCallbackThread(HostFunction function, void* argument);

// Throws where there is no callback thread and the system gives none: asked by calls that queue a callback,
// which then never finds none at all.
void NeedCallbackThread();

// Ends all callback threads, those that still run something when they have, and joins them (but for the
// calling thread, if it is one).
void EndCallbackThreads();

// How long a thread that nobody needs stays; for tests.
void SetCallbackIdleTime(int64_t ns);

// Whether the calling thread is inside a callback.
bool InCallback();
// And whether somebody waits for its end.
bool InAwaitedCallback();

// Marks the calling thread as being inside a callback while in scope (aclrtProcessReport).
class CallbackScope {
 public:
  explicit CallbackScope(bool awaited = true);
  ~CallbackScope();

 private:
  const bool awaited_;
};

}  // namespace belay::rt
