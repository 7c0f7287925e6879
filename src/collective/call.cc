#include "collective/call.h"

#include <sched.h>

#include <new>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/spin_lock.h"
#include "runtime/engine.h"

namespace belay::coll {
namespace {
constexpr int kLooksBetweenTimes = 16;
constexpr int64_t kNapNs = 100'000, kNapsNs = 1'000'000;
constexpr int kLeastYields = 8;  // on a machine with more ranks than cores time passes without us
}  // namespace

Call::Call(Board& board, std::shared_ptr<Hooks> hooks, Operation operation)
    : board_(board), hooks_(std::move(hooks)), operation_(std::move(operation)) {}

Call::~Call() {
  Abandon();
  if (counted_ && hooks_ != nullptr) hooks_->End();
}

void Call::BeginEarly() {
  if (hooks_ != nullptr) hooks_->Begin();
  counted_ = true;
}

// A run that ends with an exception ends all others of the communicator.
struct UnlessDone {
  Call& call;
  bool done = false;
  ~UnlessDone() {
    if (!done) call.Abandon();
  }
};

// While it is under way here, it carries itself what comes from other hosts and goes there.
struct Looking {
  Board& board;
  explicit Looking(Board& of) : board(of) { board.BeginLooking(); }
  ~Looking() { board.EndLooking(); }
};

void Call::Begin() {
  if (!counted_) BeginEarly();
  if (board_.failed()) {
    if (hooks_ != nullptr) hooks_->Failed(board_.Failure());
    Finish(false);
    throw board_.Failure();
  }
  running_ = true;
  since_ns_ = 0;
  Start();
}

void Call::Finish(bool well) noexcept {
  if (parked_) board_.EndPark();
  if (running_ && well) End();
  parked_ = running_ = false;
  until_ns_ = 0;
  if (counted_ && hooks_ != nullptr) hooks_->End();
  counted_ = false;
}

void Call::Abandon() noexcept {
  if (!running_) return;
  try {
    if (!board_.failed()) {
      std::string what =
          Said(operation_.kind, operation_.count, operation_.type, operation_.op, operation_.root);
      board_.MarkFailed(
          board_.rank(), FailureKind::kDropped,
          fmt::format("rank {} of communicator \"{}\" dropped {} while it was under way: its stream was "
                      "aborted or destroyed, or its replay failed",
                      board_.rank(), board_.name(), what));
    }
    if (hooks_ != nullptr) hooks_->Failed(board_.Failure());
  } catch (const std::bad_alloc&) {  // for words
    board_.MarkFailed(board_.rank(), FailureKind::kDropped);
  }
  Finish(false);
}

bool Call::Advance(int64_t look_ns) {
  if (parked_) {
    if (!CanAdvance() && (until_ns_ == 0 || NowNs() < until_ns_)) return false;
    board_.EndPark();
    parked_ = false;
  }
  if (!running_) Begin();
  const Looking looking(board_);
  UnlessDone end{*this};
  do {
    while (!Over() && CanMove()) {
      Move();
      since_ns_ = 0;
    }
    board_.Flush();
    if (Over()) {
      end.done = true;
      Finish(true);
      return true;
    }
    if (board_.failed()) throw board_.Failure();
    if (uint32_t rank = Missing(); rank != board_.ranks()) FailWithout(rank);
  } while (LookAround(look_ns));
  end.done = Wait();
  return false;
}

// A rank that the call needs and that will not come; ranks(): none.
uint32_t Call::Missing() const {
  uint32_t rank = 0;
  if (!board_.anybody_left()) [[likely]]
    return board_.ranks();
  // What it did before it left was done before that was known: a look at the left comes first.
  while (rank < board_.ranks() && !(board_.left(rank) && Needs(rank))) ++rank;
  return rank;
}

void Call::FailWithout(uint32_t rank) const {
  std::string what = Said(operation_.kind, operation_.count, operation_.type, operation_.op, operation_.root);
  board_.MarkFailed(
      rank, FailureKind::kPeerEnded,
      fmt::format(
          "rank {} of communicator \"{}\" destroyed it and did not make its part of {}, which rank {} waits in",
          rank, board_.name(), what, board_.rank()));
  throw board_.Failure();
}

// True when there is something to do.
bool Call::LookAround(int64_t look_ns) const {
  if (look_ns == 0) return CanAdvance();
  if (board_.has_courier()) return LookElsewhere(look_ns);
  int64_t end = 0;
  for (int looks = 1;; ++looks) {
    if (CanAdvance()) return true;
    if (board_.crowded()) {
      sched_yield();
    } else {
      CpuRelax();
      if (looks % kLooksBetweenTimes != 0) continue;
    }
    // What waits for this thread may be what this waits for.
    rt::Runner* runner = rt::Runner::Current();
    if (rt::TheEngine().has_ready() || (runner != nullptr && runner->keeps())) return CanAdvance();
    int64_t now = NowNs();
    if (end == 0) end = now + look_ns;
    if (now >= end && looks >= kLeastYields) return CanAdvance();
  }
}

// The same where other hosts may have it. To park and to be woken takes several threads, and longer than most
// messages take, so that this one naps where the message comes. What is ready for others is heeded after the
// first nap only: often it is this stream itself, which was taken beside the list.
bool Call::LookElsewhere(int64_t look_ns) const {
  int64_t end = 0, last = 0;
  if (look_ns != 0 && !board_.look_hint().pays()) look_ns = 0;
  for (bool looked = false, napped = false;;) {
    if (CanAdvance()) {
      if (looked || napped) board_.look_hint().Note(!napped);
      return true;
    }
    if (board_.Look()) {
      end = 0;
      continue;
    }
    const rt::Runner* runner = rt::Runner::Current();
    if (runner != nullptr && runner->keeps()) return CanAdvance();
    const int64_t now = NowNs();
    if (end == 0) end = now + look_ns, last = end + kNapsNs;
    looked |= now < end;
    if (now < end) continue;
    if (now >= last || (napped && rt::TheEngine().has_ready())) return CanAdvance();
    if (!board_.SleepLooking(kNapNs)) return CanAdvance();
    napped = true;
  }
}

// Says that a stream is about to park. What happens from then on is told to the engine, which looks once
// more when the stream has parked.
bool Call::Wait() {
  int64_t now = NowNs();
  if (since_ns_ == 0) since_ns_ = now;
  int64_t limit = board_.wait_limit_ns();
  until_ns_ = limit == 0 ? 0 : since_ns_ + limit;
  if (until_ns_ != 0 && now >= until_ns_) {
    uint32_t who = board_.ranks();
    std::string why = WaitsFor(&who);
    std::string what =
        Said(operation_.kind, operation_.count, operation_.type, operation_.op, operation_.root);
    board_.MarkFailed(who, FailureKind::kTimeout,
                      fmt::format("rank {} of communicator \"{}\" waited {:g} s in {}: {}", board_.rank(),
                                  board_.name(), static_cast<double>(limit) / 1e9, what, why));
    throw board_.Failure();
  }
  parked_ = true;
  board_.BeginPark();
  return true;
}

void Call::Ranges(rt::RangeVisitor& visit) const {
  if (hooks_ != nullptr) visit.UsesCommunicator(hooks_->communicator());
  BufferRanges(visit);
}

void Call::BufferRanges(rt::RangeVisitor& visit) const {
  Extents extents = ExtentsOf(operation_, board_.rank(), board_.ranks());
  if (extents.send > 0) visit.Reads(operation_.send, extents.send);
  if (extents.receive > 0) visit.Writes(operation_.receive, extents.receive);
}

// Collectives of a communicator stand in one.
void Call::Lines(std::vector<uint64_t>* lines) const {
  if (board_.ranks() > 1) lines->push_back(board_.Line(0));
}

void Call::Describe(std::string& out) const {
  out += Said(operation_.kind, operation_.count, operation_.type, operation_.op, operation_.root);
}

}  // namespace belay::coll
