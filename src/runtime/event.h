// Events. A record binds the event to a position of a stream; a wait copies the binding that is latest
// when it is called, so later records do not affect it. A wait on a plain event that was never recorded
// holds a ticket, which the next record fills in.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/handle_table.h"
#include "base/relaxed.h"
#include "base/spin_lock.h"
#include "runtime/event_state.h"
#include "runtime/shared_words.h"
#include "runtime/stream.h"

namespace belay::rt {

class Device;
class Event;
struct PollTask;

// The three constructors differ in rules (acl pages 0080, 0081).
enum class EventKind : uint8_t { kPlain, kFlagged, kEx };

// A place in a capture: the record node that a wait on the event depends on.
struct CapturePoint {
  uint64_t capture_id = 0;
  uint32_t node = 0;
  uint32_t event_id = 0;
};

// A wait that was issued before any record. Owned by its wait task; listed by the event.
struct WaitTicket {
  Event* event = nullptr;
  Stream* source = nullptr;  // set by the record that answers the wait
  uint64_t position = 0;
  Stream* parked = nullptr;
  Stream* woken = nullptr;  // that was parked, when the wait was answered
  bool orphaned = false;    // the event was destroyed without a record
};

class Event {
 public:
  static constexpr bool kPersistent = true;

  void Open(Device& device, EventKind kind, uint32_t flags, uint32_t id);
  void Close();

  // Queues a record on the stream, or notes it in the stream's capture.
  void Record(Stream& stream);
  // Notes a record in the stream's capture that waits outside of the model can see.
  void RecordExternal(Stream& stream);
  // Makes `stream` wait, at most limit_ns nanoseconds (0: for ever). In a capture it is an edge.
  void MakeWait(Stream& stream, int64_t limit_ns);
  void Reset(Stream& stream);

  // The position that a host must wait for; {null, 0} when there is none. Throws for captured events.
  struct Binding {
    Stream* stream = nullptr;
    uint64_t position = 0;
  };
  Binding LatestRecord();
  bool Complete();  // an unrecorded Ex event counts as complete, a plain one does not

  // A record inside a model: issued with each launch, 0 when this life of the event is over.
  uint64_t life();
  uint64_t IssueExternal(uint64_t life, const Binding& launch);
  void FulfilExternal(uint64_t record);
  // Holds the number of the latest one that was fulfilled.
  const uint64_t* external_word() const { return reinterpret_cast<const uint64_t*>(&external_done_); }
  // The latest record is inside a model, or in a process that may be another: completion is looked for,
  // not waited for at a position.
  bool IsPolled();

  // ACL_EVENT_IPC: two words count the records that were issued and those that are done, for all processes.
  void Share(std::shared_ptr<SharedWords> words);
  OfferName Offer();  // throws for an event that another process offers
  // Throws when the latest record is not done and its process has ended.
  void CheckPeer();

  // Whether all waits issued on this event have passed.
  bool AllWaitsPassed();
  // Ticks of the latest record once it has run, else 0.
  uint64_t ticks();
  bool keeps_time() const;
  bool may_sync_streams() const;  // usable in MakeWait and Reset

  // Whether it is one of those of which a device has only so many (pages 0080 and 0081 of acl).
  static bool Counted(EventKind kind, uint32_t flags);
  bool counted() const { return Counted(kind_, flags_); }

  EventKind kind() const { return kind_; }
  uint32_t flags() const { return flags_; }
  uint32_t id() const { return id_; }
  Device& device() const { return *static_cast<Device*>(device_); }
  EventState state() const { return state_; }

  // Called by tasks. They hold no reference: `record` and `life` tell whether the event has moved on.
  void RecordReached(uint64_t record);
  void WaitPassed(uint64_t life);
  // The park; 0 when a record answered the wait (*answer), or the stream is being dropped (no answer).
  uint64_t Redeem(WaitTicket& ticket, Stream& stream, Binding* answer);
  static void Return(WaitTicket* ticket);

 private:
  EventState Apply(EventCommand command);
  void BindLive(Stream& stream, uint64_t position, uint64_t record);
  void TakeParked(std::vector<WaitTicket*>* parked) noexcept;
  bool TryMakeWait(Stream& stream, int64_t limit_ns);
  static CancelResult CancelTicket(void* ticket, Stream& stream);
  void WaitInCapture(Stream& stream, const CapturePoint& point);
  [[noreturn]] void RefuseOutsideOfCapture(Stream& stream, EventState state) const;
  PollTask PollOfRecord(int64_t limit_ns) const;
  std::shared_ptr<SharedWords> shared();

  SpinLock lock_;
  EventState state_ = EventState::kDestroyed;
  Relaxed<EventKind> kind_ = EventKind::kPlain;
  Relaxed<uint32_t> flags_ = 0;
  Relaxed<uint32_t> id_ = 0;
  Relaxed<Device*> device_ = nullptr;
  Binding binding_;
  CapturePoint point_;
  std::vector<WaitTicket*> tickets_;
  uint64_t life_ = 0;                // odd while alive; never reset
  std::atomic<uint64_t> record_{0};  // records ever issued on this slot; never reset
  uint64_t bound_record_ = 0;        // the record that binding_ belongs to
  uint64_t ticks_record_ = 0;        // the latest record that has run, and when
  uint64_t ticks_ = 0;
  void RecordShared(Stream& stream);

  Relaxed<bool> is_shared_ = false;      // whether there are
  std::shared_ptr<SharedWords> shared_;  // under lock_
  uint64_t external_ = 0;                // the latest record, when it is inside a model
  uint64_t external_issued_ = 0;         // never reset, and so is this:
  std::atomic<uint64_t> external_done_{0};
  uint64_t waits_issued_ = 0;
  uint64_t waits_passed_ = 0;
  Binding awaited_;  // by the latest wait
};

using EventTable = HandleTable<Event, HandleKind::kEvent, 1u << 20>;
extern EventTable g_events;
inline EventTable& Events() { return g_events; }

}  // namespace belay::rt
