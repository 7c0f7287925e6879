// ParallelFor over the engine's workers: pieces are handed out by a counter, so a slow core takes fewer. The
// caller takes them from the front and others from the back: in a chain of operators each core then finds
// most of what it needs in its own cache.
#include "runtime/parallel_backend.h"

#include <algorithm>
#include <atomic>
#include <exception>

#include "base/parallel.h"
#include "runtime/thread_engine.h"

namespace belay::rt {
namespace {

class RangeOffer final : public Offer {
 public:
  RangeOffer(int64_t n, int64_t piece, RangeBody body)
      : n_(n), piece_(piece), pieces_(static_cast<uint64_t>((n + piece - 1) / piece)), body_(body) {}

  void Work() noexcept override { Take(kBack); }
  void WorkAsCaller() noexcept { Take(kFront); }
  // What others than the caller may take at the same time: more of them would be woken for nothing.
  int seats(int others) const {
    return static_cast<int>(std::min<uint64_t>(static_cast<uint64_t>(others), pieces_ - 1));
  }
  // Once nobody works on it any more.
  void RethrowFailure() const {
    if (failure_ != nullptr) [[unlikely]]
      std::rethrow_exception(failure_);
  }

 private:
  // Both ends in one word: how many were taken from the front, and from the back.
  static constexpr uint64_t kFront = 1, kBack = uint64_t{1} << 32, kFrontMask = kBack - 1;

  void Take(uint64_t end) noexcept {
    try {
      for (;;) {
        const uint64_t taken = taken_.fetch_add(end, std::memory_order_relaxed);
        const uint64_t front = taken & kFrontMask, back = taken >> 32;
        if (front + back >= pieces_) return;
        const auto at = static_cast<int64_t>(end == kFront ? front : pieces_ - 1 - back) * piece_;
        body_(at, std::min(n_, at + piece_));
      }
    } catch (...) {
      Failed();
    }
  }

  // In the handler of what a piece threw. Keeping it takes no memory.
  void Failed() noexcept {
    taken_.store(pieces_, std::memory_order_relaxed);
    if (!failed_.exchange(true, std::memory_order_relaxed)) failure_ = std::current_exception();
  }

  const int64_t n_;
  const int64_t piece_;
  const uint64_t pieces_;
  const RangeBody body_;
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;  // of who set failed_, read when all have left
  alignas(64) std::atomic<uint64_t> taken_{0};
};

void RunOverWorkers(int64_t n, int64_t grain, RangeBody body) {
  ThreadEngine* engine = TheThreadEngine();
  int width = engine == nullptr ? 1 : std::max(1, engine->workers());
  // Four pieces a core even out what the cores do beside; never below the caller's grain.
  int64_t piece = std::max(grain, (n + width * 4 - 1) / (width * 4));
  RangeOffer offer(n, piece, body);
  if (engine == nullptr || width == 1) {
    offer.WorkAsCaller();
  } else {
    const PublishedOffer published(*engine, offer, offer.seats(width - 1), true);
    offer.WorkAsCaller();
  }
  offer.RethrowFailure();
}

}  // namespace

void InstallParallelBackend(int workers) {
  static ParallelBackend backend;
  backend = {workers, &RunOverWorkers};
  SetParallelBackend(workers > 1 ? &backend : nullptr);
}

}  // namespace belay::rt
