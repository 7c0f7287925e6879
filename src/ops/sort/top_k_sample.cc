// A place chosen from each row of logits: of those that topK, topP and minPs leave, the one with the greatest
// probability, as it is or divided by random numbers.
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

constexpr int64_t kMostKept = 1024;

struct SampleBody {
  Rows logits, p, least, noise, selected, weights;
  WholeOut place, places;
  Indices k;
  int k_at = -1;
  int64_t most = kMostKept;  // topK above it is none
  float epsilon = 0;
  bool softens = true;  // the numbers are logits, not probabilities
  PieceScratch<float> room;

  // A row: its numbers, and the places and probabilities of what is left, the greatest first.
  struct Row {
    int64_t n, kept;
    float *values, *weights, *other;
    int32_t* order;
  };

  void operator()(const Frame& frame) const {
    const std::span<const int64_t> counts = k.Read(frame, k_at);
    room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
      const int64_t n = logits.width();
      for (int64_t row = begin; row < end; ++row) {
        Row r{n, n, mine, mine + n, mine + 2 * n, reinterpret_cast<int32_t*>(mine + 3 * n)};
        const float* from = logits.Load(frame, row, r.values);
        if (from != r.values) std::copy_n(from, n, r.values);
        Filter(frame, row, counts[static_cast<size_t>(row)], r);
        Tell(frame, row, r);
      }
    });
  }

  void Filter(const Frame& frame, int64_t row, int64_t count, Row& r) const {
    const float part = p.At(frame, row, 0), floor = least.present() ? least.At(frame, row, 0) : -1;
    const bool counts = count >= 1 && count <= std::min(most, r.n), divides = part < 1;
    if (counts) r.kept = count;
    std::iota(r.order, r.order + r.n, 0);
    // A row of which nothing is taken stays in its order, to which that of the noise belongs.
    if (counts || divides || floor >= 1) Sort(r);
    Weigh(r);
    if (divides) KeepPart(part, r);
    if (floor >= 1) {
      r.kept = 1;
    } else if (floor > 0) {
      KeepAbove(floor * *std::max_element(r.weights, r.weights + r.kept), r);
    }
  }

  static void Sort(Row& r) {
    const auto key = [&](int32_t i) {
      return std::isnan(r.values[i]) ? std::numeric_limits<float>::infinity() : r.values[i];
    };
    const auto before = [&](int32_t a, int32_t b) { return key(a) != key(b) ? key(a) > key(b) : a < b; };
    if (r.kept < r.n) std::nth_element(r.order, r.order + r.kept, r.order + r.n, before);
    std::sort(r.order, r.order + r.kept, before);
  }

  void Weigh(Row& r) const {
    for (int64_t i = 0; i < r.kept; ++i) r.weights[i] = r.values[r.order[i]];
    if (!softens) return;
    const float greatest = *std::max_element(r.weights, r.weights + r.kept);
    double total = 0;
    for (int64_t i = 0; i < r.kept; ++i) total += r.weights[i] = std::exp(r.weights[i] - greatest);
    for (int64_t i = 0; i < r.kept; ++i)
      r.weights[i] = static_cast<float>(static_cast<double>(r.weights[i]) / total);
  }

  // Up to the one with which the sum reaches the part.
  void KeepPart(float part, Row& r) const {
    if (part <= 0) {
      r.kept = 1;
      if (softens) r.weights[0] = 1;
      return;
    }
    double before = 0;
    int64_t kept = 0;
    while (kept < r.kept && before < static_cast<double>(part))
      before += static_cast<double>(r.weights[kept++]);
    r.kept = kept;
  }

  static void KeepAbove(float weight, Row& r) {
    int64_t kept = 0;
    for (int64_t i = 0; i < r.kept; ++i) {
      if (r.weights[i] < weight) continue;
      r.weights[kept] = r.weights[i];
      r.order[kept++] = r.order[i];
    }
    r.kept = std::max<int64_t>(kept, 1);
  }

  void Tell(const Frame& frame, int64_t row, const Row& r) const {
    int64_t best = 0;
    const float* by = noise.present() ? noise.Load(frame, row, r.other) : nullptr;
    float greatest = -std::numeric_limits<float>::infinity();
    for (int64_t i = 0; i < r.kept; ++i) {
      const float weight = by == nullptr ? r.weights[i] : r.weights[i] / (std::abs(by[i]) + epsilon);
      if (weight > greatest) greatest = weight, best = i;
    }
    place.Set(frame, row, r.order[best]);
    if (selected.present()) {
      std::fill_n(r.other, r.n, softens ? -std::numeric_limits<float>::infinity() : 0.0f);
      for (int64_t i = 0; i < r.kept; ++i) r.other[r.order[i]] = r.values[r.order[i]];
      selected.Store(frame, row, r.other);
    }
    if (!weights.present()) return;
    std::fill(r.weights + r.kept, r.weights + r.n, 0.0f);
    weights.Store(frame, row, r.weights);
    for (int64_t i = 0; i < r.n; ++i) places.Set(frame, row * r.n + i, i < r.kept ? r.order[i] : 0);
  }
};

}  // namespace

namespace kernels {

void TopKTopPSampleV2(Plan& plan, DType, const TopKTopPSampleV2Arguments& a) {
  CheckExpertRank(plan, a.logits, 2, 2);
  const int64_t rows = a.logits.shape()[0], n = a.logits.shape()[1];
  CheckSameType(a.logits, a.top_p);
  for (const Operand* o : {&a.top_k, &a.top_p, &a.min_ps}) {
    if (o->present()) CheckExpertShape(plan, *o, {rows});
  }
  if (a.min_ps.present()) CheckSameType(a.logits, a.min_ps);
  if (a.q.present()) CheckExpertShape(plan, a.q, {rows, n});
  if (a.logits_select_idx.shape() != Shape{rows, 1}) CheckExpertShape(plan, a.logits_select_idx, {rows});
  if (a.ks_max < 1) RefuseExperts(plan, "ksMax is not above 0");
  SampleBody body;
  if (a.is_need_logits) {
    CheckExpertShape(plan, a.logits_top_kp_select, {rows, n});
    body.selected = Rows(a.logits_top_kp_select);
  }
  if (a.is_need_sample_result) {
    for (const Operand* o : {&a.logits_idx, &a.logits_sort_masked}) CheckExpertShape(plan, *o, {rows, n});
    body.weights = Rows(a.logits_sort_masked), body.places = WholeOut(a.logits_idx);
  }
  if (a.logits.tensor->empty()) RefuseExperts(plan, "logits has no elements");
  body.logits = Rows(a.logits), body.p = Rows(a.top_p, true), body.least = Rows(a.min_ps, true);
  body.noise = Rows(a.q), body.place = WholeOut(a.logits_select_idx);
  body.k = Indices(plan, *a.top_k.tensor), body.k_at = a.top_k.binding;
  body.most = std::min((std::min(a.ks_max, kMostKept) + 7) / 8 * 8, kMostKept);
  body.epsilon = static_cast<float>(a.eps), body.softens = a.input_is_logits;
  body.room = {plan, rows, RowGrain(n * 16), 4 * n};
  plan.SetCost(500 + static_cast<uint64_t>(rows * n) * 60);
  plan.SetBody(body);
}

void TopKTopPSample(Plan& plan, DType type, const TopKTopPSampleArguments& a) {
  TopKTopPSampleV2(plan, type,
                   {.logits = a.logits,
                    .top_k = a.top_k,
                    .top_p = a.top_p,
                    .q = a.q,
                    .min_ps = Operand{},
                    .eps = a.eps,
                    .is_need_logits = a.is_need_logits,
                    .top_k_guess = a.top_k_guess,
                    .ks_max = kMostKept,
                    .input_is_logits = true,
                    .is_need_sample_result = false,
                    .logits_select_idx = a.logits_select_idx,
                    .logits_top_kp_select = a.logits_top_kp_select,
                    .logits_idx = Operand{},
                    .logits_sort_masked = Operand{}});
}

}  // namespace kernels
}  // namespace belay::ops
