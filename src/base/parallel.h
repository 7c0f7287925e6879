// Splitting one large piece of work over the process's budget of cores. Kernels and copies call
// ParallelFor; the execution engine lends its workers. Without an engine (unit tests) it runs inline.
#pragma once

#include <cstdint>
#include <type_traits>

namespace belay {

// A non-owning reference to a callable taking a half-open range.
class RangeBody {
 public:
  template <class F>
  RangeBody(const F& body)  // NOLINT: implicit on purpose, lives for one call
      : object_(&body), call_([](const void* object, int64_t begin, int64_t end) {
          (*static_cast<const F*>(object))(begin, end);
        }) {}
  void operator()(int64_t begin, int64_t end) const { call_(object_, begin, end); }

 private:
  const void* object_;
  void (*call_)(const void*, int64_t, int64_t);
};

// Calls body over [0, n) in pieces of at least `grain`, possibly at the same time on several cores,
// and returns when all are done. The calling thread takes part. When a piece throws, those that nobody has
// begun are left out, and the first exception comes out here once nobody works on a piece any more.
void ParallelFor(int64_t n, int64_t grain, RangeBody body);

// Cores that one call may use (1 means that splitting is pointless).
int ParallelWidth();

// How the engine lends its workers; null restores inline execution.
struct ParallelBackend {
  int width;
  void (*run)(int64_t n, int64_t grain, RangeBody body);
};
void SetParallelBackend(const ParallelBackend* backend);

}  // namespace belay
