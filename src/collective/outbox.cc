#include "collective/outbox.h"

#include <algorithm>
#include <bit>
#include <mutex>

#include "base/futex.h"

namespace belay::coll {
namespace {

// A rank waits for the others before it has put this many: a round has a few for each rank that it lays out
// for, a channel a few as well.
size_t Capacity(const Hosts& hosts) { return std::bit_ceil(size_t{64} + size_t{32} * hosts.MostRanks()); }

constexpr size_t InLines(size_t bytes) { return (bytes + 63) / 64 * 64; }

std::vector<uint32_t> PlacesOf(const Hosts& hosts) {
  std::vector<uint32_t> next(hosts.count()), places;
  for (uint32_t host : hosts.of) places.push_back(next[host]++);
  return places;
}

}  // namespace

uint32_t Hosts::RanksOn(uint32_t host) const {
  return static_cast<uint32_t>(std::count(of.begin(), of.end(), host));
}

uint32_t Hosts::MostRanks() const {
  uint32_t most = 0;
  for (uint32_t host = 0; host < count(); ++host) most = std::max(most, RanksOn(host));
  return most;
}

Passes::Passes(const Hosts& hosts) {
  if (hosts.kind != WayKind::kDirect) queues_ = std::make_unique<Queue[]>(hosts.count());
}

void Passes::Put(uint32_t host, const Parcel& parcel) {
  Queue& queue = queues_[host];
  std::lock_guard guard(queue.lock);
  queue.parcels.push_back(parcel);
  queue.size.store(queue.parcels.size(), std::memory_order_release);
}

bool Passes::Take(uint32_t host, Parcel* parcel) noexcept {
  if (!Has(host)) return false;
  Queue& queue = queues_[host];
  std::lock_guard guard(queue.lock);
  if (queue.parcels.empty()) return false;
  *parcel = queue.parcels.front();
  queue.parcels.pop_front();
  queue.size.store(queue.parcels.size(), std::memory_order_release);
  return true;
}

size_t Outbox::Bytes(const Hosts& hosts) {
  const size_t lane = InLines(sizeof(Lane) + Capacity(hosts) * sizeof(Parcel));
  return hosts.count() * (sizeof(Bell) + hosts.MostRanks() * lane);
}

Outbox::Outbox(std::byte* memory, const Hosts& hosts)
    : hosts_(hosts.count()),
      own_(hosts.own),
      ranks_here_(hosts.RanksOn(hosts.own)),
      capacity_(Capacity(hosts)),
      places_(PlacesOf(hosts)),
      bells_(reinterpret_cast<Bell*>(memory)),
      lanes_(memory + hosts.count() * sizeof(Bell)) {}

Outbox::Lane& Outbox::LaneOf(uint32_t place, uint32_t host) const {
  const size_t lane = InLines(sizeof(Lane) + capacity_ * sizeof(Parcel));
  return *reinterpret_cast<Lane*>(lanes_ + (size_t{place} * hosts_ + host) * lane);
}

bool Outbox::Put(uint32_t rank, uint32_t host, const Parcel& parcel) noexcept {
  Lane& lane = LaneOf(places_[rank], host);
  const uint64_t put = lane.put.load(std::memory_order_relaxed);
  if (put - lane.taken.load(std::memory_order_acquire) == capacity_) return false;
  reinterpret_cast<Parcel*>(&lane + 1)[put % capacity_] = parcel;
  lane.put.store(put + 1, std::memory_order_release);
  return true;
}

bool Outbox::Take(uint32_t rank, uint32_t host, Parcel* parcel) noexcept {
  Lane& lane = LaneOf(places_[rank], host);
  const uint64_t taken = lane.taken.load(std::memory_order_relaxed);
  if (lane.put.load(std::memory_order_acquire) == taken) return false;
  *parcel = reinterpret_cast<const Parcel*>(&lane + 1)[taken % capacity_];
  lane.taken.store(taken + 1, std::memory_order_release);
  return true;
}

// Nobody takes from them meanwhile. A goodbye is the last of its lane.
bool Outbox::Wants(uint32_t host) const noexcept {
  for (uint32_t place = 0; place < ranks_here_; ++place) {
    Lane& lane = LaneOf(place, host);
    const uint64_t taken = lane.taken.load(std::memory_order_relaxed);
    if (lane.put.load(std::memory_order_acquire) == taken) continue;
    if (reinterpret_cast<const Parcel*>(&lane + 1)[taken % capacity_].kind != ParcelKind::kLeft) return true;
  }
  return false;
}

void Outbox::Ring(uint32_t host) noexcept {
  RingOne(bells_[host]);
  if (host != own_ && !linked(host)) RingOne(bells_[own_]);
}

void Outbox::RingOne(Bell& bell) noexcept {
  bell.rings.fetch_add(1, std::memory_order_seq_cst);
  if (bell.sleeping.load(std::memory_order_seq_cst) != 0) FutexWakeShared(bell.rings);
}

void Outbox::Sleep(uint32_t host, uint32_t rings) noexcept {
  Bell& bell = bells_[host];
  bell.sleeping.store(1, std::memory_order_seq_cst);
  FutexWaitShared(bell.rings, rings);
  bell.sleeping.store(0, std::memory_order_seq_cst);
}

}  // namespace belay::coll
