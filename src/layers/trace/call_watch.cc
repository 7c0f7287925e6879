#include "layers/trace/call_watch.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "layers/trace/call_log.h"
#include "layers/trace/profile.h"
#include "layers/trace/timeline.h"

namespace belay::trace {
namespace {

const BelayCalls* g_calls = nullptr;  // set before the first call is told of
Timeline* g_timeline = nullptr;
CallLog* g_log = nullptr;
struct Executors {
  int made, run;  // which argument it is; -1: none
};
const std::vector<Executors>* g_executors = nullptr;  // of each call, for profiles
std::atomic<ObjectWords> g_words{nullptr};

const std::vector<Executors>* ExecutorsOf(const BelayCalls& calls) {
  auto* executors = new std::vector<Executors>;
  for (uint32_t i = 0; i < calls.count; ++i) {
    executors->push_back({ExecutorMadeBy(calls.calls[i]), ExecutorRunBy(calls.calls[i])});
  }
  return executors;
}

void NoteInProfile(uint32_t call, uint64_t begun, uint64_t took, uint64_t result, const uint64_t* arguments) {
  const char* name = g_calls->calls[call].name;
  Profiles::Each([&](Profile& profile, bool) { profile.AddCall(name, Profile::LevelOf(name), begun, took); });
  const int makes = (*g_executors)[call].made;
  if (makes < 0 || static_cast<int>(result) != 0) return;
  uint64_t executor;
  std::memcpy(&executor, reinterpret_cast<const void*>(arguments[makes]), sizeof executor);
  Profiles::Each(
      [&](Profile& profile, bool) { profile.Keep(executor, *g_calls, call, arguments, g_words.load()); });
}

void Begin(uint32_t call, const uint64_t* arguments) {
  Writer& writer = g_timeline->ThisWriter();
  if (Profiles::any()) {
    const int runs = (*g_executors)[call].run;
    writer.operands = nullptr;
    if (runs >= 0) {
      Profiles::Each([&](Profile& profile, bool) {
        if (writer.operands == nullptr) writer.operands = profile.Find(arguments[runs]);
      });
    }
  }
  writer.BeginCall(g_calls->calls[call].name, writer.Now());
}

void End(uint32_t call, uint64_t result, const uint64_t* arguments) {
  Writer& writer = g_timeline->ThisWriter();
  const bool fails = g_calls->calls[call].result[0] == 'r' && static_cast<int>(result) != 0;
  const auto time =
      fails ? writer.EndCall(StatusWords(*g_calls, static_cast<int>(result))) : writer.EndCall();
  if (!time) return;
  if (Profiles::any()) NoteInProfile(call, time->begun, time->ended - time->begun, result, arguments);
  if (g_log != nullptr) {
    g_log->Write({time->begun, time->ended, writer.thread},
                 CallWords(*g_calls, call, result, arguments, g_words.load()));
  }
}

constexpr BelayCallHook kHook = {&Begin, &End};

// Where the program begins with a call of C, and where with another; anew in a child of fork.
void OpenLog() {
  static std::mutex lock;
  static pid_t process = 0;
  std::lock_guard guard(lock);
  if (std::exchange(process, getpid()) == getpid()) return;
  const char* path = std::getenv("BELAY_CALLS_FILE");
  if (path != nullptr && *path != '\0') g_log = new CallLog(path);
}

}  // namespace

void EndNamedCall(Writer& writer, const char* name, std::string_view result) {
  const bool fails = !result.empty() && result != "SUCCESS";
  const auto time = writer.EndCall(fails ? std::string(result) : "");
  if (!time) return;
  Profiles::Each([&](Profile& profile, bool) {
    profile.AddCall(name, "Model", time->begun, time->ended - time->begun);
  });
  if (g_log == nullptr) return;
  std::string words = std::string(name) + "(...)";
  if (!result.empty()) words.append(" = ").append(result);
  g_log->Write({time->begun, time->ended, writer.thread}, words);
}

void KnowCore(const rt::CoreFacts& core) {
  g_words = core.object_words;
  OpenLog();
}

}  // namespace belay::trace

// After everything of the program that makes calls.
[[gnu::destructor]] static void EndOfProcess() {
  if (belay::trace::g_log != nullptr) belay::trace::g_log->Trim();
  belay::trace::Profiles::Each([](belay::trace::Profile& profile, bool) { profile.Finish(); });
}

extern "C" [[gnu::visibility("default")]] const BelayCallHook* belay_make_call_hook(const BelayCalls* calls) {
  using namespace belay::trace;
  if (g_calls == nullptr) g_calls = calls;
  g_timeline = &Timeline::OfProcess();
  Profiles::BeginRun();
  if (g_executors == nullptr) g_executors = ExecutorsOf(*calls);
  OpenLog();
  return &kHook;
}
