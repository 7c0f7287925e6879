#include "ops/attention/flash.h"

#include <limits>
#include <string_view>

#include "base/error.h"
#include "ops/attention/flash_loops.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

using tensor::kInvalidArgument;

enum SparseMode : int64_t {
  kDefault,
  kAllSeen,
  kLeftUp,
  kRightDown,
  kBand,
  kPrefix,
  kPrefixPacked,
  kSparseModes
};

// How many heads an operand has, and where they lie in it once it is packed.
struct Heads {
  int64_t batches, heads, rows, size;
  HeadStrides strides;
};

// `heads` of an operand whose layout does not tell them; 0: by `size`, that of one.
Heads HeadsOf(const FlashArgs& args, const Operand& operand, int64_t heads, int64_t size) {
  const std::string_view layout = args.layout;
  const Shape& s = operand.shape();
  const bool flat = layout == "BSH" || layout == "SBH";
  if (!flat && layout != "BSND" && layout != "BNSD") {
    Fail(
        kInvalidArgument, "flash-attention-layout",
        "{}: inputLayout is {}; it is BSH, SBH, BSND or BNSD (TND, packed sequences, is for the VarLen functions)",
        args.function, layout);
  }
  if (s.rank() != (flat ? 3 : 4)) {
    Fail(kInvalidArgument, "flash-attention-layout", "{}: {} has shape {}, which is no {}", args.function,
         operand.name, s.ToString(), layout);
  }
  if (layout == "BNSD") return {s[0], s[1], s[2], s[3], {s[1] * s[2] * s[3], s[2] * s[3], s[3]}};
  if (layout == "BSND") return {s[0], s[2], s[1], s[3], {s[1] * s[2] * s[3], s[3], s[2] * s[3]}};
  if (heads == 0) heads = s[2] / std::max<int64_t>(size, 1);
  if (heads < 1 || s[2] % heads != 0) {
    Fail(kInvalidArgument, "flash-attention-heads",
         "{}: the last size of {} {} is not that of heads one after another", args.function, operand.name,
         s.ToString());
  }
  size = s[2] / heads;
  if (layout == "BSH") return {s[0], heads, s[1], size, {s[1] * s[2], size, s[2]}};
  return {s[1], heads, s[0], size, {s[2], size, s[1] * s[2]}};
}

Tensor WithFourDims(const Tensor& t) {
  Tensor wide = t;
  if (t.shape.rank() == 4) return wide;
  wide.shape = Shape{1, 1, t.shape[0], t.shape[1]};
  wide.strides = tensor::Strides{0, 0, t.strides[0], t.strides[1]};
  return wide;
}

}  // namespace

void RefuseFlash(const char* function, const char* sentence) {
  Fail(kInvalidArgument, "flash-attention", "{}: {}", function, sentence);
}

void CheckFlashOperand(const FlashArgs& args, const Operand& operand, DType type, const Shape& shape) {
  if (operand.dtype() == type && operand.shape() == shape) return;
  Fail(kInvalidArgument, "flash-attention-operand", "{}: {} is {} {}; it is {} {}", args.function,
       operand.name, NameOf(operand.dtype()), operand.shape().ToString(), NameOf(type), shape.ToString());
}

void TakeShiftKind(int64_t kind, std::span<const int64_t> query_start, std::span<const int64_t> key_start,
                   FlashArgs* args) {
  if (kind < 0 || kind > 3) {
    RefuseFlash(args->function,
                "pseType is 0 (pse is added behind the scale), 1 (before), 2 or 3 (it holds slopes)");
  }
  args->shift_kind = static_cast<FlashShift>(kind);
  const auto first = [&](std::span<const int64_t> start, const char* name) {
    constexpr int64_t kFar = int64_t{1} << 31;
    if (start.empty()) return int64_t{0};
    if (start.size() == 1 && start[0] >= -kFar && start[0] < kFar) return start[0];
    Fail(kInvalidArgument, "flash-attention", "{}: {} has {} numbers; it is one of 32 bits, or none",
         args->function, name, start.size());
  };
  args->query_start = first(query_start, "qStartIdx"), args->key_start = first(key_start, "kvStartIdx");
}

Flash::Flash(const FlashArgs& args, Plan& plan) {
  if (IsGiven(args.padding)) {
    Fail(kInvalidArgument, "flash-attention", "{}: {} is given, but no version uses it; pass null",
         args.function, args.padding.name);
  }
  TakeHeads(args);
  TakeShift(args);
  TakeDrop(args, plan);
  TakeBand(args);
  blocks_ = args.blocks;
  scale = static_cast<float>(args.scale);
  constexpr int64_t kRows = 64, kColumns = 512;
  block_rows = std::clamp<int64_t>(rows, 1, kRows);
  block_columns = std::clamp<int64_t>(columns, 1, kColumns);
  query_ = PackedFloats(args.query, Flow::kIn, plan);
  key_ = PackedFloats(args.key, Flow::kIn, plan);
  value_ = PackedFloats(args.value, Flow::kIn, plan);
  TakeSink(args, plan);
  if (IsGiven(args.shift)) shift_ = PackedFloats(args.shift, Flow::kIn, plan);
}

void Flash::TakeHeads(const FlashArgs& args) {
  if (args.heads < 1) RefuseFlash(args.function, "headNum is from 1 on");
  const Heads q = HeadsOf(args, args.query, args.heads, 0), k = HeadsOf(args, args.key, 0, q.size),
              v = HeadsOf(args, args.value, k.heads, 0);
  if (q.heads != args.heads) RefuseFlash(args.function, "query has another number of heads than headNum");
  if (q.size < 1 || v.size < 1 || k.heads < 1)
    RefuseFlash(args.function, "a head has no numbers, or key no heads");
  if (q.heads % k.heads != 0)
    RefuseFlash(args.function, "the heads of query are no multiple of those of key");
  if (k.batches != q.batches || v.batches != q.batches || k.size != q.size || v.heads != k.heads ||
      v.rows != k.rows) {
    Fail(kInvalidArgument, "flash-attention-heads",
         "{}: query {}, key {} and value {} do not fit together as {} with {} heads", args.function,
         args.query.shape().ToString(), args.key.shape().ToString(), args.value.shape().ToString(),
         args.layout, args.heads);
  }
  for (const Operand* o : {&args.key, &args.value})
    CheckFlashOperand(args, *o, args.query.dtype(), o->shape());
  batches = q.batches, heads = q.heads, members = q.heads / k.heads;
  rows = q.rows, columns = k.rows, size = q.size, value_size = v.size;
  query = q.strides, key = k.strides, value = v.strides;
  // What comes out lies as the query does, with heads of the value's size.
  const int64_t d = size, dv = value_size;
  out = {query.batch / d * dv, query.head / d * dv, query.row / d * dv};
}

void Flash::TakeShift(const FlashArgs& args) {
  shift_kind_ = args.shift_kind;
  if (args.sloped()) return TakeSlopes(args);
  if (!IsGiven(args.shift)) return;
  const Shape& s = args.shift.shape();
  if (s.rank() == 4 && s[2] == 1024 && rows > 1024) {
    RefuseFlash(args.function,
                "the last 1024 rows of a longer bias (ALiBi) are not there yet; pass all rows");
  }
  const bool fits = s.rank() == 4 && (s[0] == 1 || s[0] == batches) && s[1] == heads &&
                    (s[2] == 1 || s[2] == rows) && s[3] == columns;
  if (!fits) {
    Fail(
        kInvalidArgument, "flash-attention-operand",
        "{}: {} has shape {}; it is [B, N, Sq, Skv], [B, N, 1, Skv] or [1, N, Sq, Skv] of the scores [{}, {}, {}, {}]",
        args.function, args.shift.name, s.ToString(), batches, heads, rows, columns);
  }
  CheckFlashOperand(args, args.shift, args.query.dtype(), s);
  shift = {s[0] == 1 ? 0 : s[1] * s[2] * s[3], s[2] * s[3], s[2] == 1 ? 0 : s[3]};
}

void Flash::TakeSink(const FlashArgs& args, Plan& plan) {
  if (!IsGiven(args.sink)) return;
  CheckFlashOperand(args, args.sink, DType::kF32, {heads});
  sink_ = PackedFloats(args.sink, Flow::kIn, plan);
}

// A slope for each head, or for each of each batch.
void Flash::TakeSlopes(const FlashArgs& args) {
  if (!args.shift.present())
    RefuseFlash(args.function, "pseType 2 and 3 need the slopes of the heads as pse");
  const Shape& s = args.shift.shape();
  const bool fits = s == Shape{heads} || s == Shape{1, heads} || s == Shape{batches, heads};
  if (!fits || args.shift.dtype() != DType::kF32) {
    Fail(kInvalidArgument, "flash-attention-operand",
         "{}: {} is {} {}; with pseType 2 and 3 it is ACL_FLOAT [{}] or [{}, {}], a slope for each head",
         args.function, args.shift.name, NameOf(args.shift.dtype()), s.ToString(), heads, batches, heads);
  }
  shift = {s.rank() == 2 && s[0] > 1 ? heads : 0, 1, 0};
  first_distance_ = args.key_start - args.query_start;
}

void Flash::TakeDrop(const FlashArgs& args, Plan& plan) {
  if (!(args.keep > 0 && args.keep <= 1)) RefuseFlash(args.function, "keepProb is above 0 and at most 1");
  if (!IsGiven(args.drop)) {
    if (args.keep < 1 && batches * rows * columns > 0)
      RefuseFlash(args.function, "keepProb is below 1, which needs dropMask");
    return;
  }
  const int64_t scores = batches * heads * rows * columns;
  first_bit_ = args.first_bit;
  if (args.drop.tensor->count() < (first_bit_ + scores + 7) / 8) {
    Fail(kInvalidArgument, "flash-attention-operand",
         "{}: {} has {} bytes; a bit for each of {} scores is wanted", args.function, args.drop.name,
         args.drop.tensor->count(), first_bit_ + scores);
  }
  drops_ = true;
  kept_factor_ = static_cast<float>(1 / args.keep);
  drop_ = PackedBytes(args.drop, plan);
}

void Flash::TakeBand(const FlashArgs& args) {
  const int64_t sparse = args.sparse, far = rows + columns + 1, corner = columns - rows;
  if (sparse < kDefault || sparse >= kSparseModes) {
    RefuseFlash(
        args.function,
        "sparseMode is from 0 to 6; 7 and 8 are for packed sequences, which are the VarLen functions'");
  }
  band.columns = columns;
  band.left = -far, band.right = far;
  if (sparse != kDefault && !IsGiven(args.forbidden) && batches * rows * columns > 0) {
    RefuseFlash(args.function, "a sparseMode other than 0 needs attenMask");
  }
  const bool banded = (sparse == kDefault && IsGiven(args.forbidden)) || sparse == kBand;
  if (banded) {
    const int64_t before = std::clamp(args.before, -far, far), after = std::clamp(args.after, -far, far);
    if (before + after < 0) RefuseFlash(args.function, "preTokens and nextTokens leave nothing between them");
    band.left = -before, band.right = after;
  }
  if (sparse == kLeftUp) band.right = 0;
  if (sparse == kRightDown || sparse == kPrefix || sparse == kPrefixPacked) band.right = corner;
  if (sparse == kBand) band.left += corner, band.right += corner;
  if (sparse == kPrefix || sparse == kPrefixPacked) {
    if (args.prefix.size() != static_cast<size_t>(batches))
      RefuseFlash(args.function, "sparseMode 5 and 6 need prefix, with a number for each batch");
    for (int64_t n : args.prefix) {
      if (n < 0 || n > columns)
        RefuseFlash(args.function, "a number in prefix is below 0 or more than the keys");
    }
    band.prefix.assign(args.prefix.begin(), args.prefix.end());
  }
  if (IsGiven(args.forbidden)) TakeForbidden(args);
}

// A mask that stands for larger ones only says that there is one: its mode says what is forbidden.
void Flash::TakeForbidden(const FlashArgs& args) {
  const Shape& s = args.forbidden.shape();
  const bool four = s.rank() == 4;
  const int64_t last[2] = {s.rank() < 2 ? 0 : s.back(1), s.rank() < 2 ? 0 : s.back(0)};
  const bool whole = args.sparse == kDefault || args.sparse == kAllSeen || args.sparse == kPrefix;
  const int64_t wanted[2] = {whole                          ? rows
                             : args.sparse == kPrefixPacked ? 3072
                                                            : 2048,
                             whole ? columns : 2048};
  bool fits = (s.rank() == 2 || four) && std::equal(last, last + 2, wanted);
  if (four) fits &= whole ? (s[0] == 1 || s[0] == batches) && (s[1] == 1 || s[1] == heads) : s[0] * s[1] == 1;
  if (!fits) {
    Fail(kInvalidArgument, "flash-attention-mask", "{}: {} has shape {}; with sparseMode {} it is [{}, {}]{}",
         args.function, args.forbidden.name, s.ToString(), args.sparse, wanted[0], wanted[1],
         whole ? ", or that for each batch (and head) in front" : "");
  }
  if (!whole) return;
  const Tensor wide = WithFourDims(*args.forbidden.tensor);
  forbidden_ = args.forbidden.binding;
  forbidden_at_ = wide.offset;
  for (int d = 0; d < 4; ++d) forbidden_step_[d] = wide.shape[d] == 1 ? 0 : wide.strides[d];
}

FlashInputs Flash::Load(const Frame& frame) const {
  FlashInputs in{query_.Load(frame),
                 key_.Load(frame),
                 value_.Load(frame),
                 shift_.Load(frame),
                 sink_.Load(frame),
                 nullptr,
                 nullptr,
                 nullptr};
  if (drops_) in.drop = drop_.Load(frame);
  if (blocks_.present()) in.blocks = reinterpret_cast<const uint8_t*>(frame.at[blocks_.binding]) + blocks_.at;
  if (forbidden_ >= 0) in.forbidden = reinterpret_cast<const uint8_t*>(frame.at[forbidden_]) + forbidden_at_;
  return in;
}

bool Flash::Sees(const FlashInputs& in, const FlashTile& tile) const {
  if (in.blocks == nullptr) return true;
  for (int64_t i = tile.row / blocks_.height; i <= (tile.row + tile.rows - 1) / blocks_.height; ++i) {
    for (int64_t j = tile.column / blocks_.width; j <= (tile.column + tile.columns - 1) / blocks_.width; ++j)
      if (Counts(in, tile, i, j)) return true;
  }
  return false;
}

void Flash::HideBlocks(const FlashInputs& in, const FlashTile& tile, int64_t row, float* scores) const {
  const int64_t last = tile.column + tile.columns, width = blocks_.width;
  for (int64_t c = tile.column, next; c < last; c = next) {
    next = std::min(last, (c / width + 1) * width);
    if (!Counts(in, tile, row / blocks_.height, c / width))
      std::fill(scores + c - tile.column, scores + next - tile.column, kNothing);
  }
}

void Flash::Scores(const FlashInputs& in, const FlashTile& tile, float* scores) const {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  const int64_t n = tile.columns, last = tile.column + n;
  Multiply({tile.rows,
            n,
            size,
            {in.query + query.At(tile.batch, tile.head, tile.row), query.row, false},
            {in.key + key.At(tile.batch, tile.head / members, tile.column), key.row, true},
            scores,
            n,
            GemmType::kF32,
            GemmType::kF32});
  for (int64_t r = 0; r < tile.rows; ++r) {
    const int64_t row = tile.row + r;
    float* to = scores + r * n;
    Shift(in, tile, row, to);
    if (in.blocks != nullptr) HideBlocks(in, tile, row, to);
    if (in.forbidden != nullptr) {
      const int64_t* step = forbidden_step_;
      ForbidScores(
          to,
          in.forbidden + tile.batch * step[0] + tile.head * step[1] + row * step[2] + tile.column * step[3],
          step[3], n);
    }
    const int64_t begin = std::clamp(band.Begin(row), tile.column, last) - tile.column,
                  end = std::clamp(band.End(tile.batch, row), tile.column, last) - tile.column;
    std::fill(to, to + std::min(begin, n), kNever);
    std::fill(to + std::max(begin, end), to + n, kNever);
  }
}

// Scales a row of the tile and adds its bias.
void Flash::Shift(const FlashInputs& in, const FlashTile& tile, int64_t row, float* scores) const {
  const float* from = in.shift == nullptr ? nullptr : in.shift + shift.At(tile.batch, tile.head, row);
  if (from == nullptr) return ScaleScores(scores, nullptr, scale, tile.columns);
  switch (shift_kind_) {
    case FlashShift::kAfterScale:
      return ScaleAdd(scores, scale, from + tile.column, tile.columns);
    case FlashShift::kBeforeScale:
      return ScaleScores(scores, from + tile.column, scale, tile.columns);
    case FlashShift::kDistance:
    case FlashShift::kDistanceRoot:
      SlopeScores(scores, scale, *from, first_distance_ + tile.column - row,
                  shift_kind_ == FlashShift::kDistanceRoot, tile.columns);
  }
}

void Flash::Drop(const FlashInputs& in, const FlashTile& tile, int64_t row, float* values) const {
  const int64_t score = ((tile.batch * heads + tile.head) * rows + tile.row + row) * columns + tile.column;
  const int64_t first = first_bit_ + score;
  DropScores(values, in.drop, first, kept_factor_, tile.columns);
}

Shape Flash::OutShape(const Operand& query_operand) const {
  Shape shape = query_operand.shape();
  shape.back(0) = shape.rank() == 3 ? heads * value_size : value_size;
  return shape;
}

void Flash::Multiply(const Gemm& gemm) {
  if (BestGemm().run(gemm)) return;
  Fail(tensor::kRuntimeFailure, "matmul-backend", "{} refused a product of {} x {} x {}", BestGemm().name,
       gemm.m, gemm.k, gemm.n);
}

}  // namespace belay::ops
