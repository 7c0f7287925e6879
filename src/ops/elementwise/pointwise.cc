#include "ops/elementwise/pointwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "ops/loop_nest.h"
#include "ops/pipeline.h"
#include "tensor/codes.h"
#include "tensor/convert.h"

namespace belay::ops {
namespace {

PointwiseLoop LoopFor(const PointwiseLoops& loops, DType compute) {
  switch (ComputeType(compute)) {
    case DType::kF32:
      return loops.f32;
    case DType::kF64:
      return loops.f64;
    case DType::kI64:
      return compute == DType::kU64 ? loops.u64 : loops.i64;
    case DType::kC64:
      return compute == DType::kC64 ? loops.c64 : nullptr;
    default:
      return loops.i32;
  }
}

// The loop over bytes, where the result is rows of them and each operand too, or one for a row (a bit of
// `ones`); else null.
PointwiseLoop LoopOfBytes(const PointwiseLoops& loops, DType compute, const LoopNest& nest,
                          const Operand& out, std::initializer_list<Operand> in, unsigned* ones) {
  const bool as_u8 = compute == DType::kU8 || (compute == DType::kI8 && loops.wraps);
  const PointwiseLoop loop = compute == DType::kBool ? loops.truth : as_u8 ? loops.u8 : nullptr;
  const bool fits = out.dtype() == compute || (loops.gives_truths && out.dtype() == DType::kBool);
  if (loop == nullptr || nest.step(0) != 1 || !fits) return nullptr;
  int k = 0;
  *ones = 0;
  for (const Operand& operand : in) {
    const int64_t step = nest.step(++k);
    if (operand.tensor == nullptr || operand.dtype() != compute || (step != 1 && step != 0)) return nullptr;
    if (step == 0) *ones |= 1u << (k - 1);
  }
  return loop;
}

// How an operand lies beside short rows of results.
enum class Beside : uint8_t {
  kFollows,  // its rows follow each other
  kShared,   // one row serves all
  kOneEach,  // one value for each row
};

// v, v, v, ... of n elements for each of `rows` values that lie `step` bytes apart. A few bytes behind them
// are written, too.
template <class T>
void SpreadOut(char* to, const char* from, int64_t step, int64_t rows, int64_t n) {
  constexpr int64_t kEach = 16 / sizeof(T);
  for (int64_t r = 0; r < rows; ++r) {
    T value, some[kEach];
    std::memcpy(&value, from + r * step, sizeof(T));
    std::fill_n(some, kEach, value);
    for (int64_t i = 0; i < n; i += kEach) {
      std::memcpy(to + (r * n + i) * static_cast<int64_t>(sizeof(T)), some, sizeof(some));
    }
  }
}

struct PointwiseBody {
  static constexpr int64_t kTogether = 1024, kSlack = 16;  // elements, bytes

  Lane lanes[1 + kMostInputs];  // of out, then of the operands
  PointwiseLoop loop;
  LoopAttributes attributes;
  int16_t bindings[1 + kMostInputs];  // -1: the constant
  uint64_t constants[kMostInputs];    // scalar operands in the compute type
  int8_t inputs;
  bool stream = false;
  bool direct = false;         // the loop takes all operands as they lie in memory
  bool truths = false;         // the loop gives bytes
  bool result_direct = false;  // the loop writes the result's memory
  DType result;
  bool short_rows = false;
  uint8_t byte_ones = 0;  // which operands are one byte for each row, where the loop is one of bytes
  Beside beside[kMostInputs] = {};    // where rows are short
  uint8_t element[kMostInputs] = {};  // bytes
  LoopNest nest;                      // last, because most of it is mostly empty

  void operator()(const Frame& frame) const {
    char* base[1 + kMostInputs];
    for (int k = 0; k <= inputs; ++k) {
      base[k] = bindings[k] >= 0 ? frame.at[bindings[k]] + nest.offset(k)
                                 : reinterpret_cast<char*>(const_cast<uint64_t*>(&constants[k - 1]));
    }
    if (short_rows) {
      RowsTogether(base);
    } else if (byte_ones != 0) {
      nest.WalkAll(
          base, [this](char** at, int64_t n) { RowOfBytes(at, n); }, [] {});
    } else if (direct) {
      nest.WalkAll(
          base,
          [this](char** at, int64_t n) {
            const void* in[kMostInputs] = {};
            for (int k = 0; k < inputs; ++k) in[k] = at[k + 1];
            loop(at[0], in, attributes, n);
          },
          [] {});
    } else {
      nest.WalkAll(
          base, [this](char** at, int64_t n) { Row(at, n); },
          [this] {
            if (stream) StreamFence();
          });
    }
  }

  // Rows of a few elements would cost a call each: what repeats is written out for many rows at a time.
  void RowsTogether(char* const* base) const {
    const int64_t row = nest.row();
    const LoopNest rows = nest.OfRows();
    ParallelFor(rows.count(), std::max<int64_t>(1, LoopNest::kGrain / row), [&](int64_t begin, int64_t end) {
      rows.Walk(base, begin, end, [this](char** at, int64_t n) { TheseTogether(at, n); });
    });
  }

  void TheseTogether(char* const* at, int64_t rows) const {
    alignas(64) char written[kMostInputs][kTogether * 8 + kSlack];
    const void* in[kMostInputs] = {};
    const int64_t row = nest.row(), together = std::min(kTogether / row, rows);
    for (int k = 0; k < inputs; ++k) {
      const int64_t bytes = row * nest.step(k + 1);
      for (int64_t r = 0; beside[k] == Beside::kShared && r < together; ++r) {
        std::memcpy(written[k] + r * bytes, at[k + 1], static_cast<size_t>(bytes));
      }
      in[k] = written[k];
    }
    for (int64_t r = 0; r < rows; r += together) {
      const int64_t some = std::min(together, rows - r);
      for (int k = 0; k < inputs; ++k) {
        const char* from = at[k + 1] + r * nest.row_step(k + 1);
        if (beside[k] == Beside::kFollows) in[k] = from;
        if (beside[k] == Beside::kOneEach) WriteOut(written[k], from, k, some);
      }
      loop(at[0] + r * row * nest.step(0), in, attributes, some * row);
    }
  }

  // Bytes that stand for a whole row are written out for a part of it.
  void RowOfBytes(char* const* at, int64_t n) const {
    alignas(64) char written[kMostInputs][kTogether];
    const void* in[kMostInputs] = {};
    for (int k = 0; k < inputs; ++k) {
      if ((byte_ones >> k & 1) == 0) continue;
      std::memset(written[k], *at[k + 1], static_cast<size_t>(std::min(kTogether, n)));
      in[k] = written[k];
    }
    for (int64_t i = 0; i < n; i += kTogether) {
      for (int k = 0; k < inputs; ++k) {
        if ((byte_ones >> k & 1) == 0) in[k] = at[k + 1] + i;
      }
      loop(at[0] + i, in, attributes, std::min(kTogether, n - i));
    }
  }

  void WriteOut(char* to, const char* from, int k, int64_t rows) const {
    const int64_t step = nest.row_step(k + 1), row = nest.row();
    if (element[k] == 1) return SpreadOut<uint8_t>(to, from, step, rows, row);
    element[k] == 4 ? SpreadOut<uint32_t>(to, from, step, rows, row)
                    : SpreadOut<uint64_t>(to, from, step, rows, row);
  }

  // What the operand's memory holds is what the loop computes.
  bool IsOne(int k, DType memory, DType compute) const {
    return nest.step(k + 1) == 0 && memory == compute && compute == ComputeType(compute);
  }

  // Sets `short_rows` where that helps. Operands of one value along a row, and those that the loop takes as
  // they lie; a bit each.
  void FindShortRows(unsigned ones, unsigned packed) {
    constexpr int64_t kShort = 64, kMany = 4;
    const int64_t most = nest.has_two_levels() ? kTogether / 4 : kShort;
    if (!result_direct || nest.rows() < kMany || nest.row() > most || !nest.rows_follow(0)) return;
    bool some = false;
    for (int k = 0; k < inputs; ++k) {
      const bool one = (ones >> k & 1) != 0;
      if (one ? nest.row() > kShort : (packed >> k & 1) == 0) return;
      if (!one && !nest.repeats_row(k + 1) && !nest.rows_follow(k + 1)) return;
      beside[k] = one ? Beside::kOneEach : nest.repeats_row(k + 1) ? Beside::kShared : Beside::kFollows;
      some = some || beside[k] != Beside::kFollows;
    }
    short_rows = some;
  }

  // Takes the loop of one value where all other operands lie as it takes them.
  void FindLoopOfOne(const PointwiseLoops& loops, DType compute, unsigned ones, unsigned packed) {
    if (direct || short_rows || !result_direct || compute != DType::kF32 || inputs != 2) return;
    if ((ones ^ packed) != 3) return;
    const PointwiseLoop of_one = ones == 1 ? loops.f32_of_first : ones == 2 ? loops.f32_of_second : nullptr;
    if (of_one != nullptr) loop = of_one, direct = true;
  }

  void Row(char** at, int64_t n) const {
    alignas(64) char buffers[1 + kMostInputs][kBlock * 8];
    const void* in[kMostInputs] = {};
    for (int64_t i = 0; i < n; i += kBlock) {
      int64_t m = n - i < kBlock ? n - i : kBlock;
      for (int k = 0; k < inputs; ++k) {
        const Lane& lane = lanes[k + 1];
        if (lane.repeats() && i != 0) continue;  // the buffer still holds the value
        in[k] = lane.Load(buffers[k], at[k + 1] + i * lane.step(), m);
      }
      char* dst = at[0] + i * lanes[0].step();
      if (result_direct && !stream) {
        loop(dst, in, attributes, m);
      } else if (truths) {
        loop(buffers[kMostInputs], in, attributes, m);
        StoreTruths(dst, buffers[kMostInputs], m);
      } else {
        loop(buffers[kMostInputs], in, attributes, m);
        lanes[0].Store(dst, buffers[kMostInputs], m, stream);
      }
    }
  }

  void StoreTruths(char* to, const void* bytes, int64_t m) const {
    alignas(64) char converted[kBlock * 16];
    const size_t size = BytesOf(result);
    if (nest.step(0) == static_cast<int64_t>(size))
      return tensor::Convert(result, to, DType::kBool, bytes, m);
    tensor::Convert(result, converted, DType::kBool, bytes, m);
    tensor::Scatter(to, nest.step(0), converted, m, size);
  }
};

// The scalar in the compute type, by way of the type that the tensors are computed in where that is
// an integer type: there a scalar wraps as an element would.
uint64_t Constant(const Scalar& scalar, DType compute) {
  uint64_t value = 0;
  Convert(ComputeType(compute), &value, scalar.dtype(), scalar.data(), 1);
  return value;
}

void CheckFits(const Operand& operand, const Operand& out) {
  if (operand.tensor == nullptr || BroadcastsTo(operand.tensor->shape, out.tensor->shape)) [[likely]]
    return;
  Fail(tensor::kInvalidArgument, "op-broadcast",
       "{} has the shape {}, which does not broadcast to the result's, {}", operand.name,
       operand.shape().ToString(), out.shape().ToString());
}

void SetOperand(PointwiseBody& body, int k, const Operand& operand, DType compute) {
  body.bindings[k] = static_cast<int16_t>(operand.binding);
  if (operand.tensor != nullptr) {
    body.lanes[k] = Lane(operand.dtype(), compute, body.nest.step(k));
  } else {
    body.constants[k - 1] = Constant(*operand.scalar, compute);
    body.lanes[k] = Lane(ComputeType(compute), ComputeType(compute), 0);
  }
}

LoopNest NestOf(const Operand& out, std::initializer_list<Operand> in) {
  const Operand* i = in.begin();
  const Shape& shape = out.tensor->shape;
  switch (in.size()) {
    case 1:
      return LoopNest(shape, {out, i[0]});
    case 2:
      return LoopNest(shape, {out, i[0], i[1]});
    default:
      return LoopNest(shape, {out, i[0], i[1], i[2]});
  }
}

}  // namespace

LoopAttributes::LoopAttributes(std::initializer_list<double> values) {
  int k = 0;
  for (double value : values) {
    real[k] = value;
    integer[k++] = tensor::ToInteger(value);
  }
}

LoopAttributes::LoopAttributes(std::initializer_list<const Scalar*> values) {
  int k = 0;
  for (const Scalar* value : values) {
    real[k] = value->ToDouble();
    imaginary[k] = value->Imaginary();
    integer[k++] = value->ToInt();
  }
}

void PlanPointwise(Plan& plan, const PointwiseLoops& loops, DType compute, std::initializer_list<Operand> in,
                   const LoopAttributes& attributes, const Operand& out) {
  PointwiseBody body;
  body.loop = LoopFor(loops, compute);
  if (body.loop == nullptr) {
    Fail(tensor::kInvalidArgument, "op-dtype", "{} does not compute {}", plan.function(), NameOf(compute));
  }
  for (const Operand& operand : in) CheckFits(operand, out);
  if (out.tensor->empty()) return;
  body.nest = NestOf(out, in);
  body.attributes = attributes;
  body.inputs = static_cast<int8_t>(in.size());
  SetOperand(body, 0, out, compute);
  const auto result_bytes = static_cast<int64_t>(BytesOf(out.dtype()));
  body.result = out.dtype();
  body.truths = loops.gives_truths && ComputeType(compute) != DType::kC64;
  body.result_direct = body.truths ? result_bytes == 1 && body.nest.step(0) == 1 : body.lanes[0].direct();
  bool in_place = false;
  unsigned ones = 0, packed = 0, all = (1u << in.size()) - 1;
  int k = 0;
  for (const Operand& operand : in) {
    SetOperand(body, ++k, operand, compute);
    if (body.lanes[k].direct()) packed |= 1u << (k - 1);
    const DType memory = operand.tensor != nullptr ? operand.dtype() : ComputeType(compute);
    if (body.IsOne(k - 1, memory, compute)) ones |= 1u << (k - 1);
    body.element[k - 1] = static_cast<uint8_t>(BytesOf(memory));
    if (IsSameView(operand, out)) plan.MayLieOn(operand.binding);
    in_place = in_place || (operand.tensor != nullptr &&
                            (out.binding == operand.binding || out.tensor->data == operand.tensor->data));
  }
  body.stream = !in_place && !body.truths && body.nest.count() * result_bytes >= kStreamBytes &&
                body.nest.step(0) == result_bytes;
  unsigned byte_ones = 0;
  if (const PointwiseLoop bytes_loop = LoopOfBytes(loops, compute, body.nest, out, in, &byte_ones);
      bytes_loop != nullptr && !body.stream) {
    body.loop = bytes_loop;
    body.result_direct = true;
    body.byte_ones = static_cast<uint8_t>(byte_ones);
    ones = byte_ones, packed = all & ~ones;
  }
  body.result_direct = body.result_direct && !body.stream;
  body.direct = body.result_direct && packed == all;
  body.FindShortRows(ones, packed);
  body.FindLoopOfOne(loops, compute, ones, packed);
  plan.SetCost(20 + static_cast<uint64_t>(body.nest.count()) / 4);
  plan.SetBody(body);
}

}  // namespace belay::ops
