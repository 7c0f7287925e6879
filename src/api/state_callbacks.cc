#include "api/state_callbacks.h"

#include <atomic>
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

// The callbacks of one kind, by their names.
template <class Callback>
class Listeners {
 public:
  static Listeners& Get() { return PerProcess<Listeners>::Get(); }

  // Says whether anybody listens from now on.
  bool Register(const char* name, Callback callback, void* args) {
    if (*name == '\0')
      Fail(codes::kRtParamInvalid, "callback-name", "regName is empty; give the callback a name");
    std::lock_guard guard(lock_);
    auto changed = std::make_shared<Map>(*listeners_);
    if (callback == nullptr) {
      if (auto known = changed->find(std::string_view(name)); known != changed->end()) changed->erase(known);
    } else if (!changed->try_emplace(name, Listener{callback, args}).second) {
      Fail(codes::kRtParamInvalid, "callback-name",
           "a callback named '{}' is registered; unregister it first with a null callback", name);
    }
    const bool some = !changed->empty();
    listeners_ = std::move(changed);
    some_.store(some, std::memory_order_release);
    return some;
  }

  // Without the lock, so that a callback may register others. Nothing may fail here.
  template <class... Arguments>
  void Tell(Arguments... arguments) {
    if (!some_.load(std::memory_order_acquire)) [[likely]]
      return;
    std::shared_ptr<const Map> listeners;
    {
      std::lock_guard guard(lock_);
      listeners = listeners_;
    }
    for (const auto& [name, l] : *listeners) l.callback(arguments..., l.args);
  }

 private:
  struct Listener {
    Callback callback;
    void* args;
  };
  using Map = std::map<std::string, Listener, std::less<>>;

  std::mutex lock_;
  std::shared_ptr<const Map> listeners_ = std::make_shared<const Map>();  // replaced, not changed
  std::atomic<bool> some_{false};
};
using StreamListeners = Listeners<aclrtStreamStateCallback>;
using DeviceListeners = Listeners<aclrtDeviceStateCallback>;
using AbortListeners = Listeners<aclrtDeviceTaskAbortCallback>;

void TellStreamListeners(rt::Stream& stream, rt::StreamMoment moment) {
  const bool made = moment == rt::StreamMoment::kMade;
  StreamListeners::Get().Tell(AsHandle<aclrtStream>(stream.handle()),
                              made ? ACL_RT_STREAM_STATE_CREATE_POST : ACL_RT_STREAM_STATE_DESTROY_PRE);
}

}  // namespace

void RegisterStreamStateCallback(const char* name, aclrtStreamStateCallback callback, void* args) {
  const bool some = StreamListeners::Get().Register(name, callback, args);
  rt::SetStreamObserver(some ? &TellStreamListeners : nullptr);
}

void RegisterDeviceStateCallback(const char* name, aclrtDeviceStateCallback callback, void* args) {
  DeviceListeners::Get().Register(name, callback, args);
}

void RegisterTaskAbortCallback(const char* name, aclrtDeviceTaskAbortCallback callback, void* args) {
  AbortListeners::Get().Register(name, callback, args);
}

void TellDeviceState(int device, aclrtDeviceState state) {
  DeviceListeners::Get().Tell(static_cast<uint32_t>(device), state);
}

void TellTaskAbort(int device, aclrtDeviceTaskAbortStage stage, uint32_t timeout) {
  AbortListeners::Get().Tell(device, stage, timeout);
}

}  // namespace belay::api
