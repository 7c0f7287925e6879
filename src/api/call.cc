#include "api/call.h"

#include <new>
#include <string_view>

#include "api/error_trail.h"
#include "api/faults.h"
#include "api/log.h"
#include "base/codes.h"
#include "base/error_about.h"
#include "runtime/capture.h"
#include "runtime/observer.h"

namespace belay::api {
namespace {

constexpr int kLeastRuntimeCode = 1000;

// Functions of some interfaces give codes of their own, which are small numbers, for what the runtime
// refuses.
int CodeOf(const FunctionInfo& info, int code) {
  if (info.other_code == 0 || code < kLeastRuntimeCode) return code;
  switch (code) {
    case codes::kInvalidParam:
    case codes::kRtParamInvalid:
    case codes::kRtInvalidDeviceid:
    case codes::kRtInvalidHandle:
      return info.argument_code;
    case codes::kBadAlloc:
    case codes::kRtMemoryAllocation:
      return info.memory_code;
    default:
      return info.other_code;
  }
}

int Report(Fn fn, int runtime_code, const char* id, std::string_view sentence,
           const void* about = nullptr) noexcept {
  const int code = CodeOf(InfoOf(fn), runtime_code);
  if (rt::Observers::any()) {
    rt::Observers::Tell([&](rt::Observer& o) {
      o.Refused({static_cast<uint32_t>(fn) + 1, code, id, sentence, about});
    });
  }
  LogError(InfoOf(fn).name, code, id, sentence);
  TellError(code, InfoOf(fn).name, id, sentence);
  return code;
}

// Installed when the library is loaded, as is the namer, in either order.
constinit std::span<const char* const> g_other_names;

const char* NameOfCall(uint32_t call) {
  if (call == 0) return "a call";
  if (call < kFirstOtherCall) return kFunctions[call - 1].name;
  return call - kFirstOtherCall < g_other_names.size() ? g_other_names[call - kFirstOtherCall] : "a call";
}

const bool g_namer_installed = [] {
  rt::SetCallNamer(&NameOfCall);
  return true;
}();

}  // namespace

void NameOtherCalls(std::span<const char* const> names) { g_other_names = names; }

int ReportCurrentException(Fn fn) noexcept {
  (void)g_namer_installed;
  try {
    throw;
  } catch (const Error& error) {
    const auto* about = dynamic_cast<const ErrorAbout*>(&error);
    return Report(fn, error.code(), error.id(), error.sentence(),
                  about == nullptr ? nullptr : about->about());
  } catch (const std::bad_alloc&) {
    return Report(fn, codes::kBadAlloc, "out-of-memory", "host memory ran out");
  } catch (const std::exception& error) {
    return Report(fn, codes::kInternalError, "internal", error.what());
  } catch (...) {
    return Report(fn, codes::kInternalError, "internal", "an exception of an unknown type");
  }
}

void CheckCall(Fn fn) {
  if (rt::Running()) return MaybeFailCall(fn);
  switch (rt::StateOfProcess()) {
    case rt::ProcessState::kForked:
      Fail(codes::kUninitialize, "forked-child",
           "this process was forked from one that uses Belay; nothing of the parent's devices exists here, "
           "call aclInit to start afresh");
    case rt::ProcessState::kEnding:
    case rt::ProcessState::kFinalized:
      Fail(codes::kUninitialize, "after-finalize", "aclFinalize was called; call aclInit again first");
    default:
      Fail(codes::kUninitialize, "before-init", "aclInit was not called; call it first");
  }
}

}  // namespace belay::api
