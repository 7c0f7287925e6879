#include "ops/elementwise/repeated_copy.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "ops/layout/moves.h"
#include "ops/loop_nest.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

struct RepeatedCopyBody {
  LoopNest block;                 // out, src
  int64_t element, bytes, times;  // bytes of an element and of a block
  std::vector<int64_t> sources;   // of the blocks that differ
  int64_t offset;                 // bytes
  int bindings[2];

  void operator()(const Frame& frame) const {
    char* out = frame.at[bindings[0]] + offset;
    char* src = frame.at[bindings[1]] + block.offset(1);
    const int64_t grain = std::max<int64_t>(1, 256 * 1024 / (bytes * times));
    ParallelFor(std::ssize(sources), grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Blocks(out + i * times * bytes, src + sources[static_cast<size_t>(i)]);
      }
    });
  }

  void Blocks(char* out, char* src) const {
    char* base[2] = {out, src};
    block.Walk(base, 0, block.count(), [this](char** at, int64_t n) {
      MoveRow(at[0], block.step(0), at[1], block.step(1), n, element);
    });
    constexpr int64_t kLong = 16 * 1024;  // bytes of a piece: it stays near
    const int64_t all = times * bytes;
    int64_t piece = bytes;
    for (int64_t done = bytes; done < all;) {
      const int64_t n = std::min(piece, all - done);
      std::memcpy(out + done, out, static_cast<size_t>(n));
      done += n;
      if (piece < kLong) piece = done;
    }
  }
};

}  // namespace

bool PlanRepeatedCopy(Plan& plan, const Operand& src, const Operand& out) {
  constexpr int64_t kLongRow = 1024, kMostBlock = 256 * 1024;  // bytes
  const Tensor& to = *out.tensor;
  const int rank = to.shape.rank();
  if (to.dtype != src.dtype() || to.dtype == DType::kBool || !tensor::IsPacked(to.shape, to.strides))
    return false;
  Tensor from = *src.tensor;
  from.strides = tensor::BroadcastStrides(from.shape, from.strides, to.shape);
  from.shape = to.shape;
  // Dimensions [first, end) repeat: the outermost that do.
  int first = 0;
  while (first < rank && (to.shape[first] == 1 || from.strides[first] != 0)) ++first;
  int end = first;
  int64_t times = 1;
  while (end < rank && (to.shape[end] == 1 || from.strides[end] == 0)) times *= to.shape[end++];
  RepeatedCopyBody body;
  body.element = static_cast<int64_t>(BytesOf(to.dtype));
  Tensor in_block = from, out_block = to;
  for (int d = 0; d < end; ++d) in_block.shape[d] = out_block.shape[d] = 1;
  body.bytes = out_block.count() * body.element;
  if (end == rank || times < 2 || body.bytes > kMostBlock) return false;
  body.block = LoopNest(out_block.shape, {Operand{&out_block}, Operand{&in_block}});
  if (body.block.row() * body.element >= kLongRow) return false;
  body.times = times;
  Tensor places = from;
  for (int d = first; d < rank; ++d) places.shape[d] = 1;
  body.sources = OffsetsOf(places.shape, places.strides, body.element);
  body.offset = tensor::OffsetOf(to);
  body.bindings[0] = out.binding, body.bindings[1] = src.binding;
  plan.SetCost(20 + static_cast<uint64_t>(to.count()) / 8);
  plan.SetBody(body);
  return true;
}

}  // namespace belay::ops
