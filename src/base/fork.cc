#include "base/fork.h"

#include <pthread.h>

#include <array>
#include <cstddef>
#include <cstdlib>

namespace belay {
namespace {

using Hook = void (*)();
constinit std::array<std::atomic<Hook>, 64> g_hooks{};
constinit std::atomic<size_t> g_count{0};
constinit std::array<std::atomic<Hook>, 64> g_makers{};
constinit std::atomic<size_t> g_maker_count{0};

void RunHooks() {
  for (const std::atomic<Hook>& hook : g_hooks) {
    if (Hook run = hook.load(std::memory_order_acquire)) run();
  }
}

}  // namespace

bool AtForkInChild(void (*hook)()) {
  size_t index = g_count.fetch_add(1);
  if (index == g_hooks.size()) std::abort();  // a constant of this file is too small
  g_hooks[index].store(hook, std::memory_order_release);
  if (index == 0) pthread_atfork(nullptr, nullptr, &RunHooks);
  return true;
}

bool NotePerProcess(void (*make)()) {
  size_t index = g_maker_count.fetch_add(1);
  if (index == g_makers.size()) std::abort();  // a constant of this file is too small
  g_makers[index].store(make, std::memory_order_release);
  return true;
}

void MakeAllPerProcess() {
  for (const std::atomic<Hook>& maker : g_makers) {
    if (Hook make = maker.load(std::memory_order_acquire)) make();
  }
}

}  // namespace belay
