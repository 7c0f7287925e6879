// Tokens that are brought into the order of the experts that they are sent to, and back, with the gradients
// of both.
#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/experts/experts.h"
#include "ops/experts/rows.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

struct PermuteBody {
  Rows tokens, out;
  Indices indices;
  WholeOut sorted;
  Scratch<Placed> order;
  int binding;
  int64_t top_k;

  void operator()(const Frame& frame) const {
    Placed* placed = order.At(frame);
    SortPlaces(indices.Read(frame, binding), placed);
    for (int64_t i = 0; i < indices.count(); ++i) sorted.Set(frame, placed[i].place, i);
    ParallelFor(out.count(), RowGrain(out.width()), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out.Copy(frame, i, tokens, placed[i].place / top_k);
    });
  }
};

// Where the copies of each token went; those beyond the last row were dropped.
struct Places {
  Indices indices;
  int binding;
  int64_t top_k, rows;

  std::span<const int64_t> Read(const Frame& frame) const {
    const std::span<const int64_t> places = indices.Read(frame, binding);
    for (const int64_t place : places) {
      if (place >= 0) continue;
      Fail(kIndexFault, "op-index-range", "index {} is beyond a dimension of {} elements", place, rows);
    }
    return places;
  }
};

// out[token] = the sum of its rows, each times its probability.
struct UnpermuteBody {
  Rows rows, probs, out;
  Places places;

  void operator()(const Frame& frame) const {
    const std::span<const int64_t> at = places.Read(frame);
    ParallelFor(out.count(), RowGrain(out.width() * places.top_k), [&](int64_t begin, int64_t end) {
      for (int64_t token = begin; token < end; ++token) Token(frame, token, at.data() + token * places.top_k);
    });
  }

  void Token(const Frame& frame, int64_t token, const int64_t* at) const {
    alignas(64) float sum[kBlock], block[kBlock];
    for (int64_t first = 0; first < out.width(); first += kBlock) {
      const int64_t n = std::min(kBlock, out.width() - first);
      std::fill_n(sum, n, 0.0f);
      for (int64_t k = 0; k < places.top_k; ++k) {
        if (at[k] >= rows.count()) continue;
        const float* row = rows.Load(frame, at[k], first, n, block);
        const float factor = probs.present() ? probs.At(frame, token, k) : 1;
        for (int64_t i = 0; i < n; ++i) sum[i] += row[i] * factor;
      }
      out.Store(frame, token, first, n, sum);
    }
  }
};

struct UnpermuteGradBody {
  Rows rows, probs, grad, rows_grad, probs_grad;
  Places places;
  Scratch<int64_t> whose;  // the copy that each row is, or -1

  void operator()(const Frame& frame) const {
    const std::span<const int64_t> at = places.Read(frame);
    int64_t* copies = whose.At(frame);
    std::fill_n(copies, rows_grad.count(), int64_t{-1});
    for (size_t i = 0; i < at.size(); ++i) {
      if (at[i] < rows_grad.count()) copies[at[i]] = static_cast<int64_t>(i);
    }
    ParallelFor(rows_grad.count(), RowGrain(grad.width()), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) Row(frame, row, copies[row]);
    });
    if (!probs_grad.present()) return;
    const auto count = static_cast<int64_t>(at.size());
    ParallelFor(count, RowGrain(grad.width()), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        probs_grad.Set(frame, i / places.top_k, i % places.top_k, Dot(frame, i, at[i]));
    });
  }

  void Row(const Frame& frame, int64_t row, int64_t copy) const {
    if (copy < 0) return rows_grad.Clear(frame, row);
    const int64_t token = copy / places.top_k;
    if (!probs.present()) return rows_grad.Copy(frame, row, grad, token);
    const float factor = probs.At(frame, token, copy % places.top_k);
    alignas(64) float block[kBlock], scaled[kBlock];
    for (int64_t first = 0; first < grad.width(); first += kBlock) {
      const int64_t n = std::min(kBlock, grad.width() - first);
      const float* from = grad.Load(frame, token, first, n, block);
      for (int64_t i = 0; i < n; ++i) scaled[i] = from[i] * factor;
      rows_grad.Store(frame, row, first, n, scaled);
    }
  }

  float Dot(const Frame& frame, int64_t copy, int64_t row) const {
    if (row >= rows.count()) return 0;
    alignas(64) float left[kBlock], right[kBlock];
    double sum = 0;
    for (int64_t first = 0; first < grad.width(); first += kBlock) {
      const int64_t n = std::min(kBlock, grad.width() - first);
      const float* a = rows.Load(frame, row, first, n, left);
      const float* b = grad.Load(frame, copy / places.top_k, first, n, right);
      float part = 0;
      for (int64_t i = 0; i < n; ++i) part += a[i] * b[i];
      sum += static_cast<double>(part);
    }
    return static_cast<float>(sum);
  }
};

void RefusePadded(const Plan& plan, bool padded) {
  if (padded) RefuseExperts(plan, "paddedMode is not there yet; pass false");
}

// Copies of each token, of which there are `copies` in all.
int64_t TopK(const Plan& plan, int64_t copies, int64_t tokens, const Operand& probs) {
  if (tokens > 0 && copies % tokens == 0 && copies >= tokens) return copies / tokens;
  if (tokens == 0 && copies == 0) return probs.present() ? std::max<int64_t>(probs.shape().back(0), 1) : 1;
  RefuseExperts(plan, "sortedIndices has another number of elements than there are copies of the tokens");
}

uint64_t CostOf(const Operand& operand, int64_t times) {
  return 500 + static_cast<uint64_t>(operand.tensor->count() * times) / 4;
}

}  // namespace

namespace kernels {

void MoeTokenPermute(Plan& plan, DType, const Operand& tokens, const Operand& indices, int64_t numOutTokens,
                     bool paddedMode, const Operand& permuteTokensOut, const Operand& sortedIndicesOut) {
  RefusePadded(plan, paddedMode);
  CheckExpertRank(plan, tokens, 2, 2);
  CheckExpertRank(plan, indices, 1, 2);
  const Shape rows = tokens.shape(), chosen = indices.shape();
  if (chosen[0] != rows[0]) RefuseExperts(plan, "indices has another number of tokens than tokens");
  const int64_t count = indices.tensor->count(), top_k = chosen.rank() == 2 ? chosen[1] : 1;
  int64_t kept = numOutTokens > 0 ? std::min(numOutTokens, count) : count + numOutTokens;
  kept = std::max<int64_t>(kept, 0);
  CheckSameType(tokens, permuteTokensOut);
  CheckExpertShape(plan, permuteTokensOut, {kept, rows[1]});
  CheckExpertShape(plan, sortedIndicesOut, {count});
  if (count == 0) return;
  plan.SetCost(CostOf(permuteTokensOut, 1) + static_cast<uint64_t>(count) * 30);
  plan.SetBody(PermuteBody{Rows(tokens), Rows(permuteTokensOut), Indices(plan, *indices.tensor),
                           WholeOut(sortedIndicesOut), Scratch<Placed>(plan, count), indices.binding, top_k});
}

void MoeTokenPermuteGrad(Plan& plan, DType, const Operand& permutedOutputGrad, const Operand& sortedIndices,
                         int64_t numTopk, bool paddedMode, const Operand& out) {
  RefusePadded(plan, paddedMode);
  CheckExpertRank(plan, permutedOutputGrad, 2, 2);
  CheckExpertRank(plan, sortedIndices, 1, 1);
  const int64_t count = sortedIndices.tensor->count();
  if (numTopk < 1 || count % numTopk != 0)
    RefuseExperts(plan, "numTopk does not divide the number of sortedIndices");
  CheckExpertShape(plan, out, {count / numTopk, permutedOutputGrad.shape()[1]});
  if (out.tensor->empty()) return;
  const Rows rows(permutedOutputGrad);
  plan.SetCost(CostOf(out, numTopk));
  plan.SetBody(
      UnpermuteBody{rows,
                    Rows(),
                    Rows(out),
                    {Indices(plan, *sortedIndices.tensor), sortedIndices.binding, numTopk, rows.count()}});
}

void MoeTokenUnpermute(Plan& plan, DType, const Operand& permutedTokens, const Operand& sortedIndices,
                       const Operand& probs, bool paddedMode, std::span<const int64_t>, const Operand& out) {
  RefusePadded(plan, paddedMode);
  CheckExpertRank(plan, permutedTokens, 2, 2);
  CheckExpertRank(plan, sortedIndices, 1, 1);
  const int64_t count = sortedIndices.tensor->count();
  if (probs.present()) CheckExpertRank(plan, probs, 2, 2);
  const int64_t tokens = probs.present() ? probs.shape()[0] : count, top_k = TopK(plan, count, tokens, probs);
  if (probs.present()) CheckExpertShape(plan, probs, {tokens, top_k});
  CheckExpertShape(plan, out, {tokens, permutedTokens.shape()[1]});
  if (out.tensor->empty()) return;
  const Rows rows(permutedTokens);
  plan.SetCost(CostOf(out, top_k));
  plan.SetBody(
      UnpermuteBody{rows,
                    Rows(probs),
                    Rows(out),
                    {Indices(plan, *sortedIndices.tensor), sortedIndices.binding, top_k, rows.count()}});
}

void MoeTokenUnpermuteGrad(Plan& plan, DType, const Operand& permutedTokens,
                           const Operand& unpermutedTokensGrad, const Operand& sortedIndices,
                           const Operand& probs, bool paddedMode, std::span<const int64_t>,
                           const Operand& permutedTokensGradOut, const Operand& probsGradOut) {
  RefusePadded(plan, paddedMode);
  CheckExpertRank(plan, unpermutedTokensGrad, 2, 2);
  CheckExpertRank(plan, sortedIndices, 1, 1);
  CheckExpertRank(plan, permutedTokensGradOut, 2, 2);
  const Shape grad = unpermutedTokensGrad.shape();
  if (probs.present()) CheckExpertRank(plan, probs, 2, 2);
  const int64_t top_k = TopK(plan, sortedIndices.tensor->count(), grad[0], probs);
  if (!probs.present() && top_k != 1) RefuseExperts(plan, "without probs each token has one copy");
  CheckExpertShape(plan, permutedTokensGradOut, {permutedTokensGradOut.shape()[0], grad[1]});
  const bool weighted = probs.present();
  if (weighted) {
    if (!permutedTokens.present())
      RefuseExperts(plan, "permutedTokens is null, but the gradient of probs needs it");
    if (!probsGradOut.present()) RefuseExperts(plan, "probs is given, but probsGradOut is null");
    CheckExpertShape(plan, permutedTokens, permutedTokensGradOut.shape());
    CheckExpertShape(plan, probs, {grad[0], top_k});
    CheckExpertShape(plan, probsGradOut, {grad[0], top_k});
  }
  const int64_t rows = permutedTokensGradOut.shape()[0];
  plan.SetCost(CostOf(permutedTokensGradOut, weighted ? 2 : 1));
  plan.SetBody(UnpermuteGradBody{weighted ? Rows(permutedTokens) : Rows(),
                                 Rows(probs),
                                 Rows(unpermutedTokensGrad),
                                 Rows(permutedTokensGradOut),
                                 weighted ? Rows(probsGradOut) : Rows(),
                                 {Indices(plan, *sortedIndices.tensor), sortedIndices.binding, top_k, rows},
                                 Scratch<int64_t>(plan, rows)});
}

}  // namespace kernels
}  // namespace belay::ops
