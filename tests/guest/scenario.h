// Small programs that use Belay as a guest of a process that does odd things. A program holds several
// scenarios; ctest runs each in a process of its own: `guest_exit from_callback`. A scenario passes when
// the process ends with code 0; EXPECT ends it with 1 at once, from whatever thread or destructor.
#pragma once

#include <acl/acl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#define EXPECT(condition)                                                \
  do {                                                                   \
    if (!(condition)) ::guest::FailedAt(__FILE__, __LINE__, #condition); \
  } while (0)
#define OK(call)                                                                                    \
  do {                                                                                              \
    if (int code = (call); code != ACL_SUCCESS) ::guest::FailedAt(__FILE__, __LINE__, #call, code); \
  } while (0)

// SCENARIO(name) { ... } at the start of a line: CMake makes a test of each.
#define SCENARIO(name)                                                     \
  static void Scenario_##name();                                           \
  static const ::guest::Register register_##name(#name, &Scenario_##name); \
  static void Scenario_##name()

namespace guest {

// For what a sanitizer's own runtime cannot stand.
inline void SkipUnderSanitizers() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  _exit(77);
#endif
}

// Where its thread in the background would be counted as one of ours.
inline void SkipUnderThreadSanitizer() {
#if defined(__SANITIZE_THREAD__)
  _exit(77);
#endif
}

[[noreturn]] inline void FailedAt(const char* file, int line, const char* what, int code = 0) {
  const char* text = code == 0 ? nullptr : aclGetRecentErrMsg();
  std::fprintf(stderr, "%s:%d: %s", file, line, what);
  if (code != 0) std::fprintf(stderr, " gave %d: %s", code, text == nullptr ? "no message" : text);
  std::fputc('\n', stderr);
  _exit(1);
}

struct Entry {
  const char* name;
  void (*run)();
};
inline std::vector<Entry>& Entries() {
  static auto* entries = new std::vector<Entry>;
  return *entries;
}
struct Register {
  Register(const char* name, void (*run)()) { Entries().push_back({name, run}); }
};

inline int RunScenario(int argc, char** argv) {
  for (const Entry& entry : Entries()) {
    if (argc < 2 || std::strcmp(entry.name, argv[1]) != 0) continue;
    entry.run();
    return 0;
  }
  std::fprintf(stderr, "usage: %s scenario\n", argv[0]);
  return 2;
}

// Spins without any call of the system until the flag is set.
inline void Await(const std::atomic<bool>& flag) {
  while (!flag.load()) std::this_thread::yield();
}

// A host function that keeps its stream until it is told to go on.
struct Gate {
  std::atomic<bool> entered{false};
  std::atomic<bool> open{false};
  static void Wait(void* self) {
    auto* gate = static_cast<Gate*>(self);
    gate->entered = true;
    Await(gate->open);
  }
};

// Copies through the device, two streams, an event, and a replayed capture: checks every byte. The
// thread has a device.
inline void UseDevice(uint8_t seed = 1) {
  constexpr size_t kBytes = 4096;
  std::vector<uint8_t> in(kBytes), out(kBytes);
  for (size_t i = 0; i < kBytes; ++i) in[i] = static_cast<uint8_t>(i * 7 + seed);
  void *a = nullptr, *b = nullptr;
  OK(aclrtMalloc(&a, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMalloc(&b, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  aclrtStream first = nullptr, second = nullptr;
  OK(aclrtCreateStream(&first));
  OK(aclrtCreateStream(&second));
  aclrtEvent event = nullptr;
  OK(aclrtCreateEvent(&event));

  OK(aclrtMemcpyAsync(a, kBytes, in.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE, first));
  OK(aclrtRecordEvent(event, first));
  OK(aclrtStreamWaitEvent(second, event));
  OK(aclrtMemcpyAsync(b, kBytes, a, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, second));
  OK(aclrtMemcpyAsync(out.data(), kBytes, b, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, second));
  OK(aclrtSynchronizeStream(second));
  EXPECT(in == out);

  aclmdlRI model = nullptr;
  OK(aclmdlRICaptureBegin(first, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
  OK(aclrtMemsetAsync(b, kBytes, seed, kBytes, first));
  OK(aclrtMemcpyAsync(a, kBytes, b, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, first));
  OK(aclmdlRICaptureEnd(first, &model));
  OK(aclmdlRIExecuteAsync(model, second));
  OK(aclrtSynchronizeStream(second));
  OK(aclrtMemcpy(out.data(), kBytes, a, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT(out == std::vector<uint8_t>(kBytes, seed));
  OK(aclmdlRIDestroy(model));

  OK(aclrtDestroyEvent(event));
  OK(aclrtDestroyStream(first));
  OK(aclrtDestroyStream(second));
  OK(aclrtFree(a));
  OK(aclrtFree(b));
}

inline void Start() {
  OK(aclInit(nullptr));
  OK(aclrtSetDevice(0));
}
inline void WholeProgram(uint8_t seed = 1) {
  Start();
  UseDevice(seed);
  OK(aclrtResetDevice(0));
  OK(aclFinalize());
}

}  // namespace guest
