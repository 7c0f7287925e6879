// The guard around the functions of the graph interface: an Error becomes a status, and its text is what
// aclGetRecentErrMsg and GEGetErrorMsg tell. Tasks that are submitted within name the function.
#pragma once

#include <cxxabi.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "ge/functions.h"

namespace belay::graph_interface {

// Call it inside a catch block. Of graphs GRAPH_PARAM_INVALID for what is wrong with an option or an
// argument, else GRAPH_FAILED; of sessions FAILED, GE_CLI_GE_NOT_INITIALIZED, and PARAM_INVALID for a graph
// that does not compile for that reason.
[[gnu::cold, gnu::noinline]] uint32_t ReportCurrentException(const char* function) noexcept;

// Both as functions of sessions tell them; the thread's latest.
const std::string& LastErrorText();
const std::string& LastWarningText();
void Warn(const char* function, std::string text);

// A call of the program's. One from within another is a part of that.
class Call {
 public:
  explicit Call(const Function& function);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  // For those who watch.
  void Gives(const char* result) { result_ = result; }
  uint32_t Fails(uint32_t status);

 private:
  std::optional<api::CallScope> scope_;
  int64_t begun_ns_ = 0;
  bool told_ = false;  // that it has begun
  const char* result_ = "";
};

template <class Body>
[[gnu::no_sanitize("undefined")]] uint32_t Guarded(const Function& function, Body&& body) {
  Call call(function);
  try {
    body();
    call.Gives("SUCCESS");
    return 0;
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    return call.Fails(ReportCurrentException(function.name));
  }
}

// The same for a function that returns something else than a status.
template <class Value, class Body>
[[gnu::no_sanitize("undefined")]] Value GuardedValue(const Function& function, Value on_error, Body&& body) {
  Call call(function);
  try {
    return body();
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    call.Fails(ReportCurrentException(function.name));
    return on_error;
  }
}

}  // namespace belay::graph_interface
