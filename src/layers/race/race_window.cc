// What the observer keeps for the page that belay check writes.
#include <utility>

#include "layers/race/race.h"
#include "runtime/stream.h"
#include "runtime/task_graph.h"

namespace belay::race {
namespace {

Event::Kind EventKindOf(const rt::Task& task) {
  switch (task.type->task_class) {
    case rt::TaskClass::kRecord:
      return Event::Kind::kRecord;
    case rt::TaskClass::kWait:
    case rt::TaskClass::kPoll:
      return Event::Kind::kWait;
    default:
      return Event::Kind::kTask;
  }
}

}  // namespace

// Under lock_, as all here.
uint32_t Race::Remember(const rt::Task& task, const Waits& waits, const Spot& spot) {
  std::vector<Spot> after;
  for (const auto& [source, position] : waits) after.push_back({'s', source->id(), position});
  const uint32_t site = SiteOf(task, spot.number);
  window_.AddTask(EventKindOf(task), spot, site, std::move(after));
  return site;
}

void Race::RememberLearned(const rt::Stream& stream, uint64_t position) {
  const uint32_t call = core_.current_call();
  const layers::Stack stack = layers::ThisStack();
  const auto [known, fresh] =
      site_of_.try_emplace({stack.number, Site::kLearns, call}, static_cast<uint32_t>(sites_.size()));
  if (fresh) sites_.push_back({"work is over", call == 0 ? "" : core_.call_name(call), Site::kHost, stack});
  window_.AddHost(Event::Kind::kLearned, known->second, {{'s', stream.id(), position}});
}

// What the calling thread does by itself now.
Spot Race::SpotOfHost(uint32_t site) {
  return window_.wanted() ? window_.AddHost(Event::Kind::kHost, site) : Spot();
}

void Race::WriteGraph(uint32_t model, const rt::TaskGraph& graph) {
  if (!window_.wanted()) return;
  const auto spot = [&](uint32_t node) { return Spot{'s', graph.nodes()[node].stream_id, node, model}; };
  uint64_t number = 0;
  for (uint32_t node : graph.order()) {
    std::vector<Spot> after;
    for (uint32_t needed : graph.needs()[node]) after.push_back(spot(needed));
    const auto site = captured_.find({model, node});
    if (site != captured_.end()) window_.WriteNode(spot(node), number++, site->second, after);
  }
}

}  // namespace belay::race
