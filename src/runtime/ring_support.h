// What the rings of state machine tests share: a device and a context without devices' memory, and an
// engine that runs the task that the test picks.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "runtime/callback_pool.h"
#include "runtime/capture.h"
#include "runtime/context.h"
#include "runtime/event.h"
#include "runtime/model_ri.h"
#include "runtime/step_engine.h"
#include "runtime/thread_engine.h"

namespace belay::rt::rings {

// The process has one set of devices; rings only ever add contexts to them.
inline Device& TheDevice(int id = 0) {
  static const bool made = [] {
    if (DeviceCount() == 0) CreateDevices(2);
    SetStreamLimit(1 << 16);
    return true;
  }();
  (void)made;
  return DeviceAt(id);
}

// A context of its own and the step executor for as long as the test runs.
class StepTest : public testing::Test {
 protected:
  void SetUp() override {
    InstallEngine(&engine_);
    context_ = Contexts().Find(CreateContext(TheDevice(), false));
  }
  void TearDown() override {
    DestroyContext(*context_, true);
    InstallEngine(nullptr);
  }
  Stream& NewStream() { return context_->CreateStream({}); }

  StepEngine engine_;
  Context* context_ = nullptr;
};

// An event that nobody finds by a handle.
inline Event& NewEvent(EventKind kind = EventKind::kPlain) {
  static std::atomic<uint32_t> id{0};
  HandleBits handle = Events().Create(TheDevice(), kind, 0x1u, id.fetch_add(1));
  return *Events().Find(handle);
}
inline void DestroyEvent(Event& event) { Events().Destroy(Events().HandleOf(&event)); }

struct EmptyTask {
  static constexpr const char* kName = "empty";
  static constexpr bool kTouchesNothing = true;
  void Run() const {}
};

// The seed of a random test: BELAY_TEST_SEED, else a fixed one.
inline uint64_t SeedOr(uint64_t seed) {
  const char* text = std::getenv("BELAY_TEST_SEED");
  return text == nullptr ? seed : std::strtoull(text, nullptr, 10);
}

// The code of the error that a call throws, 0 when it throws none.
template <class F>
int CodeOf(F&& call) {
  try {
    call();
    return 0;
  } catch (const Error& error) {
    return error.code();
  }
}

// Workers of its own.
class WorkersTest : public testing::Test {
 protected:
  explicit WorkersTest(ThreadEngineConfig config) : config_(config) {}
  // So many, and no host that helps.
  explicit WorkersTest(int workers) : WorkersTest(ThreadEngineConfig{workers, false}) {}
  void SetUp() override {
    TheDevice();
    engine_ = std::make_unique<ThreadEngine>(config_);
    InstallThreadEngine(engine_.get());
    context_ = Contexts().Find(CreateContext(TheDevice(), false));
  }
  void TearDown() override {
    DestroyContext(*context_, true);
    // A stream that was run beside the list can be done before the callback that made it ready has told the
    // engine.
    EndCallbackThreads();
    engine_->Stop();
    InstallThreadEngine(nullptr);
  }
  Stream& NewStream() { return context_->CreateStream({}); }
  static void Wait(Stream& stream) { TheEngine().WaitFor(stream, stream.tail(), -1); }

  const ThreadEngineConfig config_;
  std::unique_ptr<ThreadEngine> engine_;
  Context* context_ = nullptr;
};

}  // namespace belay::rt::rings
