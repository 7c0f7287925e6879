// Which experts a token is sent to: the best scores of each row.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/parallel.h"
#include "ops/experts/experts.h"
#include "ops/experts/row_loops.h"
#include "ops/experts/rows.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/norm/softmax_loops.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

constexpr float kOut = -std::numeric_limits<float>::infinity();

void Softmax(float* x, int64_t n) {
  const SoftmaxLoops<float>& loops = BestSoftmaxLoopsF32();
  loops.scale(x, 1 / loops.exp_sum(x, x, loops.max(x, n), n), n);
}

float KeyOf(float score) { return std::isnan(score) ? std::numeric_limits<float>::infinity() : score; }

void SortBest(const float* scores, int64_t n, int64_t k, int32_t* places) {
  for (int64_t i = 0; i < n; ++i) places[i] = static_cast<int32_t>(i);
  std::partial_sort(places, places + k, places + n, [&](int32_t a, int32_t b) {
    const float left = KeyOf(scores[a]), right = KeyOf(scores[b]);
    return left != right ? left > right : a < b;
  });
}

// The places of the k greatest in order; the first of equal ones wins, and NaN over all.
void TakeBest(const float* scores, int64_t n, int64_t k, int32_t* places) {
  constexpr int64_t kFew = 16;
  if (k > kFew) return SortBest(scores, n, k, places);
  float keys[kFew];
  int64_t held = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float key = KeyOf(scores[i]);
    if (held == k && key <= keys[k - 1]) continue;
    int64_t at = held < k ? held++ : k - 1;
    for (; at > 0 && keys[at - 1] < key; --at) keys[at] = keys[at - 1], places[at] = places[at - 1];
    keys[at] = key, places[at] = static_cast<int32_t>(i);
  }
}

// y, expert = the k best of softmax(x), or with `renorm` the softmax of the k best of x.
struct SoftmaxBody {
  Rows x, finished, y, all;  // all: where the whole softmax is asked for
  WholeOut experts, copies;
  PieceScratch<float> room;
  int64_t k;
  bool renorm;

  void operator()(const Frame& frame) const {
    room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
      for (int64_t row = begin; row < end; ++row) Row(frame, row, mine);
    });
  }

  void Row(const Frame& frame, int64_t row, float* scores) const {
    const int64_t n = x.width();
    auto* places = reinterpret_cast<int32_t*>(scores + n);
    float* best = scores + 2 * n;
    const float* from = x.Load(frame, row, scores);
    if (from != scores) std::copy_n(from, n, scores);
    if (!renorm) Softmax(scores, n);
    if (all.present()) all.Store(frame, row, scores);
    TakeBest(scores, n, k, places);
    for (int64_t i = 0; i < k; ++i) best[i] = scores[places[i]];
    if (renorm) Softmax(best, k);
    y.Store(frame, row, best);
    const bool over = finished.present() && finished.At(frame, row, 0) != 0;
    for (int64_t i = 0; i < k; ++i) {
      experts.Set(frame, row * k + i, over ? n : places[i]);
      if (copies.present()) copies.Set(frame, row * k + i, i * x.count() + row);
    }
  }
};

// Groups of experts are ranked first, and only those of the best groups count.
struct RankedGroupsBody {
  Rows x, bias, y, all;
  WholeOut experts;
  PieceScratch<float> room;
  int64_t k, groups, kept;
  bool by_two, sigmoid;
  float factor, eps;

  void operator()(const Frame& frame) const {
    room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
      for (int64_t row = begin; row < end; ++row) Row(frame, row, mine);
    });
  }

  void Row(const Frame& frame, int64_t row, float* share) const {
    const int64_t n = x.width();
    float *scores = share + n, *sums = scores + 2 * n;
    auto* places = reinterpret_cast<int32_t*>(scores + n);
    const float* from = x.Load(frame, row, share);
    if (from != share) std::copy_n(from, n, share);
    if (sigmoid) {
      BestRowLoops().sigmoid(share, share, n);
    } else {
      Softmax(share, n);
    }
    if (all.present()) all.Store(frame, row, share);
    const float* added = bias.present() ? bias.Load(frame, 0, scores) : nullptr;
    for (int64_t i = 0; i < n; ++i) scores[i] = added != nullptr ? share[i] + added[i] : share[i];
    if (kept < groups) KeepBestGroups(scores, sums, places);
    TakeBest(scores, n, k, places);
    Finish(frame, row, share, places, scores);
  }

  void KeepBestGroups(float* scores, float* sums, int32_t* places) const {
    const int64_t each = x.width() / groups;
    for (int64_t g = 0; g < groups; ++g) {
      const float* of = scores + g * each;
      float first = kOut, second = kOut;
      for (int64_t i = 0; i < each; ++i) {
        second = std::max(second, std::min(first, of[i]));
        first = std::max(first, of[i]);
      }
      sums[g] = by_two ? first + second : first;
    }
    TakeBest(sums, groups, kept, places);
    std::sort(places, places + kept);
    for (int64_t g = 0, next = 0; g < groups; ++g) {
      if (next < kept && places[next] == g) {
        ++next;
      } else {
        std::fill_n(scores + g * each, each, kOut);
      }
    }
  }

  void Finish(const Frame& frame, int64_t row, const float* share, const int32_t* places, float* best) const {
    float sum = eps;
    for (int64_t i = 0; i < k; ++i) sum += best[i] = share[places[i]];
    const float by = sigmoid ? factor / sum : factor;
    for (int64_t i = 0; i < k; ++i) best[i] *= by;
    y.Store(frame, row, best);
    for (int64_t i = 0; i < k; ++i) experts.Set(frame, row * k + i, places[i]);
  }
};

// The gradient of the scores of the experts that a token was sent to; of all where these are a softmax.
struct GatingGradientBody {
  Rows p, dy, dx;
  Indices experts;
  int experts_at;
  PieceScratch<float> room;
  int64_t k;
  bool sigmoid;
  double factor, eps;

  void operator()(const Frame& frame) const {
    const std::span<const int64_t> chosen = experts.Places(frame, experts_at, p.width());
    room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
      for (int64_t row = begin; row < end; ++row) Row(frame, row, chosen.data() + row * k, mine);
    });
  }

  void Row(const Frame& frame, int64_t row, const int64_t* chosen, float* mine) const {
    const int64_t n = p.width();
    float *shares = mine, *to = mine + n, *given = mine + 2 * n;
    const float* from = p.Load(frame, row, shares);
    if (from != shares) std::copy_n(from, n, shares);
    const float* d = dy.Load(frame, row, given);
    double sum = eps, met = 0;
    for (int64_t i = 0; i < k; ++i) {
      const auto share = static_cast<double>(shares[chosen[i]]);
      sum += share;
      met += share * static_cast<double>(d[i]);
    }
    std::fill_n(to, n, 0.0f);
    for (int64_t i = 0; i < k; ++i) {
      const auto share = static_cast<double>(shares[chosen[i]]), of = static_cast<double>(d[i]);
      const double slope = sigmoid ? (of - met / sum) / sum * (1 - share) : of;
      to[chosen[i]] += static_cast<float>(factor * share * slope);
    }
    for (int64_t i = 0; !sigmoid && i < n; ++i)
      to[i] -= static_cast<float>(factor * met * static_cast<double>(shares[i]));
    dx.Store(frame, row, to);
  }
};

Shape WithLast(Shape shape, int64_t last) {
  shape.back(0) = last;
  return shape;
}

uint64_t CostOfGating(const Operand& x, int64_t k) {
  return 500 + static_cast<uint64_t>(x.tensor->count()) * (6 + static_cast<uint64_t>(k));
}

struct SoftmaxArgs {
  const Operand &x, &finished;
  int64_t k;
  bool renorm;
  const Operand &y, &experts;
};

// The parts that both functions have.
SoftmaxBody SoftmaxParts(Plan& plan, const SoftmaxArgs& args) {
  CheckExpertRank(plan, args.x, 2, 3);
  const Shape shape = args.x.shape();
  const int64_t experts = shape.back(0);
  if (args.k < 1 || args.k > experts) RefuseExperts(plan, "k is not from 1 to the number of experts");
  if (args.finished.present())
    CheckExpertShape(plan, args.finished, Shape::Of(shape.data(), shape.rank() - 1));
  CheckSameType(args.x, args.y);
  for (const Operand* o : {&args.y, &args.experts}) CheckExpertShape(plan, *o, WithLast(shape, args.k));
  const int64_t rows = args.x.tensor->count() / experts;
  plan.SetCost(CostOfGating(args.x, args.k));
  return {Rows(args.x),
          Rows(args.finished, true),
          Rows(args.y),
          Rows(),
          WholeOut(args.experts),
          WholeOut(),
          {plan, rows, RowGrain(experts), 3 * experts},
          args.k,
          args.renorm};
}

}  // namespace

namespace kernels {

void MoeGatingTopKSoftmax(Plan& plan, DType, const Operand& x, const Operand& finishedOptional, int64_t k,
                          const Operand& yOut, const Operand& expertIdxOut, const Operand& rowIdxOut) {
  SoftmaxBody body = SoftmaxParts(plan, {x, finishedOptional, k, false, yOut, expertIdxOut});
  CheckExpertShape(plan, rowIdxOut, yOut.shape());
  if (yOut.tensor->empty()) return;
  body.copies = WholeOut(rowIdxOut);
  plan.SetBody(body);
}

void MoeGatingTopKSoftmaxV2(Plan& plan, DType, const Operand& x, const Operand& finishedOptional, int64_t k,
                            int64_t renorm, bool outputSoftmaxResultFlag, const Operand& yOut,
                            const Operand& expertIdxOut, const Operand& softmaxResultOutOptional) {
  if (renorm != 0 && renorm != 1) RefuseExperts(plan, "renorm is 0 or 1");
  SoftmaxBody body = SoftmaxParts(plan, {x, finishedOptional, k, renorm == 1, yOut, expertIdxOut});
  if (outputSoftmaxResultFlag && renorm == 0) {
    if (!softmaxResultOutOptional.present())
      RefuseExperts(plan, "outputSoftmaxResultFlag is true, but softmaxResultOut is null");
    CheckExpertShape(plan, softmaxResultOutOptional, x.shape());
    body.all = Rows(softmaxResultOutOptional);
  }
  if (!yOut.tensor->empty()) plan.SetBody(body);
}

void MoeGatingTopK(Plan& plan, DType, const MoeGatingTopKArguments& a) {
  CheckExpertRank(plan, a.x, 2, 2);
  const int64_t rows = a.x.shape()[0], experts = a.x.shape()[1];
  if (a.renorm != 0) RefuseExperts(plan, "renorm 1 is not there yet; pass 0");
  if (a.norm_type != 0 && a.norm_type != 1) RefuseExperts(plan, "normType is 0 (softmax) or 1 (sigmoid)");
  if (a.group_select_mode != 0 && a.group_select_mode != 1)
    RefuseExperts(plan, "groupSelectMode is 0 (the best one) or 1 (the best two)");
  if (a.group_count < 1 || experts % a.group_count != 0)
    RefuseExperts(plan, "groupCount does not divide the number of experts");
  if (a.k_group < 1 || a.k_group > a.group_count) RefuseExperts(plan, "kGroup is not from 1 to groupCount");
  const int64_t each = experts / a.group_count;
  if (a.group_count > 1 && a.group_select_mode == 1 && each < 2)
    RefuseExperts(plan, "groupSelectMode 1 needs groups of two experts at least");
  if (a.k < 1 || a.k > a.k_group * each)
    RefuseExperts(plan, "k is not from 1 to the experts of kGroup groups");
  if (a.bias.present()) CheckExpertShape(plan, a.bias, {experts});
  CheckSameType(a.x, a.y_out);
  for (const Operand* o : {&a.y_out, &a.expert_idx_out}) CheckExpertShape(plan, *o, {rows, a.k});
  if (a.out_flag && !a.out_out.present()) RefuseExperts(plan, "outFlag is true, but out is null");
  if (a.out_out.present()) CheckExpertShape(plan, a.out_out, a.x.shape());
  if (rows == 0) return;
  plan.SetCost(CostOfGating(a.x, a.k));
  plan.SetBody(RankedGroupsBody{Rows(a.x),
                                Rows(a.bias),
                                Rows(a.y_out),
                                a.out_flag ? Rows(a.out_out) : Rows(),
                                WholeOut(a.expert_idx_out),
                                {plan, rows, RowGrain(experts), 4 * experts},
                                a.k,
                                a.group_count,
                                a.k_group,
                                a.group_select_mode == 1,
                                a.norm_type == 1,
                                static_cast<float>(a.routed_scaling_factor),
                                static_cast<float>(a.eps)});
}

void MoeGatingTopKBackward(Plan& plan, DType, const Operand& xNorm, const Operand& gradY,
                           const Operand& expertIdx, int64_t renorm, int64_t normType,
                           double routedScalingFactor, double eps, const Operand& out) {
  if (renorm != 0) RefuseExperts(plan, "renorm 1 is not there yet; pass 0");
  if (normType != 0 && normType != 1) RefuseExperts(plan, "normType is 0 (softmax) or 1 (sigmoid)");
  for (const Operand* o : {&xNorm, &gradY}) CheckExpertRank(plan, *o, 2, 2);
  const Shape shape = xNorm.shape();
  const int64_t k = gradY.shape()[1];
  if (k < 1 || k > shape[1]) RefuseExperts(plan, "gradY has another number of columns than 1 to the experts");
  for (const Operand* o : {&gradY, &expertIdx}) CheckExpertShape(plan, *o, {shape[0], k});
  CheckExpertShape(plan, out, shape);
  CheckSameType(gradY, out);
  if (shape[0] == 0) return;
  plan.SetCost(500 + static_cast<uint64_t>(xNorm.tensor->count()) * 2);
  plan.SetBody(GatingGradientBody{Rows(xNorm),
                                  Rows(gradY),
                                  Rows(out),
                                  Indices(plan, *expertIdx.tensor),
                                  expertIdx.binding,
                                  {plan, shape[0], RowGrain(shape[1]), 3 * shape[1]},
                                  k,
                                  normType == 1,
                                  routedScalingFactor,
                                  eps});
}

}  // namespace kernels
}  // namespace belay::ops
