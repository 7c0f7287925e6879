// What the race layer does about streams that the program gives up: what their tasks were to write may be
// there or not.
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "layers/race/race.h"
#include "layers/race/touches.h"

namespace belay::race {

// Memory that is mapped at several addresses is left out: who writes through another one is not seen here.
void Race::GivenUp(const rt::Stream& stream) {
  std::lock_guard guard(lock_);
  const uint32_t index = LineOf(stream).index;
  const GivingUp by{core_.call_name(core_.current_call()), layers::ThisStack()};
  struct Reader {
    LostBytes::Lost lost;
    Mark mark;
  };
  std::vector<Reader> readers;  // that other streams are to read, as soon as this one has written, or has not
  shadow_.ForEachWrite([&](const Bytes& bytes, const Mark& write, const std::vector<Mark>& reads) {
    if (write.by.stream != index || host_.Knows(write.by)) return;
    if (!IsOfProgram(bytes.block) || aliases_.InMemory(bytes).block != 0) return;
    const LostBytes::Lost lost{bytes, write, by};
    lost_.Add(lost);
    for (const Mark& read : reads) {
      if (read.by.stream != index && !host_.Knows(read.by)) readers.push_back({lost, read});
    }
  });
  for (const auto& [lost, mark] : readers)
    TellLost(lost, mark.site, {'s', sites_[mark.site].stream, mark.by.position});
}

// What a task or a call of the host reads, and then what it writes. `reads`: whether it is known what comes
// before it.
void Race::MeetLost(const Touches& touches, bool reads, uint32_t site, const Spot& spot) {
  for (const Access& access : touches.accesses) {
    if (access.writes || !reads) continue;
    if (const std::optional<LostBytes::Lost> lost = lost_.Find(access.bytes)) TellLost(*lost, site, spot);
  }
  if (touches.unknown) lost_.WrittenAnywhere();
  for (const Access& access : touches.accesses) {
    if (access.writes) lost_.Written(access.bytes);
  }
  for (const Bytes& range : touches.maybe_written) lost_.Written(range);
  OpenFound();
}

// A load or a store of the host on a page that was closed for what is lost. What else is stored there is not
// seen.
void Race::MeetLostByHost(const Conflict& conflict, uint32_t site, const Spot& spot) {
  constexpr uintptr_t kPage = 4096;
  const Bytes& bytes = conflict.bytes;
  if (conflict.second_writes) {
    lost_.Written({bytes.block, bytes.begin / kPage * kPage, (bytes.end + kPage - 1) / kPage * kPage});
    OpenFound();
  } else if (const std::optional<LostBytes::Lost> lost = lost_.Find(bytes)) {
    TellLost(*lost, site, spot);
  }
}

// Pages stay closed whose bytes are lost.
void Race::OpenFound() {
  if (!host_pages_.any()) return;
  host_pages_.Open([&](const HostPages::Closed& closed) {
    return host_.Knows(closed.by.by) && !(closed.writes && lost_.Holds(closed.begin, closed.end));
  });
}

void Race::TellLost(const LostBytes::Lost& lost, uint32_t site, const Spot& spot) {
  if (!told_.emplace(lost.write.site, site).second) return;
  const Site &writer = sites_[lost.write.site], &reader = sites_[site];
  const std::string stream = Who(writer);
  std::vector<layers::Place> places{Told("reads ", reader, spot),
                                    Told("writes", writer, {'s', writer.stream, lost.write.by.position}),
                                    {"given up by " + lost.by.call, lost.by.stack}};
  const size_t bytes = lost.bytes.end - lost.bytes.begin;
  std::string what = Who(reader) + " reads what " + stream + " may not have written before it was given up";
  if (bytes > 1) what += ", " + std::to_string(bytes) + " bytes";
  what += WhereIs(lost.bytes, &places);
  if (layers::Tell({"given-up", what, places,
                    "wait for " + stream + " before " + lost.by.call + ", or write these bytes again"}))
    window_.Write();
}

}  // namespace belay::race
