#include "base/parallel.h"

#include <atomic>

namespace belay {
namespace {
constinit std::atomic<const ParallelBackend*> g_backend{nullptr};
}  // namespace

void ParallelFor(int64_t n, int64_t grain, RangeBody body) {
  if (n <= 0) return;
  const ParallelBackend* backend = g_backend.load(std::memory_order_acquire);
  if (backend == nullptr || backend->width <= 1 || n <= grain) {
    body(0, n);
    return;
  }
  backend->run(n, grain, body);
}

int ParallelWidth() {
  const ParallelBackend* backend = g_backend.load(std::memory_order_acquire);
  return backend == nullptr ? 1 : backend->width;
}

void SetParallelBackend(const ParallelBackend* backend) {
  g_backend.store(backend, std::memory_order_release);
}

}  // namespace belay
