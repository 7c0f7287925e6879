#include "runtime/notify.h"

#include <array>
#include <utility>

#include "base/codes.h"
#include "base/error.h"
#include "runtime/observer.h"
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
  bool promised = false;

  NotifyTask(Notify& n, bool s) : notify(&n), set(s) { notify->Ref(); }
  NotifyTask(NotifyTask&& o) noexcept
      : notify(std::exchange(o.notify, nullptr)), set(o.set), promised(o.promised) {}
  ~NotifyTask() {
    if (notify == nullptr) return;
    if (promised) notify->KeepPromise();
    notify->Unref();
  }
  void Run() const { set ? notify->Set() : notify->Clear(); }
  void Ranges(RangeVisitor& visit) const {
    if (set) visit.SetsFlag(notify->word());
  }
};

}  // namespace

void Notify::Open(Device& device, uint32_t id, std::shared_ptr<SharedWords> words) {
  device_ = &device;
  id_ = id;
  words_ = std::move(words);
  watch_ = std::make_shared<PeerWatch>(words_, PeerWatch::kWhoeverSets);
  promises_ = 0;
  refs_.Start();
}

HandleBits Notify::Make(Device& device, std::shared_ptr<SharedWords> words) {
  if (LiveOn(device).fetch_add(1) >= kMostPerDevice) {
    LiveOn(device).fetch_sub(1);
    Fail(codes::kRtNoNotifyResource, "notify-limit",
         "device {} has its {} notifies; destroy some with aclrtDestroyNotify", device.id(), kMostPerDevice);
  }
  if (Observers::any()) TellWrittenUnseen(&words->first());
  return g_notifies.Create(device, g_next_id.fetch_add(1), std::move(words));
}

HandleBits Notify::Create(Device& device) { return Make(device, SharedWords::Own()); }

HandleBits Notify::Import(Device& device, const OfferName& name) {
  return Make(device, SharedWords::Import(name, OfferKind::kNotify));
}

void Notify::Close() {
  watch_.reset();
  words_.reset();
}

OfferName Notify::Offer(bool anybody) {
  if (!words_->ours()) {
    Fail(codes::kRtParamInvalid, "notify-not-ours",
         "notify {} came from another process, which offers it to others", id_);
  }
  if (!words_->shared()) TheEngine().NeedWatch();
  OfferName name = words_->Offer(OfferKind::kNotify, anybody);
  TheEngine().Wrote(nullptr);  // also for the streams that wait already
  return name;
}

void Notify::Allow(std::span<const int32_t> pids) {
  if (words_->Allow(pids)) return;
  Fail(codes::kRtParamInvalid, "notify-not-exported",
       "notify {} was not exported; call aclrtNotifyGetExportKey first", id_);
}

void Notify::Reset() {
  if (Observers::any()) TellWrittenUnseen(word());
  Clear();
}

bool Notify::Promise() {
  if (words_->ours()) return false;
  std::lock_guard guard(lock_);
  ++promises_;
  words_->second().store(words_->member(), std::memory_order_release);
  return true;
}

void Notify::KeepPromise() {
  std::lock_guard guard(lock_);
  uint64_t member = words_->member();
  if (--promises_ == 0) words_->second().compare_exchange_strong(member, 0, std::memory_order_release);
}

void Notify::Destroy(Notify& notify) {
  if (Observers::any()) TellDestroyed(g_notifies.HandleOf(&notify));
  if (g_notifies.Retire(g_notifies.HandleOf(&notify)) == nullptr) return;
  if (notify.words_->ours()) notify.words_->Withdraw();
  notify.Unref();
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

void Notify::Record(Stream& stream) {
  NotifyTask set(*this, true);
  // What a model is to do is promised by nobody: it may never be launched.
  if (stream.capture() == nullptr) set.promised = Promise();
  stream.Submit(MakeTask(std::move(set)));
}

void Notify::WaitAndReset(Stream& stream, int64_t limit_ns) {
  auto* word = reinterpret_cast<const uint64_t*>(&words_->first());
  // The task that clears the flag follows the wait on the same stream; it keeps the notify for both.
  NotifyTask clear(*this, false);
  // Replays have all that they wait for looked at, once at least.
  if (limit_ns > 0 || words_->shared() || stream.capture() != nullptr) TheEngine().NeedWatch();
  const bool is_flag = words_->ours() && !words_->shared();
  stream.Submit(MakeTask(PollTask{word, 1, PollTest::kEqual, is_flag, limit_ns, watch_}));
  stream.Submit(MakeTask(std::move(clear)));
}

}  // namespace belay::rt
