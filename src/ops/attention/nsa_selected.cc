// Attention of each token over the blocks of keys that were chosen for it, and its gradients: the selected
// attention of native sparse attention.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/parallel.h"
#include "ops/attention/flash.h"
#include "ops/attention/nsa.h"
#include "ops/attention/online_heads.h"
#include "ops/experts/experts.h"
#include "ops/experts/matrix_block.h"
#include "ops/experts/row_loops.h"
#include "ops/experts/rows.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/norm/softmax_loops.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

constexpr int64_t kCausal =
    2;  // sparseMode: with a mask, which is not read, a token sees keys up to its own place
constexpr int64_t kMaskSide = 2048;

// The keys that a token sees.
struct ChosenKeys {
  NsaSequences sequences;
  Rows forbidden;  // [rows, keys] of the longest sequence
  Indices chosen;
  int chosen_at = -1;
  int64_t count = 0, block = 1;
  bool causal = false;

  // add(column) for each of them, in the order of the blocks. They end with the first that is negative.
  template <class Add>
  void Each(const Frame& frame, const NsaPlace& place, const int64_t* blocks, const Add& add) const {
    const int64_t seen = causal ? std::min(place.keys, place.row + 1) : place.keys;
    for (int64_t i = 0; i < count && blocks[i] >= 0; ++i) {
      if (blocks[i] > seen / block) continue;
      const int64_t last = std::min(seen, (blocks[i] + 1) * block);
      for (int64_t column = blocks[i] * block; column < last; ++column) {
        if (!forbidden.present() || forbidden.At(frame, place.row, column) == 0) add(column);
      }
    }
  }
};

struct ChosenArgs {
  NsaArgs heads;
  const Operand &indices, &mask, &most, &sum;
  std::span<const int64_t> ends, key_ends;
  int64_t mode, block, count;
};

template <class Arguments>
ChosenArgs ChosenArgsOf(const Arguments& a, const Operand& most, const Operand& sum) {
  return {.heads = {a.query, a.key, a.value, a.attention_out, a.head_num, a.scale_value, a.input_layout},
          .indices = a.topk_indices,
          .mask = a.atten_mask,
          .most = most,
          .sum = sum,
          .ends = a.actual_seq_q_len,
          .key_ends = a.actual_seq_kv_len,
          .mode = a.sparse_mode,
          .block = a.selected_block_size,
          .count = a.selected_block_count};
}

ChosenKeys TakeChosen(Plan& plan, const ChosenArgs& a) {
  ChosenKeys keys;
  keys.sequences = NsaSequences(plan, a.heads, a.ends, a.key_ends);
  const NsaSequences& s = keys.sequences;
  if (a.mode != 0 && a.mode != kCausal) RefuseExperts(plan, "sparseMode is 0 or 2");
  if (a.block < 1 || a.count < 1) RefuseExperts(plan, "selectedBlockSize and selectedBlockCount are above 0");
  CheckExpertShape(plan, a.indices, {s.tokens(), s.key_heads(), a.count});
  for (const Operand* o : {&a.most, &a.sum}) CheckExpertShape(plan, *o, {s.tokens(), s.heads(), kNsaCopies});
  keys.count = a.count, keys.block = a.block;
  keys.causal = a.mask.present() && a.mode == kCausal;
  if (keys.causal) CheckExpertShape(plan, a.mask, {kMaskSide, kMaskSide});
  if (a.mask.present() && !keys.causal) {
    CheckExpertShape(plan, a.mask, {s.most_rows(), s.most_keys()});
    keys.forbidden = Rows(a.mask);
  }
  if (a.heads.query.tensor->empty()) return keys;
  keys.chosen = Indices(plan, *a.indices.tensor), keys.chosen_at = a.indices.binding;
  return keys;
}

uint64_t CostOfChosen(const NsaSequences& s, int64_t columns) {
  return 2000 + static_cast<uint64_t>(s.tokens() * s.heads() * std::min(columns, s.most_keys()) / 32) *
                    static_cast<uint64_t>(s.deep());
}

struct SelectedBody {
  ChosenKeys keys;
  Rows query, key, value, most_out, sum_out, out;
  PieceScratch<float> room;

  void operator()(const Frame& frame) const {
    const NsaSequences& s = keys.sequences;
    const std::span<const int64_t> blocks = keys.chosen.Read(frame, keys.chosen_at), pages = s.Pages(frame);
    room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
      const OnlineHeads heads(s.group(), s.deep(), s.size(), s.scale(), mine);
      for (int64_t i = begin; i < end; ++i)
        Heads(frame, i / s.key_heads(), i % s.key_heads(), blocks.data() + i * keys.count, pages, heads);
    });
  }

  void Heads(const Frame& frame, int64_t token, int64_t key_head, const int64_t* blocks,
             std::span<const int64_t> pages, const OnlineHeads& heads) const {
    const NsaSequences& s = keys.sequences;
    const NsaPlace place = s.Of(token);
    const int64_t first = s.QueryRow(token, key_head);
    for (int64_t g = 0; g < heads.heads; ++g) BringRow(frame, query, first + g, heads.q + g * heads.deep);
    heads.Begin();
    int64_t n = 0;
    keys.Each(frame, place, blocks, [&](int64_t column) {
      const int64_t row = s.KeyRow(place, column, key_head, pages);
      BringRow(frame, key, row, heads.k + n * heads.deep);
      BringRow(frame, value, row, heads.v + n * heads.size);
      if (++n < OnlineHeads::kColumnsAtOnce) return;
      heads.Add(n);
      n = 0;
    });
    if (n > 0) heads.Add(n);
    heads.Divide();
    for (int64_t g = 0; g < heads.heads; ++g) {
      out.Store(frame, first + g, heads.sums + g * heads.size);
      if (!most_out.present()) continue;
      float copies[kNsaCopies];
      std::fill_n(copies, kNsaCopies, heads.most[g]);
      most_out.Store(frame, first + g, copies);
      std::fill_n(copies, kNsaCopies, heads.total[g]);
      sum_out.Store(frame, first + g, copies);
    }
  }
};

struct SelectedGradientBody {
  static constexpr int64_t kColumnsAtOnce = 256;

  ChosenKeys keys;
  Rows query, key, value, out, dy, most, sum, dq, dk, dv;
  Scratch<float> key_sums, value_sums;  // as key and value lie
  PieceScratch<float> room;             // of the keys of a sequence with one head

  // What the heads of a token that share keys have. `at` names the columns of k and v.
  struct Group {
    int64_t heads, deep, size;
    float *q, *dq, *dy, *k, *v, *p, *dp, *part;
    float *most, *by, *along;  // greatest score, 1 / the sum, dy times out
    int64_t rows[kColumnsAtOnce], n = 0;

    static int64_t Room(int64_t heads, int64_t deep, int64_t size) {
      return heads * (2 * deep + size + 2 * kColumnsAtOnce + 3) + kColumnsAtOnce * (deep + size) +
             std::max(kColumnsAtOnce, heads) * std::max(deep, size);
    }
    Group(int64_t heads, int64_t deep, int64_t size, float* room) : heads(heads), deep(deep), size(size) {
      q = room, dq = q + heads * deep, dy = dq + heads * deep, k = dy + heads * size;
      v = k + kColumnsAtOnce * deep, p = v + kColumnsAtOnce * size, dp = p + heads * kColumnsAtOnce;
      most = dp + heads * kColumnsAtOnce, by = most + heads, along = by + heads, part = along + heads;
    }
  };

  void operator()(const Frame& frame) const {
    const NsaSequences& s = keys.sequences;
    const std::span<const int64_t> blocks = keys.chosen.Read(frame, keys.chosen_at);
    room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
      Group group(s.group(), s.deep(), s.size(), mine);
      for (int64_t i = begin; i < end; ++i)
        Sequence(frame, i / s.key_heads(), i % s.key_heads(), blocks.data(), group);
    });
  }

  // Tokens in their order, so that the sums of a key are the same whoever adds them.
  void Sequence(const Frame& frame, int64_t sequence, int64_t key_head, const int64_t* blocks,
                Group& group) const {
    const NsaSequences& s = keys.sequences;
    const auto [first, last] = s.TokensOf(sequence);
    const NsaPlace keys_of = s.KeysOf(sequence);
    float *of_key = key_sums.At(frame), *of_value = value_sums.At(frame);
    for (int64_t c = 0; c < keys_of.keys; ++c) {
      const int64_t row = s.KeyRow(keys_of, c, key_head, {});
      std::fill_n(of_key + row * s.deep(), s.deep(), 0.0f);
      std::fill_n(of_value + row * s.size(), s.size(), 0.0f);
    }
    for (int64_t token = first; token < last; ++token)
      Token(frame, token, key_head, blocks + (token * s.key_heads() + key_head) * keys.count, group);
    for (int64_t c = 0; c < keys_of.keys; ++c) {
      const int64_t row = s.KeyRow(keys_of, c, key_head, {});
      dk.Store(frame, row, of_key + row * s.deep());
      dv.Store(frame, row, of_value + row * s.size());
    }
  }

  void Token(const Frame& frame, int64_t token, int64_t key_head, const int64_t* blocks, Group& g) const {
    const NsaSequences& s = keys.sequences;
    const NsaPlace place = s.Of(token);
    const int64_t first = s.QueryRow(token, key_head);
    Begin(frame, first, g);
    g.n = 0;
    keys.Each(frame, place, blocks, [&](int64_t column) {
      const int64_t row = s.KeyRow(place, column, key_head, {});
      BringRow(frame, key, row, g.k + g.n * g.deep);
      BringRow(frame, value, row, g.v + g.n * g.size);
      g.rows[g.n++] = row;
      if (g.n == kColumnsAtOnce) Add(frame, g);
    });
    if (g.n > 0) Add(frame, g);
    for (int64_t h = 0; h < g.heads; ++h) dq.Store(frame, first + h, g.dq + h * g.deep);
  }

  void Begin(const Frame& frame, int64_t first, Group& g) const {
    std::fill_n(g.dq, g.heads * g.deep, 0.0f);
    for (int64_t h = 0; h < g.heads; ++h) {
      BringRow(frame, query, first + h, g.q + h * g.deep);
      float* given = g.dy + h * g.size;
      BringRow(frame, dy, first + h, given);
      const float* result = out.Load(frame, first + h, g.part);
      double along = 0;
      for (int64_t i = 0; i < g.size; ++i)
        along += static_cast<double>(given[i]) * static_cast<double>(result[i]);
      g.along[h] = static_cast<float>(along);
      g.most[h] = most.At(frame, first + h, 0);
      const float total = sum.At(frame, first + h, 0);
      g.by[h] = total == 0 ? 0 : 1 / total;
    }
  }

  // The columns that are there: p is the softmax, dp becomes the gradient of the scores.
  void Add(const Frame& frame, Group& g) const {
    const int64_t n = g.n;
    const auto multiply = [](int64_t rows, int64_t columns, int64_t inner, GemmMatrix a, GemmMatrix b,
                             float* to) {
      MultiplyFloats({rows, columns, inner, a, b, to, columns, GemmType::kF32, GemmType::kF32});
    };
    multiply(g.heads, n, g.deep, {g.q, g.deep, false}, {g.k, g.deep, true}, g.p);
    multiply(g.heads, n, g.size, {g.dy, g.size, false}, {g.v, g.size, true}, g.dp);
    const SoftmaxLoops<float>& loops = BestSoftmaxLoopsF32();
    const float scale = keys.sequences.scale();
    for (int64_t h = 0; h < g.heads; ++h) {
      float *p = g.p + h * n, *dp = g.dp + h * n;
      loops.scale(p, scale, n);
      loops.exp_sum(p, p, g.most[h], n);
      loops.scale(p, g.by[h], n);
      for (int64_t i = 0; i < n; ++i) dp[i] = (dp[i] - g.along[h]) * p[i] * scale;
    }
    multiply(g.heads, g.deep, n, {g.dp, n, false}, {g.k, g.deep, false}, g.part);
    BestRowLoops().add(g.dq, g.dq, g.part, g.heads * g.deep);
    multiply(n, g.deep, g.heads, {g.dp, n, true}, {g.q, g.deep, false}, g.part);
    AddRows(key_sums.At(frame), g, g.deep);
    multiply(n, g.size, g.heads, {g.p, n, true}, {g.dy, g.size, false}, g.part);
    AddRows(value_sums.At(frame), g, g.size);
    g.n = 0;
  }

  static void AddRows(float* sums, const Group& g, int64_t width) {
    for (int64_t c = 0; c < g.n; ++c) {
      float* to = sums + g.rows[c] * width;
      BestRowLoops().add(to, to, g.part + c * width, width);
    }
  }
};

}  // namespace

namespace kernels {

void NsaSelectedAttention(Plan& plan, DType, const NsaSelectedAttentionArguments& a) {
  SelectedBody body;
  body.keys = TakeChosen(plan, ChosenArgsOf(a, a.softmax_max_out, a.softmax_sum_out));
  if (a.query.tensor->empty()) return;
  const NsaSequences& s = body.keys.sequences;
  body.query = Rows(a.query), body.key = Rows(a.key), body.value = Rows(a.value);
  body.most_out = Rows(a.softmax_max_out), body.sum_out = Rows(a.softmax_sum_out),
  body.out = Rows(a.attention_out);
  body.room = {plan, s.tokens() * s.key_heads(), 1, OnlineHeads::Room(s.group(), s.deep(), s.size())};
  plan.SetCost(CostOfChosen(s, body.keys.count * body.keys.block));
  plan.SetBody(body);
}

void NsaSelectedAttentionInfer(Plan& plan, DType, const NsaSelectedAttentionInferArguments& a) {
  if (a.atten_mask.present() || a.sparse_mode != 0)
    RefuseExperts(plan, "masks are not there yet: attenMask is null, and sparseMode 0");
  if (a.select_block_size < 1 || a.select_block_count < 1)
    RefuseExperts(plan, "selectBlockSize and selectBlockCount are above 0");
  SelectedBody body;
  NsaViews views;
  ChosenKeys& keys = body.keys;
  keys.sequences = NsaSequences(plan, PagedArgsOf(a, a.actual_kv_seq_len), &views);
  const NsaSequences& s = keys.sequences;
  CheckChosenShape(plan, a.topk_indices, s, a.select_block_count);
  if (a.query.tensor->empty()) return;
  keys.count = a.select_block_count, keys.block = a.select_block_size;
  keys.chosen = Indices(plan, *a.topk_indices.tensor), keys.chosen_at = a.topk_indices.binding;
  body.query = Rows(OverPart(a.query, views.query)), body.key = Rows(OverPart(a.key, views.key));
  body.value = Rows(OverPart(a.value, views.value)), body.out = Rows(OverPart(a.output, views.out));
  body.room = {plan, s.tokens() * s.key_heads(), 1, OnlineHeads::Room(s.group(), s.deep(), s.size())};
  plan.SetCost(CostOfChosen(s, keys.count * keys.block));
  plan.SetBody(body);
}

void NsaSelectedAttentionGrad(Plan& plan, DType, const NsaSelectedAttentionGradArguments& a) {
  SelectedGradientBody body;
  body.keys = TakeChosen(plan, ChosenArgsOf(a, a.softmax_max, a.softmax_sum));
  CheckExpertShape(plan, a.attention_out_grad, a.attention_out.shape());
  const Operand* given[] = {&a.query, &a.key, &a.value};
  const Operand* results[] = {&a.dq_out, &a.dk_out, &a.dv_out};
  for (size_t i = 0; i < 3; ++i) {
    CheckExpertShape(plan, *results[i], given[i]->shape());
    CheckSameType(a.query, *results[i]);
  }
  CheckSameType(a.query, a.attention_out_grad);
  if (a.query.tensor->empty() || a.key.tensor->empty() || a.value.tensor->empty())
    RefuseExperts(plan, "empty tensors have no gradients here");
  const NsaSequences& s = body.keys.sequences;
  body.query = Rows(a.query), body.key = Rows(a.key), body.value = Rows(a.value);
  body.out = Rows(a.attention_out), body.dy = Rows(a.attention_out_grad);
  body.most = Rows(a.softmax_max), body.sum = Rows(a.softmax_sum);
  body.dq = Rows(a.dq_out), body.dk = Rows(a.dk_out), body.dv = Rows(a.dv_out);
  body.key_sums = Scratch<float>(plan, a.key.tensor->count());
  body.value_sums = Scratch<float>(plan, a.value.tensor->count());
  body.room = {plan, s.sequences() * s.key_heads(), 1,
               SelectedGradientBody::Group::Room(s.group(), s.deep(), s.size())};
  plan.SetCost(CostOfChosen(s, body.keys.count * body.keys.block) * 3);
  plan.SetBody(body);
}

}  // namespace kernels
}  // namespace belay::ops
