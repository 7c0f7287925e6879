// A communicator: this rank's end of a group of ranks that work together. What the ranks of a host share is
// its Board; who makes it is bootstrap.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/handle_table.h"
#include "base/ref_count.h"
#include "collective/algorithm.h"

namespace belay::rt {
class Device;
}

namespace belay::coll {

class Board;
class Line;
class Membership;
struct Event;

struct CommunicatorConfig {
  std::string name;                   // unique among those of a process
  uint64_t buffer_bytes = 200 << 20;  // HCCL_BUFFSIZE; how much of it is used is the board's affair
  int deterministic = 0;  // 0, 1 or 2; results repeat in any case, but 0 goes by where the ranks are
  int64_t exec_timeout_ns =
      int64_t{1836} * 1'000'000'000;  // how long an operation waits for others; 0: for ever
  Algorithms algorithms;              // that are asked for between machines
};

// A rank as the others know it.
struct Peer {
  int32_t process = 0;  // its number in this process's namespace, 0 where it has none
  int32_t device = 0;   // among all devices of the machine
};

// A mapping of the memory that the ranks of a host share. The board lies at its beginning.
struct SharedBoard {
  std::byte* memory = nullptr;
  size_t bytes = 0;
  size_t staging_bytes_per_rank = 0;
};

class Communicator {
 public:
  static constexpr bool kPersistent = true;

  Communicator();
  ~Communicator();
  // Called by the handle table.
  void Open(std::unique_ptr<Membership> membership, CommunicatorConfig config, int device);
  void Close();

  uint32_t rank() const { return rank_; }
  uint32_t ranks() const { return static_cast<uint32_t>(peers_.size()); }
  const CommunicatorConfig& config() const { return config_; }
  const std::string& name() const { return config_.name; }
  HandleBits whole() const;               // that it is a part of; 0: of none
  int device() const { return device_; }  // that it was made on, by the numbers of this process
  const Peer& peer(uint32_t rank) const { return peers_[rank]; }
  Board& board() const { return *board_; }

  // --- failure: the first one stands for good, and every operation from then on ends with it.

  // From any thread. The error has an HcclResult; `who` is the rank that caused it (ranks(): nobody in
  // particular). Tells the board (Board::MarkFailed(who)), so that the ranks that wait there wake up, and the
  // streams of this process.
  void Fail(uint32_t who, Error error) noexcept;
  bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  void ThrowIfFailed() const;        // the failure itself
  Error failure() const;             // when failed()
  int async_error() const noexcept;  // an HcclResult: 0, or what HcclGetCommAsyncError tells

  // A rank has destroyed its communicator, as it may: what needs it from then on will never be done.
  bool left(uint32_t rank) const;
  // Throws when a rank (all: any of them) has left.
  void RefuseWithout(uint32_t rank) const;
  void RefuseWithoutAll() const;

  // --- operations under way: Destroy refuses (HCCL_E_AGAIN) while there is one.

  // When an operation is submitted to a stream that runs it, and when a replay begins it. Throws when the
  // communicator is destroyed.
  void Begin();
  void End() noexcept { under_way_.fetch_sub(1, std::memory_order_acq_rel); }
  uint32_t under_way() const { return under_way_.load(std::memory_order_acquire); }

  // Tasks hold it by these; the memory stays mapped until the last one has gone.
  void Ref() { refs_.Add(); }
  bool TryRef() { return refs_.TryAdd(); }
  void Unref();

  // The one of this process that has the name and was made on the device, held (Ref) for the caller; null
  // unless there is exactly one.
  static Communicator* FindNamed(std::string_view name, int device, size_t* how_many);
  // Whether a part of it that has this name lives in this process.
  bool HasPart(std::string_view name) const;

  // Throws HCCL_E_MEMORY when there are too many.
  static Communicator& Create(std::unique_ptr<Membership> membership, CommunicatorConfig config, int device);
  // The handle ends at once. Throws HCCL_E_AGAIN while an operation is under way, unless it has failed.
  static void Destroy(Communicator& communicator);
  // At the end of the runtime: whatever is under way.
  static void DestroyAll() noexcept;
  static void AbandonAllInChild();

  const Membership& membership() const { return *membership_; }

  // From the line to the meeting point.
  void Heard(const Event& event);
  void RootEnded();
  void LeaveAtExit() noexcept;
  void SayGoodbye() noexcept;

 private:
  static Communicator* Find(const std::function<bool(const Communicator&)>& is_it, size_t* how_many);

  uint32_t rank_ = 0;
  int device_ = 0;
  CommunicatorConfig config_;
  std::vector<Peer> peers_;
  std::unique_ptr<Membership> membership_;
  std::unique_ptr<Board> board_;
  std::shared_ptr<Line> line_;
  std::atomic<uint32_t> under_way_{0};
  std::atomic<bool> failed_{false};
  mutable std::mutex lock_;
  bool destroyed_ = false;        // under lock_
  std::optional<Error> failure_;  // under lock_, set once
  RefCount refs_;
};

using CommunicatorTable = HandleTable<Communicator, HandleKind::kCommunicator, 1u << 16>;
extern CommunicatorTable g_communicators;

}  // namespace belay::coll
