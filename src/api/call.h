// The guard around every exported function, written once. It refuses calls before aclInit, sets which
// function the thread is in, and turns an Error into its code and a message for aclGetRecentErrMsg.
#pragma once

#include <cxxabi.h>

#include <cstdint>
#include <span>
#include <utility>

#include "api/functions.h"
#include "base/error.h"
#include "runtime/in_flight.h"
#include "runtime/process.h"
#include "runtime/task.h"

namespace belay::api {

// Says in the caller's error trail what went wrong (call it inside a catch block) and gives the code.
[[gnu::cold, gnu::noinline]] int ReportCurrentException(Fn fn) noexcept;
// Throws 100001 with the reason why nothing works now, or what a fault asks for (faults.h).
[[gnu::cold, gnu::noinline]] void CheckCall(Fn fn);

// The numbers of calls: those of Fn from 1 on, and behind them those of an interface that has a table of its
// own.
inline constexpr uint32_t kFirstOtherCall = static_cast<uint32_t>(Fn::kCount) + 1;
void NameOtherCalls(std::span<const char* const> names);

// The function that the thread is in, for messages and for the tasks that it submits; and that it is in
// one at all, for aclFinalize.
class CallScope {
 public:
  explicit CallScope(Fn fn) : CallScope(static_cast<uint32_t>(fn) + 1) {}
  explicit CallScope(uint32_t call)
      : record_(rt::ThisThreadsCalls()), outer_(std::exchange(rt::t_current_call, call)) {
    if (outer_ == 0) [[likely]]
      record_.Enter();
  }
  ~CallScope() {
    rt::t_current_call = outer_;
    if (outer_ != 0) [[unlikely]]
      return;
    record_.Leave();
    if (rt::t_call_record == nullptr) [[unlikely]]
      rt::TellCallLeft();
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  rt::CallRecord& record_;
  const uint32_t outer_;
};

inline void CheckRunning(Fn fn) {
  if (!rt::CallsPass() && InfoOf(fn).needs_init) [[unlikely]]
    CheckCall(fn);
}

// Runs a handler; its status code is the result. A thread that is being cancelled unwinds through here
// (glibc's forced unwinding must not be swallowed; it has no exception object, which UBSan takes for a
// null reference).
template <class Body>
[[gnu::no_sanitize("undefined")]] int Run(Fn fn, Body&& body) {
  CallScope scope(fn);
  try {
    CheckRunning(fn);
    body();
    return 0;
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    return ReportCurrentException(fn);
  }
}

// The same for a function that returns something else than a status.
template <class Value, class Body>
[[gnu::no_sanitize("undefined")]] Value RunValue(Fn fn, Value on_error, Body&& body) {
  CallScope scope(fn);
  try {
    CheckRunning(fn);
    return body();
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    ReportCurrentException(fn);
    return on_error;
  }
}

}  // namespace belay::api
