// The life of the runtime in a process: counted aclInit, aclFinalize, fork and exit.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/settings.h"

namespace belay::rt {

// kEnding: aclFinalize has begun; calls are refused, those in flight come to their end.
enum class ProcessState : uint8_t { kNotStarted, kRunning, kEnding, kFinalized, kForked };

extern std::atomic<ProcessState> g_process_state;
inline bool Running() { return g_process_state.load(std::memory_order_acquire) == ProcessState::kRunning; }
// One of the settings of the running process, or of those that it would start with.
template <class T>
T SettingNow(T Settings::*which) {
  return Running() ? CurrentSettings().*which : ReadSettings().*which;
}
// Whether calls are to be made without further questions: the process runs, and nobody wants to be asked
// about each call.
extern std::atomic<bool> g_calls_pass;
inline bool CallsPass() { return g_calls_pass.load(std::memory_order_acquire); }
// Calls ask from the next start on, or no more; for aclInit.
void SetCallsAsk(bool ask);
inline ProcessState StateOfProcess() { return g_process_state.load(std::memory_order_acquire); }

// One more aclInit. The first one (also after a finalize, or in a forked child) starts the runtime with
// the settings of the environment; default_device is -1 for none. A later one may not change it.
void Start(int default_device);
// aclFinalizeReference: one aclInit less; stops at zero. Returns what is left.
uint64_t StopOne();
// aclFinalize: stops at once. Calls that other threads are in return before anything is torn down.
void Stop();
// Called while calls in flight are waited for, perhaps many times: it sets free those that wait for
// something that the runtime knows nothing of. One for the process.
void SetCallReleaser(void (*release)());

}  // namespace belay::rt
