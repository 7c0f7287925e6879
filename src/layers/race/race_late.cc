// Tasks behind a wait whose other end nobody knows, such as a collective operation: what comes before them
// there may be anything that other ranks were told of. Two of them are a race all the same where both come
// after the same waits. Of one, and a task that has nothing to do with such a wait, it is a race when the
// host learns that the first is over and nobody could have been told of the other: until then it is in doubt.
#include <algorithm>

#include "layers/race/race.h"
#include "layers/race/touches.h"

namespace belay::race {

namespace {

constexpr size_t kMostDoubts = 256;

}  // namespace

// What came before a task. One that waits does not come after its own wait.
Knowledge Race::Before(const Epoch& task) const {
  const Line& line = lines_[task.stream];
  Knowledge known = At(line, task.position);
  const bool waits = std::ranges::any_of(known.open, [&](const OpenWait& wait) {
    return wait.stream == task.stream && wait.position == task.position;
  });
  if (waits) known.open = At(line, task.position - 1).open;
  return known;
}

// What comes from one to the other by way of a wait has to go through one that is over after the one.
bool Race::HaveTheSameWaits(const Epoch& first, const Epoch& second) const {
  const Knowledge a = Before(first), b = Before(second);
  const auto knows = [](const Knowledge& one, const Knowledge& other) {
    return std::ranges::all_of(other.open, [&](const OpenWait& wait) { return one.clock.Knows(wait); });
  };
  return knows(a, b) && knows(b, a);
}

void Race::MeetLate(const Conflict& conflict, bool first_is_late, const Mark& second, bool second_is_late,
                    const Spot& spot) {
  if (told_.contains({conflict.first.site, second.site})) return;
  if (HaveTheSameWaits(conflict.first.by, second.by)) {
    Tell(conflict, second.site, spot);
    return;
  }
  if (first_is_late && second_is_late) return;
  const Epoch& sure = second_is_late ? conflict.first.by : second.by;
  const Epoch& late = second_is_late ? second.by : conflict.first.by;
  const bool by_ranks = std::ranges::all_of(Before(late).open, &OpenWait::of_ranks);
  if (!by_ranks || told_others_.Knows(sure)) return;
  if (doubts_.size() == kMostDoubts) doubts_.pop_front();
  doubts_.push_back({conflict, second.site, spot, sure, late});
}

// Noted apart, so that it hides nothing that was noted with certainty.
void Race::NoteLate(std::span<const Access> accesses, const Mark& mark, const Shadow::Ordered& ordered,
                    const Shadow::Ordered& over, const Meet& meet, Shadow* sure, Shadow* late) {
  for (const Access& access : accesses) {
    for (Shadow* shadow : {sure, late}) {
      shadow->Check(access.bytes, access.writes, ordered,
                    [&](const Conflict& conflict) { meet(conflict, shadow == late); });
    }
  }
  for (const Access& access : accesses) late->Note(access.bytes, access.writes, mark, ordered, over);
}

void Race::JudgeLate(const Line& line, const Touches& touches, const Mark& mark, const Spot& spot) {
  NoteLate(
      touches.accesses, mark, [&](const Mark& before) { return line.now.clock.Knows(before.by); },
      [&](const Mark& before) { return host_.Knows(before.by); },
      [&](const Conflict& conflict, bool first_is_late) {
        MeetLate(conflict, first_is_late, mark, true, spot);
      },
      &shadow_, &late_);
}

// Of a task that comes after no such wait, against those that do.
void Race::CheckLate(const Line& line, const Touches& touches, const Mark& mark, const Spot& spot) {
  for (const Access& access : touches.accesses) {
    late_.Check(
        access.bytes, access.writes, [&](const Mark& before) { return line.now.clock.Knows(before.by); },
        [&](const Conflict& conflict) { MeetLate(conflict, true, mark, false, spot); });
  }
}

// Before the host learns something: until now nobody could have heard of what it did not know and no other
// rank was told of.
void Race::Decide(const Knowledge& news) {
  const auto learns = [&](const Epoch& task) {
    return news.clock.Knows(task) || (!news.open.empty() && task.position <= lines_[task.stream].last);
  };
  std::erase_if(doubts_, [&](const Doubt& doubt) {
    if (told_others_.Knows(doubt.sure) || host_.Knows(doubt.sure)) return true;
    if (learns(doubt.late)) {
      Tell(doubt.conflict, doubt.site, doubt.spot);
      return true;
    }
    return learns(doubt.sure);
  });
}

}  // namespace belay::race
