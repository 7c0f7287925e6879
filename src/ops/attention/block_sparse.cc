// Attention over those blocks of the scores that a mask names.
#include <algorithm>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ops/attention/flash.h"
#include "ops/experts/experts.h"
#include "ops/kernels.h"
#include "ops/sequence.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

constexpr int64_t kEverything = 2147483647, kColumnUnit = 128;

// What both directions are given.
struct BlockArgs {
  const Operand &query, &key, &value, &blocks, &mask;
  std::span<const int64_t> block_shape, rows, columns;  // rows, columns: of each sequence
  const char *query_layout, *key_layout;
  int64_t key_heads, mask_kind;
  double scale;
  int64_t before, after;
};

template <class Arguments>
BlockArgs TakeBlocks(const Arguments& a) {
  return {.query = a.query,
          .key = a.key,
          .value = a.value,
          .blocks = a.block_sparse_mask,
          .mask = a.atten_mask,
          .block_shape = a.block_shape,
          .rows = a.actual_seq_lengths,
          .columns = a.actual_seq_lengths_kv,
          .query_layout = a.q_input_layout,
          .key_layout = a.kv_input_layout,
          .key_heads = a.num_key_value_heads,
          .mask_kind = a.mask_type,
          .scale = a.scale_value,
          .before = a.pre_tokens,
          .after = a.next_tokens};
}

// The part of a tensor that belongs to a sequence.
class BlockParts {
 public:
  BlockParts(const Plan& plan, const BlockArgs& a)
      : a_(a), packed_(std::string_view(a.query_layout) == "TND") {
    CheckArguments(plan);
    const Shape& q = a.query.shape();
    heads_ = q[1];
    if (!a.rows.empty()) {
      rows_.assign(a.rows.begin(), a.rows.end()), columns_.assign(a.columns.begin(), a.columns.end());
      CheckLengths(plan);
    }
    const int64_t rows = packed_ ? MostOf(rows_) : q[2],
                  columns = packed_ ? MostOf(columns_) : a.key.shape()[2];
    const Shape wanted{packed_ ? count() : q[0], heads_, Blocks(rows, a.block_shape[0]),
                       Blocks(columns, a.block_shape[1])};
    CheckExpertShape(plan, a.blocks, wanted);
  }

  // Sequences, or one for all batches where all are as long as the tensors.
  int64_t parts() const { return rows_.empty() ? 1 : count(); }

  Tensor Queries(const Tensor& t, int64_t i) const { return Part(t, rows_, i); }
  Tensor Keys(const Tensor& t, int64_t i) const { return Part(t, columns_, i); }
  const char* layout() const { return packed_ ? "BSND" : "BNSD"; }
  Shape RowShape() const {
    const Shape& q = a_.query.shape();
    return packed_ ? Shape{q[0], heads_, 1} : Shape{q[0], heads_, q[2], 1};
  }
  // Numbers of rows [T, N, 1] or [B, N, S, 1] as [1, N, S, 1] or a part of the latter.
  Tensor Levels(const Tensor& t, int64_t i) const {
    if (!packed_) return Part(t, rows_, i);
    Tensor part = t;
    part.shape = Shape{1, heads_, rows_[static_cast<size_t>(i)], 1};
    part.strides = tensor::Strides{0, t.strides[1], t.strides[0], t.strides[2]};
    part.offset += Before(rows_, i) * t.strides[0];
    return part;
  }
  FlashBlocks BlocksOf(int64_t i) const {
    const Tensor& t = *a_.blocks.tensor;
    FlashBlocks blocks;
    blocks.binding = a_.blocks.binding, blocks.at = t.offset;
    for (int d = 0; d < 4; ++d) blocks.step[d] = t.strides[d];
    if (!rows_.empty()) blocks.at += i * t.strides[0];
    blocks.height = a_.block_shape[0], blocks.width = a_.block_shape[1];
    return blocks;
  }

 private:
  int64_t count() const { return static_cast<int64_t>(rows_.size()); }
  static int64_t Blocks(int64_t length, int64_t size) { return length == 0 ? 0 : (length - 1) / size + 1; }
  static int64_t MostOf(const std::vector<int64_t>& lengths) {
    return *std::max_element(lengths.begin(), lengths.end());
  }
  static int64_t Before(const std::vector<int64_t>& lengths, int64_t i) {
    int64_t sum = 0;
    for (int64_t k = 0; k < i; ++k) sum += lengths[static_cast<size_t>(k)];
    return sum;
  }

  void CheckArguments(const Plan& plan) const {
    const std::string_view layout = a_.query_layout;
    if ((layout != "TND" && layout != "BNSD") || layout != a_.key_layout)
      RefuseExperts(plan, "qInputLayout and kvInputLayout are TND or BNSD, and the same");
    const int rank = packed_ ? 3 : 4;
    for (const Operand* o : {&a_.query, &a_.key, &a_.value}) CheckExpertRank(plan, *o, rank, rank);
    if (a_.mask.present() || a_.mask_kind != 0 || a_.before < kEverything || a_.after < kEverything)
      RefuseExperts(plan,
                    "attenMask, maskType and tokens before and after are not there yet; pass null and 0");
    if (a_.block_shape.size() < 2 || a_.block_shape[0] < 1 || a_.block_shape[1] < 1 ||
        a_.block_shape[1] % kColumnUnit != 0)
      RefuseExperts(plan, "blockShape has two numbers above 0, the second of them a multiple of 128");
    if (a_.key_heads != a_.key.shape()[1])
      RefuseExperts(plan, "numKeyValueHeads is not the number of heads of key");
    if (a_.rows.size() != a_.columns.size())
      RefuseExperts(plan, "actualSeqLengths and actualSeqLengthsKv are as long as each other, or both null");
    if (packed_ && a_.rows.empty()) RefuseExperts(plan, "TND needs actualSeqLengths and actualSeqLengthsKv");
  }

  void CheckLengths(const Plan& plan) const {
    const auto fits = [&](const std::vector<int64_t>& lengths, const Shape& shape) {
      int64_t left = packed_ ? shape[0] : 0;
      for (const int64_t length : lengths) {
        if (length < 0 || length > (packed_ ? left : shape[2])) return false;
        left -= packed_ ? length : 0;
      }
      return left == 0;
    };
    const bool batches = packed_ || count() == a_.query.shape()[0];
    if (batches && fits(rows_, a_.query.shape()) && fits(columns_, a_.key.shape())) return;
    RefuseExperts(plan,
                  "actualSeqLengths or actualSeqLengthsKv has a length for each batch, which add up to all "
                  "rows (TND) or are at most those (BNSD)");
  }

  Tensor Part(const Tensor& t, const std::vector<int64_t>& lengths, int64_t i) const {
    if (lengths.empty()) return t;
    const int64_t length = lengths[static_cast<size_t>(i)];
    Tensor part = t;
    if (packed_) {
      part.shape = Shape{1, length, t.shape[1], t.shape[2]};
      part.strides = tensor::Strides{0, t.strides[0], t.strides[1], t.strides[2]};
      part.offset += Before(lengths, i) * t.strides[0];
    } else {
      part.offset += i * t.strides[0];
      part.shape = Shape{1, t.shape[1], length, t.shape[3]};
    }
    return part;
  }

  const BlockArgs& a_;
  bool packed_;
  int64_t heads_ = 0;
  std::vector<int64_t> rows_, columns_;
};

// A sequence as an attention of its own.
struct BlockMember {
  Tensor query_part, key_part, value_part;
  Operand query, key, value, none;
  FlashArgs args;

  BlockMember(const Plan& plan, const BlockArgs& a, const BlockParts& parts, int64_t i)
      : query_part(parts.Queries(*a.query.tensor, i)),
        key_part(parts.Keys(*a.key.tensor, i)),
        value_part(parts.Keys(*a.value.tensor, i)),
        query(OverPart(a.query, query_part)),
        key(OverPart(a.key, key_part)),
        value(OverPart(a.value, value_part)),
        none{nullptr, nullptr, -1, a.mask.name},
        args{plan.function(),
             query,
             key,
             value,
             none,
             none,
             none,
             none,
             {},
             a.scale,
             1.0,
             kEverything,
             kEverything,
             a.query.shape()[1],
             parts.layout(),
             0} {
    args.blocks = parts.BlocksOf(i);
  }
  BlockMember(const BlockMember&) = delete;
};

}  // namespace

namespace kernels {

void BlockSparseAttention(Plan& plan, DType, const BlockSparseAttentionArguments& a) {
  const BlockArgs args = TakeBlocks(a);
  if (a.block_table.present() || a.block_size != 0)
    RefuseExperts(plan, "pages are not there yet; pass null and 0");
  if (a.softmax_lse_flag != 0 && a.softmax_lse_flag != 1) RefuseExperts(plan, "softmaxLseFlag is 0 or 1");
  const BlockParts parts(plan, args);
  CheckExpertShape(plan, a.attention_out, a.query.shape());
  if (a.softmax_lse_flag == 1 && !a.softmax_lse_out.present())
    RefuseExperts(plan, "softmaxLseFlag is 1, but softmaxLseOut is null");
  if (a.softmax_lse_out.present()) CheckExpertShape(plan, a.softmax_lse_out, parts.RowShape());
  const Operand none{nullptr, nullptr, -1, a.softmax_lse_out.name};
  Sequence all(plan);
  for (int64_t i = 0; i < parts.parts(); ++i) {
    const BlockMember member(plan, args, parts, i);
    const Tensor result = parts.Queries(*a.attention_out.tensor, i);
    const Tensor numbers = a.softmax_lse_flag == 1 ? parts.Levels(*a.softmax_lse_out.tensor, i) : Tensor();
    all.Add([&](Plan& part) {
      PlanFlashWithLevels(part, member.args,
                          a.softmax_lse_flag == 1 ? OverPart(a.softmax_lse_out, numbers) : none,
                          OverPart(a.attention_out, result));
    });
  }
  all.Finish();
}

void BlockSparseAttentionGrad(Plan& plan, DType, const BlockSparseAttentionGradArguments& a) {
  const BlockArgs args = TakeBlocks(a);
  const BlockParts parts(plan, args);
  for (const Operand* o : {&a.d_out, &a.attention_out, &a.d_query})
    CheckExpertShape(plan, *o, a.query.shape());
  for (const Operand* o : {&a.d_key, &a.d_value}) CheckExpertShape(plan, *o, a.key.shape());
  CheckExpertShape(plan, a.value, a.key.shape());
  CheckExpertShape(plan, a.softmax_lse, parts.RowShape());
  Sequence all(plan);
  for (int64_t i = 0; i < parts.parts(); ++i) {
    const BlockMember member(plan, args, parts, i);
    const Tensor gy = parts.Queries(*a.d_out.tensor, i), was = parts.Queries(*a.attention_out.tensor, i),
                 gq = parts.Queries(*a.d_query.tensor, i), gk = parts.Keys(*a.d_key.tensor, i),
                 gv = parts.Keys(*a.d_value.tensor, i), numbers = parts.Levels(*a.softmax_lse.tensor, i);
    all.Add([&](Plan& part) {
      PlanFlashGradient(part, member.args,
                        {OverPart(a.d_out, gy), OverPart(a.attention_out, was),
                         OverPart(a.softmax_lse, numbers), member.none, OverPart(a.d_query, gq),
                         OverPart(a.d_key, gk), OverPart(a.d_value, gv), member.none});
    });
  }
  all.Finish();
}

}  // namespace kernels
}  // namespace belay::ops
