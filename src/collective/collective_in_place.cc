// Large data between processes of one host: each rank reads what it needs where the others have it, and
// writes only to its own memory. Whether all can do so is agreed upon after they have come: a rank that
// cannot map another's memory has the call staged, for all.
//
// An all-reduce is done in pieces: a rank reduces its slice to its own result, and takes the others' slices
// from theirs, piece by piece as they get ready, while they are in a cache. No rank reads a slice of
// another's operands but its own, so a result may lie where the operand was.
//
// A rank's call ends when all have read, or when the communicator has failed; only then its program may use
// the buffers for something else. Who finds that it has not failed after it has read, has read what was
// meant.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "collective/collective_call.h"

namespace belay::coll {
namespace {

// Of a slice; so that the other ranks' results are still in a cache, and begin to come soon.
constexpr size_t kPieceBytes = size_t{128} << 10;

}  // namespace

bool IsReadInPlace(Kind kind) { return kind != Kind::kBarrier && kind < Kind::kSend; }

// False where others cannot read in place what this rank gives.
bool CollectiveCall::PutPlaces(Announcement& own) const {
  if (peers_.empty() || (own.flags & Announcement::kOverlaps) != 0 || !board().ReadsPeers()) return false;
  if (!IsReadByOthers(me_)) return true;
  if ((own.flags & Announcement::kSmall) != 0) return false;
  const Extents extents = ExtentsOf(operation(), me_, n_);
  rt::SharedMemory& memory = rt::SharedMemory::Get();
  const auto send = memory.PlaceOf(operation().send, extents.send);
  if (!send) return false;
  Places places{*send, *send};
  if (kind_ == Kind::kAllReduce && operation().receive != operation().send) {
    const auto receive = memory.PlaceOf(operation().receive, extents.receive);
    if (!receive) return false;
    places.receive = *receive;
  }
  std::memcpy(own.payload, &places, sizeof places);
  return true;
}

// Once all have come.
bool CollectiveCall::ReachesAll() {
  PeerMemory& memory = board().peer_memory();
  memory.BeginCall();
  for (uint32_t r = 0; r < n_; ++r) {
    Peer& peer = peers_[r];
    peer.pieces = 0;
    if (!Contributes(r) || !TakesPart()) continue;
    if (board().IsHere(r)) {
      peer.send = reinterpret_cast<const std::byte*>(Of(r).send);
      peer.receive = reinterpret_cast<const std::byte*>(Of(r).receive);
      continue;
    }
    Places places;
    std::memcpy(&places, Of(r).payload, sizeof places);
    const uint64_t left = places.send.file_bytes - std::min(places.send.offset, places.send.file_bytes);
    const uint64_t bytes = kind_ == Kind::kAllReduce ? operation().count * element_ : left;
    peer.send = memory.Find(places.send, bytes);
    peer.receive = kind_ == Kind::kAllReduce ? memory.Find(places.receive, bytes) : peer.send;
    if (peer.send != nullptr && peer.receive != nullptr) continue;
    board().SetReadsPeers(false);  // nor will it next time
    return false;
  }
  return true;
}

void CollectiveCall::BeginInPlace() {
  for (uint32_t r = 0; r < n_; ++r) {
    if (board().counters(r).agreed.load(std::memory_order_acquire) != Board::Agreed(number_, true))
      return BeginRounds();
  }
  board().CountInPlace();
  step_ = kind_ == Kind::kAllReduce ? Step::kFold : Step::kRead;
}

uint64_t CollectiveCall::PieceCount() const { return kPieceBytes / element_; }
uint64_t CollectiveCall::Pieces(uint32_t rank) const {
  return (Slice(rank, operation().count).count + PieceCount() - 1) / PieceCount();
}

uint64_t CollectiveCall::PiecesReady(uint32_t rank) const {
  const uint64_t word = board().counters(rank).reduced.load(std::memory_order_seq_cst);
  return word < Mark(number_, 0) ? 0 : std::min(word - Mark(number_, 0), Pieces(rank));
}

bool CollectiveCall::AllPiecesTaken() const {
  for (uint32_t r = 0; r < n_; ++r) {
    if (peers_[r].pieces < Pieces(r)) return false;
  }
  return true;
}

bool CollectiveCall::AnyPieceReady() const {
  for (uint32_t r = 0; r < n_; ++r) {
    if (peers_[r].pieces < PiecesReady(r)) return true;
  }
  return AllPiecesTaken();
}

void CollectiveCall::FoldPiece() {
  const Extent slice = Slice(me_, operation().count);
  Peer& own = peers_[me_];
  const uint64_t begin = own.pieces * PieceCount();
  BeginParts();
  for (uint32_t r = 0; r < n_; ++r) Give(peers_[r].send + (slice.offset + begin) * element_);
  outs_.push_back(receive(slice.offset + begin));
  Reduce(std::min(PieceCount(), slice.count - begin));
  board().PublishToAll(board().counters(me_).reduced, Mark(number_, ++own.pieces));
}

void CollectiveCall::TakePieces() {
  for (uint32_t i = 1; i < n_; ++i) {
    const uint32_t from = (me_ + i) % n_;
    const uint64_t ready = PiecesReady(from);
    uint64_t& taken = peers_[from].pieces;
    if (taken >= ready) continue;
    const Extent slice = Slice(from, operation().count);
    const uint64_t begin = taken * PieceCount();
    const uint64_t end = std::min(ready * PieceCount(), slice.count);
    Copy(receive(slice.offset + begin), peers_[from].receive + (slice.offset + begin) * element_,
         end - begin);
    taken = ready;
  }
}

void CollectiveCall::ReadPeers() {
  if (!TakesPart()) return;
  if (IsSum(kind_)) {
    BeginParts();
    for (uint32_t r = 0; r < n_; ++r) Give(peers_[r].send + Sent(r, me_).offset * element_);
    outs_.push_back(receive());
    Reduce(Sent(me_, me_).count);
    return;
  }
  for (uint32_t i = 0; i < n_; ++i) {
    const uint32_t from = (me_ + i) % n_;  // not all from the same at once
    if (!Contributes(from) || (kind_ == Kind::kBroadcast && from == me_)) continue;
    const Extent part = Sent(from, me_);
    Copy(receive(Received(from).offset), peers_[from].send + part.offset * element_, part.count);
  }
}

void CollectiveCall::EndReading() {
  std::atomic_thread_fence(std::memory_order_acquire);  // what was read was read before the look
  if (board().failed()) throw board().Failure();
  board().PublishToAll(board().counters(me_).taken, Mark(number_, kAllSteps));
  step_ = Step::kLeave;
}

void CollectiveCall::MoveInPlace() {
  switch (step_) {
    case Step::kAgree:
      return BeginInPlace();
    case Step::kFold:
      if (peers_[me_].pieces < Pieces(me_)) FoldPiece();
      TakePieces();
      if (peers_[me_].pieces == Pieces(me_)) step_ = Step::kCollect;
      return;
    case Step::kCollect:
      TakePieces();
      if (AllPiecesTaken()) EndReading();
      return;
    default:
      ReadPeers();
      return EndReading();
  }
}

}  // namespace belay::coll
