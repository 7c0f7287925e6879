#include "runtime/notify.h"

#include <array>
#include <utility>

#include "base/error.h"
#include "runtime/poll.h"
#include "runtime/task.h"

namespace belay::rt {

constinit NotifyTable g_notifies;

namespace {

constexpr int kMostPerDevice = 8192;  // Atlas A2 and A3
constexpr size_t kDevices = 64;
std::array<std::atomic<int>, kDevices> g_live;
std::atomic<uint32_t> g_next_id{0};

std::atomic<int>& LiveOn(const Device& device) { return g_live[static_cast<size_t>(device.id()) % kDevices]; }

// Sets or clears the flag, and keeps the notify alive until it has.
struct NotifyTask {
  static constexpr const char* kName = "notify";
  Notify* notify;
  bool set;

  NotifyTask(Notify& n, bool s) : notify(&n), set(s) { notify->Ref(); }
  NotifyTask(NotifyTask&& o) noexcept : notify(std::exchange(o.notify, nullptr)), set(o.set) {}
  ~NotifyTask() {
    if (notify != nullptr) notify->Unref();
  }
  void Run() const { set ? notify->Set() : notify->Clear(); }
};

}  // namespace

void Notify::Open(Device& device, uint32_t id, std::atomic<uint64_t>* flag, bool ours) {
  device_ = &device;
  id_ = id;
  flag_ = flag;
  ours_ = ours;
  from_outside_.store(!ours, std::memory_order_relaxed);
  offer_ = {};
  refs_.Start();
}

Notify& Notify::Make(Device& device, std::atomic<uint64_t>* flag, bool ours) {
  if (LiveOn(device).fetch_add(1) >= kMostPerDevice) {
    LiveOn(device).fetch_sub(1);
    if (ours) Offers::Get().ReturnWords(flag, 1, false);
    Fail(207009, "notify-limit", "device {} has its {} notifies; destroy some with aclrtDestroyNotify",
         device.id(), kMostPerDevice);
  }
  HandleBits handle = g_notifies.Create(device, g_next_id.fetch_add(1), flag, ours);
  return *g_notifies.Find(handle);
}

Notify& Notify::Create(Device& device) { return Make(device, Offers::Get().TakeWords(1), true); }

Notify& Notify::Import(Device& device, const OfferName& name) {
  return Make(device, OpenOffer(name, OfferKind::kNotify).words, false);
}

void Notify::Close() {
  if (!ours_) return;
  bool offered = offer_.nonce != 0;
  if (offered) Offers::Get().Withdraw(offer_);
  Offers::Get().ReturnWords(flag_, 1, offered);
}

OfferName Notify::Offer(bool anybody) {
  std::lock_guard guard(lock_);
  if (!ours_) {
    Fail(107000, "notify-not-ours", "notify {} came from another process, which offers it to others", id_);
  }
  if (offer_.nonce == 0) {
    TheEngine().NeedWatch();
    from_outside_.store(true);  // also for the streams that wait already
    TheEngine().Wrote(nullptr);
    offer_ = Offers::Get().Add({OfferKind::kNotify, -1, 0, anybody, Offers::Get().OffsetOf(flag_), 8});
  }
  return offer_;
}

void Notify::Allow(std::span<const int32_t> pids) {
  std::lock_guard guard(lock_);
  if (Offers::Get().Allow(offer_, pids)) return;
  Fail(107000, "notify-not-exported", "notify {} was not exported; call aclrtNotifyGetExportKey first", id_);
}

void Notify::Destroy(Notify& notify) {
  if (g_notifies.Retire(g_notifies.HandleOf(&notify)) != nullptr) notify.Unref();
}

void Notify::DestroyAllOf(const Device& device) {
  g_notifies.ForEach([&](Notify& notify) {
    if (&notify.device() == &device) Destroy(notify);
  });
}

void Notify::AbandonAllInChild() {
  g_notifies.AbandonInChild();
  for (std::atomic<int>& live : g_live) live.store(0);
}

void Notify::Unref() {
  if (!refs_.Drop()) return;
  LiveOn(*device_).fetch_sub(1);
  g_notifies.Recycle(this);
}

void Notify::Record(Stream& stream) { stream.Submit(MakeTask(NotifyTask(*this, true))); }

void Notify::WaitAndReset(Stream& stream, int64_t limit_ns) {
  static_assert(sizeof(*flag_) == sizeof(uint64_t));
  auto* word = reinterpret_cast<const uint64_t*>(flag_);
  // The task that clears the flag follows the wait on the same stream; it keeps the notify for both.
  NotifyTask clear(*this, false);
  // Replays look at all that they wait for from time to time.
  if (limit_ns > 0 || from_outside_.load() || stream.capture() != nullptr) TheEngine().NeedWatch();
  stream.Submit(MakeTask(PollTask{word, 1, PollTest::kEqual, limit_ns, &from_outside_}));
  stream.Submit(MakeTask(std::move(clear)));
}

}  // namespace belay::rt
