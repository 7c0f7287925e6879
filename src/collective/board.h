// What the ranks of one communicator on one host share, laid over one mapping of memory that was all zeros
// when the first of them came. Each rank has a Board of its own over it.
//
//   announcements  what a rank calls, when its stream gets there: two, used in turn. Who announces call n + 1
//                  has ended call n, for which everybody had announced call n and so had read n - 1.
//   counters       how far a rank has got in a call: rounds whose data it has laid out, added up for its
//   host,
//                  reduced, and taken
//   staging        where data lies for the others, in two halves that are used in turn
//   channels       from each rank to each: what is sent, how far it was taken, and some staging
//   bell           how many streams of a rank are parked, and a word that whoever rings changes
//
// Where ranks are on several hosts, each host has such a memory with room for all ranks of the group. What a
// rank writes into its own it shares with the others (Share, Publish): it is carried there and lies at the
// same place, words after the bytes that they tell of (outbox.h, carrier.h).
//
// Nothing here is ever taken back: numbers of calls only grow, so nothing has to be reset between calls.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/spin_lock.h"
#include "collective/outbox.h"
#include "collective/peer_memory.h"
#include "collective/placement.h"

namespace belay::coll {

// Why a communicator can no longer be used.
enum class FailureKind : uint32_t { kNone, kMismatch, kPeerEnded, kTimeout, kDropped, kOther };

// How far somebody has got in the call of this number.
constexpr uint32_t kStepBits = 24;
constexpr uint64_t kAllSteps = (uint64_t{1} << kStepBits) - 1;
constexpr uint64_t Mark(uint64_t number, uint64_t step) { return number << kStepBits | step; }

// What a rank calls. What is small comes with it.
struct alignas(64) Announcement {
  static constexpr size_t kPayload = 1048;
  static constexpr uint8_t kSmall = 1;     // the data is in the payload
  static constexpr uint8_t kOverlaps = 2;  // the buffers overlap: others must not read them while they change
  static constexpr uint8_t kInFile = 4;  // others can read the buffers in place; unless small, Places lie in
                                         // the payload
  std::atomic<uint64_t> number;          // of the call; written last
  uint64_t count;
  uint32_t root;
  uint8_t kind, type, op, flags;
  uint64_t send, receive;  // addresses in the process of the rank
  std::byte payload[kPayload];
};
static_assert(sizeof(Announcement) == 17 * 64);

// One side of a channel: its message of this number, and how far that has got.
struct alignas(64) ChannelSide {
  std::atomic<uint64_t> number;
  std::atomic<uint64_t> moved;
  uint64_t count;
  uint64_t address;
  int64_t since_ns;
  uint8_t type, flags;
};

// The numbers of calls of one kind in one rank: who comes first is served first.
struct Turns {
  std::atomic<uint64_t> last{0};
  std::atomic<uint64_t> ended{0};
  uint64_t Take() { return last.fetch_add(1, std::memory_order_relaxed) + 1; }
  bool IsTurnOf(uint64_t number) const { return ended.load(std::memory_order_acquire) + 1 == number; }
};

// Who carries for this host in the process of a rank, so that the rank's own threads can do it at once and
// no other has to wake up for it.
class Courier {
 public:
  virtual ~Courier() = default;
  // What has been put for the host goes now, as far as that is possible; the rest by itself. True when
  // something went.
  virtual bool Push(uint32_t host) noexcept = 0;
  // Between these the rank looks again and again at what comes (true: something came or went). Afterwards
  // that is carried by itself; somewhat later when nobody waits for it, because the rank may soon look again.
  virtual void BeginLooking() noexcept = 0;
  virtual bool Look() noexcept = 0;
  virtual void EndLooking(bool somebody_waits) noexcept = 0;
  // Sleeps until there may be something to look at, or for so long. False where others than those on other
  // hosts may have it.
  virtual bool Sleep(int64_t ns) noexcept = 0;
};

// Whether to look around before a nap. Where two ranks share a core, the one that looks keeps the other from
// what it looks for: after some looks in vain most calls nap at once, until one finds again that it pays.
class LookHint {
 public:
  bool pays() const {
    const uint32_t vain = vain_.load(std::memory_order_relaxed);
    return vain < kEnough || vain % kProbe == 0;
  }
  void Note(bool found) {
    vain_.store(found ? 0 : vain_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

 private:
  static constexpr uint32_t kEnough = 4, kProbe = 16;
  std::atomic<uint32_t> vain_{0};  // one after the other
};

class Board {
 public:
  static constexpr size_t kStagingBytes = size_t{2} << 20;  // for each rank; more brings little
  static constexpr size_t kSmallMessage = 1024;             // payload of a channel

  static size_t Bytes(uint32_t ranks, size_t staging_bytes_per_rank);
  // `memory` stays mapped for as long as the board lives.
  // `hosts`: where the ranks are, if not all on this one; an Outbox lies behind the board then. Who carries
  // for a host is none of its ranks: `rank` is `ranks`.
  Board(std::byte* zeroed_shared_memory, uint32_t rank, uint32_t ranks, size_t staging_bytes_per_rank,
        std::string name = {}, std::shared_ptr<const Hosts> hosts = nullptr);
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  uint32_t rank() const { return rank_; }
  uint32_t ranks() const { return ranks_; }
  // A number for the calls of this board that take turns, of no other board of the process.
  uint64_t Line(uint64_t turns) const { return number_ << kLineBits | turns; }
  const std::string& name() const { return name_; }
  // How long a call waits for others without getting on; 0: for ever.
  void SetWaitLimit(int64_t ns) { limit_ns_.store(ns, std::memory_order_relaxed); }
  int64_t wait_limit_ns() const { return limit_ns_.load(std::memory_order_relaxed); }

  // --- failure: the first one stands for good, for all ranks

  // Every wait of every rank ends. `who`: the rank that caused it (ranks(): nobody in particular).
  void MarkFailed(uint32_t who, FailureKind kind = FailureKind::kPeerEnded,
                  std::string_view why = {}) noexcept;
  bool failed() const { return header().failed.load(std::memory_order_acquire) != 0; }
  uint32_t failed_rank() const;  // when failed()
  FailureKind failure_kind() const { return static_cast<FailureKind>(header().kind.load()); }
  Error Failure() const;  // the same for all ranks

  // A rank has destroyed its communicator and makes no more calls: who needs one, fails with that. This rank
  // has heard of it, and learns so what others may not know yet.
  void MarkLeft(uint32_t rank) noexcept;
  // The same where all can see it, whoever ends next: this rank is about to leave.
  void SayGoodbye() noexcept;
  bool SaidGoodbye(uint32_t rank) const { return bell(rank).left.load(std::memory_order_acquire) != 0; }
  bool anybody_left() const {
    return anybody_left_.load(std::memory_order_acquire) ||
           (hosts_ != nullptr && header().left_elsewhere.load(std::memory_order_acquire) != 0);
  }
  // Of a rank on another host that is known when all has come that it made before.
  bool left(uint32_t rank) const {
    return left_[rank].load(std::memory_order_acquire) || (IsElsewhere(rank) && SaidGoodbye(rank));
  }

  // --- ranks on other hosts

  bool IsElsewhere(uint32_t rank) const { return hosts_ != nullptr && hosts_->of[rank] != hosts_->own; }
  const Hosts* hosts() const { return hosts_.get(); }
  // How reductions go together; null: in the order of the ranks.
  const Placement* placement() const { return placement_.get(); }
  Outbox& outbox() { return *outbox_; }
  // Before the first call, where who carries is in this process.
  void SetCourier(std::shared_ptr<Courier> courier);
  bool has_courier() const { return courier_ != nullptr; }
  void BeginLooking() {
    if (courier_ != nullptr) courier_->BeginLooking();
  }
  bool Look() { return courier_ != nullptr && courier_->Look(); }
  bool SleepLooking(int64_t ns) { return courier_ != nullptr && courier_->Sleep(ns); }
  LookHint& look_hint() { return look_hint_; }
  void EndLooking() {
    if (courier_ != nullptr) courier_->EndLooking(bell(rank_).parked.load(std::memory_order_seq_cst) != 0);
  }
  // What was published goes, where it has waited for more to go with it.
  void Flush() noexcept;
  // Bytes of this board that `to` (ranks(): all others) shall see no later than what is published next.
  // They stay as they are until it tells that it has taken them.
  void Share(const void* at, size_t bytes, uint32_t to);
  // The same for a word that nobody waits for: it goes with what is published next.
  void ShareWord(const std::atomic<uint64_t>& word, uint64_t value, uint32_t to);
  // The host whose ranks may write these bytes, which are in one piece of theirs; else how many there are.
  uint32_t HostOf(uint64_t at, uint64_t bytes) const;
  std::byte* Bytes(uint64_t at) { return memory_ + at; }
  // For tests: how many bytes this rank has had brought to other hosts.
  uint64_t bytes_shared() const { return bytes_shared_.load(std::memory_order_relaxed); }
  // From another host: a word, and that a rank has left.
  void Came(uint64_t word, uint64_t value);
  void CameLeft(uint32_t rank) noexcept;
  // The meeting point says so of a rank on another host. What that made before comes by its connection, and
  // its goodbye after that; so this counts once there is none, or it has ended.
  void HeardLeft(uint32_t rank) noexcept;
  void EndLink(uint32_t host) noexcept;

  // --- for the calls

  Announcement& announcement(uint32_t rank, uint64_t number) const;
  // Of an announcement: elements for each rank, where the call has several counts, and where they begin.
  uint64_t* counts(uint32_t rank, uint64_t number) const;
  uint64_t* offsets(uint32_t rank, uint64_t number) const { return counts(rank, number) + ranks_; }
  // What it expects from each rank.
  uint64_t* expects(uint32_t rank, uint64_t number) const { return counts(rank, number) + 2 * ranks_; }
  struct alignas(64) Counters {
    std::atomic<uint64_t> laid_out, reduced, taken;
    std::atomic<uint64_t> added;  // for its host
    // Whether the rank reaches all memory that the call wants to read in place: see Agreed.
    std::atomic<uint64_t> agreed;
  };
  Counters& counters(uint32_t rank) const { return counters_[rank]; }
  static constexpr uint64_t Agreed(uint64_t number, bool reaches_all) { return number << 1 | reaches_all; }
  std::byte* staging(uint32_t rank, uint64_t half) const {
    return staging_ + (size_t{rank} * 2 + half) * half_bytes_;
  }
  size_t half_bytes() const { return half_bytes_; }

  struct Channel {
    ChannelSide sender;
    ChannelSide receiver;
    std::byte payload[kSmallMessage];
  };
  Channel& channel(uint32_t from, uint32_t to) const { return channels_[size_t{from} * ranks_ + to]; }
  std::byte* channel_staging(uint32_t from, uint32_t to, uint64_t chunk) const {
    return channel_staging_ + ((size_t{from} * ranks_ + to) * 2 + chunk % 2) * chunk_bytes_;
  }
  size_t chunk_bytes() const { return chunk_bytes_; }

  // Rounds of staging that all calls so far have taken: which half is used next goes on from call to call.
  uint64_t rounds_before() const { return rounds_before_; }
  void AddRounds(uint64_t rounds) { rounds_before_ += rounds; }

  Turns& calls() { return calls_; }
  Turns& sends(uint32_t to) { return turns_[to]; }
  Turns& receives(uint32_t from) { return turns_[ranks_ + from]; }
  // The next one may go on, maybe on another stream of this rank.
  void EndTurn(Turns& turns, uint64_t number);

  // Whether the rank is in this process, so that its addresses are ours.
  bool IsHere(uint32_t rank) const;
  bool AllAreHere() const;
  // For tests: as if each rank were a process. To be said before the first call.
  void PretendApart();
  // Whether large data may be read in place in other processes of this host (peer_memory.h). Ranks need not
  // say the same.
  void SetReadsPeers(bool reads) { reads_peers_.store(reads, std::memory_order_relaxed); }
  // Whether it is worth it: all ranks are on this host, not all in this process.
  bool ReadsPeers() const;
  // For tests: how many calls have read the others' memory in place.
  uint64_t calls_in_place() const { return calls_in_place_.load(std::memory_order_relaxed); }
  void CountInPlace() { calls_in_place_.fetch_add(1, std::memory_order_relaxed); }
  PeerMemory& peer_memory() { return peer_memory_; }  // of whose turn it is
  // What another rank sends, from where it lies. False where that cannot be, now or at all.
  bool ReadMessage(const rt::FilePlace& place, std::byte* to, size_t bytes);
  // More ranks than cores.
  bool crowded() const { return crowded_; }

  // Stores the value and tells a rank (all of them) that may be parked.
  void Publish(std::atomic<uint64_t>& word, uint64_t value, uint32_t to);
  void PublishToAll(std::atomic<uint64_t>& word, uint64_t value);
  void PublishHere(std::atomic<uint64_t>& word, uint64_t value);  // to the ranks of this host

  // A stream of this rank is about to park, or goes on: others ring from now on.
  void BeginPark();
  void EndPark() { bell(rank_).parked.fetch_sub(1, std::memory_order_relaxed); }
  // For Engine::Wrote: what streams of this rank wait for.
  const void* key() const { return this; }
  // Whether nobody rings, so that the timekeeper has to look.
  const std::atomic<bool>& silent() const { return silent_; }

 private:
  struct alignas(64) Header {
    static constexpr uint32_t kClaimed = 1, kComplete = 2;
    std::atomic<uint32_t> failed;
    std::atomic<uint32_t> who;
    std::atomic<uint32_t> kind;
    std::atomic<uint32_t> left_elsewhere;  // a rank on another host
    char sentence[1008];
  };
  struct alignas(64) Bell {
    std::atomic<uint32_t> parked;
    std::atomic<uint32_t> rings;
    std::atomic<uint64_t> process;  // a number that no other process has; 0: not come yet
    std::atomic<uint64_t> key;      // in that process
    std::atomic<uint32_t> left;     // the rank has said goodbye
    std::atomic<uint32_t> heard;    // the same of a rank elsewhere, by the meeting point
  };
  Header& header() const { return *reinterpret_cast<Header*>(memory_); }
  Bell& bell(uint32_t rank) const { return bells_[rank]; }
  void Tell(uint32_t rank);
  void TellAllHere();
  uint32_t HostFor(uint32_t to) const { return to == ranks_ ? hosts_->count() : hosts_->of[to]; }
  void Put(const Parcel& parcel, uint32_t to) noexcept;
  void PutWord(const std::atomic<uint64_t>& word, uint64_t value, uint32_t to) noexcept;
  void Hurry(uint32_t to) noexcept;
  void RingHosts() noexcept;
  void PutFor(uint32_t host, const Parcel& parcel) noexcept;
  uint32_t OwnerOf(uint64_t at, uint64_t bytes) const;
  void Ring(uint32_t rank);
  void ShareCores();
  void Listen();
  static void* Listener(void* board);

  std::byte* const memory_;
  const uint32_t rank_;
  const uint32_t ranks_;
  const std::string name_;
  const std::shared_ptr<const Hosts> hosts_;
  const std::unique_ptr<const Placement> placement_;
  std::unique_ptr<Outbox> outbox_;
  std::shared_ptr<Courier> courier_;
  SpinLock puts_;                 // of the outbox
  std::atomic<size_t> heavy_{0};  // bytes that have been put and not pushed
  std::atomic<bool> unpushed_{false};
  std::atomic<uint64_t> bytes_shared_{0};
  std::unique_ptr<std::atomic<bool>[]> unpushed_to_;  // each host
  uint64_t process_;                                  // what other boards of this process say, too
  Bell* bells_;
  Counters* counters_;
  std::byte* announcements_;
  size_t announcement_bytes_;
  Channel* channels_;
  std::byte* staging_;
  std::byte* channel_staging_;
  size_t half_bytes_;
  size_t chunk_bytes_;
  const int32_t opener_;
  const bool crowded_;
  static constexpr int kLineBits = 12;  // for 2 * kMostRanks + 1
  static constinit std::atomic<uint64_t> boards_;
  const uint64_t number_ = boards_.fetch_add(1, std::memory_order_relaxed);
  LookHint look_hint_;
  std::atomic<int64_t> limit_ns_{int64_t{1836} * 1'000'000'000};
  std::atomic<bool> reads_peers_{true};
  std::atomic<uint64_t> calls_in_place_{0};
  PeerMemory peer_memory_;
  SpinLock messages_lock_;  // of what messages are read from
  PeerMemory messages_memory_;
  Turns calls_;
  uint64_t rounds_before_ = 0;  // of whose turn it is
  std::unique_ptr<Turns[]> turns_;
  std::unique_ptr<std::atomic<bool>[]> left_;
  std::atomic<bool> anybody_left_{false};
  std::mutex lock_;                  // of the listener's start
  std::atomic<bool> shares_{false};  // has said that ranks elsewhere need the cores
  std::atomic<bool> listens_{false};
  std::atomic<bool> stop_{false};
  std::atomic<bool> silent_{false};
  pthread_t listener_{};
};

}  // namespace belay::coll
