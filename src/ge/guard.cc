#include "ge/guard.h"

#include <pthread.h>

#include <memory>
#include <new>
#include <string_view>

#include "api/error_trail.h"
#include "api/log.h"
#include "base/clock.h"
#include "base/codes.h"
#include "ge/codes.h"
#include "ge/ge_error_codes.h"
#include "runtime/observer.h"

namespace belay::graph_interface {
namespace {

struct Texts {
  std::string error, warning;
};

// Not a thread_local object: those of the first thread end before the destructors of static objects run,
// which may call functions of the interface too.
constinit thread_local Texts* t_texts = nullptr;

Texts& Mine() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    pthread_key_create(&made, [](void* texts) {
      t_texts = nullptr;
      delete static_cast<Texts*>(texts);
    });
    return made;
  }();
  if (t_texts == nullptr) {
    auto made = std::make_unique<Texts>();
    if (pthread_setspecific(key, made.get()) != 0) throw std::bad_alloc();
    t_texts = made.release();
  }
  return *t_texts;
}

// Functions of sessions and of a graph tell less than those that compile one, by their pages.
uint32_t StatusGivenBy(std::string_view function, int code, std::string_view id) {
  if (function.starts_with("Graph::")) return ge::GRAPH_FAILED;
  const bool argument = code == kBadArgument || id.starts_with("build-");
  if (!function.starts_with("GE") && !function.starts_with("Session"))
    return argument ? ge::GRAPH_PARAM_INVALID : ge::GRAPH_FAILED;
  if (code == kNotInitialised) return ge::GE_CLI_GE_NOT_INITIALIZED;
  return argument && function == "Session::CompileGraph" ? ge::PARAM_INVALID : ge::FAILED;
}

uint32_t Report(const char* function, int code, const char* id, std::string_view sentence) noexcept {
  api::LogError(function, code, id, sentence);
  api::TellError(code, function, id, sentence);
  try {
    Mine().error = api::FormatError(code, function, id, sentence);
  } catch (...) {
    // No memory for the text: the status must do, and not tell of the error before.
    if (t_texts != nullptr) t_texts->error.clear();
  }
  return StatusGivenBy(function, code, std::string_view(id));
}

const char* NameOf(uint32_t status) {
  switch (status) {
    case ge::GRAPH_PARAM_INVALID:
      return "GRAPH_PARAM_INVALID";
    case ge::PARAM_INVALID:
      return "PARAM_INVALID";
    case ge::GE_CLI_GE_NOT_INITIALIZED:
      return "GE_CLI_GE_NOT_INITIALIZED";
    default:
      return "GRAPH_FAILED";
  }
}

const bool g_named = [] {
  api::NameOtherCalls(kFunctions);
  return true;
}();

}  // namespace

uint32_t ReportCurrentException(const char* function) noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return Report(function, error.code(), error.id(), error.sentence());
  } catch (const std::bad_alloc&) {
    return Report(function, codes::kBadAlloc, "out-of-memory", "host memory ran out");
  } catch (const std::exception& error) {
    return Report(function, codes::kInternalError, "internal", error.what());
  } catch (...) {
    return Report(function, codes::kInternalError, "internal", "an exception of an unknown type");
  }
}

Call::Call(const Function& function) {
  (void)g_named;
  if (rt::t_current_call != 0) return;
  scope_.emplace(function.call);
  begun_ns_ = NowNs();
  told_ = rt::Observers::any();
  if (told_) rt::Observers::Tell([&](rt::Observer& o) { o.CallBegan(function.call, begun_ns_); });
}

// GEInitialize has begun when those who watch come.
Call::~Call() {
  if (!scope_ || !rt::Observers::any()) return;
  rt::Observers::Tell([&](rt::Observer& o) {
    if (!told_) o.CallBegan(rt::t_current_call, begun_ns_);
    o.CallEnded(rt::t_current_call, result_);
  });
}

uint32_t Call::Fails(uint32_t status) {
  Gives(NameOf(status));
  return status;
}

const std::string& LastErrorText() { return Mine().error; }
const std::string& LastWarningText() { return Mine().warning; }

void Warn(const char* function, std::string text) {
  if (LogWanted(LogLevel::kWarning)) WriteLog(LogLevel::kWarning, "GE", std::string(function) + ": " + text);
  Mine().warning = std::move(text);
}

}  // namespace belay::graph_interface
