// What has no position in a stream: records within a launch that streams outside wait for
// (ACL_EVENT_RECORD_EXTERNAL), where what waits for one knows the nodes that come before it to be over, and
// no others; and notifies.
#include <algorithm>
#include <utility>

#include "layers/race/race.h"
#include "layers/race/touches.h"

namespace belay::race {

// What is known when the word holds this number; null: nothing that the host did not know before, or that has
// a line.
const Knowledge* Race::KnownAt(const uint64_t* word, uint64_t least) const {
  const auto record = records_.find(word);
  if (record == records_.end()) return nullptr;
  const auto number = std::ranges::find_if(record->second.numbers,
                                           [&](const Record::Number& n) { return n.number >= least; });
  return number == record->second.numbers.end() ? nullptr : &number->knowledge;
}

// What the task waits for that is no record, or nobody's, leaves it open.
void Race::ResolveNumbers(Touches* touches) {
  for (const auto& [word, least] : touches->records->numbers) {
    const auto record = records_.find(word);
    if (record == records_.end() || record->second.latest < least) {
      touches->open = true;
    } else if (const Knowledge* known = KnownAt(word, least); known != nullptr) {
      touches->records->learned.push_back(known);
    }
  }
}

void Race::HostLearnedRecord(const uint64_t* word, uint64_t number, const rt::Stream& stream,
                             uint64_t position) {
  std::unique_lock guard(lock_);
  const auto record = records_.find(word);
  if (record == records_.end() || record->second.latest < number) {
    guard.unlock();
    return HostLearned(stream, position);
  }
  const Knowledge* known = KnownAt(word, number);
  if (known != nullptr && !host_.Knows(known->clock)) HostKnows(Knowledge(*known));
}

// A wait for a notify may be let through by any record of it that no wait has had yet: it knows for certain
// what all of these know. Where there is none it will have a record to come, and nobody knows what comes
// before it; nor where the wait stands within a launch.
void Race::ResolveFlags(Touches* touches) {
  for (const void* word : touches->records->flags) {
    Flag& flag = flags_[word];
    if (!flag.set) {
      ++flag.owed;
      touches->open = true;
      continue;
    }
    touches->records->by_flags.Join(flag.known);
    flag = {};
  }
  if (!touches->open) touches->records->learned.push_back(&touches->records->by_flags);
}

void Race::NoteFlags(const Touches& touches, const Knowledge& known) {
  for (const void* word : touches.records->sets) {
    Flag& flag = flags_[word];
    if (flag.owed != 0) {
      --flag.owed;
      continue;
    }
    if (flag.set) {
      Clock least = flag.known.clock;
      least.Meet(known.clock);
      flag.known.Join(known);  // and the waits of both
      flag.known.clock = std::move(least);
    } else {
      flag.known = known;
    }
    flag.set = true;
  }
}

// Each record's part is judged as a task of the record's line, which the launch's stream knows as soon as it
// has launched; so does who waits for the launch, but who waits for the record knows nothing else of it.
void Race::JudgeParts(Line& line, uint64_t position, const Touches& touches, uint32_t site,
                      const Spot& spot) {
  const auto ordered = [&](const Mark& before) { return line.now.clock.Knows(before.by); };
  Knowledge known = line.now;  // of who waits
  known.clock.ForgetFrom({line.index, position});
  const std::vector<Touches::Part>& parts = touches.records->parts;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Touches::Part& part = parts[i];
    const bool last = i + 1 == parts.size();
    const size_t end = last ? touches.accesses.size() : parts[i + 1].accesses;
    const size_t some_end = last ? touches.some.size() : parts[i + 1].some;
    Mark mark{{line.index, position}, site};
    if (part.word != nullptr) {
      auto [found, fresh] = records_.try_emplace(part.word);
      Record& record = found->second;
      if (fresh) {
        record.line = &lines_.emplace_back();
        record.line->index = static_cast<uint32_t>(lines_.size() - 1);
        any_records_.store(true, std::memory_order_release);
      }
      mark.by = {record.line->index, ++record.line->last};
      line.now.clock.Learn(mark.by);
      known.clock.Learn(mark.by);
      record.latest = part.least;
      std::erase_if(record.numbers, [&](const Record::Number& n) { return host_.Knows(n.launch); });
      record.numbers.push_back({part.least, {line.index, position}, known});
    }
    Judge(std::span(touches.accesses).subspan(part.accesses, end - part.accesses),
          std::span(touches.some).subspan(part.some, some_end - part.some), mark, spot, ordered, &shadow_);
  }
  if (line.changes.empty() || line.changes.back().position != position)
    line.changes.push_back({position, line.now});
  else
    line.changes.back().knowledge = line.now;
}

}  // namespace belay::race
