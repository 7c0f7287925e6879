#include "layers/support/tally.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "layers/support/shared_block.h"
#include "layers/support/shared_text.h"

namespace belay::layers {
namespace {

struct Shared {
  Tally tally;
  SharedText<size_t{8} << 20> records;
};

Shared* TheShared() {
  static auto* const shared = static_cast<Shared*>(FindSharedBlock(Tally::kVariable, sizeof(Shared)));
  return shared;
}

}  // namespace

Tally& TheTally() {
  static Tally own;
  return TheShared() == nullptr ? own : TheShared()->tally;
}

void AddRecord(std::string_view record) {
  Shared* shared = TheShared();
  if (shared == nullptr) return;
  if (!shared->records.Add(record)) ++shared->tally.not_recorded;
}

Tally* MakeTally() {
  auto* shared = static_cast<Shared*>(MakeSharedBlock(Tally::kVariable, sizeof(Shared)));
  return shared == nullptr ? nullptr : &shared->tally;
}

std::string LayersInside(const Tally& tally, int process) {
  std::string names;
  for (std::string_view layer : Tally::kLayers) {
    const uint64_t who = Tally::Who(process, layer);
    const bool found = std::any_of(std::begin(tally.inside), std::end(tally.inside),
                                   [&](const Tally::Place& place) { return place.who == who; });
    if (found) names += (names.empty() ? "" : ", ") + std::string(layer);
  }
  return names;
}

std::string RecordsOf(const Tally& made) { return reinterpret_cast<const Shared&>(made).records.All(); }

}  // namespace belay::layers
