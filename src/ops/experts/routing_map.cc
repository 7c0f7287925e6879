// Tokens brought into the order of the experts that a map of truths sends them to, and back, with the
// gradients of both. A copy of a token is told by the row where it lies; a map of capacities has as many rows
// for each expert, whoever is sent there.
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

// Who is sent where, by the map: token t to expert e where map[t, e] is not 0.
struct RoutingMap {
  Indices map;
  int binding = -1;
  int64_t tokens = 0, experts = 0;

  RoutingMap() = default;
  RoutingMap(Plan& plan, const Operand& operand)
      : map(plan, *operand.tensor),
        binding(operand.binding),
        tokens(operand.shape()[0]),
        experts(operand.shape()[1]) {}

  bool present() const { return binding >= 0; }
  std::span<const int64_t> Read(const Frame& frame) const { return map.Read(frame, binding); }
};

// One copy: whose it is, and for whom.
struct Sent {
  int64_t token, expert;
};

[[noreturn]] void FailCount(int64_t seen, int64_t wanted) {
  Fail(kIndexFault, "op-routing-map", "the routing map sends {} copies, but there is room for {}", seen,
       wanted);
}

// copies[row], expert by expert. With a capacity those who are sent come first, then the others, each in
// order.
void ListRows(std::span<const int64_t> sent, int64_t tokens, int64_t experts, int64_t capacity, int64_t count,
              Sent* copies) {
  int64_t row = 0;
  for (int64_t e = 0; e < experts; ++e) {
    const int64_t end = row + capacity;
    for (const bool wanted : {true, false}) {
      if (capacity == 0 && !wanted) break;
      for (int64_t t = 0; t < tokens; ++t) {
        if ((sent[static_cast<size_t>(t * experts + e)] != 0) != wanted) continue;
        if (capacity != 0 && row == end) break;
        if (row < count) copies[row] = {t, e};
        ++row;
      }
    }
  }
  if (row != count) FailCount(row, count);
}

struct MapPermuteBody {
  Rows tokens, probs, out, probs_out;
  RoutingMap map;
  WholeOut sorted;
  Scratch<Sent> copies;
  Scratch<int64_t> next;  // of each token: its copies so far
  int64_t capacity;       // rows of each expert, or 0

  void operator()(const Frame& frame) const {
    Sent* copy = copies.At(frame);
    ListRows(map.Read(frame), map.tokens, map.experts, capacity, out.count(), copy);
    Number(frame, copy);
    ParallelFor(out.count(), RowGrain(out.width()), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        out.Copy(frame, i, tokens, copy[i].token);
        if (probs_out.present()) probs_out.Set(frame, i, 0, probs.At(frame, copy[i].token, copy[i].expert));
      }
    });
  }

  // With capacities the token of each row; else, token by token, the rows of its copies.
  void Number(const Frame& frame, const Sent* copy) const {
    if (capacity != 0) {
      for (int64_t i = 0; i < out.count(); ++i) sorted.Set(frame, i, copy[i].token);
      return;
    }
    int64_t* first = next.At(frame);
    std::fill_n(first, map.tokens, int64_t{0});
    for (int64_t i = 0; i < out.count(); ++i) ++first[copy[i].token];
    int64_t before = 0;
    for (int64_t t = 0; t < map.tokens; ++t) before += std::exchange(first[t], before);
    for (int64_t i = 0; i < out.count(); ++i) sorted.Set(frame, first[copy[i].token]++, i);
  }
};

void CheckPlaces(std::span<const int64_t> places, int64_t size) {
  for (const int64_t place : places) {
    if (place >= 0 && place < size) continue;
    Fail(kIndexFault, "op-index-range", "index {} is beyond a dimension of {} elements", place, size);
  }
}

// The rows of each token (`place`), token by token (`value`), as the numbers that MapPermuteBody gives say.
struct RowsOfTokens {
  Indices numbers;
  int binding;
  int64_t tokens, rows, top_k, capacity;
  Scratch<Placed> order;
  Scratch<int64_t> first;

  RowsOfTokens(Plan& plan, const Operand& sorted, int64_t token_count, int64_t top, int64_t rows_each)
      : numbers(plan, *sorted.tensor),
        binding(sorted.binding),
        tokens(token_count),
        rows(numbers.count()),
        top_k(top),
        capacity(rows_each),
        order(plan, rows),
        first(plan, token_count + 1) {}

  std::span<const Placed> Sort(const Frame& frame) const {
    const std::span<const int64_t> at = numbers.Read(frame, binding);
    CheckPlaces(at, capacity != 0 ? tokens : rows);
    Placed* pairs = order.At(frame);
    if (capacity != 0) {
      SortPlaces(at, pairs);
    } else {
      for (int64_t i = 0; i < rows; ++i) pairs[i] = {i / top_k, at[static_cast<size_t>(i)]};
    }
    int64_t* begins = first.At(frame);
    for (int64_t token = 0, i = 0; token <= tokens; ++token) {
      while (i < rows && pairs[i].value < token) ++i;
      begins[token] = i;
    }
    return {pairs, static_cast<size_t>(rows)};
  }
  // Once they are sorted.
  std::span<const Placed> Of(const Frame& frame, int64_t token) const {
    const int64_t* begins = first.At(frame);
    return {order.At(frame) + begins[token], order.At(frame) + begins[token + 1]};
  }
};

// out[token] = the sum of its rows, each times its factor.
void SumRows(const Frame& frame, const RowsOfTokens& pairs, const Rows& rows, const float* factors,
             const Rows& out) {
  ParallelFor(out.count(), RowGrain(out.width()), [&](int64_t begin, int64_t end) {
    alignas(64) float sum[kBlock], block[kBlock];
    for (int64_t token = begin; token < end; ++token) {
      for (int64_t from = 0; from < out.width(); from += kBlock) {
        const int64_t n = std::min(kBlock, out.width() - from);
        std::fill_n(sum, n, 0.0f);
        for (const Placed& pair : pairs.Of(frame, token)) {
          const float* row = rows.Load(frame, pair.place, from, n, block);
          const float by = factors != nullptr ? factors[pair.place] : 1;
          for (int64_t i = 0; i < n; ++i) sum[i] += row[i] * by;
        }
        out.Store(frame, token, from, n, sum);
      }
    }
  });
}

// visit(i, token, expert) for each that is sent, token by token; throws unless they are `count`.
template <class Visit>
void ForEachSent(const Frame& frame, const RoutingMap& map, int64_t count, const Visit& visit) {
  const std::span<const int64_t> sent = map.Read(frame);
  int64_t seen = 0;
  for (size_t k = 0; k < sent.size(); ++k) {
    if (sent[k] == 0) continue;
    const auto place = static_cast<int64_t>(k);
    if (seen < count) visit(seen, place / map.experts, place % map.experts);
    ++seen;
  }
  if (seen != count) FailCount(seen, count);
}

struct MapUnpermuteBody {
  Rows rows, probs, out, probs_out;
  RoutingMap map;  // not with capacities
  RowsOfTokens pairs;
  WholeOut out_index, token_id;
  Scratch<float> factors;  // of each row

  void operator()(const Frame& frame) const {
    const std::span<const Placed> all = pairs.Sort(frame);
    for (size_t i = 0; i < all.size(); ++i) {
      out_index.Set(frame, static_cast<int64_t>(i), all[i].place);
      token_id.Set(frame, static_cast<int64_t>(i), all[i].value);
    }
    if (probs.present()) Factors(frame, all);
    SumRows(frame, pairs, rows, probs.present() ? factors.At(frame) : nullptr, out);
  }

  // What goes out is in the order of the rows with capacities, else in that of the tokens.
  void Factors(const Frame& frame, std::span<const Placed> all) const {
    float* factor = factors.At(frame);
    if (pairs.capacity != 0) {
      for (const Placed& pair : all)
        factor[pair.place] = probs.At(frame, pair.value, pair.place / pairs.capacity);
      for (int64_t row = 0; row < pairs.rows && probs_out.present(); ++row)
        probs_out.Set(frame, row, 0, factor[row]);
      return;
    }
    std::fill_n(factor, pairs.rows, 0.0f);
    ForEachSent(frame, map, pairs.rows, [&](int64_t i, int64_t token, int64_t expert) {
      const float value = probs.At(frame, token, expert);
      factor[all[static_cast<size_t>(i)].place] = value;
      if (probs_out.present()) probs_out.Set(frame, i, 0, value);
    });
  }
};

struct MapUnpermuteGradBody {
  Rows grad, rows, probs, rows_grad, probs_grad;
  RoutingMap map;  // not with capacities
  Indices out_index, token_id;
  int out_index_at, token_id_at;
  Scratch<Sent> copies;  // whose each row is
  int64_t top_k, capacity;

  void operator()(const Frame& frame) const {
    Sent* copy = copies.At(frame);
    Assign(frame, copy);
    for (int64_t token = 0; token < probs_grad.count(); ++token) probs_grad.Clear(frame, token);
    ParallelFor(rows_grad.count(), RowGrain(grad.width()), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) Row(frame, row, copy[row]);
    });
  }

  void Assign(const Frame& frame, Sent* copy) const {
    const std::span<const int64_t> at = out_index.Read(frame, out_index_at);
    CheckPlaces(at, rows_grad.count());
    std::fill_n(copy, rows_grad.count(), Sent{-1, -1});
    if (capacity != 0) {
      const std::span<const int64_t> tokens = token_id.Read(frame, token_id_at);
      CheckPlaces(tokens, grad.count());
      for (size_t i = 0; i < at.size(); ++i) copy[at[i]] = {tokens[i], at[i] / capacity};
      return;
    }
    for (size_t i = 0; i < at.size(); ++i) copy[at[i]] = {static_cast<int64_t>(i) / top_k, 0};
    if (!probs.present()) return;
    ForEachSent(frame, map, out_index.count(), [&](int64_t i, int64_t token, int64_t expert) {
      copy[at[static_cast<size_t>(i)]] = {token, expert};
    });
  }

  void Row(const Frame& frame, int64_t row, Sent copy) const {
    if (copy.token < 0) return rows_grad.Clear(frame, row);
    if (!probs.present()) return rows_grad.Copy(frame, row, grad, copy.token);
    const float factor = probs.At(frame, copy.token, copy.expert);
    alignas(64) float block[kBlock], other[kBlock], scaled[kBlock];
    double sum = 0;
    for (int64_t first = 0; first < grad.width(); first += kBlock) {
      const int64_t n = std::min(kBlock, grad.width() - first);
      const float* from = grad.Load(frame, copy.token, first, n, block);
      const float* value = rows.Load(frame, row, first, n, other);
      float part = 0;
      for (int64_t i = 0; i < n; ++i) {
        scaled[i] = from[i] * factor;
        part += from[i] * value[i];
      }
      sum += static_cast<double>(part);
      rows_grad.Store(frame, row, first, n, scaled);
    }
    probs_grad.Set(frame, copy.token, copy.expert, static_cast<float>(sum));
  }
};

struct MapPermuteGradBody {
  Rows grad, probs_grad, tokens_grad, probs_out;
  RoutingMap map;
  RowsOfTokens pairs;
  Scratch<Sent> copies;

  void operator()(const Frame& frame) const {
    const std::span<const Placed> all = pairs.Sort(frame);
    SumRows(frame, pairs, grad, nullptr, tokens_grad);
    if (!probs_out.present()) return;
    Sent* copy = copies.At(frame);
    if (pairs.capacity != 0) {
      for (const Placed& pair : all) copy[pair.place] = {pair.value, pair.place / pairs.capacity};
    } else {
      ListRows(map.Read(frame), map.tokens, map.experts, 0, pairs.rows, copy);
    }
    for (int64_t token = 0; token < probs_out.count(); ++token) probs_out.Clear(frame, token);
    for (int64_t row = 0; row < pairs.rows; ++row)
      probs_out.Set(frame, copy[row].token, copy[row].expert, probs_grad.At(frame, row, 0));
  }
};

// Copies of each token, or rows of each expert.
struct Dealt {
  int64_t top_k = 0, capacity = 0;
};

Dealt DealtBy(const Plan& plan, int64_t rows, int64_t tokens, int64_t experts, bool padded) {
  const int64_t among = padded ? experts : tokens;
  if (among < 1 || rows % among != 0)
    RefuseExperts(plan, padded ? "each expert has as many rows" : "each token has as many copies");
  if (padded && rows / among > tokens) RefuseExperts(plan, "an expert has more rows than there are tokens");
  return padded ? Dealt{0, rows / among} : Dealt{rows / among, 0};
}

uint64_t CostOfRows(const Operand& rows) { return 500 + static_cast<uint64_t>(rows.tensor->count()) / 2; }

void CheckMap(const Plan& plan, const Operand& map, int64_t tokens) {
  CheckExpertRank(plan, map, 2, 2);
  CheckExpertShape(plan, map, {tokens, map.shape()[1]});
}

// Of a map that may be left out where it is not needed: 1 then.
int64_t ExpertsOf(const Plan& plan, const Operand& map, int64_t tokens, bool needed) {
  if (!map.present()) {
    if (needed)
      RefuseExperts(plan, "routingMapOptional is null; with probsOptional or dropAndPad it is needed");
    return 1;
  }
  CheckMap(plan, map, tokens);
  return map.shape()[1];
}

}  // namespace

namespace kernels {

void MoeTokenPermuteWithRoutingMap(Plan& plan, DType, const Operand& tokens, const Operand& routingMap,
                                   const Operand& probs, int64_t numOutTokens, bool dropAndPad,
                                   const Operand& permuteTokensOut, const Operand& permuteProbsOut,
                                   const Operand& sortedIndicesOut) {
  CheckExpertRank(plan, tokens, 2, 2);
  const Shape rows = tokens.shape();
  CheckMap(plan, routingMap, rows[0]);
  const int64_t experts = routingMap.shape()[1], among = dropAndPad ? experts : rows[0];
  if (numOutTokens < 0) RefuseExperts(plan, "numOutTokens is negative");
  const int64_t count = among > 0 ? numOutTokens / among * among : 0;
  if (count > rows[0] * experts) RefuseExperts(plan, "numOutTokens is more than each token for each expert");
  CheckSameType(tokens, permuteTokensOut);
  CheckExpertShape(plan, permuteTokensOut, {count, rows[1]});
  CheckExpertShape(plan, sortedIndicesOut, {count});
  if (probs.present() != permuteProbsOut.present())
    RefuseExperts(plan, "probsOptional and permuteProbsOutOptional are given together, or neither is");
  if (probs.present()) {
    CheckExpertShape(plan, probs, routingMap.shape());
    CheckExpertShape(plan, permuteProbsOut, {count});
    CheckSameType(probs, permuteProbsOut);
  }
  if (count == 0) return;
  const Dealt dealt = DealtBy(plan, count, rows[0], experts, dropAndPad);
  plan.SetCost(CostOfRows(permuteTokensOut));
  plan.SetBody(MapPermuteBody{Rows(tokens), Rows(probs), Rows(permuteTokensOut), Rows(permuteProbsOut, true),
                              RoutingMap(plan, routingMap), WholeOut(sortedIndicesOut),
                              Scratch<Sent>(plan, count), Scratch<int64_t>(plan, rows[0]), dealt.capacity});
}

void MoeTokenPermuteWithRoutingMapGrad(Plan& plan, DType,
                                       const MoeTokenPermuteWithRoutingMapGradArguments& a) {
  CheckExpertRank(plan, a.permuted_token_output_grad, 2, 2);
  CheckMap(plan, a.routing_map, a.tokens_num);
  CheckExpertShape(plan, a.routing_map, {a.tokens_num, a.num_experts});
  const Shape rows = a.permuted_token_output_grad.shape();
  CheckExpertShape(plan, a.sorted_indices, {rows[0]});
  CheckSameType(a.permuted_token_output_grad, a.tokens_grad_out);
  CheckExpertShape(plan, a.tokens_grad_out, {a.tokens_num, rows[1]});
  if (a.permuted_probs_output_grad.present() != a.probs_grad_out.present())
    RefuseExperts(plan,
                  "permutedProbsOutGradOptional and probsGradOutOptional are given together, or neither is");
  if (a.permuted_probs_output_grad.present()) {
    CheckExpertShape(plan, a.permuted_probs_output_grad, {rows[0]});
    CheckExpertShape(plan, a.probs_grad_out, {a.tokens_num, a.num_experts});
  }
  if (a.tokens_grad_out.tensor->empty() && (!a.probs_grad_out.present() || a.probs_grad_out.tensor->empty()))
    return;
  const Dealt dealt = DealtBy(plan, rows[0], a.tokens_num, a.num_experts, a.drop_and_pad);
  plan.SetCost(CostOfRows(a.permuted_token_output_grad));
  plan.SetBody(
      MapPermuteGradBody{Rows(a.permuted_token_output_grad), Rows(a.permuted_probs_output_grad, true),
                         Rows(a.tokens_grad_out), Rows(a.probs_grad_out), RoutingMap(plan, a.routing_map),
                         RowsOfTokens(plan, a.sorted_indices, a.tokens_num, dealt.top_k, dealt.capacity),
                         Scratch<Sent>(plan, rows[0])});
}

void MoeTokenUnpermuteWithRoutingMap(Plan& plan, DType, const MoeTokenUnpermuteWithRoutingMapArguments& a) {
  CheckExpertRank(plan, a.permuted_tokens, 2, 2);
  const Shape rows = a.permuted_tokens.shape();
  CheckLength("restoreShape", static_cast<int64_t>(a.restore_shape.size()), 2);
  const int64_t tokens = a.restore_shape[0];
  CheckExpertShape(plan, a.unpermuted_tokens, {tokens, rows[1]});
  if (a.restore_shape[1] != rows[1])
    RefuseExperts(plan, "restoreShape has rows of another length than permutedTokens");
  CheckSameType(a.permuted_tokens, a.unpermuted_tokens);
  for (const Operand* o : {&a.sorted_indices, &a.out_index, &a.permute_token_id})
    CheckExpertShape(plan, *o, {rows[0]});
  const int64_t experts = ExpertsOf(plan, a.routing_map, tokens, a.probs.present() || a.drop_and_pad);
  if (a.probs.present() != a.permute_probs.present())
    RefuseExperts(plan, "probsOptional and permuteProbs are given together, or neither is");
  if (a.probs.present()) {
    CheckExpertShape(plan, a.probs, {tokens, experts});
    CheckExpertShape(plan, a.permute_probs, {rows[0]});
  }
  if (tokens == 0) return;
  const Dealt dealt = DealtBy(plan, rows[0], tokens, experts, a.drop_and_pad);
  plan.SetCost(CostOfRows(a.permuted_tokens));
  plan.SetBody(MapUnpermuteBody{
      Rows(a.permuted_tokens), Rows(a.probs), Rows(a.unpermuted_tokens), Rows(a.permute_probs, true),
      a.probs.present() && !a.drop_and_pad ? RoutingMap(plan, a.routing_map) : RoutingMap(),
      RowsOfTokens(plan, a.sorted_indices, tokens, dealt.top_k, dealt.capacity), WholeOut(a.out_index),
      WholeOut(a.permute_token_id), Scratch<float>(plan, rows[0])});
}

void MoeTokenUnpermuteWithRoutingMapGrad(Plan& plan, DType,
                                         const MoeTokenUnpermuteWithRoutingMapGradArguments& a) {
  CheckExpertRank(plan, a.unpermuted_tokens_grad, 2, 2);
  CheckExpertRank(plan, a.out_index, 1, 1);
  const int64_t tokens = a.unpermuted_tokens_grad.shape()[0], width = a.unpermuted_tokens_grad.shape()[1],
                count = a.out_index.shape()[0];
  CheckLength("restoreShape", static_cast<int64_t>(a.restore_shape.size()), 2);
  if (a.restore_shape[0] != tokens || a.restore_shape[1] != width)
    RefuseExperts(plan, "restoreShape is not the shape of unpermutedTokensGrad");
  CheckExpertShape(plan, a.permute_token_id, {count});
  CheckExpertShape(plan, a.permuted_tokens_grad_out, {count, width});
  CheckSameType(a.unpermuted_tokens_grad, a.permuted_tokens_grad_out);
  const int64_t experts = ExpertsOf(plan, a.routing_map, tokens, a.probs.present() || a.drop_and_pad);
  if (a.probs.present() != a.probs_grad_out.present())
    RefuseExperts(plan, "probsOptional and probsGradOutOptional are given together, or neither is");
  if (a.probs.present()) {
    if (!a.permuted_tokens.present())
      RefuseExperts(plan, "permutedTokensOptional is null, but the gradient of probs needs it");
    CheckExpertShape(plan, a.permuted_tokens, {count, width});
    CheckExpertShape(plan, a.probs, {tokens, experts});
    CheckExpertShape(plan, a.probs_grad_out, {tokens, experts});
  }
  if (count == 0 && !a.probs_grad_out.present()) return;
  const Dealt dealt = DealtBy(plan, count, tokens, experts, a.drop_and_pad);
  const bool weighted = a.probs.present();
  plan.SetCost(CostOfRows(a.permuted_tokens_grad_out));
  plan.SetBody(MapUnpermuteGradBody{
      Rows(a.unpermuted_tokens_grad), weighted ? Rows(a.permuted_tokens) : Rows(), Rows(a.probs),
      Rows(a.permuted_tokens_grad_out), Rows(a.probs_grad_out),
      weighted && !a.drop_and_pad ? RoutingMap(plan, a.routing_map) : RoutingMap(),
      Indices(plan, *a.out_index.tensor), Indices(plan, *a.permute_token_id.tensor), a.out_index.binding,
      a.permute_token_id.binding, Scratch<Sent>(plan, count), dealt.top_k, dealt.capacity});
}

}  // namespace kernels
}  // namespace belay::ops
