// Attention as inference calls it: heads in one of several layouts, groups of which share a key and a value,
// half floats. The operands become floats in the workspace; each member of a group is one attention over
// views of them.
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/float_copy.h"
#include "ops/kernels.h"
#include "ops/matmul/attention.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// What attention runs on: tensors of floats in the workspace.
enum Part { kQuery, kKey, kValue, kMask, kOut, kParts };

enum class Order { kBSH, kBSND, kBNSD };
enum SparseMode : int64_t { kMasked, kAllMasked, kLeftUp, kRightDown };

struct MaskBody {
  FloatCopy shift;     // what is added to the scores, or absent
  LoopNest nest;       // of the whole mask, which forbids what is not 0: mask, attenMask
  int forbidden = -1;  // its binding
  int64_t rows = 0, columns = 0, count = 0;
  int64_t heads = 1;
  std::vector<int64_t> row_lengths;  // of each batch, where they are given: how many columns count
  int64_t diagonal = 0;              // with `causal`: row i sees columns up to i + diagonal
  bool causal = false;

  bool present() const { return shift.present() || forbidden >= 0 || causal || !row_lengths.empty(); }

  void Make(float* to, const Frame& frame) const {
    if (shift.present()) {
      shift.Load(to, frame);
    } else {
      std::memset(to, 0, static_cast<size_t>(count) * sizeof(float));
    }
    if (forbidden >= 0) Forbid(to, frame);
    if (!causal && row_lengths.empty()) return;
    for (int64_t row = 0; row < count / columns; ++row) {
      int64_t end = columns;
      if (causal) end = std::min(end, row % rows + diagonal + 1);
      if (!row_lengths.empty()) end = std::min(end, row_lengths[static_cast<size_t>(row / rows / heads)]);
      for (int64_t k = std::max<int64_t>(end, 0); k < columns; ++k) to[row * columns + k] = kNever;
    }
  }

  // Finite, so that a row of which nothing is allowed has numbers.
  static constexpr float kNever = -1e30f;

 private:
  void Forbid(float* to, const Frame& frame) const {
    char* base[2] = {reinterpret_cast<char*>(to), frame.at[forbidden] + nest.offset(1)};
    nest.WalkAll(
        base,
        [this](char** at, int64_t n) {
          for (int64_t i = 0; i < n; ++i) {
            if (at[1][i * nest.step(1)] != 0) reinterpret_cast<float*>(at[0])[i] = kNever;
          }
        },
        [] {});
  }
};

struct InferAttentionBody {
  FloatCopy copies[3];  // query, key, value
  MaskBody mask;
  FloatCopy out;
  int64_t at[kParts];  // bytes
  int64_t inner_at;    // the members' own workspace
  std::shared_ptr<const std::vector<std::unique_ptr<Plan>>> members;

  void operator()(const Frame& frame) const {
    char* parts[kParts];
    for (int i = 0; i < kParts; ++i) parts[i] = frame.workspace + at[i];
    for (int i = kQuery; i <= kValue; ++i) copies[i].Load(reinterpret_cast<float*>(parts[i]), frame);
    if (mask.present()) mask.Make(reinterpret_cast<float*>(parts[kMask]), frame);
    for (const auto& member : *members) member->Run({parts, frame.workspace + inner_at});
    out.Store(frame, reinterpret_cast<const float*>(parts[kOut]));
  }
};

[[noreturn]] void RefuseInfer(std::string_view what) {
  Fail(tensor::kInvalidArgument, "infer-attention", "aclnnFusedInferAttentionScoreV2: {}", what);
}

Order OrderNamed(const char* name) {
  const std::string_view layout = name;
  if (layout == "BSH") return Order::kBSH;
  if (layout == "BSND") return Order::kBSND;
  if (layout == "BNSD") return Order::kBNSD;
  RefuseInfer("inputLayout is none of BSH, BSND and BNSD");
}

// A packed tensor of this shape as [batch, heads, rows, size].
Tensor HeadsOf(const Operand& operand, Order order, int64_t heads) {
  Shape shape = operand.shape();
  if (shape.rank() != (order == Order::kBSH ? 3 : 4))
    RefuseInfer("the tensors have other dimensions than inputLayout says");
  if (order == Order::kBSH) {
    if (heads == 0 || shape[2] % heads != 0)
      RefuseInfer("the last size is no multiple of the number of heads");
    shape = Shape{shape[0], shape[1], heads, shape[2] / heads};
  }
  Tensor t = tensor::PackedOf(DType::kF32, shape);
  if (order != Order::kBNSD) std::swap(t.shape[1], t.shape[2]), std::swap(t.strides[1], t.strides[2]);
  if (t.shape[1] != heads)
    RefuseInfer("the tensors have another number of heads than numHeads or numKeyValueHeads");
  return t;
}

// The heads member, member + members, ... of a tensor that has `members` of them for each key.
Tensor MemberOf(const Tensor& heads, int64_t member, int64_t members) {
  Tensor t = heads;
  t.offset += member * t.strides[1];
  t.shape[1] /= members;
  t.strides[1] *= members;
  return t;
}

// Where an operand repeats itself, once; with the number of dimensions of the scores.
Tensor OncePerRepeat(const Operand& operand, const Shape& scores) {
  Tensor t = *operand.tensor;
  for (int i = 0; i < t.shape.rank(); ++i) {
    if (t.strides[i] == 0) t.shape[i] = 1;
  }
  if (t.shape.rank() > scores.rank() || !BroadcastsTo(t.shape, scores)) {
    Fail(tensor::kInvalidArgument, "infer-attention-mask",
         "{} has shape {}, which does not broadcast to the scores {}", operand.name,
         operand.shape().ToString(), scores.ToString());
  }
  return t;
}

struct MaskArgs {
  const Operand &shift, &forbidden;
  std::span<const int64_t> lengths;
  int64_t sparse;
};

// Masks of one dimension less than the scores have no heads.
Tensor WithHeads(Tensor t) {
  if (t.shape.rank() != 3) return t;
  t.shape = Shape{t.shape[0], 1, t.shape[1], t.shape[2]};
  t.strides = tensor::Strides{t.strides[0], 0, t.strides[1], t.strides[2]};
  return t;
}

MaskBody MaskOf(const MaskArgs& args, const Shape& scores, Tensor* view) {
  MaskBody mask;
  Shape shape{1, 1, scores[2], scores[3]};
  Tensor shift, forbidden;
  if (args.lengths.size() != 0 || args.forbidden.present()) shape[0] = scores[0];
  if (args.shift.present()) {
    shift = OncePerRepeat(args.shift, scores);
    for (int i = 0; i < shift.shape.rank(); ++i) shape.back(i) = std::max(shape.back(i), shift.shape.back(i));
    const tensor::Strides spread = BroadcastStrides(shift.shape, shift.strides, shape);
    shift.shape = shape, shift.strides = spread;
    mask.shift = FloatCopy({&shift, nullptr, args.shift.binding, args.shift.name});
  }
  *view = tensor::PackedOf(DType::kF32, shape);
  mask.rows = shape[2], mask.columns = shape[3], mask.heads = shape[1], mask.count = view->count();
  if (args.sparse == kLeftUp || args.sparse == kRightDown) {
    mask.causal = true;
    mask.diagonal = args.sparse == kLeftUp ? 0 : mask.columns - mask.rows;
  } else if (args.forbidden.present()) {
    forbidden = WithHeads(*args.forbidden.tensor);
    if (forbidden.shape.rank() < 2 || !BroadcastsTo(forbidden.shape, shape)) {
      Fail(tensor::kInvalidArgument, "infer-attention-mask",
           "{} has shape {}, which does not broadcast to the scores {}", args.forbidden.name,
           args.forbidden.shape().ToString(), scores.ToString());
    }
    mask.nest = LoopNest(shape, {Operand{view}, Operand{&forbidden}});
    mask.forbidden = args.forbidden.binding;
  }
  mask.row_lengths.assign(args.lengths.begin(), args.lengths.end());
  if (mask.row_lengths.size() == 1) mask.row_lengths.resize(static_cast<size_t>(shape[0]), args.lengths[0]);
  if (!mask.row_lengths.empty() && mask.row_lengths.size() != static_cast<size_t>(shape[0])) {
    RefuseInfer("actualSeqLengthsKv has neither one number nor one for each batch");
  }
  const tensor::Strides spread = BroadcastStrides(view->shape, view->strides, scores);
  view->shape = scores, view->strides = spread;
  return mask;
}

struct Heads {
  Tensor query, key, value, out, mask;
  int64_t members;  // heads that share a key
  float scale;
};

Heads HeadsOfAll(const Operand& query, const Operand& key, const Operand& value, const Operand& out,
                 Order order, int64_t heads, int64_t key_heads) {
  if (key_heads == 0) key_heads = heads;
  if (heads < 1 || key_heads < 1 || heads % key_heads != 0)
    RefuseInfer("numHeads is no multiple of numKeyValueHeads");
  Heads all{HeadsOf(query, order, heads),
            HeadsOf(key, order, key_heads),
            HeadsOf(value, order, key_heads),
            HeadsOf(out, order, heads),
            {},
            heads / key_heads,
            1};
  const Shape &q = all.query.shape, &k = all.key.shape, &v = all.value.shape, &o = all.out.shape;
  if (k != Shape{q[0], k[1], k[2], q[3]} || v != Shape{q[0], k[1], k[2], v[3]} ||
      o != Shape{q[0], q[1], q[2], v[3]}) {
    RefuseInfer("query, key, value and attentionOut do not fit together");
  }
  return all;
}

std::shared_ptr<const std::vector<std::unique_ptr<Plan>>> PlanMembers(const Heads& all, bool masked,
                                                                      uint64_t* cost) {
  auto plans = std::make_shared<std::vector<std::unique_ptr<Plan>>>();
  Tensor key = all.key;
  std::swap(key.shape[2], key.shape[3]), std::swap(key.strides[2], key.strides[3]);
  for (int64_t member = 0; member < all.members; ++member) {
    const Tensor query = MemberOf(all.query, member, all.members),
                 out = MemberOf(all.out, member, all.members);
    const Tensor mask = masked ? MemberOf(all.mask, member, all.members) : Tensor{};
    AttentionArgs args;
    args.query = {&query, nullptr, kQuery, "query"};
    args.key = {&key, nullptr, kKey, "key"};
    args.value = {&all.value, nullptr, kValue, "value"};
    if (masked) args.mask = {&mask, nullptr, kMask, "mask"};
    args.out = {&out, nullptr, kOut, "attentionOut"};
    args.scale = all.scale;
    auto plan = std::make_unique<Plan>("attention");
    PlanAttention(*plan, args);
    *cost += plan->cost();
    plans->push_back(std::move(plan));
  }
  return plans;
}

void RefuseGiven(std::initializer_list<const Operand*> operands) {
  for (const Operand* operand : operands) {
    if (!operand->present()) continue;
    Fail(tensor::kInvalidArgument, "infer-attention-argument",
         "{} is given, but quantisation, pages, padding and prefixes are not there yet; pass null",
         operand->name);
  }
}

}  // namespace

namespace kernels {

void FusedInferAttentionScore(Plan& plan, DType, const FusedInferAttentionScoreArguments& a) {
  RefuseGiven({&a.deq_scale1, &a.quant_scale1, &a.deq_scale2, &a.quant_scale2, &a.quant_offset2,
               &a.antiquant_scale, &a.antiquant_offset, &a.block_table, &a.query_padding_size,
               &a.kv_padding_size, &a.key_antiquant_scale, &a.key_antiquant_offset, &a.value_antiquant_scale,
               &a.value_antiquant_offset, &a.key_shared_prefix, &a.value_shared_prefix});
  if (!a.actual_shared_prefix_len.empty() || a.softmax_lse_flag)
    RefuseInfer("prefixes and softmaxLse are not there yet");
  if (a.key.size() != 1 || a.value.size() != 1) RefuseInfer("key and value are lists of one tensor");
  if (a.sparse_mode < kMasked || a.sparse_mode > kRightDown)
    RefuseInfer("sparseMode is none of 0, 1, 2 and 3");
  Heads all = HeadsOfAll(a.query, a.key[0], a.value[0], a.out, OrderNamed(a.input_layout), a.num_heads,
                         a.num_key_value_heads);
  all.scale = static_cast<float>(a.scale_value);
  if (a.out.tensor->empty()) return;
  InferAttentionBody body;
  const Shape scores{all.query.shape[0], all.query.shape[1], all.query.shape[2], all.key.shape[2]};
  if (a.sparse_mode == kMasked && (a.pre_tokens < scores[2] || a.next_tokens < scores[3])) {
    RefuseInfer("preTokens and nextTokens that leave keys out are not there yet");
  }
  body.mask = MaskOf({a.pse_shift, a.atten_mask, a.actual_seq_lengths_kv, a.sparse_mode}, scores, &all.mask);
  body.copies[kQuery] = FloatCopy(a.query), body.copies[kKey] = FloatCopy(a.key[0]);
  body.copies[kValue] = FloatCopy(a.value[0]), body.out = FloatCopy(a.out);
  const int64_t counts[kParts] = {a.query.tensor->count(), a.key[0].tensor->count(),
                                  a.value[0].tensor->count(), body.mask.present() ? body.mask.count : 0,
                                  a.out.tensor->count()};
  int64_t used = 0;
  for (int part = 0; part < kParts; ++part) {
    body.at[part] = used;
    used += WorkspacePart(counts[part] * 4);
  }
  uint64_t cost = 1000;
  body.members = PlanMembers(all, body.mask.present(), &cost);
  body.inner_at = used;
  uint64_t inner = 0;  // they have it one after another
  for (const auto& member : *body.members) inner = std::max(inner, member->workspace_bytes());
  plan.SetWorkspace(static_cast<uint64_t>(used) + inner);
  plan.SetCost(cost + static_cast<uint64_t>(used));
  plan.SetBody(body);
}

}  // namespace kernels
}  // namespace belay::ops
