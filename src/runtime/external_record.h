// A record inside a model that streams and hosts outside of it can wait for
// (aclrtRecordEventWithFlag with ACL_EVENT_RECORD_EXTERNAL).
//
// Each launch of the model counts as a record of the event, made when the launch is queued and fulfilled
// when the replay gets there (or is over without having got there).
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/spin_lock.h"
#include "runtime/event.h"
#include "runtime/task.h"

namespace belay::rt {

class ExternalRecord {
 public:
  explicit ExternalRecord(Event& event) : event_(event), life_(event.life()) {}

  void MakeRoom();                                          // for one more launch, so that Issue cannot fail
  void Issue(uint64_t turn, const Event::Binding& launch);  // a launch is about to be queued
  // What the launch makes of the event's word when it gets here; null: the event is gone.
  std::pair<const uint64_t*, uint64_t> NumberOf(uint64_t turn);
  void Reached();            // the replay has got here
  void Over(uint64_t turn);  // the launch has run, or was dropped

 private:
  struct Pending {
    uint64_t turn;
    uint64_t record;
  };
  Event& event_;  // its slot is never unmapped
  const uint64_t life_;
  SpinLock lock_;
  std::vector<Pending> pending_;  // the launch under way first
};

struct ExternalRecordTask {
  static constexpr const char* kName = "event record";
  static constexpr TaskKind kKind = TaskKind::kEventRecord;
  static constexpr bool kTouchesNothing = true;
  std::unique_ptr<ExternalRecord> record;
  void Run() const { record->Reached(); }
};

}  // namespace belay::rt
