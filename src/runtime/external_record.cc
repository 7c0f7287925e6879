#include "runtime/external_record.h"

#include <algorithm>
#include <mutex>

#include "base/room.h"

namespace belay::rt {

void ExternalRecord::MakeRoom() {
  std::lock_guard guard(lock_);
  belay::MakeRoom(pending_);
}

void ExternalRecord::Issue(uint64_t turn, const Event::Binding& launch) {
  uint64_t record = event_.IssueExternal(life_, launch);
  if (record == 0) return;  // the event is gone: nobody can wait for it
  std::lock_guard guard(lock_);
  pending_.push_back({turn, record});
}

std::pair<const uint64_t*, uint64_t> ExternalRecord::NumberOf(uint64_t turn) {
  std::lock_guard guard(lock_);
  for (const Pending& pending : pending_) {
    if (pending.turn == turn) return {event_.external_word(), pending.record};
  }
  return {nullptr, 0};
}

void ExternalRecord::Reached() {
  uint64_t record = 0;
  {
    std::lock_guard guard(lock_);
    if (!pending_.empty()) record = pending_.front().record;
  }
  if (record != 0) event_.FulfilExternal(record);
}

void ExternalRecord::Over(uint64_t turn) {
  uint64_t record = 0;
  {
    std::lock_guard guard(lock_);
    auto mine =
        std::find_if(pending_.begin(), pending_.end(), [&](const Pending& p) { return p.turn == turn; });
    if (mine == pending_.end()) return;
    record = mine->record;
    pending_.erase(mine);
  }
  event_.FulfilExternal(record);
}

}  // namespace belay::rt
