#include "collective/placement.h"

namespace belay::coll {

Placement::Placement(std::span<const uint32_t> host_of) : begins_{0}, places_(host_of.size()) {
  constexpr uint32_t kUnseen = UINT32_MAX;
  std::vector<uint32_t> numbers;  // by the others'
  for (const uint32_t host : host_of) {
    if (host >= numbers.size()) numbers.resize(host + 1, kUnseen);
    if (numbers[host] == kUnseen) {
      numbers[host] = hosts();
      begins_.push_back(0);
    }
    host_of_.push_back(numbers[host]);
    ++begins_[numbers[host] + 1];
  }
  for (uint32_t host = 0; host < hosts(); ++host) begins_[host + 1] += begins_[host];
  std::vector<uint32_t> next(begins_.begin(), begins_.end() - 1);
  ranks_.resize(host_of.size());
  for (uint32_t rank = 0; rank < host_of.size(); ++rank) {
    places_[rank] = next[host_of_[rank]]++;
    ranks_[places_[rank]] = rank;
  }
}

uint32_t Placement::AdderOf(uint32_t part, uint32_t host) const {
  const std::span<const uint32_t> here = RanksOn(host);
  if (part == ranks_.size()) return here.front();
  if (host_of_[part] == host) return part;
  // Those of other ranks, numbered without a gap where this host's are.
  const uint32_t place = places_[part];
  const uint32_t number = place < begins_[host] ? place : place - static_cast<uint32_t>(here.size());
  return here[number % here.size()];
}

}  // namespace belay::coll
