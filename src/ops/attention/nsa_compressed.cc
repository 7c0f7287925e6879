// Attention over compressed keys, and the blocks of keys that matter most by it: the compressed attention of
// native sparse attention.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

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

constexpr int64_t kKeysOfTile = 256;
constexpr float kHidden = -std::numeric_limits<float>::infinity();

// How blocks of keys are made of compressed ones, in steps of these.
struct BlockShape {
  int64_t step = 1, block = 1, selected = 1;  // tokens

  void Check(const Plan& plan) const {
    if (step < 1 || block < step || block % step != 0 || selected < block || selected % step != 0)
      RefuseExperts(
          plan,
          "compressBlockSize and selectBlockSize are multiples of compressStride, the latter not below the former");
  }
  // Blocks of what so many compressed keys stand for.
  int64_t Count(int64_t keys) const {
    return keys == 0 ? 0 : ((keys - 1) * step + block + selected - 1) / selected;
  }
  // The weight of the block: what lies in it, by the number of ways.
  float Sum(const float* weights, int64_t keys, int64_t at) const {
    float sum = 0;
    const int64_t last = (at + 1) * (selected / step);
    for (int64_t m = 0; m < selected / step; ++m) {
      for (int64_t n = 0; n < block / step; ++n) {
        const int64_t i = last - m - n;
        if (i >= 0 && i < keys) sum += weights[i];
      }
    }
    return sum;
  }
};

struct CompressedBody {
  NsaSequences sequences;
  BlockShape shape;
  std::vector<int64_t> blocks;  // of each sequence
  int64_t count = 0;
  bool ends_first = false;  // the first and the two last blocks are always chosen
  Rows query, key, value, forbidden, wanted, most_out, sum_out, out;
  WholeOut indices;
  PieceScratch<float> room;

  // What the heads of a token that share keys have.
  struct Group {
    int64_t heads, deep, size, keys;
    float *q, *tile, *part, *sums, *scores, *weights, *blocks;
    int32_t* order;

    static int64_t Room(const NsaSequences& s, int64_t keys, int64_t blocks) {
      const int64_t heads = s.group(), wide = std::max(s.deep(), s.size());
      return heads * (s.deep() + s.size() + std::max(kKeysOfTile, s.size()) + keys) + kKeysOfTile * wide +
             keys + 2 * blocks;
    }
    Group(const NsaSequences& s, int64_t most_blocks, float* room)
        : heads(s.group()), deep(s.deep()), size(s.size()), keys(s.most_keys()) {
      q = room, tile = q + heads * deep, part = tile + kKeysOfTile * std::max(deep, size);
      sums = part + heads * std::max(kKeysOfTile, size), scores = sums + heads * size;
      weights = scores + heads * keys, blocks = weights + keys;
      order = reinterpret_cast<int32_t*>(blocks + most_blocks);
    }
  };

  void operator()(const Frame& frame) const {
    const std::span<const int64_t> pages = sequences.Pages(frame);
    const int64_t most = *std::max_element(blocks.begin(), blocks.end());
    room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
      Group group(sequences, most, mine);
      for (int64_t i = begin; i < end; ++i)
        Heads(frame, i / sequences.key_heads(), i % sequences.key_heads(), pages, group);
    });
  }

  void Heads(const Frame& frame, int64_t token, int64_t key_head, std::span<const int64_t> pages,
             Group& g) const {
    const NsaPlace place = sequences.Of(token);
    const int64_t first = sequences.QueryRow(token, key_head);
    g.keys = place.keys;
    for (int64_t h = 0; h < g.heads; ++h) BringRow(frame, query, first + h, g.q + h * g.deep);
    EachTile(frame, key, place, key_head, pages, g, [&](int64_t at, int64_t n) {
      MultiplyFloats({g.heads,
                      n,
                      g.deep,
                      {g.q, g.deep, false},
                      {g.tile, g.deep, true},
                      g.scores + at,
                      g.keys,
                      GemmType::kF32,
                      GemmType::kF32});
    });
    Hide(frame, place, g);
    Soften(frame, first, g);
    std::fill_n(g.sums, g.heads * g.size, 0.0f);
    EachTile(frame, value, place, key_head, pages, g, [&](int64_t at, int64_t n) {
      MultiplyFloats({g.heads,
                      g.size,
                      n,
                      {g.scores + at, g.keys, false},
                      {g.tile, g.size, false},
                      g.part,
                      g.size,
                      GemmType::kF32,
                      GemmType::kF32});
      BestRowLoops().add(g.sums, g.sums, g.part, g.heads * g.size);
    });
    for (int64_t h = 0; h < g.heads; ++h) out.Store(frame, first + h, g.sums + h * g.size);
    std::fill_n(g.weights, g.keys, 0.0f);
    for (int64_t h = 0; h < g.heads; ++h)
      BestRowLoops().add(g.weights, g.weights, g.scores + h * g.keys, g.keys);
    Choose(frame, place, token * sequences.key_heads() + key_head, g);
  }

  // add(first, n): so many rows of keys or values lie in the tile.
  template <class Add>
  void EachTile(const Frame& frame, const Rows& rows, const NsaPlace& place, int64_t key_head,
                std::span<const int64_t> pages, const Group& g, const Add& add) const {
    for (int64_t at = 0; at < g.keys; at += kKeysOfTile) {
      const int64_t n = std::min(kKeysOfTile, g.keys - at);
      for (int64_t i = 0; i < n; ++i)
        BringRow(frame, rows, sequences.KeyRow(place, at + i, key_head, pages), g.tile + i * rows.width());
      add(at, n);
    }
  }

  void Hide(const Frame& frame, const NsaPlace& place, const Group& g) const {
    if (!forbidden.present()) return;
    for (int64_t c = 0; c < g.keys; ++c) {
      if (forbidden.At(frame, place.row, c) == 0) continue;
      for (int64_t h = 0; h < g.heads; ++h) g.scores[h * g.keys + c] = kHidden;
    }
  }

  // Scores become their softmax, or zeros where all are hidden.
  void Soften(const Frame& frame, int64_t first, const Group& g) const {
    const SoftmaxLoops<float>& loops = BestSoftmaxLoopsF32();
    for (int64_t h = 0; h < g.heads; ++h) {
      float* row = g.scores + h * g.keys;
      loops.scale(row, sequences.scale(), g.keys);
      const float most = loops.max(row, g.keys);
      float total = 0;
      if (most == kHidden) {
        std::fill_n(row, g.keys, 0.0f);
      } else {
        total = loops.exp_sum(row, row, most, g.keys);
        loops.scale(row, 1 / total, g.keys);
      }
      if (!most_out.present()) continue;
      float copies[kNsaCopies];
      std::fill_n(copies, kNsaCopies, most);
      most_out.Store(frame, first + h, copies);
      std::fill_n(copies, kNsaCopies, total);
      sum_out.Store(frame, first + h, copies);
    }
  }

  // The heaviest blocks in order, the first of equal ones; what is wanted anyway is before them. Behind them
  // -1.
  void Choose(const Frame& frame, const NsaPlace& place, int64_t row, const Group& g) const {
    const int64_t n = blocks[static_cast<size_t>(place.sequence)], kept = std::min(n, count);
    for (int64_t j = 0; j < n; ++j) {
      const bool always =
          ends_first ? j == 0 || j >= n - 2 : wanted.present() && wanted.At(frame, place.row, j) != 0;
      const float weight = shape.Sum(g.weights, g.keys, j);
      g.blocks[j] = always || std::isnan(weight) ? -kHidden : weight;
    }
    std::iota(g.order, g.order + n, 0);
    std::partial_sort(g.order, g.order + kept, g.order + n, [&](int32_t a, int32_t b) {
      return g.blocks[a] != g.blocks[b] ? g.blocks[a] > g.blocks[b] : a < b;
    });
    for (int64_t i = 0; i < count; ++i) indices.Set(frame, row * count + i, i < kept ? g.order[i] : -1);
  }
};

void EndCompressed(Plan& plan, CompressedBody& body) {
  const NsaSequences& s = body.sequences;
  const int64_t most = *std::max_element(body.blocks.begin(), body.blocks.end());
  body.room = {plan, s.tokens() * s.key_heads(), 1, CompressedBody::Group::Room(s, s.most_keys(), most)};
  plan.SetCost(2000 + static_cast<uint64_t>(s.tokens() * s.heads() * s.most_keys() / 32) *
                          static_cast<uint64_t>(s.deep()));
  plan.SetBody(body);
}

// How many blocks each sequence has, by their running sums. The most of them.
int64_t TakeBlockCounts(const Plan& plan, std::span<const int64_t> ends, CompressedBody& body) {
  if (static_cast<int64_t>(ends.size()) != body.sequences.sequences())
    RefuseExperts(plan, "actualSelSeqKvLen has a number for each sequence");
  int64_t before = 0, most = 0;
  for (const int64_t end : ends) {
    body.blocks.push_back(end - before);
    if (end - before < body.count)
      RefuseExperts(plan, "a sequence has fewer blocks in actualSelSeqKvLen than selectBlockCount");
    most = std::max(most, end - before);
    before = end;
  }
  return most;
}

}  // namespace

namespace kernels {

void NsaCompressAttention(Plan& plan, DType, const NsaCompressAttentionArguments& a) {
  CompressedBody body;
  body.sequences = NsaSequences(
      plan, {a.query, a.key, a.value, a.attention_out_out, a.head_num, a.scale_value, a.input_layout},
      a.actual_seq_q_len, a.actual_cmp_seq_kv_len);
  const NsaSequences& s = body.sequences;
  if (a.sparse_mode != 0 && a.sparse_mode != 1) RefuseExperts(plan, "sparseMode is 0 or 1");
  body.shape = {a.compress_stride, a.compress_block_size, a.select_block_size};
  body.shape.Check(plan);
  if (a.select_block_count < 1) RefuseExperts(plan, "selectBlockCount is above 0");
  body.count = a.select_block_count;
  const int64_t most = TakeBlockCounts(plan, a.actual_sel_seq_kv_len, body);
  if (a.atten_mask.present()) CheckExpertShape(plan, a.atten_mask, {s.most_rows(), s.most_keys()});
  if (a.topk_mask.present()) CheckExpertShape(plan, a.topk_mask, {s.most_rows(), most});
  for (const Operand* o : {&a.softmax_max_out, &a.softmax_sum_out})
    CheckExpertShape(plan, *o, {s.tokens(), s.heads(), kNsaCopies});
  CheckExpertShape(plan, a.topk_indices_out, {s.tokens(), s.key_heads(), body.count});
  if (a.query.tensor->empty()) return;
  body.query = Rows(a.query), body.key = Rows(a.key), body.value = Rows(a.value);
  body.forbidden = Rows(a.atten_mask), body.wanted = Rows(a.topk_mask);
  body.most_out = Rows(a.softmax_max_out), body.sum_out = Rows(a.softmax_sum_out);
  body.out = Rows(a.attention_out_out), body.indices = WholeOut(a.topk_indices_out);
  EndCompressed(plan, body);
}

void NsaCompressAttentionInfer(Plan& plan, DType, const NsaCompressAttentionInferArguments& a) {
  if (a.attention_mask.present() || a.top_k_mask.present() || a.sparse_mode != 0)
    RefuseExperts(plan, "masks are not there yet: attentionMask and topKMask are null, and sparseMode 0");
  if (!a.actual_sel_kv_seq_len.empty())
    RefuseExperts(plan, "actualSelKvSeqLen is null: blocks follow from the lengths of the compressed keys");
  CompressedBody body;
  NsaViews views;
  body.sequences = NsaSequences(plan, PagedArgsOf(a, a.actual_cmp_kv_seq_len), &views);
  body.shape = {a.compress_block_stride, a.compress_block_size, a.select_block_size};
  body.shape.Check(plan);
  if (a.select_block_count < 1) RefuseExperts(plan, "selectBlockCount is above 0");
  body.count = a.select_block_count, body.ends_first = true;
  CheckChosenShape(plan, a.top_k_output, body.sequences, body.count);
  if (a.query.tensor->empty()) return;
  for (const int64_t keys : a.actual_cmp_kv_seq_len) body.blocks.push_back(body.shape.Count(keys));
  body.query = Rows(OverPart(a.query, views.query)), body.key = Rows(OverPart(a.key, views.key));
  body.value = Rows(OverPart(a.value, views.value)), body.out = Rows(OverPart(a.output, views.out));
  body.indices = WholeOut(a.top_k_output);
  EndCompressed(plan, body);
}

}  // namespace kernels
}  // namespace belay::ops
