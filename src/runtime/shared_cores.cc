#include "runtime/shared_cores.h"

#include "base/fork.h"

namespace belay::rt {

constinit std::atomic<int> g_shared_cores{0};

namespace {
[[maybe_unused]] const bool g_forgotten_in_child =
    AtForkInChild([] { g_shared_cores.store(0, std::memory_order_relaxed); });
}  // namespace

}  // namespace belay::rt
