#include "api/stream_callbacks.h"

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fork.h"

namespace belay::api {
namespace {

struct Listener {
  aclrtStreamStateCallback callback;
  void* args;
};
struct Registry {
  std::mutex lock;
  std::map<std::string, Listener> listeners;
};
Registry& TheRegistry() { return PerProcess<Registry>::Get(); }
std::atomic<bool> g_any{false};

}  // namespace

void RegisterStreamStateCallback(const char* name, aclrtStreamStateCallback callback, void* args) {
  if (*name == '\0') Fail(107000, "callback-name", "regName is empty; give the callback a name");
  Registry& registry = TheRegistry();
  std::lock_guard guard(registry.lock);
  if (callback == nullptr) {
    registry.listeners.erase(name);
  } else if (!registry.listeners.try_emplace(name, Listener{callback, args}).second) {
    Fail(107000, "callback-name",
         "a callback named '{}' is registered; unregister it first with a null callback", name);
  }
  g_any.store(!registry.listeners.empty());
}

void TellStreamState(aclrtStream stream, aclrtStreamState state) {
  if (!g_any.load(std::memory_order_relaxed)) [[likely]]
    return;
  std::vector<Listener> listeners;
  {
    std::lock_guard guard(TheRegistry().lock);
    for (const auto& [name, listener] : TheRegistry().listeners) listeners.push_back(listener);
  }
  for (const Listener& l : listeners) l.callback(stream, state, l.args);
}

}  // namespace belay::api
