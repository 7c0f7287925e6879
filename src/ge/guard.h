// The guard around the functions of the graph interface: an Error becomes a status, and its text is what
// aclGetRecentErrMsg and GEGetErrorMsg tell.
#pragma once

#include <cxxabi.h>

#include <cstdint>
#include <string>

#include "base/error.h"

namespace belay::graph_interface {

// Call it inside a catch block. GRAPH_PARAM_INVALID for what is wrong with an option or an argument,
// else GRAPH_FAILED.
[[gnu::cold, gnu::noinline]] uint32_t ReportCurrentException(const char* function) noexcept;

// Both as functions of sessions tell them; the thread's latest.
const std::string& LastErrorText();
const std::string& LastWarningText();
void Warn(const char* function, std::string text);

template <class Body>
[[gnu::no_sanitize("undefined")]] uint32_t Guarded(const char* function, Body&& body) {
  try {
    body();
    return 0;
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    return ReportCurrentException(function);
  }
}

// The same for a function that returns something else than a status.
template <class Value, class Body>
[[gnu::no_sanitize("undefined")]] Value GuardedValue(const char* function, Value on_error, Body&& body) {
  try {
    return body();
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    ReportCurrentException(function);
    return on_error;
  }
}

}  // namespace belay::graph_interface
