#include "layers/support/tally.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "layers/support/shared_block.h"

namespace belay::layers {
namespace {

struct Shared {
  static constexpr size_t kMostText = size_t{8} << 20;
  Tally tally;
  std::atomic<uint64_t> used;
  char text[kMostText];
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
  const uint64_t at = shared->used.fetch_add(record.size());
  if (at > Shared::kMostText || record.size() > Shared::kMostText - at) {
    ++shared->tally.not_recorded;
    return;
  }
  std::memcpy(shared->text + at, record.data(), record.size());
}

Tally* MakeTally() {
  auto* shared = static_cast<Shared*>(MakeSharedBlock(Tally::kVariable, sizeof(Shared)));
  return shared == nullptr ? nullptr : &shared->tally;
}

std::string RecordsOf(const Tally& made) {
  const auto& shared = reinterpret_cast<const Shared&>(made);
  std::string records(shared.text, std::min<uint64_t>(shared.used, Shared::kMostText));
  std::replace(records.begin(), records.end(), '\0', '\n');
  return records;
}

}  // namespace belay::layers
