// Reductions over several hosts, of which some have several ranks. These add up what their host has of each
// part first, in its memory; one partial result of it crosses to each host that needs it, and is added to the
// others' there (placement.h). Everything else is as in collective_call.cc: rounds through the staging areas,
// and results that go to all.
//
// An adder reads its own operand where it lies, so it has room for the partial result where it would have
// laid it out. It does that as soon as the ranks of its host have come to the call: that those of the others
// come too, is told meanwhile.
//
// Nobody tells that it has taken a round, which would be one more word for all: a half of the staging areas
// is free for the next but one when others have got on. An adder waits for all ranks of its host to have laid
// out.
// Without slices a rank lays out a round after it has taken the one before: who gets the partial results of
// all hosts knows that all have done so.
// In slices it lays out a round ahead, once it has reduced the one before, so that those of its host need not
// wait for it. Before it reduces, it has taken the one before that: who gets partial results of a round may
// put its next result where the last but one was, and who has got all results of a round, lay out and add up
// where the one before was.
// Both hold from call to call, where the halves go on.
#include <algorithm>
#include <array>

#include "collective/collective_call.h"
#include "collective/reduce.h"

namespace belay::coll {

bool CollectiveCall::Adds() const {
  return by_host_ != nullptr && (HasParts() || by_host_->AdderOf(n_, OwnHost()) == me_);
}

bool CollectiveCall::AwaitsAt(Step step, uint32_t rank) const {
  const uint32_t host = by_host_->HostOf(rank);
  switch (step) {
    case Step::kMates:
    case Step::kAdd:
      return host == OwnHost();
    case Step::kTake:
      if (in_slices_) return true;
      [[fallthrough]];
    case Step::kReduce:
      return by_host_->AdderOf(OwnPart(), host) == rank;
    default:
      return true;
  }
}

// A rank alone on its host gives what it has.
tensor::DType CollectiveCall::TypeFrom(uint32_t host) const {
  const tensor::DType type = operation().type;
  return by_host_->RanksOn(host).size() == 1 ? type : PartialType(type, operation().op);
}

void CollectiveCall::LayOutForAdders() {
  for (uint32_t i = 0; i < (HasParts() ? n_ : 1); ++i) {
    const uint32_t to = (me_ + i) % n_;
    if (by_host_->AdderOf(HasParts() ? to : n_, OwnHost()) == me_) continue;
    const Extent part = Part(to);
    Copy(StagedPart(me_, to), send() + part.offset * element_, part.count);
  }
}

void CollectiveCall::LayOutNext() {
  if (round_ + 1 == rounds_) return;
  ++round_;
  LayOutForAdders();
  board().PublishHere(board().counters(me_).laid_out, Mark(number_, round_ + 1));
  --round_;
}

void CollectiveCall::EndRoundByHost() {
  if (!in_slices_) LayOutNext();
  if (++round_ == rounds_) {
    step_ = Step::kOver;
  } else {
    step_ = Adds() ? Step::kAdd : AfterLayOut();
  }
}

// All of this host have come to the call, and laid out its first round.
void CollectiveCall::MeetMates() {
  for (const uint32_t mate : by_host_->RanksOn(OwnHost())) Compare(mate);
}

void CollectiveCall::Add() {
  for (uint32_t to = 0; HasParts() && to < n_; ++to) {
    if (by_host_->AdderOf(to, OwnHost()) == me_) AddUp(to);
  }
  if (!HasParts()) AddUp(n_);
  board().PublishToAll(board().counters(me_).added, Mark(number_, round_ + 1));
}

// `to`: whose part it is; the number of ranks: everything, which the root needs or all do.
void CollectiveCall::AddUp(uint32_t to) {
  const Extent part = Part(to);
  std::byte* result = StagedPart(me_, to);
  BeginParts();
  for (const uint32_t mate : by_host_->RanksOn(OwnHost()))
    Give(mate == me_ ? send() + part.offset * element_ : StagedPart(mate, to));
  const tensor::DType type = TypeFrom(OwnHost());
  ReduceInto(type, operation().op, &result, 1, ins_.data(), ins_.size(), part.count);
  const bool to_root = !HasParts() && kind_ == Kind::kReduce;
  board().Share(result, part.count * tensor::BytesOf(type), to_root ? operation().root : to);
}

// Of ins_, which are those of the ranks host by host, and came with their announcements.
void CollectiveCall::ReduceSmallByHost(uint64_t count) {
  const tensor::DType partial = PartialType(operation().type, operation().op);
  alignas(64) std::array<std::byte, 2 * Announcement::kPayload> sum, more;
  const Operand both[] = {{sum.data(), partial}, {more.data(), partial}};
  const Operand* of_host = ins_.data();
  for (uint32_t host = 0; host < by_host_->hosts(); ++host) {
    std::byte* to[] = {host == 0 ? sum.data() : more.data()};
    const size_t ranks = by_host_->RanksOn(host).size();
    ReduceInto(partial, operation().op, to, 1, of_host, ranks, count);
    of_host += ranks;
    to[0] = sum.data();
    if (host > 0) ReduceInto(partial, operation().op, to, 1, both, 2, count);
  }
  ReduceInto(operation().type, operation().op, outs_.data(), outs_.size(), both, 1, count);
}

}  // namespace belay::coll
