#include "api/report_threads.h"

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "api/wait.h"
#include "base/clock.h"
#include "base/codes.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/room.h"
#include "runtime/callback_pool.h"
#include "runtime/context.h"
#include "runtime/engine.h"
#include "runtime/host_call.h"
#include "runtime/in_flight.h"

namespace belay::api {
namespace {

struct DueCall {
  rt::HostFunction function;
  void* argument;
  rt::HostFunction done;  // null: nobody waits for the call
  void* context;
  // Whose it is, where somebody watches. Null in a replay.
  const rt::Stream* stream = nullptr;
  uint64_t position = 0;
};

// Who waits goes on also when the function ends its thread (pthread_exit, pthread_cancel).
struct Completion {
  const DueCall& call;
  ~Completion() {
    if (call.done != nullptr) call.done(call.context);
  }
};

// The callbacks that one subscribed thread has to run.
struct Mailbox {
  std::mutex lock;
  std::condition_variable more;
  std::list<DueCall> calls;
  int device = 0;
  int streams = 0;
  bool closed = false;  // no thread looks into it any more
};

struct Subscriptions {
  std::mutex lock;
  std::map<uint64_t, std::shared_ptr<Mailbox>> threads;
  std::map<HandleBits, uint64_t> streams;
};
Subscriptions& AllSubscriptions() { return PerProcess<Subscriptions>::Get(); }

std::shared_ptr<Mailbox> MailboxOf(HandleBits stream) {
  std::lock_guard guard(AllSubscriptions().lock);
  auto it = AllSubscriptions().streams.find(stream);
  return it == AllSubscriptions().streams.end() ? nullptr : AllSubscriptions().threads.at(it->second);
}

// Takes the call that `context` waits for out of its mailbox, unless a thread runs it already.
rt::CancelResult Withdraw(void* context) {
  std::unique_lock all(AllSubscriptions().lock, std::try_to_lock);
  if (!all.owns_lock()) return rt::CancelResult::kBusy;
  for (auto& [thread, mailbox] : AllSubscriptions().threads) {
    std::unique_lock guard(mailbox->lock, std::try_to_lock);
    if (!guard.owns_lock()) return rt::CancelResult::kBusy;
    auto waits = [&](const DueCall& c) { return c.done != nullptr && c.context == context; };
    if (std::erase_if(mailbox->calls, waits) > 0) return rt::CancelResult::kDone;
  }
  return rt::CancelResult::kGone;
}

struct ReportTask {
  static constexpr const char* kName = "callback";
  static constexpr rt::TaskClass kClass = rt::TaskClass::kHostCall;
  rt::HostCall call;
  HandleBits subscribed;  // the stream, whose thread runs the call; a replay may be on another one
  bool blocks;

  // In a replay.
  static void Start(const rt::HostCall& call, rt::HostFunction done, void* context) {
    const auto& task = reinterpret_cast<const ReportTask&>(call);
    bool posted =
        task.Post({call.function, call.argument, task.blocks ? done : nullptr, context}, [] { return true; });
    if (!task.blocks || !posted) done(context);
  }

  void Ranges(rt::RangeVisitor& visit) const { blocks ? visit.TouchesUnknown() : visit.CallsAndGoesOn(); }
  bool Proceed(rt::Stream& stream) const {
    if (stream.TakeCallbackDone() || stream.TakeTimedOut()) return true;
    if (rt::Observers::any()) [[unlikely]]
      rt::TellHostLearned(stream, stream.completed());
    bool waits = blocks;  // once parked, this body may be gone
    const rt::HostFunction done = [](void* s) { static_cast<rt::Stream*>(s)->CallbackDone(); };
    DueCall due{call.function, call.argument, blocks ? done : nullptr, &stream};
    if (rt::Observers::any()) due.stream = &stream, due.position = stream.completed() + 1;
    bool posted = Post(due, [&] {
      return !waits || stream.Park({rt::ParkReason::kCallback, &stream,
                                    [](void* s, rt::Stream&) { return Withdraw(s); }}) != 0;
    });
    return !waits || !posted;
  }

 private:
  // Leaves the call to the subscribed thread. `ready` is asked while that cannot begin it yet; false: it is
  // not to be run. False when it will not run. Throws when no thread is subscribed.
  template <class Ready>
  bool Post(const DueCall& due, Ready&& ready) const {
    std::shared_ptr<Mailbox> mailbox = MailboxOf(subscribed);
    if (mailbox == nullptr) {
      Fail(codes::kRtStreamNoCbReg, "callback-unsubscribed",
           "no thread is subscribed any more to the stream that the callback was launched on");
    }
    std::lock_guard guard(mailbox->lock);
    if (mailbox->closed) return false;
    mailbox->calls.push_back(due);  // first: once it is parked, nothing may fail
    if (!ready()) {
      mailbox->calls.pop_back();
      return false;
    }
    mailbox->more.notify_one();
    return true;
  }
};

constexpr rt::HostCallScheme kSubscribedThread{&ReportTask::Start, &Withdraw};

// Under the lock of all. Gives the thread's mailbox if that was its last subscription.
std::shared_ptr<Mailbox> EndSubscription(std::map<HandleBits, uint64_t>::iterator subscription) {
  auto mailbox = AllSubscriptions().threads.find(subscription->second);
  AllSubscriptions().streams.erase(subscription);
  if (--mailbox->second->streams > 0) return nullptr;
  std::shared_ptr<Mailbox> last = mailbox->second;
  AllSubscriptions().threads.erase(mailbox);
  return last;
}

// Nobody will run these calls any more: the streams that they hold up go on without them.
void DropCalls(Mailbox& mailbox) {
  std::list<DueCall> calls;
  {
    std::lock_guard guard(mailbox.lock);
    mailbox.closed = true;
    calls.swap(mailbox.calls);
    mailbox.more.notify_all();
  }
  for (const DueCall& call : calls) {
    if (call.done != nullptr) call.done(call.context);
  }
}

}  // namespace

void SubscribeReport(uint64_t thread, rt::Stream& stream) {
  std::lock_guard guard(AllSubscriptions().lock);
  if (AllSubscriptions().streams.contains(stream.handle())) {
    Fail(codes::kRtStreamSubscribe, "callback-subscribed",
         "stream {} has a subscribed thread already; unsubscribe it first", stream.id());
  }
  int device = stream.context().device().id();
  auto known = AllSubscriptions().threads.find(thread);
  if (known != AllSubscriptions().threads.end() && known->second->device != device) {
    Fail(codes::kRtThreadSubscribe, "callback-two-devices",
         "the thread serves streams of device {}; use another thread for device {}", known->second->device,
         device);
  }
  auto subscription = AllSubscriptions().streams.try_emplace(stream.handle(), thread).first;
  Rollback no_subscription([&] { AllSubscriptions().streams.erase(subscription); });
  if (known == AllSubscriptions().threads.end()) {
    auto mailbox = std::make_shared<Mailbox>();
    mailbox->device = device;
    known = AllSubscriptions().threads.try_emplace(thread, std::move(mailbox)).first;
  }
  ++known->second->streams;
  no_subscription.Keep();
}

void UnsubscribeReport(uint64_t thread, rt::Stream& stream) {
  std::unique_lock guard(AllSubscriptions().lock);
  auto it = AllSubscriptions().streams.find(stream.handle());
  if (it == AllSubscriptions().streams.end()) {
    Fail(codes::kRtStreamSubscribe, "callback-not-subscribed",
         "no thread is subscribed to stream {}; call aclrtSubscribeReport first", stream.id());
  }
  if (it->second != thread) {
    Fail(codes::kRtThreadSubscribe, "callback-other-thread",
         "thread {:#x} is subscribed to stream {}, not thread {:#x}; name that one", it->second, stream.id(),
         thread);
  }
  std::shared_ptr<Mailbox> last = EndSubscription(it);
  guard.unlock();
  if (last != nullptr) DropCalls(*last);
}

void ForgetSubscription(HandleBits stream) {
  std::shared_ptr<Mailbox> last;
  {
    std::lock_guard guard(AllSubscriptions().lock);
    auto it = AllSubscriptions().streams.find(stream);
    if (it == AllSubscriptions().streams.end()) return;
    last = EndSubscription(it);
  }
  if (last != nullptr) DropCalls(*last);
}

void CloseReports() {
  std::map<uint64_t, std::shared_ptr<Mailbox>> threads;
  {
    std::lock_guard guard(AllSubscriptions().lock);
    threads.swap(AllSubscriptions().threads);
    AllSubscriptions().streams.clear();
  }
  for (auto& [thread, mailbox] : threads) DropCalls(*mailbox);
}

void LaunchReport(rt::Stream& stream, void (*function)(void*), void* argument, bool blocks) {
  if (MailboxOf(stream.handle()) == nullptr) {
    Fail(codes::kRtStreamNoCbReg, "callback-not-subscribed",
         "no thread is subscribed to stream {}; call aclrtSubscribeReport first", stream.id());
  }
  ReportTask task{{function, argument, &kSubscribedThread}, stream.handle(), blocks};
  stream.Submit(rt::MakeTask(task, 20));
}

void ProcessReport(int64_t deadline_ns) {
  std::shared_ptr<Mailbox> mailbox;
  {
    std::lock_guard guard(AllSubscriptions().lock);
    auto it = AllSubscriptions().threads.find(static_cast<uint64_t>(pthread_self()));
    if (it != AllSubscriptions().threads.end()) mailbox = it->second;
  }
  auto refuse = [] {
    Fail(codes::kRtThreadSubscribe, "callback-not-subscribed",
         "this thread is subscribed to no stream; call aclrtSubscribeReport first");
  };
  if (mailbox == nullptr) refuse();
  std::unique_lock guard(mailbox->lock);
  auto due = [&] { return !mailbox->calls.empty(); };
  auto over = [&] { return due() || mailbox->closed; };
  if (deadline_ns < 0) {
    mailbox->more.wait(guard, over);
  } else if (!mailbox->more.wait_for(guard, std::chrono::nanoseconds(deadline_ns - NowNs()), over)) {
    // A thread that asks again and again is not silent, and what it asks for has to come.
    if (rt::TheEngine().explores()) rt::TheEngine().AskedInVain();
    Fail(codes::kRtWaitTimeout, "callback-none",
         "no callback became due within the time limit; call again to go on waiting");
  }
  CheckNotEnded("a wait for callbacks");
  if (!due()) refuse();
  while (due()) {
    DueCall call = mailbox->calls.front();
    mailbox->calls.pop_front();
    guard.unlock();
    {
      rt::OutsideCalls outside;
      Completion completion{call};
      rt::CallbackScope scope(call.done != nullptr || call.stream == nullptr);
      std::optional<rt::TellsOfCallback> tells;
      if (call.stream != nullptr) tells.emplace(*call.stream, call.position);
      call.function(call.argument);
    }
    guard.lock();
  }
}

}  // namespace belay::api
