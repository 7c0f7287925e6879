#include "layers/trace/call_watch.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
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
  Profiles::Each([&](Profile& profile, bool) { profile.AddCall(*g_calls, call, begun, took); });
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
  writer.ShowCall();  // a call within another
  if (++writer.depth <= Writer::kMostCalls) writer.calls[writer.depth - 1] = {call, false, writer.Now()};
}

void End(uint32_t call, uint64_t result, const uint64_t* arguments) {
  Writer& writer = g_timeline->ThisWriter();
  if (writer.depth == 0) return;
  if (const Writer::Call* own = writer.call(); own != nullptr) {
    const uint64_t begun = own->begun, now = writer.Now();
    writer.ShowCall();
    const BelayCall& facts = g_calls->calls[call];
    if (facts.result[0] == 'r' && static_cast<int>(result) != 0) {
      const std::string text = "gives " + StatusWords(*g_calls, static_cast<int>(result));
      writer.Event(EventType::kInstant, &writer.track, now, writer.NumberOf(text));
    }
    writer.Event(EventType::kEnd, &writer.track, now, 0);
    if (Profiles::any()) NoteInProfile(call, begun, now - begun, result, arguments);
    if (g_log != nullptr) {
      g_log->Write({begun, now, writer.thread}, CallWords(*g_calls, call, result, arguments, g_words.load()));
    }
  }
  --writer.depth;
}

constexpr BelayCallHook kHook = {&Begin, &End};

}  // namespace

size_t CountOfCalls() { return g_calls == nullptr ? 0 : g_calls->count; }
const char* NameOfCall(uint32_t call) { return g_calls->calls[call].name; }
void KnowCore(const rt::CoreFacts& core) { g_words = core.object_words; }

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
  const char* log = std::getenv("BELAY_CALLS_FILE");
  if (log != nullptr && *log != '\0') g_log = new CallLog(log);
  return &kHook;
}
