#include "ops/elementwise/pointwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "base/error.h"
#include "ops/elementwise/tiles.h"
#include "ops/half_rows.h"
#include "ops/kernels.h"
#include "ops/loop_nest.h"
#include "ops/pipeline.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/convert.h"
#include "tensor/views.h"

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
                          const Operand& out, std::span<const Operand> in, unsigned* ones) {
  const PointwiseLoop loop = compute == DType::kBool ? loops.truth
                             : compute == DType::kU8 ? loops.u8
                             : compute == DType::kI8 ? loops.i8
                                                     : nullptr;
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

struct PointwiseBody {
  static constexpr int64_t kTogether = 4096;  // bytes

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
  bool in_tiles = false;
  bool of_bytes = false;
  uint8_t byte_ones = 0;  // which operands are one byte for each row, where the loop is one of bytes
  DType memory[kMostInputs] = {};
  Tiles tiles;    // where rows are short
  LoopNest nest;  // last, because most of it is mostly empty

  void operator()(const Frame& frame) const {
    char* base[1 + kMostInputs];
    for (int k = 0; k <= inputs; ++k) {
      base[k] = bindings[k] >= 0 ? frame.at[bindings[k]] + nest.offset(k)
                                 : reinterpret_cast<char*>(const_cast<uint64_t*>(&constants[k - 1]));
    }
    if (in_tiles) {
      AllTiles(base);
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

  // Rows of a few elements would cost a call each.
  void AllTiles(char* const* base) const {
    const int64_t grain = std::max<int64_t>(1, LoopNest::kGrain * tiles.count() / nest.count());
    ParallelFor(tiles.count(), grain, [&](int64_t begin, int64_t end) {
      alignas(64) char written[kMostInputs][Tiles::kMost * 8 + Tiles::kSlack];
      const char* written_from[kMostInputs] = {};
      const void* in[kMostInputs] = {};
      for (int64_t t = begin; t < end; ++t) {
        const Tiles::Tile tile = tiles.At(nest, t);
        for (int k = 0; k < inputs; ++k) {
          in[k] = InTile(k, tile, base[k + 1] + tile.at[k + 1], written[k], &written_from[k]);
        }
        Compute(base[0] + tile.at[0], in, tile.elements);
      }
      if (stream) StreamFence();
    });
  }

  // An operand's elements in a tile, as the loop takes them: in memory or written out, perhaps for a tile
  // before.
  const void* InTile(int k, const Tiles::Tile& tile, const char* from, char* written,
                     const char** written_from) const {
    const auto bytes = static_cast<int64_t>(BytesOf(memory[k]));
    const Lane packed(memory[k], lanes[k + 1].promoted(), bytes);
    const bool as_it_is = of_bytes || packed.direct();
    if (tiles.Follows(nest, k + 1, bytes)) {
      if (as_it_is) return from;
      LoadAll(written, packed, from, tile.elements);
      return written;
    }
    if (*written_from == from) return written;
    *written_from = from;
    if (as_it_is) {
      tiles.WriteOut(written, from, nest, k + 1, tile.positions, bytes);
    } else {
      alignas(64) char unconverted[Tiles::kMost * 8 + Tiles::kSlack];
      tiles.WriteOut(unconverted, from, nest, k + 1, tile.positions, bytes);
      LoadAll(written, packed, unconverted, tile.elements);
    }
    return written;
  }

  void LoadAll(char* to, const Lane& packed, const char* from, int64_t n) const {
    for (int64_t i = 0; i < n; i += kBlock) {
      packed.Load(to + i * Size(), from + i * packed.step(), std::min(kBlock, n - i));
    }
  }

  // Bytes of what the loop takes.
  int64_t Size() const {
    return of_bytes ? 1 : static_cast<int64_t>(BytesOf(ComputeType(lanes[0].promoted())));
  }

  // A tile of the result.
  void Compute(char* to, const void* const* in, int64_t n) const {
    if (result_direct) return loop(to, in, attributes, n);
    alignas(64) char buffer[kBlock * 8];
    for (int64_t i = 0; i < n; i += kBlock) {
      const void* part[kMostInputs] = {};
      for (int k = 0; k < inputs; ++k) part[k] = static_cast<const char*>(in[k]) + i * Size();
      const int64_t m = std::min(kBlock, n - i);
      loop(buffer, part, attributes, m);
      StoreResult(to + i * lanes[0].step(), buffer, m);
    }
  }

  void StoreResult(char* to, const char* computed, int64_t m) const {
    truths ? StoreTruths(to, computed, m) : lanes[0].Store(to, computed, m, stream);
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

  // What the operand's memory holds is what the loop computes.
  bool IsOne(int k, DType memory, DType compute) const {
    return nest.step(k + 1) == 0 && memory == compute && compute == ComputeType(compute);
  }

  // Sets `in_tiles` where rows are short, or not long and better written out. Operands of one value along a
  // row, and those that the loop takes as they lie; a bit each.
  void FindTiles(unsigned ones, unsigned packed) {
    constexpr int64_t kShort = 64, kShortBytes = 192, kLong = 256, kMany = 4;
    if (nest.rank() < 2 || nest.row() > kLong || nest.count() < kMany * nest.row()) return;
    const bool as_it_lies = result_direct && (ones | packed) == (1u << inputs) - 1;
    const bool row_for_all = nest.rank() == 2 && ones == 0;
    if (nest.row() > (of_bytes ? kShortBytes : kShort) && as_it_lies && !row_for_all) return;
    for (int k = 0; k < inputs; ++k) {
      if (BytesOf(memory[k]) > 8) return;
    }
    if (!Tiles::IsPacked(nest, static_cast<int64_t>(BytesOf(result)))) return;
    tiles = Tiles(nest);
    in_tiles = true;
  }

  // Takes the loop of one value where all other operands lie as it takes them.
  void FindLoopOfOne(const PointwiseLoops& loops, DType compute, unsigned ones, unsigned packed) {
    const unsigned all = (1u << inputs) - 1;
    if (direct || in_tiles || !result_direct || compute != DType::kF32 || (ones ^ packed) != all) return;
    const PointwiseLoop of_one = ones == 1         ? loops.f32_of_first
                                 : ones == all - 1 ? loops.f32_of_rest
                                                   : nullptr;
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
      } else {
        loop(buffers[kMostInputs], in, attributes, m);
        StoreResult(dst, buffers[kMostInputs], m);
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

LoopNest NestOf(const Operand& out, std::span<const Operand> i) {
  const Shape& shape = out.tensor->shape;
  switch (i.size()) {
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

namespace {

void PlanChecked(Plan& plan, const PointwiseLoops& loops, DType compute, std::span<const Operand> in,
                 const LoopAttributes& attributes, const Operand& out);

void PlanAsTheyLie(Plan& plan, const PointwiseLoops& loops, DType compute, std::span<const Operand> in,
                   const LoopAttributes& attributes, const Operand& out) {
  PointwiseBody body;
  body.loop = LoopFor(loops, compute);
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
    body.memory[k - 1] = memory;
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
    body.of_bytes = true;
    body.byte_ones = static_cast<uint8_t>(byte_ones);
    ones = byte_ones, packed = all & ~ones;
  }
  body.result_direct = body.result_direct && !body.stream;
  body.direct = body.result_direct && packed == all;
  body.FindTiles(ones, packed);
  body.FindLoopOfOne(loops, compute, ones, packed);
  plan.SetCost(20 + static_cast<uint64_t>(body.nest.count()) / 4);
  plan.SetBody(body);
}

// Whether the operand's rows are the result's columns, and so many that they do not stay in a near cache from
// one row of the result to the next.
bool LiesAcross(const Operand& operand, const Operand& out) {
  constexpr int64_t kShort = 16, kNear = 256 * 1024;  // elements, bytes
  if (operand.tensor == nullptr || operand.shape() != out.shape()) return false;
  const Tensor &x = *operand.tensor, &y = *out.tensor;
  if (!IsPacked(y.shape, y.strides) || y.count() * static_cast<int64_t>(BytesOf(x.dtype)) < kNear)
    return false;
  const int last = y.shape.rank() - 1;
  if (y.shape[last] < kShort || x.strides[last] < kShort) return false;
  for (int d = 0; d < last; ++d) {
    if (x.strides[d] == 1 && x.shape[d] >= kShort) return true;
  }
  return false;
}

// The operand is turned first.
void PlanTurned(Plan& plan, const PointwiseLoops& loops, DType compute, std::span<const Operand> in,
                const LoopAttributes& attributes, const Operand& out, size_t across) {
  std::vector<const Operand*> tensors;
  for (const Operand& operand : in) {
    if (operand.tensor != nullptr) tensors.push_back(&operand);
  }
  const auto place =
      static_cast<size_t>(std::find(tensors.begin(), tensors.end(), &in[across]) - tensors.begin());
  PlanThrough(
      plan, tensor::PackedOf(in[across].dtype(), out.shape()), tensors, out,
      [&](Plan& part, const auto& given, const Operand& turned) {
        kernels::Copy(part, turned.dtype(), given[place], turned);
      },
      [&](Plan& part, const auto& given, const Operand& turned, const Operand& to) {
        std::vector<Operand> all(in.begin(), in.end());
        size_t next = 0;
        for (Operand& operand : all) {
          if (operand.tensor != nullptr) operand = given[next++];
        }
        all[across] = turned;
        PlanChecked(part, loops, compute, all, attributes, to);
      });
}

// One operand has the elements of the result, the other a row of them, and all are of two bytes: the row is
// widened once.
bool PlanRowBeside(Plan& plan, const PointwiseLoops& loops, DType compute, std::span<const Operand> in,
                   const LoopAttributes& attributes, const Operand& out) {
  if (in.size() != 2 || loops.gives_truths || in[0].tensor == nullptr || in[1].tensor == nullptr)
    return false;
  const size_t beside = in[0].shape() == out.shape() ? 1 : 0;
  const Operand& x = in[1 - beside];
  const Tensor& row = *in[beside].tensor;
  const int64_t n = row.count();
  if ((compute != x.dtype() && compute != DType::kF32) || x.shape() != out.shape() || n < 2 ||
      n == out.tensor->count() || row.dtype != x.dtype() || !AreHalfRows(*x.tensor, *out.tensor) ||
      !IsPacked(row.shape, row.strides))
    return false;
  int64_t behind = 1;  // of the result's dimensions that the row has
  for (int d = 0; behind < n && d < row.shape.rank(); ++d) {
    if (row.shape.back(d) != out.shape().back(d)) return false;
    behind *= row.shape.back(d);
  }
  Tensor flat = tensor::PackedOf(row.dtype, {n});
  flat.offset = row.offset;
  const Operand one[] = {{&flat, nullptr, in[beside].binding, in[beside].name}};
  if (x.binding == out.binding || IsSameView(x, out)) plan.MayLieOn(x.binding);
  PlanHalfRows(plan, {x, out, one, n},
               [&](Plan& part, const Operand& all, std::span<const Operand> floats, const Operand& y, auto) {
                 const Operand both[] = {beside == 1 ? all : floats[0], beside == 1 ? floats[0] : all};
                 PlanAsTheyLie(part, loops, DType::kF32, both, attributes, y);
               });
  return true;
}

void PlanChecked(Plan& plan, const PointwiseLoops& loops, DType compute, std::span<const Operand> in,
                 const LoopAttributes& attributes, const Operand& out) {
  if (PlanRowBeside(plan, loops, compute, in, attributes, out)) return;
  for (size_t i = 0; i < in.size() && in.size() > 1; ++i) {
    if (LiesAcross(in[i], out)) return PlanTurned(plan, loops, compute, in, attributes, out, i);
  }
  PlanAsTheyLie(plan, loops, compute, in, attributes, out);
}

}  // namespace

void PlanPointwise(Plan& plan, const PointwiseLoops& loops, DType compute, std::initializer_list<Operand> in,
                   const LoopAttributes& attributes, const Operand& out) {
  if (LoopFor(loops, compute) == nullptr) {
    Fail(tensor::kInvalidArgument, "op-dtype", "{} does not compute {}", plan.function(), NameOf(compute));
  }
  for (const Operand& operand : in) CheckFits(operand, out);
  if (!out.tensor->empty()) PlanChecked(plan, loops, compute, {in.begin(), in.size()}, attributes, out);
}

}  // namespace belay::ops
