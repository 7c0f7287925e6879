// The calls in which all ranks take part. What the ways share, and which is taken when: collective_call.cc;
// how ranks of several processes read each other's memory: collective_in_place.cc; how reductions over
// several hosts add up within each first: collective_by_host.cc.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collective/call.h"
#include "collective/reduce.h"
#include "runtime/memory_sharing.h"

namespace belay::coll {

inline bool IsSum(Kind kind) {
  return kind == Kind::kAllReduce || kind == Kind::kReduce || kind == Kind::kReduceScatter ||
         kind == Kind::kReduceScatterV;
}
// Whether each rank is given data of its own, or all the same.
inline bool IsSeparate(Kind kind) {
  return kind == Kind::kReduceScatter || kind == Kind::kReduceScatterV || kind == Kind::kScatter ||
         kind == Kind::kAllToAll || kind == Kind::kAllToAllV || kind == Kind::kAllToAllVC;
}
inline bool HasRoot(Kind kind) {
  return kind == Kind::kReduce || kind == Kind::kBroadcast || kind == Kind::kScatter;
}
// Whether the calls of all ranks have the same count.
inline bool HasOneCount(Kind kind) {
  return kind != Kind::kAllGatherV && kind != Kind::kReduceScatterV && kind != Kind::kAllToAllV &&
         kind != Kind::kAllToAllVC;
}
inline bool HasTable(Kind kind) {
  return kind == Kind::kReduceScatterV || kind == Kind::kAllToAllV || kind == Kind::kAllToAllVC;
}

// Elements, and where they begin.
struct Extent {
  uint64_t count = 0;
  uint64_t offset = 0;
};

class CollectiveCall final : public Call {
 public:
  CollectiveCall(Board& board, std::shared_ptr<Hooks> hooks, const Operation& operation)
      : Call(board, std::move(hooks), operation),
        n_(board.ranks()),
        me_(board.rank()),
        kind_(operation.kind),
        element_(tensor::BytesOf(operation.type)),
        by_host_(IsSum(operation.kind) ? board.placement() : nullptr),
        in_slices_(ReducesInSlices()) {
    Extents extents = ExtentsOf(operation, me_, n_);
    if (IsReadInPlace(kind_) && std::max(extents.send, extents.receive) >= rt::SharedMemory::kLeastShown)
      peers_.resize(n_);
    if (!IsSum(kind_)) return;
    ins_.reserve(n_);
    outs_.reserve(n_ + 1);
  }

 private:
  enum class Step : uint8_t {
    kTurn,
    kArrive,
    kMates,   // those of this host have come
    kLayOut,  // rounds through the staging areas
    kAdd,     // within this host
    kReduce,
    kTake,
    kAgree,  // in place, between processes
    kFold,
    kCollect,
    kRead,
    kLeave,
    kOver
  };
  // In place: where another rank's buffers are, and how many pieces of its results are here already.
  struct Peer {
    const std::byte* send = nullptr;
    const std::byte* receive = nullptr;
    uint64_t pieces = 0;
  };
  // In the payload of an announcement.
  struct Places {
    rt::FilePlace send, receive;
  };
  static_assert(sizeof(Places) <= Announcement::kPayload);

  bool ReducesInSlices() const;
  bool IsArriving() const { return step_ == Step::kArrive || step_ == Step::kMates; }
  Step AfterLayOut() const { return in_slices_ ? Step::kReduce : Step::kTake; }
  void Start() override;
  bool Over() const override { return step_ == Step::kOver; }
  bool CanMove() const override;
  void Move() override;
  bool Needs(uint32_t rank) const override {
    return IsArriving() && Of(rank).number.load(std::memory_order_acquire) < number_;
  }
  void End() override { board().EndTurn(board().calls(), number_); }
  std::string WaitsFor(uint32_t* who) const override;

  void Announce();
  uint8_t Flags() const;
  bool PutPlaces(Announcement& own) const;
  void PutPayload(Announcement& own) const;
  void ShareAnnouncement(const Announcement& own) const;
  void Arrived();
  void BeginRounds();
  void Compare(uint32_t peer) const;
  void CompareParts(uint32_t from, uint32_t to) const;
  [[noreturn]] void FailMismatch(uint32_t peer, const std::string& what) const;
  std::string SaidBy(uint32_t rank) const;
  void PlanRounds();
  uint64_t RoundsNeeded() const;

  bool Contributes(uint32_t rank) const {
    return (kind_ != Kind::kBroadcast && kind_ != Kind::kScatter) || rank == operation().root;
  }
  Extent Sent(uint32_t from, uint32_t to) const;
  Extent Received(uint32_t from) const;
  Extent Within(Extent part) const;  // of this round
  Extent Slice(uint32_t rank, uint64_t count) const;
  const Announcement& Of(uint32_t rank) const { return board().announcement(rank, number_); }

  // In place. A reduction to one rank is read and folded by that one.
  bool TakesPart() const { return kind_ != Kind::kReduce || me_ == operation().root; }
  bool IsReadByOthers(uint32_t rank) const {
    return Contributes(rank) && (kind_ != Kind::kReduce || rank != operation().root);
  }
  bool ReachesAll();
  void BeginInPlace();
  uint64_t PieceCount() const;
  uint64_t Pieces(uint32_t rank) const;
  uint64_t PiecesReady(uint32_t rank) const;
  bool AnyPieceReady() const;
  bool AllPiecesTaken() const;
  void FoldPiece();
  void TakePieces();
  void ReadPeers();
  void EndReading();
  void MoveInPlace();

  // Machine by machine (by_host_).
  bool Adds() const;
  bool AwaitsAt(Step step, uint32_t rank) const;
  tensor::DType TypeFrom(uint32_t host) const;
  uint32_t OwnHost() const { return by_host_->HostOf(me_); }
  uint32_t OwnPart() const { return HasParts() ? me_ : n_; }
  void LayOutForAdders();
  void LayOutNext();
  void EndRoundByHost();
  void MeetMates();
  void Add();
  void AddUp(uint32_t part);
  void ReduceSmallByHost(uint64_t count);

  void RunSmall();
  void RunDirect();
  void LayOut();
  void ReduceSlice();
  void Take();
  // Of ins_, into outs_.
  void Reduce(uint64_t count) const;
  void GiveStaged(uint64_t own_offset);
  void Give(const std::byte* operand) { ins_.push_back({operand, operation().type}); }
  void BeginParts() {
    ins_.clear();
    outs_.clear();
  }
  void Copy(std::byte* to, const std::byte* from, uint64_t count) const;
  // Puts it there for a rank (n_: all).
  void Stage(std::byte* staged, const std::byte* from, uint64_t count, uint32_t to) const {
    Copy(staged, from, count);
    board().Share(staged, count * element_, to);
  }
  std::byte* Staged(uint32_t rank, uint32_t piece) const {
    return board().staging(rank, (before_ + round_) % 2) + piece * piece_bytes_;
  }
  // What is reduced lies in one piece for each rank, or in one for all.
  bool HasParts() const { return in_slices_ || IsSeparate(kind_); }
  std::byte* StagedPart(uint32_t rank, uint32_t part) const { return Staged(rank, HasParts() ? part : 0); }
  // Of this round, in the buffer that is sent from.
  Extent Part(uint32_t to) const {
    if (!in_slices_) return Within(Sent(me_, to));
    const Extent all = Within({operation().count, 0});
    const Extent slice = Slice(to, all.count);
    return {slice.count, all.offset + slice.offset};
  }
  const std::byte* send() const { return send_; }
  std::byte* receive(uint64_t offset = 0) const { return receive_ + offset * element_; }

  // Who this waits for, and what is to be at least how large.
  const std::atomic<uint64_t>& Word(uint32_t rank) const;
  uint64_t Goal(uint32_t rank) const;
  bool Awaits(uint32_t rank) const { return by_host_ == nullptr || AwaitsAt(step_, rank); }
  bool AllThere() const;

  const uint32_t n_;
  const uint32_t me_;
  const Kind kind_;
  const size_t element_;
  const Placement* const by_host_;  // of a reduction, unless it goes in the order of the ranks
  const bool in_slices_;
  const std::byte* send_ = nullptr;
  std::byte* receive_ = nullptr;
  uint64_t number_ = 0;
  uint64_t round_ = 0;
  uint64_t rounds_ = 0;
  uint64_t before_ = 0;       // rounds of earlier calls
  uint64_t round_count_ = 0;  // elements of a part (of all slices) in a round
  size_t piece_bytes_ = 0;
  bool laid_out_ = false;  // the first round, before the others came
  Step step_ = Step::kTurn;
  mutable uint32_t there_ = 0;  // ranks that are known to be there
  // What is reduced and where it goes. A call that is under way takes no memory.
  std::vector<Operand> ins_;
  std::vector<std::byte*> outs_;
  std::vector<Peer> peers_;  // empty: the call is too small for that, or of another kind
};

}  // namespace belay::coll
