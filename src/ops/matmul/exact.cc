#include "ops/matmul/exact.h"

#include <algorithm>

#include "base/parallel.h"
#include "ops/matmul/exact_loops.h"

namespace belay::ops {
namespace {

template <class T>
struct ExactBody {
  int a, b, out;
  int64_t m, n, k, batches;
  int batch_rank;
  int64_t sizes[tensor::kMaxRank], steps_a[tensor::kMaxRank], steps_b[tensor::kMaxRank];

  static constexpr int64_t kTogether = 32;  // rows of a batch

  void operator()(const Frame& frame) const {
    const int64_t pieces = (m + kTogether - 1) / kTogether;
    const int64_t grain =
        std::max<int64_t>(1, 64 * 1024 / std::max<int64_t>(1, std::min(m, kTogether) * n * k));
    ParallelFor(batches * pieces, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Rows(frame, i / pieces, i % pieces * kTogether);
    });
  }

  void Rows(const Frame& frame, int64_t batch, int64_t first) const {
    int64_t from_a = first * k, from_b = 0;
    const int64_t to = (batch * m + first) * n;
    for (int d = batch_rank - 1; d >= 0; --d) {
      const int64_t index = batch % sizes[d];
      batch /= sizes[d];
      from_a += index * steps_a[d];
      from_b += index * steps_b[d];
    }
    BestExactProduct<T>()(reinterpret_cast<const T*>(frame.at[a]) + from_a,
                          reinterpret_cast<const T*>(frame.at[b]) + from_b,
                          reinterpret_cast<T*>(frame.at[out]) + to, std::min(kTogether, m - first), n, k);
  }
};

// How far apart the batches of one operand lie, along the batch dimensions of the result.
void SetSteps(const Shape& shape, int batch_rank, int64_t matrix, int64_t* steps) {
  int64_t step = matrix;
  for (int i = 0; i < batch_rank; ++i) {
    const int d = batch_rank - 1 - i;
    const bool there = i + 2 < shape.rank();
    const int64_t size = there ? shape.back(i + 2) : 1;
    steps[d] = size == 1 ? 0 : step;
    step *= size;
  }
}

template <class T>
void PlanExact(Plan& plan, const Operand& a, const Operand& b, const Operand& out) {
  const Shape left = a.shape(), right = b.shape(), shape = out.shape();
  ExactBody<T> body{};
  body.a = a.binding, body.b = b.binding, body.out = out.binding;
  body.k = left.back(0);
  body.m = left.rank() > 1 ? left.back(1) : 1;
  body.n = right.rank() > 1 ? right.back(0) : 1;
  body.batch_rank = std::max(0, std::max(left.rank(), right.rank()) - 2);
  body.batches = 1;
  for (int d = 0; d < body.batch_rank; ++d) {
    body.sizes[d] = shape[d];
    body.batches *= shape[d];
  }
  SetSteps(left, body.batch_rank, body.m * body.k, body.steps_a);
  SetSteps(right, body.batch_rank, body.k * body.n, body.steps_b);
  plan.SetProducts(body.batches * body.m * body.n * body.k);
  plan.SetCost(500 + static_cast<uint64_t>(body.batches * body.m * body.n * body.k) / 4);
  plan.SetBody(body);
}

}  // namespace

void PlanExactProduct(Plan& plan, const Operand& a, const Operand& b, const Operand& out) {
  if (out.tensor->empty()) return;
  // Unsigned, so that sums wrap as the hardware's do.
  if (out.dtype() == DType::kF64) return PlanExact<double>(plan, a, b, out);
  if (BytesOf(out.dtype()) == sizeof(uint64_t)) return PlanExact<uint64_t>(plan, a, b, out);
  PlanExact<uint32_t>(plan, a, b, out);
}

}  // namespace belay::ops
