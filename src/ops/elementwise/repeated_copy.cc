#include "ops/elementwise/repeated_copy.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/copy_memory.h"
#include "base/parallel.h"
#include "ops/layout/moves.h"
#include "ops/loop_nest.h"
#include "tensor/convert.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// Blocks that stand so many times one behind the other.
struct Level {
  std::vector<int64_t> sources;  // in bytes, of the blocks that differ
  int64_t times, bytes;
};

struct RepeatedCopyBody {
  std::vector<Level> levels;  // each is of a block of the one before
  LoopNest block;             // out, src: of the last level
  bool packed;                // the block, on both sides
  bool truths;                // whose bytes other than 0 become 1
  int64_t element;            // bytes
  int64_t offset;             // bytes
  int bindings[2];

  void operator()(const Frame& frame) const {
    char* out = frame.at[bindings[0]] + offset;
    char* src = frame.at[bindings[1]] + block.offset(1);
    const Level& first = levels.front();
    const int64_t all = first.times * first.bytes, grain = std::max<int64_t>(1, 256 * 1024 / all);
    ParallelFor(std::ssize(first.sources), grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        Blocks(0, out + i * all, src + first.sources[static_cast<size_t>(i)]);
    });
  }

  // One block of a level and its repetitions.
  void Blocks(size_t of_level, char* out, char* src) const {
    const Level& level = levels[of_level];
    const bool last = of_level + 1 == levels.size();
    if (last && packed) {
      CopyMemory(out, src, static_cast<size_t>(level.bytes));
    } else if (last) {
      char* base[2] = {out, src};
      block.Walk(base, 0, block.count(), [this](char** at, int64_t n) {
        MoveRow(at[0], block.step(0), at[1], block.step(1), n, element);
      });
    } else {
      const Level& next = levels[of_level + 1];
      char* to = out;
      for (int64_t source : next.sources)
        Blocks(of_level + 1, to, src + source), to += next.times * next.bytes;
    }
    if (last && truths) tensor::Convert(DType::kBool, out, DType::kBool, out, level.bytes);
    Repeat(out, level.bytes, level.times * level.bytes);
  }

  // The first `bytes` fill the whole.
  static void Repeat(char* out, int64_t bytes, int64_t whole) {
    constexpr int64_t kLong = 16 * 1024;  // bytes of a piece: it stays near
    for (int64_t done = bytes, piece = bytes; done < whole;) {
      const int64_t n = std::min(piece, whole - done);
      CopyMemory(out + done, out, static_cast<size_t>(n));
      done += n;
      if (piece < kLong) piece = done;
    }
  }

  // Takes dimensions [from, to) apart: some that differ, some that repeat. What is left is in `from` and
  // `to`.
  bool TakeLevel(Tensor& from, Tensor& to) {
    const int rank = to.shape.rank();
    int first = 0;
    while (first < rank && (to.shape[first] == 1 || from.strides[first] != 0)) ++first;
    int end = first;
    int64_t times = 1;
    while (end < rank && (to.shape[end] == 1 || from.strides[end] == 0)) times *= to.shape[end++];
    if (times < 2 || end == rank) return false;
    Tensor places = from;
    for (int d = first; d < rank; ++d) places.shape[d] = 1;
    for (int d = 0; d < end; ++d) from.shape[d] = to.shape[d] = 1;
    levels.push_back({OffsetsOf(places.shape, places.strides, element), times, to.count() * element});
    return true;
  }
};

}  // namespace

bool PlanRepeatedCopy(Plan& plan, const Operand& src, const Operand& out) {
  constexpr int64_t kLongRow = 1024, kMostBlock = 256 * 1024;  // bytes
  Tensor to = *out.tensor, from = *src.tensor;
  if (to.dtype != from.dtype || !tensor::IsPacked(to.shape, to.strides)) return false;
  from.strides = tensor::BroadcastStrides(from.shape, from.strides, to.shape);
  from.shape = to.shape;
  RepeatedCopyBody body;
  body.truths = to.dtype == DType::kBool;
  body.element = static_cast<int64_t>(BytesOf(to.dtype));
  body.offset = tensor::OffsetOf(to);
  while (body.TakeLevel(from, to)) {
  }
  if (body.levels.empty() || body.levels.front().bytes > kMostBlock) return false;
  body.block = LoopNest(to.shape, {Operand{&to}, Operand{&from}});
  if (body.block.row() * body.element >= kLongRow) return false;
  body.packed =
      body.block.has_one_level() && body.block.step(0) == body.element && body.block.step(1) == body.element;
  body.bindings[0] = out.binding, body.bindings[1] = src.binding;
  plan.SetCost(20 + static_cast<uint64_t>(out.tensor->count()) / 8);
  plan.SetBody(body);
  return true;
}

}  // namespace belay::ops
