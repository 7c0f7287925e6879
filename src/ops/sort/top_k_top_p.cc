// What sampling leaves of each row of logits: the k greatest, and of those the ones that make up p.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

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

  // A row and what is beside it in the room of a core.
  struct Logits {
    float* values;
    int32_t* order;   // of the columns, the smallest first as far as that is known
    double* weights;  // of the columns, in their softmax
    int64_t n;

    float Key(int32_t i) const { return std::isnan(values[i]) ? -kGone : values[i]; }
    // Ascending, equal ones as they stand: the last is the greatest.
    bool Before(int32_t a, int32_t b) const {
      const float left = Key(a), right = Key(b);
      return left != right ? left < right : a < b;
    }
    void Divide(int64_t begin, int64_t at, int64_t end) const {
      std::nth_element(order + begin, order + at, order + end,
                       [this](int32_t a, int32_t b) { return Before(a, b); });
    }
    void Drop(int64_t begin, int64_t end) const {
      for (int64_t i = begin; i < end; ++i) values[order[i]] = kGone;
    }
  };

  void Row(const Frame& frame, int64_t row, int64_t kept, float* room_of_row) const {
    const int64_t n = logits.width();
    const Logits l{room_of_row, reinterpret_cast<int32_t*>(room_of_row + n),
                   reinterpret_cast<double*>(room_of_row + 2 * n), n};
    const float* from = logits.Load(frame, row, l.values);
    if (from != l.values) std::copy_n(from, n, l.values);
    std::iota(l.order, l.order + n, 0);
    int64_t first = 0;
    if (kept < n) {
      l.Divide(0, n - kept, n);
      const float least = l.values[l.order[n - kept]];
      first = std::partition(l.order, l.order + n, [&](int32_t i) { return l.Key(i) < least; }) - l.order;
      l.Drop(0, first);
    }
    if (p.present()) KeepPart(l, first, p.At(frame, row, 0));
    out.Store(frame, row, l.values);
  }

  // What the softmax of the smallest sums up to, up to 1 - p, goes; the greatest stays. Halves of what is not
  // decided yet go, or the upper ones stay, so that few have to be sorted.
  static void KeepPart(const Logits& l, int64_t first, float part) {
    Weigh(l, first);
    const double most = 1 - static_cast<double>(part);
    double gone = 0;
    int64_t begin = first, end = l.n - 1;
    constexpr int64_t kFew = 16;
    while (end - begin > kFew) {
      const int64_t middle = begin + (end - begin) / 2;
      l.Divide(begin, middle, end);
      double sum = 0;
      for (int64_t i = begin; i < middle; ++i) sum += l.weights[l.order[i]];
      if (gone + sum > most) {
        end = middle;
      } else {
        l.Drop(begin, middle);
        gone += sum, begin = middle;
      }
    }
    std::sort(l.order + begin, l.order + end, [&](int32_t a, int32_t b) { return l.Before(a, b); });
    for (; begin < end; ++begin) {
      gone += l.weights[l.order[begin]];
      if (gone > most) return;
      l.Drop(begin, begin + 1);
    }
  }

  // The softmax of what has its place from `first` on; the greatest gets the last one.
  static void Weigh(const Logits& l, int64_t first) {
    l.Divide(first, l.n - 1, l.n);
    const float most = l.values[l.order[l.n - 1]];
    double total = 0;
    for (int64_t i = first; i < l.n; ++i) {
      double& weight = l.weights[l.order[i]];
      weight = std::exp(static_cast<double>(l.values[l.order[i]] - most));
      total += weight;
    }
    for (int64_t i = first; i < l.n; ++i) l.weights[l.order[i]] /= total;
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
  body.room = {plan, rows, RowGrain(width * 16), 4 * width};
  plan.SetCost(500 + static_cast<uint64_t>(rows * width) * 60);
  plan.SetBody(body);
}

}  // namespace kernels
}  // namespace belay::ops
