// Threads that run user code queued on streams. The pool grows whenever all its threads are busy, so a
// callback that blocks starves nobody; waiting calls inside a callback are refused (InCallback).
#pragma once

#include <cstdint>

namespace belay::rt {

using HostFunction = void (*)(void*);

// Runs function(argument) on a callback thread, then done(context) on the same thread.
void RunOnCallbackThread(HostFunction function, void* argument, void (*done)(void*), void* context);

// The same, and waits for its end: for callbacks that the caller has to tell of something before it goes on.
// Where no thread can be started the caller runs it.
void TellOnCallbackThread(HostFunction function, void* argument);

// Whether the calling thread is inside a callback.
bool InCallback();

// Marks the calling thread as being inside a callback while in scope (aclrtProcessReport).
class CallbackScope {
 public:
  CallbackScope();
  ~CallbackScope();
};

}  // namespace belay::rt
