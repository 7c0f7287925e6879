#include "ops/layout/reverse_sequence.h"

#include <algorithm>
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

  void operator()(const Frame& frame) const {
    const std::span<const int64_t> counts = lengths.Read(frame, bindings[2]);
    for (int64_t count : counts) {
      if (count >= 0 && count <= seq.size) continue;
      Fail(kIndexFault, "op-length-range", "a sequence of {} elements has no {} to reverse", seq.size, count);
    }
    const int64_t grain = std::max<int64_t>(1, 64 * 1024 / (batch.size * row.size * bytes));
    ParallelFor(std::ssize(out_places) * seq.size, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        Step(frame, counts, static_cast<size_t>(i / seq.size), i % seq.size);
    });
  }

  // One element of the sequence, for all members.
  void Step(const Frame& frame, std::span<const int64_t> counts, size_t place, int64_t t) const {
    char* out = frame.at[bindings[0]] + offsets[0] + out_places[place] + t * seq.out_step;
    const char* in = frame.at[bindings[1]] + offsets[1] + in_places[place];
    for (int64_t b = 0; b < batch.size; ++b) {
      const int64_t count = counts[static_cast<size_t>(b)], from = t < count ? count - 1 - t : t;
      MoveRow(out + b * batch.out_step, row.out_step, in + b * batch.in_step + from * seq.in_step,
              row.in_step, row.size, bytes);
    }
  }
};

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
  body.bytes = static_cast<int64_t>(BytesOf(to.dtype));
  const int last = to.shape.rank() - 1;
  const bool rows = last != seq && last != batch;
  body.row = rows ? PairOf(to, from, last) : Pair{1, body.bytes, body.bytes};
  Tensor out_rest = to, in_rest = from;
  for (int dim : {seq, batch, rows ? last : seq}) out_rest.shape[dim] = in_rest.shape[dim] = 1;
  body.out_places = OffsetsOf(out_rest.shape, out_rest.strides, body.bytes);
  body.in_places = OffsetsOf(in_rest.shape, in_rest.strides, body.bytes);
  body.offsets[0] = tensor::OffsetOf(to), body.offsets[1] = tensor::OffsetOf(from);
  body.bindings[0] = out.binding, body.bindings[1] = x.binding, body.bindings[2] = lengths.binding;
  plan.SetCost(50 + static_cast<uint64_t>(to.count()) / 4);
  plan.SetBody(body);
}

}  // namespace belay::ops
