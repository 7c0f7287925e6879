// For tests without an engine: what kernels cut for several cores is cut, while one lives.
#pragma once

#include "base/parallel.h"

namespace belay::ops::testing {

class InPieces {
 public:
  InPieces() { SetParallelBackend(&kBackend); }
  ~InPieces() { SetParallelBackend(nullptr); }
  InPieces(const InPieces&) = delete;

 private:
  // In another order, as several workers would take them.
  static constexpr ParallelBackend kBackend{3, [](int64_t n, int64_t, RangeBody body) {
                                              body(n / 2, n);
                                              body(n / 5, n / 2);
                                              body(0, n / 5);
                                            }};
};

}  // namespace belay::ops::testing
