// Attention for training over packed sequences: each of them is an attention of its own, over views of its
// rows.
#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ops/attention/flash.h"
#include "ops/kernels.h"
#include "ops/scratch.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

using tensor::kInvalidArgument;

// The rows of one sequence.
struct Span {
  int64_t first, count;
};

// Where each sequence lies, by the running sums of their lengths, which end with `total` rows.
std::vector<Span> SpansOf(const char* function, const char* name, std::span<const int64_t> ends,
                          int64_t total) {
  std::vector<Span> spans;
  int64_t first = 0;
  for (int64_t end : ends) {
    if (end < first) break;
    spans.push_back({first, end - first});
    first = end;
  }
  if (spans.size() == ends.size() && first == total) return spans;
  Fail(
      kInvalidArgument, "flash-attention-lengths",
      "{}: {} holds the running sums of the lengths of the sequences, which never fall and end with all {} rows",
      function, name, total);
}

// The rows of a packed operand [T, N, D] as [1, S, N, D].
Tensor RowsOf(const Tensor& t, const Span& span) {
  Tensor part = t;
  part.shape = Shape{1, span.count, t.shape[1], t.shape[2]};
  part.strides = tensor::Strides{0, t.strides[0], t.strides[1], t.strides[2]};
  part.offset += span.first * t.strides[0];
  return part;
}

// How the largest score of each row and the sum lie.
enum class NumberLayout {
  kBySequence,  // [N, S, 8] of one sequence after the other, whatever the shape says
  kLikeQuery    // [T, N, 8]
};

// The part of what belongs to rows and heads that belongs to a sequence, as [1, N, S, 8].
Tensor NumbersOf(NumberLayout layout, int64_t heads, const Span& span) {
  Tensor part = tensor::PackedOf(DType::kF32, Shape{1, heads, span.count, 8});
  part.offset = span.first * heads * 8;
  if (layout == NumberLayout::kLikeQuery) part.strides = tensor::Strides{0, 8, heads * 8, 1};
  return part;
}

// The first rows and columns of a mask for the longest sequences.
Tensor CornerOf(const Tensor& t, int64_t rows, int64_t columns) {
  Tensor part = t;
  part.shape.back(1) = rows, part.shape.back(0) = columns;
  return part;
}

// What both functions are given, beside the lengths.
struct Packed {
  FlashArgs args;
  std::vector<Span> queries, keys;
  std::vector<int64_t> first_bits;  // of the mask of dropout, whose sequences follow each other
  NumberLayout numbers;

  Packed(const FlashArgs& a, std::span<const int64_t> query_ends, std::span<const int64_t> key_ends,
         NumberLayout layout)
      : args(a), numbers(layout) {
    if (std::string_view(a.layout) != "TND")
      RefuseFlash(a.function, "inputLayout is TND for packed sequences");
    for (const Operand* o : {&a.query, &a.key, &a.value}) {
      if (o->shape().rank() == 3) continue;
      Fail(kInvalidArgument, "flash-attention-layout", "{}: {} has shape {}, which is no TND", a.function,
           o->name, o->shape().ToString());
    }
    if (a.key.shape()[0] != a.value.shape()[0])
      RefuseFlash(a.function, "key and value have other numbers of rows");
    if (a.sparse == 5 || a.sparse > 6) {
      RefuseFlash(a.function, "sparseMode 5 is not for packed sequences; 7 and 8 are not there yet");
    }
    if (IsGiven(a.shift) && !a.sloped()) {
      RefuseFlash(a.function,
                  "packed sequences with a bias are not there yet, but for the slopes of pseType 2 and 3");
    }
    if (a.heads != a.query.shape()[1])
      RefuseFlash(a.function, "query has another number of heads than headNum");
    queries = SpansOf(a.function, "actualSeqQLen", query_ends, a.query.shape()[0]);
    keys = SpansOf(a.function, "actualSeqKvLen", key_ends, a.key.shape()[0]);
    if (queries.size() != keys.size())
      RefuseFlash(a.function, "query and key have other numbers of sequences");
    if (a.sparse == 6 && a.prefix.size() != queries.size())
      RefuseFlash(a.function, "sparseMode 6 needs prefix, with a number for each sequence");
    CheckMask();
    CheckSlopes();
    int64_t bit = 0;
    for (size_t i = 0; i < queries.size(); ++i) {
      first_bits.push_back(bit);
      bit += a.heads * queries[i].count * keys[i].count;
    }
  }

  // Slopes of the heads of each sequence, or of all.
  void CheckSlopes() const {
    if (!args.sloped() || !args.shift.present()) return;
    const Shape& s = args.shift.shape();
    const auto count = static_cast<int64_t>(queries.size());
    if (s == Shape{args.heads} || s == Shape{1, args.heads} || s == Shape{count, args.heads}) return;
    Fail(kInvalidArgument, "flash-attention-operand",
         "{}: {} has shape {}; a slope for each head is [{}] or [{}, {}]", args.function, args.shift.name,
         s.ToString(), args.heads, count, args.heads);
  }

  // A whole mask is one for all, as large as the longest sequences.
  void CheckMask() const {
    if (!WholeMask()) return;
    const Shape& s = args.forbidden.shape();
    const Shape wanted{Longest(queries), Longest(keys)};
    if (s == wanted || (s.rank() == 4 && s == Shape{1, 1, wanted[0], wanted[1]})) return;
    Fail(kInvalidArgument, "flash-attention-mask", "{}: {} has shape {}; of these sequences it is {}",
         args.function, args.forbidden.name, s.ToString(), wanted.ToString());
  }
  bool WholeMask() const { return IsGiven(args.forbidden) && (args.sparse == 0 || args.sparse == 1); }
  static int64_t Longest(const std::vector<Span>& spans) {
    int64_t most = 0;
    for (const Span& span : spans) most = std::max(most, span.count);
    return most;
  }

  std::span<const int64_t> PrefixOf(size_t i) const {
    return args.sparse == 6 ? args.prefix.subspan(i, 1) : std::span<const int64_t>();
  }
  Tensor MaskOf(size_t i) const {
    if (!args.forbidden.present()) return {};
    return WholeMask() ? CornerOf(*args.forbidden.tensor, queries[i].count, keys[i].count)
                       : *args.forbidden.tensor;
  }
  Tensor SlopesOf(size_t i) const {
    if (!args.shift.present()) return {};
    Tensor part = *args.shift.tensor;
    if (part.shape.rank() < 2) return part;
    part.offset += part.shape[0] == 1 ? 0 : static_cast<int64_t>(i) * part.strides[0];
    part.strides = tensor::Strides{part.strides[1]}, part.shape = Shape{args.heads};
    return part;
  }
};

constexpr int kMostBindings = 24;
// What the members bind behind the function's own: the numbers of rows, the gradients of their sinks, and
// what is joined.
constexpr int kNumbersBehind = 0, kSinksBehind = 2, kJoinedBehind = 3, kMostJoined = 4;

using PackedSteps = std::vector<std::unique_ptr<Plan>>;

// Null, or empty without being heads of no rows: there is none.
bool HasRope(const Operand& rope) {
  return rope.present() && (rope.shape().rank() == 3 || !rope.tensor->empty());
}

// Heads whose last elements (of angles) are an operand of their own: they are computed with, or written,
// joined in the workspace. Refers to itself.
class JoinedHeads {
 public:
  explicit JoinedHeads(Plan& plan) : plan_(plan), binding_(plan.binding_count() + kJoinedBehind) {}
  JoinedHeads(const JoinedHeads&) = delete;

  // The operand itself where nothing comes behind its heads.
  Operand Read(const Operand& heads, const Operand& rope) { return Join(heads, rope, &before_, nullptr); }
  Operand Written(const Operand& heads, const Operand& rope) { return Join(heads, rope, nullptr, &after_); }

  PackedSteps& before() { return before_; }
  PackedSteps& after() { return after_; }
  const std::vector<int64_t>& at() const { return at_; }  // in the workspace

 private:
  Operand Join(const Operand& heads, const Operand& rope, PackedSteps* loads, PackedSteps* stores) {
    if (!HasRope(rope)) return heads;
    const Shape &a = heads.shape(), &b = rope.shape();
    if (a.rank() != 3 || b.rank() != 3 || a[0] != b[0] || a[1] != b[1] || heads.dtype() != rope.dtype()) {
      Fail(
          kInvalidArgument, "flash-attention-operand",
          "{}: {} of {} has shape {}, which does not fit {} of {}, {}: rows, heads and the type are the same",
          plan_.function(), rope.name, NameOf(rope.dtype()), b.ToString(), heads.name, NameOf(heads.dtype()),
          a.ToString());
    }
    const Tensor& whole =
        tensors_.emplace_back(tensor::PackedOf(heads.dtype(), Shape{a[0], a[1], a[2] + b[2]}));
    const Operand joined{&whole, nullptr, binding_++, heads.name};
    int64_t first = 0;
    for (const Operand* part : {&heads, &rope}) {
      Tensor& columns = tensors_.emplace_back(whole);
      columns.shape.back(0) = part->shape()[2], columns.offset = first;
      first += columns.shape.back(0);
      const Operand there = OverPart(joined, columns);
      auto copy = std::make_unique<Plan>(plan_.function());
      kernels::Copy(*copy, heads.dtype(), loads != nullptr ? *part : there, loads != nullptr ? there : *part);
      (loads != nullptr ? loads : stores)->push_back(std::move(copy));
    }
    at_.push_back(plan_.AddWorkspace(whole.count() * static_cast<int64_t>(BytesOf(whole.dtype))));
    return joined;
  }

  Plan& plan_;
  int binding_;
  std::deque<Tensor> tensors_;
  PackedSteps before_, after_;
  std::vector<int64_t> at_;
};

struct PackedBody {
  std::shared_ptr<const PackedSteps> members;
  PackedFloats numbers[2];  // the largest score of each row, and the sum
  int bindings = 0;
  bool writes = false;   // the numbers
  int64_t inner_at = 0;  // the members' workspace

  // The gradient of the sinks of each sequence, and of all of them.
  Scratch<float> sinks_apart;
  PackedFloats sinks;
  int64_t heads = 0, sequences = 0;

  int joined = 0;
  std::array<int64_t, kMostJoined> joined_at{};  // in the workspace

  void operator()(const Frame& frame) const {
    std::array<char*, kMostBindings + kJoinedBehind + kMostJoined> at{};
    std::copy_n(frame.at, bindings, at.begin());
    char** behind = at.data() + bindings;
    for (int i = 0; i < 2; ++i) {
      const float* packed = writes ? numbers[i].Begin(frame) : numbers[i].Load(frame);
      behind[kNumbersBehind + i] = reinterpret_cast<char*>(const_cast<float*>(packed));
    }
    if (sinks.present()) behind[kSinksBehind] = reinterpret_cast<char*>(sinks_apart.At(frame));
    for (int i = 0; i < joined; ++i) behind[kJoinedBehind + i] = frame.workspace + joined_at[i];
    for (const auto& member : *members) member->Run({at.data(), frame.workspace + inner_at});
    if (sinks.present()) AddSinks(frame);
    if (!writes) return;
    for (const PackedFloats& packed : numbers) packed.Finish(frame);
  }

  void AddSinks(const Frame& frame) const {
    const float* apart = sinks_apart.At(frame);
    float* to = sinks.Begin(frame);
    for (int64_t h = 0; h < heads; ++h) {
      double total = 0;
      for (int64_t i = 0; i < sequences; ++i) total += apart[i * heads + h];
      to[h] = static_cast<float>(total);
    }
    sinks.Finish(frame);
  }
};

// `make(i, member, binding)` plans the sequence i, whose numbers are at the bindings from this one on, and
// the gradient of its sinks behind them.
template <class Make>
void PlanMembers(Plan& plan, const Packed& packed, const Operand& most, const Operand& sum, bool writes,
                 const Make& make, JoinedHeads& joined, const Operand* dsink = nullptr) {
  PackedBody body;
  const Shape wanted{packed.args.query.shape()[0], packed.args.heads, 8};
  for (const Operand* o : {&most, &sum}) CheckFlashOperand(packed.args, *o, DType::kF32, wanted);
  body.bindings = plan.binding_count();
  if (body.bindings > kMostBindings) RefuseFlash(packed.args.function, "more tensors than there can be");
  const Flow flow = writes ? Flow::kOut : Flow::kIn;
  body.numbers[0] = PackedFloats(most, flow, plan), body.numbers[1] = PackedFloats(sum, flow, plan);
  body.writes = writes;
  if (dsink != nullptr) {
    body.heads = packed.args.heads, body.sequences = static_cast<int64_t>(packed.queries.size());
    body.sinks = PackedFloats(*dsink, Flow::kOut, plan);
    body.sinks_apart = {plan, body.sequences * body.heads};
  }
  body.joined = static_cast<int>(joined.at().size());
  std::ranges::copy(joined.at(), body.joined_at.begin());
  auto members = std::make_shared<PackedSteps>(std::move(joined.before()));
  for (size_t i = 0; i < packed.queries.size(); ++i) {
    members->push_back(std::make_unique<Plan>(plan.function()));
    make(i, *members->back(), body.bindings);
  }
  std::ranges::move(joined.after(), std::back_inserter(*members));
  uint64_t cost = 500, inner = 0;
  for (const auto& member : *members) {
    cost += member->cost();
    inner = std::max(inner, member->workspace_bytes());
  }
  body.members = members;
  body.inner_at = plan.AddWorkspace(static_cast<int64_t>(inner));  // they have it one after another
  plan.SetCost(cost);
  plan.SetBody(body);
}

// What one sequence of them sees, as an attention of its own.
struct PackedMember {
  Tensor query_part, key_part, value_part, mask_part, slopes_part, row, sinks;
  Operand query, key, value, mask, slopes;
  FlashArgs args;

  PackedMember(const Packed& p, size_t i)
      : query_part(RowsOf(*p.args.query.tensor, p.queries[i])),
        key_part(RowsOf(*p.args.key.tensor, p.keys[i])),
        value_part(RowsOf(*p.args.value.tensor, p.keys[i])),
        mask_part(p.MaskOf(i)),
        slopes_part(p.SlopesOf(i)),
        row(NumbersOf(p.numbers, p.args.heads, p.queries[i])),
        sinks(tensor::PackedOf(DType::kF32, Shape{p.args.heads})),
        query(OverPart(p.args.query, query_part)),
        key(OverPart(p.args.key, key_part)),
        value(OverPart(p.args.value, value_part)),
        mask(OverPart(p.args.forbidden, mask_part)),
        slopes(OverPart(p.args.shift, slopes_part)),
        args{p.args.function,
             query,
             key,
             value,
             slopes,
             p.args.drop,
             p.args.padding,
             mask,
             p.PrefixOf(i),
             p.args.scale,
             p.args.keep,
             p.args.before,
             p.args.after,
             p.args.heads,
             "BSND",
             p.args.sparse,
             p.args.shift_kind,
             p.args.query_start,
             p.args.key_start,
             p.first_bits[i],
             {},
             p.args.sink} {
    sinks.offset = static_cast<int64_t>(i) * p.args.heads;
  }
  PackedMember(const PackedMember&) = delete;

  Operand Numbers(int binding, const Operand& of) const { return {&row, nullptr, binding, of.name}; }
  Operand Sinks(int binding, const Operand& of) const { return {&sinks, nullptr, binding, of.name}; }
};

// What any of the functions says of the layout of the numbers. The gradients call it something else, and not
// each version has it.
template <class Arguments>
NumberLayout LayoutOfNumbers(const Plan& plan, const Arguments& a) {
  const char* given = "";
  if constexpr (requires { a.softmax_out_layout; }) given = a.softmax_out_layout;
  if constexpr (requires { a.softmax_in_layout; }) given = a.softmax_in_layout;
  const std::string_view layout = given;
  if (layout.empty()) return NumberLayout::kBySequence;
  if (layout == "same_as_input") return NumberLayout::kLikeQuery;
  Fail(kInvalidArgument, "flash-attention-layout",
       "{}: the layout of softmaxMax and softmaxSum is {}; it is same_as_input, or empty", plan.function(),
       layout);
}

// Of the parts for angles all are given, or none.
void CheckRopes(const Plan& plan, const Operand& query, const Operand& other) {
  if (HasRope(query) == HasRope(other)) return;
  Fail(kInvalidArgument, "flash-attention", "{}: one of {} and {} is given without the other",
       plan.function(), query.name, other.name);
}

void PlanPacked(Plan& plan, const FlashArgs& args, std::span<const int64_t> query_ends,
                std::span<const int64_t> key_ends, const Operand& most, const Operand& sum,
                const Operand& out, NumberLayout layout, JoinedHeads& joined) {
  const Packed packed(args, query_ends, key_ends, layout);
  CheckFlashOperand(args, out, args.query.dtype(),
                    Shape{args.query.shape()[0], args.query.shape()[1], args.value.shape()[2]});
  PlanMembers(
      plan, packed, most, sum, true,
      [&](size_t i, Plan& member, int numbers) {
        const PackedMember m(packed, i);
        const Tensor o = RowsOf(*out.tensor, packed.queries[i]);
        PlanFlash(member, m.args, m.Numbers(numbers, most), m.Numbers(numbers + 1, sum), OverPart(out, o));
      },
      joined);
}

void PlanPackedGradient(Plan& plan, const FlashArgs& args, std::span<const int64_t> query_ends,
                        std::span<const int64_t> key_ends, const FlashGradients& g, NumberLayout layout,
                        JoinedHeads& joined) {
  const Packed packed(args, query_ends, key_ends, layout);
  const Shape result{args.query.shape()[0], args.query.shape()[1], args.value.shape()[2]};
  for (const Operand* o : {&g.dy, &g.y}) CheckFlashOperand(args, *o, args.query.dtype(), result);
  for (auto [o, like] : {std::pair{&g.dq, &args.query}, {&g.dk, &args.key}, {&g.dv, &args.value}})
    CheckFlashOperand(args, *o, args.query.dtype(), like->shape());
  if (IsGiven(g.dshift)) {
    if (!IsGiven(args.shift)) RefuseFlash(args.function, "dpseOut is given without a pseShift");
    CheckFlashOperand(args, g.dshift, args.shift.dtype(), args.shift.shape());
  }
  const bool sinks = g.dsink != nullptr && IsGiven(*g.dsink);
  if (sinks) CheckFlashOperand(args, *g.dsink, DType::kF32, {args.heads});
  const Operand none{nullptr, nullptr, -1, g.dshift.name};
  const auto make = [&](size_t i, Plan& member, int numbers) {
    const PackedMember m(packed, i);
    const Operand dsink = sinks ? m.Sinks(numbers + kSinksBehind, *g.dsink) : none;
    const Span &rows = packed.queries[i], &columns = packed.keys[i];
    const Tensor gy = RowsOf(*g.dy.tensor, rows), was = RowsOf(*g.y.tensor, rows),
                 gq = RowsOf(*g.dq.tensor, rows), gk = RowsOf(*g.dk.tensor, columns),
                 gv = RowsOf(*g.dv.tensor, columns);
    PlanFlashGradient(
        member, m.args,
        {OverPart(g.dy, gy), OverPart(g.y, was), m.Numbers(numbers, g.most), m.Numbers(numbers + 1, g.sum),
         OverPart(g.dq, gq), OverPart(g.dk, gk), OverPart(g.dv, gv), none, &dsink});
  };
  PlanMembers(plan, packed, g.most, g.sum, false, make, joined, sinks ? g.dsink : nullptr);
}

template <class Arguments>
void PlanPackedForward(Plan& plan, Arguments a) {
  JoinedHeads joined(plan);
  if constexpr (requires { a.query_rope; }) {
    CheckRopes(plan, a.query_rope, a.key_rope);
    a.query = joined.Read(a.query, a.query_rope), a.key = joined.Read(a.key, a.key_rope);
  }
  PlanPacked(plan, TakeFlash(plan, a, a.key, a.real_shift), a.actual_seq_q_len, a.actual_seq_kv_len,
             a.softmax_max_out, a.softmax_sum_out, a.attention_out_out, LayoutOfNumbers(plan, a), joined);
}

template <class Arguments>
void PlanPackedBackward(Plan& plan, Arguments a) {
  JoinedHeads joined(plan);
  if constexpr (requires { a.query_rope; }) {
    CheckRopes(plan, a.query_rope, a.key_in_rope);
    CheckRopes(plan, a.query_rope, a.dq_rope_out), CheckRopes(plan, a.query_rope, a.dk_rope_out);
    a.query = joined.Read(a.query, a.query_rope), a.key_in = joined.Read(a.key_in, a.key_in_rope);
    a.dq_out = joined.Written(a.dq_out, a.dq_rope_out), a.dk_out = joined.Written(a.dk_out, a.dk_rope_out);
  }
  PlanPackedGradient(plan, TakeFlash(plan, a, a.key_in, a.pse_shift), a.actual_seq_q_len, a.actual_seq_kv_len,
                     TakeFlashGradients(a), LayoutOfNumbers(plan, a), joined);
}

}  // namespace

namespace kernels {

void FlashAttentionVarLenScore(Plan& plan, DType, const FlashAttentionVarLenScoreArguments& a) {
  PlanPackedForward(plan, a);
}

void FlashAttentionVarLenScoreV2(Plan& plan, DType, const FlashAttentionVarLenScoreV2Arguments& a) {
  PlanPackedForward(plan, a);
}

void FlashAttentionVarLenScoreV3(Plan& plan, DType, const FlashAttentionVarLenScoreV3Arguments& a) {
  PlanPackedForward(plan, a);
}

void FlashAttentionVarLenScoreV5(Plan& plan, DType, const FlashAttentionVarLenScoreV5Arguments& a) {
  PlanPackedForward(plan, a);
}

void FlashAttentionUnpaddingScoreGrad(Plan& plan, DType, const FlashAttentionUnpaddingScoreGradArguments& a) {
  PlanPackedBackward(plan, a);
}

void FlashAttentionUnpaddingScoreGradV2(Plan& plan, DType,
                                        const FlashAttentionUnpaddingScoreGradV2Arguments& a) {
  PlanPackedBackward(plan, a);
}

void FlashAttentionUnpaddingScoreGradV3(Plan& plan, DType,
                                        const FlashAttentionUnpaddingScoreGradV3Arguments& a) {
  PlanPackedBackward(plan, a);
}

void FlashAttentionUnpaddingScoreGradV5(Plan& plan, DType,
                                        const FlashAttentionUnpaddingScoreGradV5Arguments& a) {
  PlanPackedBackward(plan, a);
}

}  // namespace kernels
}  // namespace belay::ops
