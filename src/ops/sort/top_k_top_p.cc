// What sampling leaves of each row of logits: the k greatest, and of those the ones that make up p.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/parallel.h"
#include "ops/experts/experts.h"
#include "ops/experts/rows.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

constexpr float kGone = -std::numeric_limits<float>::infinity();

struct TopBody {
  Rows logits, p, out;
  Indices k;
  int k_at;
  PieceScratch<float> room;

  void operator()(const Frame& frame) const {
    std::span<const int64_t> most;
    if (k_at >= 0) most = k.Read(frame, k_at);
    room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t n = logits.width();
        Row(frame, row, most.empty() ? n : std::clamp<int64_t>(most[static_cast<size_t>(row)], 1, n), mine);
      }
    });
  }

  void Row(const Frame& frame, int64_t row, int64_t kept, float* values) const {
    const int64_t n = logits.width();
    auto* order = reinterpret_cast<int32_t*>(values + n);
    const float* from = logits.Load(frame, row, values);
    if (from != values) std::copy_n(from, n, values);
    for (int64_t i = 0; i < n; ++i) order[i] = static_cast<int32_t>(i);
    const auto key = [values](int32_t i) { return std::isnan(values[i]) ? -kGone : values[i]; };
    // Ascending, equal ones as they stand: the last is the greatest.
    std::sort(order, order + n, [&](int32_t a, int32_t b) {
      const float left = key(a), right = key(b);
      return left != right ? left < right : a < b;
    });
    const float least = values[order[n - kept]];
    const int64_t first =
        std::lower_bound(order, order + n, least, [&](int32_t i, float v) { return key(i) < v; }) - order;
    for (int64_t i = 0; i < first; ++i) values[order[i]] = kGone;
    if (p.present()) KeepPart(values, order, first, p.At(frame, row, 0));
    out.Store(frame, row, values);
  }

  // What the softmax of the smallest sums up to, up to 1 - p, goes; the greatest stays.
  void KeepPart(float* values, const int32_t* order, int64_t first, float part) const {
    const int64_t n = logits.width();
    const float most = values[order[n - 1]];
    double total = 0, sum = 0;
    for (int64_t i = first; i < n; ++i) total += std::exp(static_cast<double>(values[order[i]] - most));
    for (int64_t i = first; i < n - 1; ++i) {
      sum += std::exp(static_cast<double>(values[order[i]] - most)) / total;
      if (sum > 1 - static_cast<double>(part)) return;
      values[order[i]] = kGone;
    }
  }
};

}  // namespace

namespace kernels {

void ApplyTopKTopP(Plan& plan, DType, const Operand& logits, const Operand& p, const Operand& k,
                   const Operand& out) {
  CheckExpertRank(plan, logits, 2, 2);
  CheckSameType(logits, out);
  CheckExpertShape(plan, out, logits.shape());
  const int64_t rows = logits.shape()[0], width = logits.shape()[1];
  for (const Operand* o : {&p, &k}) {
    if (o->present()) CheckExpertShape(plan, *o, {rows});
  }
  if (logits.tensor->empty()) return;
  TopBody body{Rows(logits), Rows(p, true), Rows(out), {}, -1, {}};
  if (k.present()) body.k = Indices(plan, *k.tensor), body.k_at = k.binding;
  body.room = {plan, rows, RowGrain(width * 16), 2 * width};
  plan.SetCost(500 + static_cast<uint64_t>(rows * width) * 60);
  plan.SetBody(body);
}

}  // namespace kernels
}  // namespace belay::ops
