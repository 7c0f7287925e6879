#include "base/fork.h"

#include <array>
#include <cstddef>

namespace belay {
namespace {

constinit std::array<void (*)(), 64> g_hooks{};
constinit size_t g_count = 0;

}  // namespace

void AtChildRestart(void (*hook)()) {
  for (size_t i = 0; i < g_count; ++i) {
    if (g_hooks[i] == hook) return;
  }
  if (g_count < g_hooks.size()) g_hooks[g_count++] = hook;
}

void RunChildRestartHooks() {
  for (size_t i = 0; i < g_count; ++i) g_hooks[i]();
}

}  // namespace belay
