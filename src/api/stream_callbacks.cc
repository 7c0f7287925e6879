#include "api/stream_callbacks.h"

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "api/convert.h"
#include "base/error.h"
#include "base/fork.h"
#include "runtime/context.h"

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

void Tell(rt::Stream& stream, rt::StreamMoment moment) {
  std::vector<Listener> listeners;
  {
    std::lock_guard guard(TheRegistry().lock);
    for (const auto& [name, listener] : TheRegistry().listeners) listeners.push_back(listener);
  }
  auto handle = AsHandle<aclrtStream>(stream.handle());
  bool made = moment == rt::StreamMoment::kMade;
  for (const Listener& l : listeners)
    l.callback(handle, made ? ACL_RT_STREAM_STATE_CREATE_POST : ACL_RT_STREAM_STATE_DESTROY_PRE, l.args);
}

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
  rt::SetStreamObserver(registry.listeners.empty() ? nullptr : &Tell);
}

}  // namespace belay::api
