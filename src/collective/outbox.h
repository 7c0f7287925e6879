// Where the ranks of a group are when these are on several hosts, and what the ranks of one host have written
// for the others: lanes of parcels in the memory that they share, from each rank to each other host. Whoever
// carries them (carrier.h) takes them out in their order.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/spin_lock.h"
#include "collective/way.h"

namespace belay::coll {

struct Hosts {
  uint32_t own = 0;
  std::vector<uint32_t> of;       // of each rank
  std::vector<uint32_t> leaders;  // of each host: the rank that carries
  WayKind kind = WayKind::kDirect;
  bool by_rank = false;  // reductions go in the order of the ranks, wherever these are (placement.h)
  Way way() const { return Way(kind, count()); }
  uint32_t count() const { return static_cast<uint32_t>(leaders.size()); }
  uint32_t ranks() const { return static_cast<uint32_t>(of.size()); }
  uint32_t RanksOn(uint32_t host) const;
  uint32_t MostRanks() const;  // of all hosts
};

// What is to be where the others see it: bytes of the board, and then a word of it. By offsets.
enum class ParcelKind : uint32_t { kBytes, kWord, kLeft };
struct Parcel {
  ParcelKind kind = ParcelKind::kBytes;
  uint32_t bytes = 0;  // kWord: the host that it is for, or how many there are: all; kLeft: the rank
  uint64_t at = 0;
  uint64_t value = 0;  // kBytes: the host that they are for, or all
};

// What came from another host and goes on to others (way.h).
class Passes {
 public:
  // None where all goes straight to where it is for.
  explicit Passes(const Hosts& hosts);
  bool any() const { return queues_ != nullptr; }
  void Put(uint32_t host, const Parcel& parcel);
  bool Take(uint32_t host, Parcel* parcel) noexcept;
  bool Has(uint32_t host) const noexcept {
    return any() && queues_[host].size.load(std::memory_order_acquire) > 0;
  }

 private:
  struct Queue {
    SpinLock lock;
    std::deque<Parcel> parcels;
    std::atomic<size_t> size{0};
  };
  std::unique_ptr<Queue[]> queues_;
};

class Outbox {
 public:
  static size_t Bytes(const Hosts& hosts);
  // `zeroed_shared_memory`: after the board.
  Outbox(std::byte* zeroed_shared_memory, const Hosts& hosts);

  // Called by the rank, under a lock of it. False while the lane is full.
  bool Put(uint32_t rank, uint32_t host, const Parcel& parcel) noexcept;
  // Called by who carries for this host.
  bool Take(uint32_t rank, uint32_t host, Parcel* parcel) noexcept;

  // Whether something waits in the lanes to the host that has to get there. That a rank has left need not:
  // who has nothing from here hears of it at the meeting point.
  bool Wants(uint32_t host) const noexcept;

  // Whether who carries has a connection to the host. One that begins has said who it is: what the other side
  // answers, or that it ends, is still to come over it.
  enum class LinkState : uint32_t { kNone, kBegins, kLinked };
  void SetLink(uint32_t host, LinkState state) noexcept {
    bells_[host].link.store(static_cast<uint32_t>(state), std::memory_order_seq_cst);
  }
  LinkState link(uint32_t host) const {
    return static_cast<LinkState>(bells_[host].link.load(std::memory_order_seq_cst));
  }
  bool linked(uint32_t host) const { return link(host) == LinkState::kLinked; }

  // Who has put something rings; who has found nothing sleeps until the bell rings again. What is for a host
  // without a connection also rings the bell of this host, where who makes them sleeps.
  void Ring(uint32_t host) noexcept;
  uint32_t Rings(uint32_t host) const { return bells_[host].rings.load(std::memory_order_seq_cst); }
  void Sleep(uint32_t host, uint32_t rings) noexcept;

 private:
  struct alignas(64) Bell {
    std::atomic<uint32_t> rings;
    std::atomic<uint32_t> sleeping;
    std::atomic<uint32_t> link;
  };
  struct Lane {
    alignas(64) std::atomic<uint64_t> put;
    alignas(64) std::atomic<uint64_t> taken;
  };
  Lane& LaneOf(uint32_t place, uint32_t host) const;
  static void RingOne(Bell& bell) noexcept;

  const uint32_t hosts_;
  const uint32_t own_;
  const uint32_t ranks_here_;
  const size_t capacity_;               // parcels of a lane
  const std::vector<uint32_t> places_;  // of each rank among those of its host
  Bell* bells_;
  std::byte* lanes_;
};

}  // namespace belay::coll
