#include "api/stream_callbacks.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "api/convert.h"
#include "base/codes.h"
#include "base/error.h"
#include "base/fork.h"
#include "runtime/context.h"

namespace belay::api {
namespace {

struct Listener {
  aclrtStreamStateCallback callback;
  void* args;
};
using Listeners = std::map<std::string, Listener, std::less<>>;
struct ListenerRegistry {
  std::mutex lock;
  std::shared_ptr<const Listeners> listeners = std::make_shared<const Listeners>();  // replaced, not changed
};
ListenerRegistry& TheRegistry() { return PerProcess<ListenerRegistry>::Get(); }

// The stream is made, or about to end: nothing may fail here.
void TellListeners(rt::Stream& stream, rt::StreamMoment moment) {
  std::shared_ptr<const Listeners> listeners;
  {
    std::lock_guard guard(TheRegistry().lock);
    listeners = TheRegistry().listeners;
  }
  auto handle = AsHandle<aclrtStream>(stream.handle());
  bool made = moment == rt::StreamMoment::kMade;
  for (const auto& [name, l] : *listeners)
    l.callback(handle, made ? ACL_RT_STREAM_STATE_CREATE_POST : ACL_RT_STREAM_STATE_DESTROY_PRE, l.args);
}

}  // namespace

void RegisterStreamStateCallback(const char* name, aclrtStreamStateCallback callback, void* args) {
  if (*name == '\0')
    Fail(codes::kRtParamInvalid, "callback-name", "regName is empty; give the callback a name");
  ListenerRegistry& registry = TheRegistry();
  std::lock_guard guard(registry.lock);
  auto changed = std::make_shared<Listeners>(*registry.listeners);
  if (callback == nullptr) {
    if (auto known = changed->find(std::string_view(name)); known != changed->end()) changed->erase(known);
  } else if (!changed->try_emplace(name, Listener{callback, args}).second) {
    Fail(codes::kRtParamInvalid, "callback-name",
         "a callback named '{}' is registered; unregister it first with a null callback", name);
  }
  registry.listeners = std::move(changed);
  rt::SetStreamObserver(registry.listeners->empty() ? nullptr : &TellListeners);
}

}  // namespace belay::api
