// Collectives. Every rank announces its call and waits until all have; what is small comes
// with the announcement. Then, where all ranks are in one process, they read and write each other's buffers;
// where they are processes of one host that can, they read them (collective_in_place.cc); else data goes
// through the staging areas, in rounds that fill one half after the other.
//
// Each rank reduces its slice of the elements, or all of them for itself (ReducesInSlices), reading all
// ranks' data in the order of the ranks, or what each host has made of its ranks' (collective_by_host.cc).
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/codes.h"
#include "base/copy_memory.h"
#include "collective/collective_call.h"
#include "collective/reduce.h"
#include "runtime/memory.h"

namespace belay::coll {
namespace {

// Bytes that a rank may reduce for itself though others do so as well, to wait once less for each other.
constexpr size_t kReducedTwice = size_t{64} << 10;
// Of the staging area that a round fills, so that it is still in the cache of who filled it.
constexpr size_t kRoundBytes = size_t{256} << 10;

}  // namespace
// Between processes, what is reduced to one result: each rank its slice, for all, or each the whole for
// itself, which is one wait for the others fewer and more to read; where two ranks reduce, no more than
// slices are. All must decide the same, so only by what they share and compare.
bool CollectiveCall::ReducesInSlices() const {
  if (kind_ != Kind::kAllReduce && kind_ != Kind::kReduce) return false;
  const uint32_t free = kind_ == Kind::kAllReduce ? 2 : 1;
  const uint32_t operands = by_host_ != nullptr ? by_host_->hosts() : n_;
  if (n_ <= free) return false;
  const uint32_t more = std::max(operands, free + 1) - free;
  return operation().count > std::min(kReducedTwice, board().half_bytes()) / (element_ * more);
}

void CollectiveCall::Start() {
  number_ = board().calls().Take();
  step_ = Step::kTurn;
  there_ = 0;
  round_ = 0;
  const Operation& o = operation();
  Extents extents = ExtentsOf(o, me_, n_);
  const void* from = o.send;
  send_ = static_cast<const std::byte*>(rt::View(from, extents.send));
  receive_ = static_cast<std::byte*>(rt::View(o.receive, extents.receive));
}

// --- waiting

const std::atomic<uint64_t>& CollectiveCall::Word(uint32_t rank) const {
  switch (step_) {
    case Step::kLayOut:
    case Step::kLeave:
      return board().counters(rank).taken;
    case Step::kAdd:
      return board().counters(rank).laid_out;
    case Step::kReduce:
      return by_host_ != nullptr ? board().counters(rank).added : board().counters(rank).laid_out;
    case Step::kAgree:
      return board().counters(rank).agreed;
    case Step::kCollect:
      return board().counters(rank).reduced;
    case Step::kTake:
      if (in_slices_) return board().counters(rank).reduced;
      return by_host_ != nullptr ? board().counters(rank).added : board().counters(rank).laid_out;
    default:
      return Of(rank).number;
  }
}

uint64_t CollectiveCall::Goal(uint32_t rank) const {
  switch (step_) {
    case Step::kLayOut:
      return Mark(number_, round_ - 1);  // that half was used two rounds ago
    case Step::kAdd:
    case Step::kReduce:
    case Step::kTake:
      return Mark(number_, round_ + 1);
    case Step::kLeave:
      return Mark(number_, kAllSteps);
    case Step::kAgree:
      return Board::Agreed(number_, false);
    case Step::kCollect:
      return Mark(number_, Pieces(rank));
    default:
      return number_;
  }
}

bool CollectiveCall::AllThere() const {
  while (there_ < n_ && (!Awaits(there_) || Word(there_).load(std::memory_order_seq_cst) >= Goal(there_)))
    ++there_;
  return there_ == n_;
}

bool CollectiveCall::CanMove() const {
  if (step_ == Step::kTurn) return board().calls().IsTurnOf(number_);
  if (step_ == Step::kLayOut && round_ < 2) return true;
  if (step_ == Step::kFold || step_ == Step::kRead) return true;
  if (step_ == Step::kCollect) return AnyPieceReady();
  return AllThere();
}

std::string CollectiveCall::WaitsFor(uint32_t* who) const {
  if (step_ == Step::kTurn) return "an earlier call of this communicator on another stream has not ended";
  std::string missing, elsewhere;
  for (uint32_t r = 0; r < n_; ++r) {
    if (Word(r).load() >= Goal(r) || (!IsArriving() && !Awaits(r))) continue;
    if (missing.empty()) *who = r;
    if (elsewhere.empty()) elsewhere = WaitsElsewhere(board(), r);
    missing += fmt::format("{}{}", missing.empty() ? "" : ", ", r);
  }
  if (!IsArriving()) return fmt::format("rank {} has begun it and does not get on", missing);
  return fmt::format(
      "it is call {} here, and rank {} has not made it{}; all ranks must make the same calls in the same order",
      number_, missing, elsewhere);
}

void CollectiveCall::Move() {
  there_ = 0;
  Board::Counters& own = board().counters(me_);
  switch (step_) {
    case Step::kTurn:
      Announce();
      step_ = laid_out_ && Adds() ? Step::kMates : Step::kArrive;
      break;
    case Step::kMates:
      MeetMates();
      Add();
      step_ = Step::kArrive;
      break;
    case Step::kArrive:
      Arrived();
      break;
    case Step::kLayOut:
      LayOut();
      board().PublishToAll(own.laid_out, Mark(number_, round_ + 1));
      step_ = AfterLayOut();
      break;
    case Step::kAdd:
      Add();
      step_ = AfterLayOut();
      break;
    case Step::kReduce:
      ReduceSlice();
      board().PublishToAll(own.reduced, Mark(number_, round_ + 1));
      if (by_host_ != nullptr) LayOutNext();
      step_ = Step::kTake;
      break;
    case Step::kTake:
      Take();
      if (by_host_ != nullptr) {
        EndRoundByHost();
        break;
      }
      board().PublishToAll(own.taken, Mark(number_, ++round_));
      step_ = round_ < rounds_ ? Step::kLayOut : Step::kOver;
      break;
    case Step::kLeave:
    case Step::kOver:
      step_ = Step::kOver;
      break;
    default:
      MoveInPlace();
      break;
  }
}

// --- what ranks tell each other

// Once the counts are announced.
uint8_t CollectiveCall::Flags() const {
  uint64_t count = 0;  // parts may overlap, so this may be more than the buffer has
  for (uint32_t to = 0; to < (IsSeparate(kind_) ? n_ : 1); ++to) {
    count += std::min<uint64_t>(Sent(me_, to).count, Announcement::kPayload + 1);
  }
  uint8_t flags = 0;
  if (!Contributes(me_) || count * element_ <= Announcement::kPayload) flags |= Announcement::kSmall;
  bool moves = !IsSum(kind_) || IsSeparate(kind_);
  Extents extents = ExtentsOf(operation(), me_, n_);
  // A rank whose own part comes first gives it from where it shall be.
  const uint64_t own_part = IsSeparate(kind_) ? Sent(me_, me_).offset : Received(me_).offset;
  const bool own_first = own_part == 0 && kind_ != Kind::kAllToAll;
  bool same = send_ == receive_ && extents.send > 0 && extents.receive > 0 && !own_first;
  if (moves && same && kind_ != Kind::kBroadcast) flags |= Announcement::kOverlaps;
  return flags;
}

void CollectiveCall::PutPayload(Announcement& own) const {
  if (!Contributes(me_)) return;
  std::byte* at = own.payload;
  for (uint32_t to = 0; to < (IsSeparate(kind_) ? n_ : 1); ++to) {
    Extent part = Sent(me_, to);
    if (part.count > 0) CopyMemory(at, send_ + part.offset * element_, part.count * element_);
    at += part.count * element_;
  }
}

void CollectiveCall::Announce() {
  const Operation& o = operation();
  Announcement& own = board().announcement(me_, number_);
  own.count = kind_ == Kind::kBarrier ? 0 : o.count;
  own.root = o.root;
  own.kind = static_cast<uint8_t>(kind_);
  own.type = static_cast<uint8_t>(o.type);
  own.op = static_cast<uint8_t>(o.op);
  own.send = reinterpret_cast<uintptr_t>(send_);
  own.receive = reinterpret_cast<uintptr_t>(receive_);
  if (HasTable(kind_)) {
    std::copy_n(o.send_counts.data(), n_, board().counts(me_, number_));
    std::copy_n(o.send_offsets.data(), n_, board().offsets(me_, number_));
  }
  if (!o.receive_counts.empty()) std::copy_n(o.receive_counts.data(), n_, board().expects(me_, number_));
  own.flags = Flags();
  PlanRounds();
  laid_out_ = false;
  if (PutPlaces(own)) {
    own.flags |= Announcement::kInFile;
  } else if ((own.flags & Announcement::kSmall) != 0) {
    PutPayload(own);
  } else if (!board().AllAreHere()) {
    // Others may still read the last round of the call before, which lies in the other half.
    LayOut();
    board().counters(me_).laid_out.store(Mark(number_, 1), std::memory_order_release);
    if (by_host_ == nullptr) board().ShareWord(board().counters(me_).laid_out, Mark(number_, 1), n_);
    laid_out_ = true;
  }
  ShareAnnouncement(own);
  board().PublishToAll(own.number, number_);
}

// With ranks on other hosts, no more of it than they read.
void CollectiveCall::ShareAnnouncement(const Announcement& own) const {
  if (board().hosts() == nullptr) return;
  const bool small = (own.flags & Announcement::kSmall) != 0 && Contributes(me_);
  uint64_t payload = 0;
  for (uint32_t to = 0; small && to < (IsSeparate(kind_) ? n_ : 1); ++to) payload += Sent(me_, to).count;
  const auto* begin = reinterpret_cast<const std::byte*>(&own.count);
  const std::byte* end = own.payload + payload * element_;
  board().Share(begin, static_cast<size_t>(end - begin), n_);
  const Operation& o = operation();
  if (HasTable(kind_)) board().Share(board().counts(me_, number_), 2 * n_ * sizeof(uint64_t), n_);
  if (!o.receive_counts.empty()) board().Share(board().expects(me_, number_), n_ * sizeof(uint64_t), n_);
}

std::string CollectiveCall::SaidBy(uint32_t rank) const {
  const Announcement& said = Of(rank);
  return Said(static_cast<Kind>(said.kind), said.count, static_cast<tensor::DType>(said.type),
              static_cast<Reduction>(said.op), said.root);
}

void CollectiveCall::FailMismatch(uint32_t peer, const std::string& what) const {
  uint32_t low = std::min(me_, peer), high = std::max(me_, peer);
  board().MarkFailed(
      peer, FailureKind::kMismatch,
      fmt::format(
          "as call {} of communicator \"{}\" rank {} made {} and rank {} made {}{}; all ranks must make the "
          "same calls in the same order",
          number_, board().name(), low, SaidBy(low), high, SaidBy(high), what));
  throw board().Failure();
}

void CollectiveCall::Compare(uint32_t peer) const {
  const Announcement& a = Of(me_);
  const Announcement& b = Of(peer);
  bool same = a.kind == b.kind && (kind_ == Kind::kBarrier || a.type == b.type) &&
              (!IsSum(kind_) || a.op == b.op) && (!HasRoot(kind_) || a.root == b.root) &&
              (!HasOneCount(kind_) || a.count == b.count);
  if (!same) FailMismatch(peer, "");
  if (kind_ == Kind::kReduceScatterV) {
    const uint64_t* theirs = board().counts(peer, number_);
    for (uint32_t r = 0; r < n_; ++r) {
      if (theirs[r] == operation().send_counts[r]) continue;
      FailMismatch(peer, fmt::format(", but the part of rank {} has {} elements on rank {} and {} on rank {}",
                                     r, operation().send_counts[r], me_, theirs[r], peer));
    }
  }
  if (!operation().receive_counts.empty()) {
    CompareParts(peer, me_);
    CompareParts(me_, peer);
  }
}

// Both ranks look at both, so that both learn of it.
void CollectiveCall::CompareParts(uint32_t from, uint32_t to) const {
  uint64_t sent = Sent(from, to).count;
  uint64_t expected = board().expects(to, number_)[from];
  if (sent == expected) return;
  FailMismatch(
      from == me_ ? to : from,
      fmt::format(", but rank {} sends {} elements to rank {}, which expects {}", from, sent, to, expected));
}

void CollectiveCall::Arrived() {
  bool small = true, overlaps = false, in_files = true;
  for (uint32_t r = 0; r < n_; ++r) {
    Compare(r);
    small &= (Of(r).flags & Announcement::kSmall) != 0;
    overlaps |= (Of(r).flags & Announcement::kOverlaps) != 0;
    in_files &= (Of(r).flags & Announcement::kInFile) != 0;
  }
  if (small) {
    RunSmall();
    step_ = Step::kOver;
  } else if (!overlaps && board().AllAreHere()) {
    RunDirect();
    board().PublishToAll(board().counters(me_).taken, Mark(number_, kAllSteps));
    step_ = Step::kLeave;
  } else if (!overlaps && in_files) {
    board().PublishToAll(board().counters(me_).agreed, Board::Agreed(number_, ReachesAll()));
    step_ = Step::kAgree;
  } else {
    BeginRounds();
  }
}

void CollectiveCall::BeginRounds() {
  rounds_ = RoundsNeeded();
  board().AddRounds(rounds_);
  step_ = laid_out_ ? AfterLayOut() : Step::kLayOut;
}

// --- who has what

Extent CollectiveCall::Sent(uint32_t from, uint32_t to) const {
  const Announcement& said = Of(from);
  if (!IsSeparate(kind_)) return {said.count, 0};
  if (!HasTable(kind_)) return {said.count, to * said.count};
  return {board().counts(from, number_)[to], board().offsets(from, number_)[to]};
}

Extent CollectiveCall::Received(uint32_t from) const {
  const Operation& o = operation();
  switch (kind_) {
    case Kind::kAllGather:
    case Kind::kAllToAll:
      return {o.count, from * o.count};
    case Kind::kAllGatherV:
    case Kind::kAllToAllV:
    case Kind::kAllToAllVC:
      return {o.receive_counts[from], o.receive_offsets[from]};
    default:
      return {o.count, 0};
  }
}

Extent CollectiveCall::Within(Extent part) const {
  uint64_t begin = std::min(part.count, round_ * round_count_);
  return {std::min(part.count - begin, round_count_), part.offset + begin};
}

// Whole lines for each rank, so that no two write to one.
Extent CollectiveCall::Slice(uint32_t rank, uint64_t count) const {
  uint64_t line = 64 / element_;
  uint64_t each = (count + n_ - 1) / n_;
  each = (each + line - 1) / line * line;
  uint64_t begin = std::min(count, rank * each);
  return {std::min(each, count - begin), begin};
}

void CollectiveCall::PlanRounds() {
  size_t pieces = 1;
  if (in_slices_) {
    pieces = n_ + 1;
  } else if (IsSeparate(kind_)) {
    pieces = n_;
  }
  size_t half = board().half_bytes();
  if (pieces == 1) half = std::min(half, kRoundBytes);
  // A partial result lies where operands do. Pieces are whole lines of either.
  const size_t staged =
      by_host_ != nullptr ? tensor::BytesOf(PartialType(operation().type, operation().op)) : element_;
  const size_t line = 64 / element_ * staged;
  piece_bytes_ = half / pieces / line * line;
  round_count_ = piece_bytes_ / staged;
  if (pieces == n_ + 1) round_count_ *= n_;
  before_ = board().rounds_before();
}

// Once all have come.
uint64_t CollectiveCall::RoundsNeeded() const {
  uint64_t most = operation().count;
  for (uint32_t from = 0; !HasOneCount(kind_) && from < n_; ++from) {
    for (uint32_t to = 0; to < n_; ++to) most = std::max(most, Sent(from, to).count);
  }
  return (most + round_count_ - 1) / round_count_;
}

// --- moving and folding

void CollectiveCall::Copy(std::byte* to, const std::byte* from, uint64_t count) const {
  if (to != from && count > 0) std::memmove(to, from, count * element_);
}

void CollectiveCall::Reduce(uint64_t count) const {
  ReduceInto(operation().type, operation().op, outs_.data(), outs_.size(), ins_.data(), ins_.size(), count);
}

void CollectiveCall::RunSmall() {
  if (IsSum(kind_)) {
    if (kind_ == Kind::kReduce && me_ != operation().root) return;
    BeginParts();
    for (uint32_t i = 0; i < n_; ++i) {
      const uint32_t r = by_host_ != nullptr ? by_host_->ranks()[i] : i;
      uint64_t before = 0;
      for (uint32_t to = 0; IsSeparate(kind_) && to < me_; ++to) before += Sent(r, to).count;
      Give(Of(r).payload + before * element_);
    }
    outs_.push_back(receive());
    const uint64_t count = IsSeparate(kind_) ? Sent(me_, me_).count : operation().count;
    return by_host_ != nullptr ? ReduceSmallByHost(count) : Reduce(count);
  }
  for (uint32_t from = 0; kind_ != Kind::kBarrier && from < n_; ++from) {
    if (!Contributes(from) || (kind_ == Kind::kBroadcast && from == me_)) continue;
    uint64_t before = 0;
    for (uint32_t to = 0; IsSeparate(kind_) && to < me_; ++to) before += Sent(from, to).count;
    Copy(receive(Received(from).offset), Of(from).payload + before * element_, Sent(from, me_).count);
  }
}

void CollectiveCall::RunDirect() {
  auto their_send = [&](uint32_t r) { return reinterpret_cast<const std::byte*>(Of(r).send); };
  auto their_receive = [&](uint32_t r) { return reinterpret_cast<std::byte*>(Of(r).receive); };
  if (!IsSum(kind_)) {
    for (uint32_t i = 0; i < n_; ++i) {
      uint32_t from = (me_ + i) % n_;  // not all from the same at once
      if (!Contributes(from)) continue;
      Extent part = Sent(from, me_);
      Copy(receive(Received(from).offset), their_send(from) + part.offset * element_, part.count);
    }
    return;
  }
  Extent slice = Slice(me_, operation().count);
  BeginParts();
  for (uint32_t r = 0; r < n_; ++r) {
    Extent part = IsSeparate(kind_) ? Sent(r, me_) : slice;
    Give(their_send(r) + part.offset * element_);
    if (kind_ == Kind::kAllReduce || (kind_ == Kind::kReduce && r == operation().root)) {
      outs_.push_back(their_receive(r) + slice.offset * element_);
    }
  }
  if (IsSeparate(kind_)) outs_.push_back(receive());
  Reduce(IsSeparate(kind_) ? Sent(me_, me_).count : slice.count);
}

void CollectiveCall::LayOut() {
  if (!Contributes(me_)) return;
  if (by_host_ != nullptr) return LayOutForAdders();
  for (uint32_t i = 1; HasParts() && i < n_; ++i) {
    uint32_t to = (me_ + i) % n_;
    Extent part = Part(to);
    Stage(Staged(me_, to), send() + part.offset * element_, part.count, to);
  }
  if (in_slices_) return;
  Extent own = Within(Sent(me_, me_));
  if (!IsSeparate(kind_)) {
    Stage(Staged(me_, 0), send() + own.offset * element_, own.count,
          kind_ == Kind::kReduce ? operation().root : n_);
  }
  if (!IsSum(kind_)) Copy(receive(Within(Received(me_)).offset), send() + own.offset * element_, own.count);
}

// Of the part that this rank reduces.
void CollectiveCall::GiveStaged(uint64_t own_offset) {
  if (by_host_ != nullptr) {
    for (uint32_t host = 0; host < by_host_->hosts(); ++host)
      ins_.push_back({StagedPart(by_host_->AdderOf(OwnPart(), host), me_), TypeFrom(host)});
    return;
  }
  for (uint32_t r = 0; r < n_; ++r) Give(r == me_ ? send() + own_offset * element_ : StagedPart(r, me_));
}

void CollectiveCall::ReduceSlice() {
  const Extent slice = Part(me_);
  BeginParts();
  GiveStaged(slice.offset);
  bool root = kind_ == Kind::kReduce && me_ == operation().root;
  if (!root) outs_.push_back(Staged(me_, n_));
  if (root || kind_ == Kind::kAllReduce) outs_.push_back(receive(slice.offset));
  Reduce(slice.count);
  if (!root) {
    board().Share(Staged(me_, n_), slice.count * element_, kind_ == Kind::kReduce ? operation().root : n_);
  }
}

void CollectiveCall::Take() {
  if (kind_ == Kind::kReduce && me_ != operation().root) return;
  if (in_slices_) {
    for (uint32_t i = 1; i < n_; ++i) {
      uint32_t from = (me_ + i) % n_;
      const Extent slice = Part(from);
      Copy(receive(slice.offset), Staged(from, n_), slice.count);
    }
    return;
  }
  if (IsSum(kind_)) {
    Extent all = Sent(me_, me_);
    Extent own = Within(all);
    BeginParts();
    GiveStaged(own.offset);
    outs_.push_back(receive(own.offset - all.offset));
    Reduce(own.count);
    return;
  }
  for (uint32_t i = 1; i < n_; ++i) {
    uint32_t from = (me_ + i) % n_;
    if (!Contributes(from)) continue;
    Copy(receive(Within(Received(from)).offset), StagedPart(from, me_), Within(Sent(from, me_)).count);
  }
}

std::unique_ptr<Call> MakeCollective(Board& board, std::shared_ptr<Hooks> hooks, const Operation& operation) {
  return std::make_unique<CollectiveCall>(board, std::move(hooks), operation);
}

}  // namespace belay::coll
