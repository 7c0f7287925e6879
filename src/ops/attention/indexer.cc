// The keys that matter most to each token, by the weighted scores of small heads: aclnnLightningIndexer.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/parallel.h"
#include "ops/attention/online_heads.h"
#include "ops/attention/sparse_sequences.h"
#include "ops/experts/experts.h"
#include "ops/experts/matrix_block.h"
#include "ops/experts/row_loops.h"
#include "ops/experts/rows.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

constexpr int64_t kKeysAtOnce = 1024;
constexpr float kNotChosen = -std::numeric_limits<float>::infinity();

struct IndexerBody {
  SparseSequences sequences;
  Rows query, key, weights, values;
  WholeOut indices;
  int64_t count = 0, size = 0;
  int64_t tokens_at_once = 1;
  Scratch<float> scores;         // of so many tokens
  PieceScratch<float> room;      // for a part of the scores of a token
  PieceScratch<int32_t> choice;  // for the keys of a token, in order

  int64_t key_blocks() const { return (sequences.most_columns() + kKeysAtOnce - 1) / kKeysAtOnce; }

  void operator()(const Frame& frame) const {
    const auto all = sequences.Read(frame);
    for (int64_t first = 0; first < sequences.tokens(); first += tokens_at_once) {
      const int64_t here = std::min(tokens_at_once, sequences.tokens() - first);
      room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
        for (int64_t part = begin; part < std::min(end, here * key_blocks()); ++part) {
          const int64_t token = part / key_blocks();
          Score(frame, all, first + token, part % key_blocks() * kKeysAtOnce, ScoresOf(frame, token), mine);
        }
      });
      choice.For(frame, [&](int64_t begin, int64_t end, int32_t* mine) {
        for (int64_t i = begin; i < std::min(end, here); ++i)
          Choose(frame, all, first + i, ScoresOf(frame, i), mine);
      });
    }
  }

  float* ScoresOf(const Frame& frame, int64_t i) const {
    return scores.At(frame) + i * sequences.most_columns();
  }

  void Score(const Frame& frame, std::span<const SparseSequences::Sequence> all, int64_t token, int64_t first,
             float* to, float* mine) const {
    const SparseSequences::Sequence* s = sequences.Of(all, token);
    const int64_t n = s == nullptr ? 0 : std::min(kKeysAtOnce, sequences.Seen(*s, token) - first);
    if (n <= 0) return;
    const int64_t heads = sequences.heads();
    float *q = mine, *k = q + heads * size, *products = k + kKeysAtOnce * size,
          *by = products + heads * kKeysAtOnce;
    for (int64_t h = 0; h < heads; ++h) BringRow(frame, query, token * heads + h, q + h * size);
    for (int64_t j = 0; j < n; ++j)
      BringRow(frame, key, sequences.KeyRow(frame, all, *s, first + j), k + j * size);
    BringRow(frame, weights, token, by);
    MultiplyFloats(
        {heads, n, size, {q, size, false}, {k, size, true}, products, n, GemmType::kF32, GemmType::kF32});
    to += first;
    std::fill_n(to, n, 0.0f);
    for (int64_t h = 0; h < heads; ++h) BestRowLoops().add_positive_times(to, products + h * n, by[h], n);
  }

  // The best keys in order, the first one of equal ones, and NaN over all; behind them -1.
  void Choose(const Frame& frame, std::span<const SparseSequences::Sequence> all, int64_t token, float* score,
              int32_t* order) const {
    const SparseSequences::Sequence* s = sequences.Of(all, token);
    const int64_t n = s == nullptr ? 0 : sequences.Seen(*s, token), kept = std::min(n, count);
    for (int64_t j = 0; j < n; ++j) {
      order[j] = static_cast<int32_t>(j);
      if (std::isnan(score[j])) score[j] = std::numeric_limits<float>::infinity();
    }
    const auto before = [score](int32_t a, int32_t b) {
      return score[a] != score[b] ? score[a] > score[b] : a < b;
    };
    if (kept < n) std::nth_element(order, order + kept, order + n, before);
    std::sort(order, order + kept, before);
    for (int64_t i = 0; i < count; ++i) {
      indices.Set(frame, token * count + i, i < kept ? order[i] : -1);
      if (values.present()) values.Set(frame, token, i, i < kept ? score[order[i]] : kNotChosen);
    }
  }
};

}  // namespace

namespace kernels {

void LightningIndexer(Plan& plan, DType, const LightningIndexerArguments& a) {
  IndexerBody body;
  body.sequences = SparseSequences(plan, {.query = a.query,
                                          .key = a.key,
                                          .query_lengths = a.actual_seq_lengths_query,
                                          .key_lengths = a.actual_seq_lengths_key,
                                          .pages = a.block_table,
                                          .query_layout = a.layout_query,
                                          .key_layout = a.layout_key,
                                          .sparse_mode = a.sparse_mode,
                                          .before = a.pre_tokens,
                                          .after = a.next_tokens});
  const SparseSequences& sequences = body.sequences;
  CheckSameType(a.query, a.key);
  if (a.weights.dtype() != DType::kF32) CheckSameType(a.query, a.weights);
  if (a.sparse_count < 1) RefuseExperts(plan, "sparseCount is not above 0");
  CheckExpertShape(plan, a.weights, sequences.OfTokens(sequences.heads()));
  const Shape results = sequences.WithLast({1, a.sparse_count});
  CheckExpertShape(plan, a.sparse_indices_out, results);
  if (a.return_value) {
    if (!a.sparse_values_out.present())
      RefuseExperts(plan, "returnValue is true, but sparseValuesOut is null");
    CheckSameType(a.query, a.sparse_values_out);
    CheckExpertShape(plan, a.sparse_values_out, results);
    body.values = Rows(a.sparse_values_out);
  }
  const int64_t tokens = sequences.tokens(), columns = sequences.most_columns();
  if (tokens == 0) return;
  body.query = Rows(a.query), body.key = Rows(a.key), body.weights = Rows(a.weights);
  body.indices = WholeOut(a.sparse_indices_out);
  body.count = a.sparse_count, body.size = a.query.shape().back(0);
  constexpr int64_t kMostScores = int64_t{4} << 20;
  body.tokens_at_once = std::clamp<int64_t>(kMostScores / std::max<int64_t>(columns, 1), 1, tokens);
  body.scores = Scratch<float>(plan, body.tokens_at_once * columns);
  const int64_t heads = sequences.heads(),
                each = heads * (body.size + kKeysAtOnce + 1) + kKeysAtOnce * body.size;
  body.room = {plan, body.tokens_at_once * body.key_blocks(), 1, each};
  body.choice = {plan, body.tokens_at_once, 1, columns};
  plan.SetCost(2000 +
               static_cast<uint64_t>(tokens * heads * columns / 64) * static_cast<uint64_t>(body.size));
  plan.SetBody(body);
}

}  // namespace kernels
}  // namespace belay::ops
