#include "runtime/event.h"

#include <mutex>

#include "base/clock.h"
#include "base/codes.h"
#include "base/error.h"
#include "base/room.h"
#include "runtime/capture.h"
#include "runtime/context.h"
#include "runtime/engine.h"
#include "runtime/external_record.h"
#include "runtime/poll.h"

namespace belay::rt {

constinit EventTable g_events;

namespace {

constexpr uint32_t kSync = 0x1;
constexpr uint32_t kTimeLine = 0x8;
constexpr uint32_t kExternal = 0x20;
constexpr uint32_t kIpc = 0x40;

// The record itself is its position; the body only stamps the time.
struct RecordTask {
  static constexpr const char* kName = "event record";
  static constexpr TaskClass kClass = TaskClass::kRecord;
  static constexpr bool kTouchesNothing = true;
  Event* event;  // null: the event keeps no time
  uint64_t record;
  void Run() const {
    if (event != nullptr) event->RecordReached(record);
  }
};

// True when the wait is over, false when park() has parked the stream (its serial number, else 0). The limit
// is a copy: once parked, the body that asks may be gone.
template <class Park>
bool WaitWithin(Stream& stream, int64_t limit_ns, Park park) {
  if (stream.TakeTimedOut()) {
    Fail(codes::kRtTaskTimeout, "event-wait-timeout",
         "the stream waited longer than its limit of {} s for an event that was not recorded in time",
         limit_ns / 1'000'000'000);
  }
  uint64_t serial = park();
  if (serial == 0) return true;
  if (limit_ns > 0) stream.LimitPark(serial, NowNs() + limit_ns);
  return false;
}

// What nearly all waits are: for a record that was known at the call, and nobody counts them.
struct PositionWaitTask {
  static constexpr const char* kName = "event wait";
  static constexpr TaskClass kClass = TaskClass::kWait;
  Stream* source;
  uint64_t position;
  int64_t limit_ns;

  bool Proceed(Stream& stream) const {
    return WaitWithin(stream, limit_ns, [&] { return stream.ParkUntil(*source, position); });
  }
  bool Passed() const { return source->Reached(position); }
  void Ranges(RangeVisitor& visit) const { visit.WaitsFor(*source, position); }
};

struct WaitTask {
  static constexpr const char* kName = "event wait";
  static constexpr TaskClass kClass = TaskClass::kWait;
  Stream* source;
  uint64_t position;
  Event* event;  // counts passed waits; null once moved from
  uint64_t life;
  WaitTicket* ticket;
  int64_t limit_ns;

  WaitTask(Event::Binding b, Event* e, uint64_t l, WaitTicket* t, int64_t limit)
      : source(b.stream), position(b.position), event(e), life(l), ticket(t), limit_ns(limit) {}
  WaitTask(WaitTask&& o) noexcept
      : source(o.source),
        position(o.position),
        event(std::exchange(o.event, nullptr)),
        life(o.life),
        ticket(std::exchange(o.ticket, nullptr)),
        limit_ns(o.limit_ns) {}
  ~WaitTask() {
    if (ticket != nullptr) Event::Return(ticket);
    if (event != nullptr) event->WaitPassed(life);  // also when it was dropped or ran out of time
  }

  bool Proceed(Stream& stream) const {
    return WaitWithin(stream, limit_ns, [&] { return ParkIfNeeded(stream); });
  }
  bool Passed() const { return ticket == nullptr && source != nullptr && source->Reached(position); }
  void Ranges(RangeVisitor& visit) const {
    if (ticket != nullptr) return visit.WaitsForUnknown();
    if (source != nullptr) visit.WaitsFor(*source, position);
  }

 private:
  uint64_t ParkIfNeeded(Stream& stream) const {
    Event::Binding answer{source, position};
    if (ticket != nullptr) {
      if (uint64_t park = ticket->event->Redeem(*ticket, stream, &answer); park != 0) return park;
    }
    return answer.stream == nullptr ? 0 : stream.ParkUntil(*answer.stream, answer.position);
  }
};

}  // namespace

EventState Event::Apply(EventCommand command) {
  EventState next = Next(state_, command);
  if (next != EventState::kRefused) state_ = next;
  return next;
}

void Event::Open(Device& device, EventKind kind, uint32_t flags, uint32_t id) {
  std::lock_guard guard(lock_);
  Apply(EventCommand::kCreate);
  device_ = &device;
  kind_ = kind;
  flags_ = flags;
  id_ = id;
  binding_ = {};
  point_ = {};
  external_ = 0;
  ++life_;
  waits_issued_ = waits_passed_ = 0;
  awaited_ = {};
}

void Event::Close() {
  std::vector<WaitTicket*> parked;
  std::shared_ptr<SharedWords> shared;  // goes after the lock; tasks that count in it keep it
  {
    std::lock_guard guard(lock_);
    Apply(EventCommand::kDestroy);
    ++life_;
    bound_record_ = record_.fetch_add(1, std::memory_order_relaxed) + 1;
    for (WaitTicket* ticket : tickets_) ticket->orphaned = true;
    TakeParked(&parked);
    is_shared_ = false;
    shared = std::exchange(shared_, nullptr);
  }
  if (shared != nullptr && shared->ours()) shared->Withdraw();
  for (WaitTicket* ticket : parked) ticket->woken->Fulfil();
}

// Under lock_. The tickets are answered; the streams that are parked at some of them go on. They are freed no
// sooner.
void Event::TakeParked(std::vector<WaitTicket*>* parked) noexcept {
  parked->swap(tickets_);
  std::erase_if(*parked, [](WaitTicket* ticket) {
    ticket->woken = std::exchange(ticket->parked, nullptr);
    return ticket->woken == nullptr;
  });
}

bool Event::keeps_time() const {
  return kind_ == EventKind::kPlain || (flags_ & kTimeLine) != 0 || (flags_ == 0x2);
}
bool Event::Counted(EventKind kind, uint32_t flags) {
  if (kind == EventKind::kEx) return false;
  return kind == EventKind::kPlain || (flags & (kSync | kExternal)) != 0;
}
bool Event::may_sync_streams() const {
  return kind_ == EventKind::kPlain || (flags_ & kSync) != 0 || (flags_ & (kExternal | kIpc)) != 0;
}

// --- records

void Event::Record(Stream& stream) {
  for (;;) {
    if (Capture* capture = stream.capture(); capture != nullptr) {
      if ((flags_ & kIpc) != 0) {
        capture->SpoilFor(stream,
                          {"the record of an event with ACL_EVENT_IPC", "use an event without that flag"});
        Fail(
            107030, "capture-ipc-event",
            "event {} was created with ACL_EVENT_IPC and cannot be part of a capture; record another event on "
            "stream {}, or end the capture first",
            id(), stream.id());
      }
      CapturePoint point;
      if (!capture->Record(stream, *this, &point)) continue;  // it ended meanwhile
      std::lock_guard guard(lock_);
      Apply(EventCommand::kRecordInCapture);
      point_ = point;
      return;
    }
    if (is_shared_) [[unlikely]]
      return RecordShared(stream);
    uint64_t record = record_.fetch_add(1, std::memory_order_relaxed) + 1;
    // Not under lock_: a full stream makes the call wait, and tasks take lock_.
    uint64_t position = stream.SubmitLive(MakeTask(RecordTask{keeps_time() ? this : nullptr, record}, 20));
    if (position == 0) continue;  // a capture began meanwhile
    BindLive(stream, position, record);
    return;
  }
}

// Binds the event unless a later record has, and answers the waits that were issued before any record.
void Event::BindLive(Stream& stream, uint64_t position, uint64_t record) {
  std::vector<WaitTicket*> parked;
  {
    std::lock_guard guard(lock_);
    if (record >= bound_record_) {
      bound_record_ = record;
      Apply(EventCommand::kRecord);
      binding_ = {&stream, position};
      external_ = 0;
    }
    if (tickets_.empty()) [[likely]]
      return;
    for (WaitTicket* ticket : tickets_) {
      ticket->source = &stream;
      ticket->position = position;
    }
    TakeParked(&parked);
  }
  for (WaitTicket* ticket : parked) ticket->woken->Fulfil();
}

void Event::RecordReached(uint64_t record) {
  uint64_t now = Ticks();
  std::lock_guard guard(lock_);
  if (record < ticks_record_) return;
  ticks_record_ = record;
  ticks_ = now;
}

uint64_t Event::ticks() {
  std::lock_guard guard(lock_);
  if (ticks_record_ != record_.load(std::memory_order_relaxed)) return 0;
  if (Observers::any() && binding_.stream != nullptr) TellHostLearned(*binding_.stream, binding_.position);
  return ticks_;
}

// --- records inside a model

void Event::RecordExternal(Stream& stream) {
  if (kind_ != EventKind::kEx || flags_ != kSync) {
    Fail(
        107000, "external-event",
        "event {} cannot be recorded with ACL_EVENT_RECORD_EXTERNAL; create it by aclrtCreateEventExWithFlag with "
        "ACL_EVENT_SYNC and nothing else",
        id());
  }
  if (stream.capture() == nullptr) {
    Fail(
        107000, "external-not-capturing",
        "stream {} is not being captured; ACL_EVENT_RECORD_EXTERNAL is for records inside a capture, elsewhere "
        "every record can be seen (aclrtRecordEvent)",
        stream.id());
  }
  {
    std::lock_guard guard(lock_);
    if (state_ != EventState::kUnrecorded) {
      Fail(107000, "external-recorded-before",
           "event {} was recorded by aclrtRecordEvent before; use another event for records with "
           "ACL_EVENT_RECORD_EXTERNAL",
           id());
    }
  }
  stream.Submit(MakeTask(ExternalRecordTask{std::make_unique<ExternalRecord>(*this)}, 20));
}

uint64_t Event::life() {
  std::lock_guard guard(lock_);
  return life_;
}

uint64_t Event::IssueExternal(uint64_t life, const Binding& launch) {
  std::lock_guard guard(lock_);
  if (life != life_) return 0;
  external_ = ++external_issued_;
  binding_ = launch;
  return external_;
}

void Event::FulfilExternal(uint64_t record) {
  {
    std::lock_guard guard(lock_);
    if (external_done_.load(std::memory_order_relaxed) < record) external_done_.store(record);
  }
  TheEngine().Wrote(&external_done_);
}

bool Event::IsPolled() {
  std::lock_guard guard(lock_);
  return external_ != 0 || (shared_ != nullptr && shared_->first().load(std::memory_order_acquire) != 0);
}

// --- records that other processes see

namespace {

// Counts as done when it is dropped, too: what waits elsewhere must go on.
struct SharedRecordTask {
  static constexpr const char* kName = "event record";
  std::shared_ptr<SharedWords> words;
  uint64_t record;

  SharedRecordTask(std::shared_ptr<SharedWords> w, uint64_t r) : words(std::move(w)), record(r) {}
  SharedRecordTask(SharedRecordTask&&) noexcept = default;
  ~SharedRecordTask() {
    if (words != nullptr) Run();
  }
  void Run() const {
    std::atomic<uint64_t>& done = words->second();
    uint64_t before = done.load(std::memory_order_relaxed);
    while (before < record && !done.compare_exchange_weak(before, record)) {
    }
    TheEngine().Wrote(&done);
  }
  void Ranges(RangeVisitor& visit) const { visit.Signals(&words->second()); }
};

// The number of a new record of this process.
uint64_t IssueShared(const SharedWords& words) {
  uint32_t member = words.member();
  uint64_t before = words.first().load(std::memory_order_relaxed);
  uint64_t count;
  do {
    count = SharedIssue(before).count + 1;
  } while (!words.first().compare_exchange_weak(before, SharedIssue::Word(member, count),
                                                std::memory_order_acq_rel));
  return count;
}

}  // namespace

void Event::Share(std::shared_ptr<SharedWords> words) {
  std::lock_guard guard(lock_);
  shared_ = std::move(words);
  is_shared_ = true;
}

std::shared_ptr<SharedWords> Event::shared() {
  std::lock_guard guard(lock_);
  return shared_;
}

OfferName Event::Offer() {
  std::shared_ptr<SharedWords> words = shared();
  if (words == nullptr || !words->ours()) {
    Fail(107000, "event-not-ours",
         "event {} {}; the process that creates an event with ACL_EVENT_IPC gives it to others", id(),
         words == nullptr ? "was created without ACL_EVENT_IPC" : "came from another process");
  }
  return words->Offer(OfferKind::kEvent, true);
}

void Event::RecordShared(Stream& stream) {
  std::shared_ptr<SharedWords> words = shared();
  if (words == nullptr) return Record(stream);  // another thread destroys the event meanwhile
  uint64_t record = IssueShared(*words);
  uint64_t position = stream.SubmitLive(MakeTask(SharedRecordTask(std::move(words), record), 20));
  if (position == 0) return Record(stream);  // a capture began meanwhile, and refuses it
  std::lock_guard guard(lock_);
  Apply(EventCommand::kRecord);
  binding_ = {&stream, position};
}

void Event::CheckPeer() {
  std::shared_ptr<SharedWords> words = shared();
  if (words == nullptr) return;
  uint64_t word = words->first().load(std::memory_order_acquire);
  SharedIssue issue(word);
  // Asked again after the look: it may have been done just before the process ended.
  if (Complete() || !words->MemberEnded(issue.member) || Complete()) return;
  if (words->first().load(std::memory_order_acquire) != word) return;  // a later record counts
  throw words->EndedError(issue.member, "it reached the latest record of the event");
}

// --- waits

namespace {
[[gnu::cold, gnu::noinline]] void RemarkOnNoRecord(const Event& event, const Stream& stream) {
  TellRemark("wait-before-record",
             fmt::format("event {} has not been recorded, so that stream {} does not wait", event.id(),
                         stream.id()));
}
}  // namespace

void Event::MakeWait(Stream& stream, int64_t limit_ns) {
  if (limit_ns > 0) TheEngine().NeedWatch();
  while (!TryMakeWait(stream, limit_ns)) {
  }
}

// False when a capture of the stream began meanwhile.
bool Event::TryMakeWait(Stream& stream, int64_t limit_ns) {
  std::unique_lock guard(lock_);
  if (state_ == EventState::kCaptured) {
    CapturePoint point = point_;
    guard.unlock();
    WaitInCapture(stream, point);
    return true;
  }
  if (stream.capture() != nullptr) {
    EventState state = state_;
    guard.unlock();
    RefuseOutsideOfCapture(stream, state);
  }
  if (shared_ != nullptr || external_ != 0) [[unlikely]] {
    PollTask task = PollOfRecord(limit_ns);
    guard.unlock();
    TheEngine().NeedWatch();
    return stream.SubmitLive(MakeTask(std::move(task))) != 0;
  }
  WaitTicket* ticket = nullptr;
  if (state_ == EventState::kUnrecorded) {
    if (kind_ == EventKind::kEx) {  // nothing recorded: nothing to wait for
      guard.unlock();
      if (Observers::any()) RemarkOnNoRecord(*this, stream);
      return true;
    }
    MakeRoom(tickets_);
    ticket = new WaitTicket{this};
    tickets_.push_back(ticket);
  }
  Binding binding = binding_;
  if (kind_ == EventKind::kEx) {
    guard.unlock();
    PositionWaitTask task{binding.stream, binding.position, limit_ns};
    return stream.SubmitLive(MakeTask(task, 20)) != 0;
  }
  ++waits_issued_;
  awaited_ = binding;
  uint64_t life = life_;
  guard.unlock();
  WaitTask task(binding, this, life, ticket, limit_ns);
  return stream.SubmitLive(MakeTask(std::move(task), 20)) != 0;
}

void Event::RefuseOutsideOfCapture(Stream& stream, EventState state) const {
  SpoilCaptureOf(stream,
                 {"a wait on an event that was recorded outside of the capture",
                  "let the stream wait before aclmdlRICaptureBegin, or record the event in the capture"});
  Fail(107030, "capture-outside-event",
       "stream {} is being captured, but event {} was {} outside of that capture, so the graph cannot "
       "hold the wait; record the event on a stream of the capture first",
       stream.id(), id(), state == EventState::kRecorded ? "recorded" : "never recorded");
}

// Under lock_: the wait for a number that another process or a replay writes.
PollTask Event::PollOfRecord(int64_t limit_ns) const {
  if (shared_ != nullptr) {
    auto* done = reinterpret_cast<const uint64_t*>(&shared_->second());
    SharedIssue issue(shared_->first().load(std::memory_order_acquire));
    return {done,  issue.count, PollTest::kGreaterEqual,
            false, limit_ns,    std::make_shared<PeerWatch>(shared_, issue.member)};
  }
  static_assert(sizeof(external_done_) == sizeof(uint64_t));
  return {external_word(), external_, PollTest::kGreaterEqual, false, limit_ns, nullptr};
}

void Event::WaitInCapture(Stream& stream, const CapturePoint& point) {
  if (JoinCapture(stream, point)) return;
  Fail(107027, "event-captured",
       "event {} was last recorded in a capture that has ended: its record happens inside the model, not "
       "on a stream; record it again before stream {} waits for it",
       id(), stream.id());
}

void Event::WaitPassed(uint64_t life) {
  std::lock_guard guard(lock_);
  if (life == life_) ++waits_passed_;
}

// Then what the latest of them waited for was reached.
bool Event::AllWaitsPassed() {
  Binding awaited;
  {
    std::lock_guard guard(lock_);
    if (waits_passed_ != waits_issued_) return false;
    awaited = awaited_;
  }
  if (awaited.stream != nullptr) awaited.stream->HostSees(awaited.position);
  return true;
}

uint64_t Event::Redeem(WaitTicket& ticket, Stream& stream, Binding* answer) {
  std::lock_guard guard(lock_);
  if (ticket.orphaned) {
    Fail(107017, "event-destroyed-unrecorded",
         "the stream waited for an event that was destroyed before any record");
  }
  *answer = {ticket.source, ticket.position};
  if (ticket.source != nullptr) return 0;
  ticket.parked = &stream;
  uint64_t park = stream.Park(
      {.reason = ParkReason::kTicket, .where = &ticket, .cancel = &Event::CancelTicket, .event = id()});
  if (park == 0) ticket.parked = nullptr;
  return park;
}

void Event::Return(WaitTicket* ticket) {
  {
    Event& event = *ticket->event;
    std::lock_guard guard(event.lock_);
    std::erase(event.tickets_, ticket);
  }
  delete ticket;
}

CancelResult Event::CancelTicket(void* where, Stream& stream) {
  auto& ticket = *static_cast<WaitTicket*>(where);
  std::unique_lock guard(ticket.event->lock_, std::try_to_lock);
  if (!guard.owns_lock()) return CancelResult::kBusy;
  if (ticket.parked != &stream) return CancelResult::kGone;
  ticket.parked = nullptr;
  return CancelResult::kDone;
}

// --- the host's questions

void Event::Reset(Stream& stream) {
  std::lock_guard guard(lock_);
  if (stream.capture() != nullptr) return;  // inside a graph an event is an edge: nothing to undo
  Apply(EventCommand::kReset);
  binding_ = {};
  bound_record_ = record_.fetch_add(1, std::memory_order_relaxed) + 1;
}

Event::Binding Event::LatestRecord() {
  std::unique_lock guard(lock_);
  if (state_ == EventState::kCaptured) {
    uint64_t capture = point_.capture_id;
    guard.unlock();
    SpoilCapture(capture, {"a query or synchronise of an event recorded in the capture",
                           "record another event, outside of the capture, to ask for"});
    Fail(codes::kStreamCaptured, "event-captured-query",
         "event {} was recorded in a capture: the record is part of the model and has no time on the host; "
         "record it on a stream that is not being captured before asking for it",
         id());
  }
  return binding_;
}

namespace {
// Another process may have reached the record, after work of this one that it waited for: that has no
// position here.
[[gnu::cold, gnu::noinline]] void TellHostLearnedAll() {
  Streams().ForEach([](const Stream& stream) { TellHostLearned(stream, stream.tail()); });
}
}  // namespace

bool Event::Complete() {
  Binding launch;
  {
    std::lock_guard guard(lock_);
    if (shared_ != nullptr) {
      uint64_t issued = SharedIssue(shared_->first().load(std::memory_order_acquire)).count;
      if (issued == 0) return kind_ == EventKind::kEx;
      if (shared_->second().load(std::memory_order_acquire) < issued) return false;
      if (Observers::any()) TellHostLearnedAll();
      return true;
    }
    if (external_ != 0) {
      const bool reached = external_done_.load(std::memory_order_acquire) >= external_;
      if (reached && Observers::any()) {
        Observers::Tell([&](Observer& o) {
          o.HostLearnedRecord(external_word(), external_, *binding_.stream, binding_.position);
        });
      }
      if (reached) return true;
      launch = binding_;
    }
  }
  if (launch.stream != nullptr) {
    launch.stream->Hurry();
    return false;
  }
  Binding binding = LatestRecord();
  if (binding.stream == nullptr) return kind_ == EventKind::kEx;
  if (binding.stream->HostSees(binding.position)) return true;
  binding.stream->Hurry();
  return false;
}

}  // namespace belay::rt
