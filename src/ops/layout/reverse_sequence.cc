#include "ops/layout/reverse_sequence.h"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/index/indices.h"
#include "ops/layout/checks.h"
#include "ops/layout/moves.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// A dimension of both tensors.
struct Pair {
  int64_t size = 1, out_step = 0, in_step = 0;  // bytes
};

Pair PairOf(const Tensor& out, const Tensor& in, int dim) {
  return {out.shape[dim], tensor::StepOf(out, dim), tensor::StepOf(in, dim)};
}

struct ReverseSequenceBody {
  Indices lengths;
  Pair seq, batch, row;                        // of `bytes` bytes each
  std::vector<int64_t> out_places, in_places;  // of what other dimensions there are
  int64_t bytes;
  int64_t offsets[2];
  int bindings[3];

  // The elements of a sequence are nearer to each other than those of the members.
  bool by_member() const { return row.size == 1 && std::abs(seq.out_step) < std::abs(batch.out_step); }

  void operator()(const Frame& frame) const {
    const std::span<const int64_t> counts = lengths.Read(frame, bindings[2]);
    for (int64_t count : counts) {
      if (count >= 0 && count <= seq.size) continue;
      Fail(kIndexFault, "op-length-range", "a sequence of {} elements has no {} to reverse", seq.size, count);
    }
    char* out = frame.at[bindings[0]] + offsets[0];
    const char* in = frame.at[bindings[1]] + offsets[1];
    const Pair &each = by_member() ? batch : seq, &inner = by_member() ? seq : batch;
    const int64_t grain = std::max<int64_t>(1, 64 * 1024 / (inner.size * row.size * bytes));
    ParallelFor(std::ssize(out_places) * each.size, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto place = static_cast<size_t>(i / each.size);
        char* to = out + out_places[place];
        const char* from = in + in_places[place];
        by_member() ? Member(to, from, counts, i % each.size) : Step(to, from, counts, i % each.size);
      }
    });
  }

  void Member(char* out, const char* in, std::span<const int64_t> counts, int64_t b) const {
    const int64_t count = counts[static_cast<size_t>(b)];
    char* to = out + b * batch.out_step;
    const char* from = in + b * batch.in_step;
    MoveRow(to, seq.out_step, from + (count - 1) * seq.in_step, -seq.in_step, count, bytes);
    MoveRow(to + count * seq.out_step, seq.out_step, from + count * seq.in_step, seq.in_step,
            seq.size - count, bytes);
  }

  // One element of the sequence, for all members.
  void Step(char* out, const char* in, std::span<const int64_t> counts, int64_t t) const {
    constexpr int64_t kSome = 256;
    int64_t sources[kSome];  // of the members, in bytes
    for (int64_t first = 0; first < batch.size; first += kSome) {
      const int64_t n = std::min(kSome, batch.size - first);
      for (int64_t b = 0; b < n; ++b) {
        const int64_t count = counts[static_cast<size_t>(first + b)];
        sources[b] = (first + b) * batch.in_step + (t < count ? count - 1 - t : t) * seq.in_step;
      }
      Members(out + t * seq.out_step + first * batch.out_step, in, sources, n);
    }
  }

  void Members(char* out, const char* in, const int64_t* sources, int64_t n) const {
    if (row.size == 1) return PickRow(out, batch.out_step, in, sources, n, bytes);
    for (int64_t b = 0; b < n; ++b)
      MoveRow(out + b * batch.out_step, row.out_step, in + sources[b], row.in_step, row.size, bytes);
  }
};

// How many elements behind both dimensions lie one after the other in both tensors: they move as one.
int64_t BlockBehind(const Tensor& out, const Tensor& in, int first) {
  int64_t count = 1;
  for (int d = out.shape.rank() - 1; d >= first; --d) {
    if (out.shape[d] != 1 && (out.strides[d] != count || in.strides[d] != count)) return 1;
    count *= out.shape[d];
  }
  return count;
}

}  // namespace

void PlanReverseSequence(Plan& plan, const Operand& x, const Operand& lengths, const Operand& out, int seq,
                         int batch) {
  CheckSameType(x, out);
  CheckShape(out, x.shape());
  if (out.tensor->empty()) return;
  const Tensor &to = *out.tensor, &from = *x.tensor;
  ReverseSequenceBody body;
  body.lengths = Indices(plan, *lengths.tensor);
  body.seq = PairOf(to, from, seq), body.batch = PairOf(to, from, batch);
  const auto element = static_cast<int64_t>(BytesOf(to.dtype));
  const int last = to.shape.rank() - 1, behind = std::max(seq, batch) + 1;
  const int64_t block = BlockBehind(to, from, behind);
  const bool rows = block == 1 && last != seq && last != batch;
  body.bytes = element * block;
  body.row = rows ? PairOf(to, from, last) : Pair{1, body.bytes, body.bytes};
  Tensor out_rest = to, in_rest = from;
  for (int dim : {seq, batch, rows ? last : seq}) out_rest.shape[dim] = in_rest.shape[dim] = 1;
  for (int dim = behind; block > 1 && dim <= last; ++dim) out_rest.shape[dim] = in_rest.shape[dim] = 1;
  body.out_places = OffsetsOf(out_rest.shape, out_rest.strides, element);
  body.in_places = OffsetsOf(in_rest.shape, in_rest.strides, element);
  body.offsets[0] = tensor::OffsetOf(to), body.offsets[1] = tensor::OffsetOf(from);
  body.bindings[0] = out.binding, body.bindings[1] = x.binding, body.bindings[2] = lengths.binding;
  plan.SetCost(50 + static_cast<uint64_t>(to.count()) / 4);
  plan.SetBody(body);
}

}  // namespace belay::ops
