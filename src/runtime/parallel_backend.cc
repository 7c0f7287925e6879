// ParallelFor over the engine's workers: pieces are handed out by a counter, so a slow core takes fewer.
#include "runtime/parallel_backend.h"

#include <algorithm>
#include <atomic>

#include "base/parallel.h"
#include "runtime/thread_engine.h"

namespace belay::rt {
namespace {

class RangeOffer final : public Offer {
 public:
  RangeOffer(int64_t n, int64_t piece, RangeBody body) : n_(n), piece_(piece), body_(body) {}
  void Work() override {
    for (;;) {
      int64_t begin = next_.fetch_add(piece_, std::memory_order_relaxed);
      if (begin >= n_) return;
      body_(begin, std::min(n_, begin + piece_));
    }
  }

 private:
  const int64_t n_;
  const int64_t piece_;
  const RangeBody body_;
  alignas(64) std::atomic<int64_t> next_{0};
};

void RunOverWorkers(int64_t n, int64_t grain, RangeBody body) {
  ThreadEngine* engine = TheThreadEngine();
  int width = engine == nullptr ? 1 : std::max(1, engine->workers());
  // Four pieces a core even out what the cores do beside; never below the caller's grain.
  int64_t piece = std::max(grain, (n + width * 4 - 1) / (width * 4));
  RangeOffer offer(n, piece, body);
  if (engine == nullptr || width == 1) {
    offer.Work();
    return;
  }
  engine->Publish(offer, width - 1, true);
  offer.Work();
  engine->Withdraw(offer);
}

}  // namespace

void InstallParallelBackend(int workers) {
  static ParallelBackend backend;
  backend = {workers, &RunOverWorkers};
  SetParallelBackend(workers > 1 ? &backend : nullptr);
}

}  // namespace belay::rt
