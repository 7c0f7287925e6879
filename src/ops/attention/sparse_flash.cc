// Attention of each token over the keys that it was given: aclnnSparseFlashAttention and its second version.
#include <algorithm>
#include <cstdint>

#include "ops/attention/online_heads.h"
#include "ops/attention/sparse_sequences.h"
#include "ops/experts/experts.h"
#include "ops/experts/rows.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

struct SparseFlashBody {
  SparseSequences sequences;
  Rows query, key, value, query_rope, key_rope, sinks, out, most_out, sum_out;
  Indices chosen;
  int chosen_at = -1;
  int64_t count = 0, block = 1;  // of the chosen blocks; tokens of each
  int64_t size = 0, deep = 0;    // of a head, without and with its part for angles
  float scale = 1;
  PieceScratch<float> room;

  void operator()(const Frame& frame) const {
    const auto all = sequences.Read(frame);
    const std::span<const int64_t> places = chosen.Read(frame, chosen_at);
    room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
      for (int64_t token = begin; token < end; ++token)
        Token(frame, all, token, places.data() + token * count,
              OnlineHeads(sequences.heads(), deep, size, scale, mine));
    });
  }

  void Token(const Frame& frame, std::span<const SparseSequences::Sequence> all, int64_t token,
             const int64_t* places, const OnlineHeads& state) const {
    const int64_t heads = sequences.heads();
    Begin(frame, token, state);
    const SparseSequences::Sequence* s = sequences.Of(all, token);
    const int64_t seen = s == nullptr ? 0 : sequences.Seen(*s, token);
    int64_t n = 0;
    for (int64_t i = 0; i < count && places[i] >= 0; ++i) {
      if (places[i] > seen / block) continue;
      const int64_t last = std::min(seen, (places[i] + 1) * block);
      for (int64_t column = places[i] * block; column < last; ++column) {
        Bring(frame, sequences.KeyRow(frame, all, *s, column), n++, state);
        if (n < OnlineHeads::kColumnsAtOnce) continue;
        state.Add(n);
        n = 0;
      }
    }
    if (n > 0) state.Add(n);
    state.Divide();
    for (int64_t h = 0; h < heads; ++h) out.Store(frame, token * heads + h, state.sums + h * size);
    if (!most_out.present()) return;
    most_out.Store(frame, token, state.most);
    sum_out.Store(frame, token, state.total);
  }

  // A sink is a score that has no value.
  void Begin(const Frame& frame, int64_t token, const OnlineHeads& state) const {
    const int64_t heads = sequences.heads();
    for (int64_t h = 0; h < heads; ++h) {
      float* q = state.q + h * deep;
      BringRow(frame, query, token * heads + h, q);
      BringRow(frame, query_rope, token * heads + h, q + size);
    }
    state.Begin();
    if (!sinks.present()) return;
    BringRow(frame, sinks, 0, state.most);
    std::fill_n(state.total, heads, 1.0f);
  }

  void Bring(const Frame& frame, int64_t row, int64_t column, const OnlineHeads& state) const {
    float* k = state.k + column * deep;
    BringRow(frame, key, row, k);
    BringRow(frame, key_rope, row, k + size);
    BringRow(frame, value, row, state.v + column * size);
  }
};

// That query and keys have a part for angles, which follows the rest of each head.
void TakeRopes(Plan& plan, const kernels::SparseFlashAttentionV2Arguments& a, SparseFlashBody* body) {
  if (!a.query_rope.present() || !a.key_rope.present())
    RefuseExperts(plan, "attentionMode 2 needs queryRope and keyRope");
  const int64_t turned = a.query_rope.shape().rank() == 0 ? 0 : a.query_rope.shape().back(0);
  for (const Operand* o : {&a.key, &a.value, &a.query_rope, &a.key_rope, &a.attention_out})
    CheckSameType(a.query, *o);
  CheckExpertShape(plan, a.query_rope, body->sequences.OfHeads(turned));
  Shape keys = a.key.shape();
  CheckExpertShape(plan, a.value, keys);
  keys.back(0) = turned;
  CheckExpertShape(plan, a.key_rope, keys);
  body->query_rope = Rows(a.query_rope), body->key_rope = Rows(a.key_rope);
  body->deep = body->size + turned;
}

void TakeSums(Plan& plan, const kernels::SparseFlashAttentionV2Arguments& a, SparseFlashBody* body) {
  if (!a.return_softmax_lse) return;
  if (!a.softmax_max.present() || !a.softmax_sum.present())
    RefuseExperts(plan, "returnSoftmaxLse is true, but softmaxMax or softmaxSum is null");
  Shape shape = a.query.shape();
  shape.back(0) = shape.back(1), shape.back(1) = 1;  // [B, S, 1, N], which lies as [B, 1, S, N] does
  const bool packed = shape.rank() == 3;
  const Shape wanted = packed ? Shape{1, shape[0], shape[2]} : Shape{shape[0], 1, shape[1], shape[3]};
  for (const Operand* o : {&a.softmax_max, &a.softmax_sum}) CheckExpertShape(plan, *o, wanted);
  body->most_out = Rows(a.softmax_max), body->sum_out = Rows(a.softmax_sum);
}

}  // namespace

namespace kernels {

void SparseFlashAttentionV2(Plan& plan, DType, const SparseFlashAttentionV2Arguments& a) {
  if (a.attention_mode != 2) RefuseExperts(plan, "attentionMode is 2, the only one that there is");
  if (a.sparse_block_size < 1) RefuseExperts(plan, "sparseBlockSize is not above 0");
  SparseFlashBody body;
  body.sequences = SparseSequences(plan, {.query = a.query,
                                          .key = a.key,
                                          .query_lengths = a.actual_seq_lengths_query,
                                          .key_lengths = a.actual_seq_lengths_kv,
                                          .pages = a.block_table,
                                          .query_layout = a.layout_query,
                                          .key_layout = a.layout_kv,
                                          .sparse_mode = a.sparse_mode,
                                          .before = a.pre_tokens,
                                          .after = a.next_tokens});
  const SparseSequences& sequences = body.sequences;
  const int64_t heads = sequences.heads(), tokens = sequences.tokens();
  body.size = a.query.shape().back(0);
  TakeRopes(plan, a, &body);
  TakeSums(plan, a, &body);
  if (a.sparse_indices.shape().rank() < 1) CheckExpertRank(plan, a.sparse_indices, 3, 4);
  body.count = a.sparse_indices.shape().back(0), body.block = a.sparse_block_size;
  CheckExpertShape(plan, a.sparse_indices, sequences.WithLast({1, body.count}));
  CheckExpertShape(plan, a.attention_out, a.query.shape());
  if (a.sinks.present()) CheckExpertShape(plan, a.sinks, {heads});
  if (a.query.tensor->empty()) return;
  body.query = Rows(a.query), body.key = Rows(a.key), body.value = Rows(a.value),
  body.out = Rows(a.attention_out);
  body.sinks = Rows(a.sinks), body.scale = static_cast<float>(a.scale_value);
  body.chosen = Indices(plan, *a.sparse_indices.tensor), body.chosen_at = a.sparse_indices.binding;
  body.room = {plan, tokens, 1, OnlineHeads::Room(heads, body.deep, body.size)};
  const int64_t columns = std::min(body.count * body.block, sequences.most_columns());
  plan.SetCost(2000 +
               static_cast<uint64_t>(tokens * heads * columns / 32) * static_cast<uint64_t>(body.deep));
  plan.SetBody(body);
}

void SparseFlashAttention(Plan& plan, DType type, const SparseFlashAttentionArguments& a) {
  SparseFlashAttentionV2(plan, type,
                         {.query = a.query,
                          .key = a.key,
                          .value = a.value,
                          .sparse_indices = a.sparse_indices,
                          .block_table = a.block_table,
                          .actual_seq_lengths_query = a.actual_seq_lengths_query,
                          .actual_seq_lengths_kv = a.actual_seq_lengths_kv,
                          .query_rope = a.query_rope,
                          .key_rope = a.key_rope,
                          .sinks = Operand{},
                          .scale_value = a.scale_value,
                          .sparse_block_size = a.sparse_block_size,
                          .layout_query = a.layout_query,
                          .layout_kv = a.layout_kv,
                          .sparse_mode = a.sparse_mode,
                          .pre_tokens = a.pre_tokens,
                          .next_tokens = a.next_tokens,
                          .attention_mode = a.attention_mode,
                          .return_softmax_lse = a.return_softmax_lse,
                          .attention_out = a.attention_out,
                          .softmax_max = a.softmax_max,
                          .softmax_sum = a.softmax_sum});
}

}  // namespace kernels
}  // namespace belay::ops
