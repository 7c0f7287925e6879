// One attention of two over other keys, by the largest score and the sum of powers of each row.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/experts/experts.h"
#include "ops/experts/rows.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"

namespace belay::ops {
namespace {

constexpr int64_t kRepeats = 8;  // a row's number stands so often

// What is known of a row of the scores, of one of the two or of both.
struct RingSide {
  Rows out, most, sum;
};

struct RingBody {
  RingSide before, now, both;
  Indices ends;  // of the sequences, where their rows lie head by head
  int ends_at = -1;
  int64_t heads = 0, rows = 0;  // of a batch, or of all sequences
  bool flat = false;            // SBH: a row of the result has all heads

  void operator()(const Frame& frame) const {
    std::span<const int64_t> last;
    if (ends_at >= 0) last = CheckedEnds(frame);
    const int64_t each = flat ? heads : 1;
    ParallelFor(both.out.count(), RowGrain(both.out.width()), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t h = 0; h < each; ++h) Merge(frame, i, h, NumberOf(last, i, h));
      }
    });
  }

  std::span<const int64_t> CheckedEnds(const Frame& frame) const {
    const std::span<const int64_t> last = ends.Read(frame, ends_at);
    int64_t before_end = 0;
    bool fits = !last.empty();
    for (const int64_t end : last) {
      fits = fits && end >= before_end && end <= rows;
      before_end = end;
    }
    if (fits && before_end == rows) return last;
    Fail(kIndexFault, "flash-attention-lengths",
         "actualSeqQlen holds the running sums of the lengths of the sequences, which never fall and end "
         "with all {} rows",
         rows);
  }

  // Where the numbers of a head of a row of the result stand.
  int64_t NumberOf(std::span<const int64_t> last, int64_t row, int64_t head) const {
    if (flat) {
      const int64_t batches = both.out.count() / rows;
      return (row % batches * heads + head) * rows + row / batches;
    }
    if (last.empty()) return row;
    const int64_t token = row / heads;
    const auto found = std::upper_bound(last.begin(), last.end(), token);
    const int64_t first = found == last.begin() ? 0 : found[-1];
    return first * heads + row % heads * (*found - first) + token - first;
  }

  void Merge(const Frame& frame, int64_t row, int64_t head, int64_t number) const {
    const float most[2] = {before.most.At(frame, number, 0), now.most.At(frame, number, 0)};
    const float largest = most[0] > most[1] || most[0] != most[0] ? most[0] : most[1];
    const float sums[2] = {before.sum.At(frame, number, 0) * std::exp(most[0] - largest),
                           now.sum.At(frame, number, 0) * std::exp(most[1] - largest)};
    const float sum = sums[0] + sums[1];
    // What sees nothing on both sides stays nothing.
    const float share[2] = {sum == 0 ? 0 : sums[0] / sum, sum == 0 ? 0 : sums[1] / sum};
    float repeated[kRepeats];
    std::fill_n(repeated, kRepeats, largest);
    both.most.Store(frame, number, repeated);
    std::fill_n(repeated, kRepeats, sum);
    both.sum.Store(frame, number, repeated);
    const int64_t size = flat ? both.out.width() / heads : both.out.width();
    alignas(64) float block[kBlock], other[kBlock];
    for (int64_t i = 0; i < size; i += kBlock) {
      const int64_t n = std::min(kBlock, size - i), at = head * size + i;
      const float *a = before.out.Load(frame, row, at, n, block), *b = now.out.Load(frame, row, at, n, other);
      alignas(64) float merged[kBlock];
      for (int64_t k = 0; k < n; ++k) merged[k] = a[k] * share[0] + b[k] * share[1];
      both.out.Store(frame, row, at, n, merged);
    }
  }
};

struct RingOperands {
  const Operand &out, &most, &sum;
};

struct RingArgs {
  RingOperands before, now, both;
  const Operand& ends;
  std::string_view layout, numbers;  // of the results, and of what belongs to rows
};

void CheckRing(const Plan& plan, const RingArgs& a) {
  if (a.layout != "SBH" && a.layout != "TND") RefuseExperts(plan, "inputLayout is SBH or TND");
  if (!a.numbers.empty() && a.numbers != "SBH" && a.numbers != "TND")
    RefuseExperts(plan, "inputSoftmaxLayout is empty, SBH or TND");
  const bool flat = a.layout == "SBH";
  CheckExpertRank(plan, a.before.out, 3, 3);
  CheckExpertRank(plan, a.before.most, flat ? 4 : 3, flat ? 4 : 3);
  const Shape &out = a.before.out.shape(), &given = a.before.most.shape();
  const Shape wanted = flat ? Shape{out[1], given[1], out[0], kRepeats} : Shape{out[0], out[1], kRepeats};
  if (flat && (given[1] < 1 || out[2] % given[1] != 0))
    RefuseExperts(plan, "the last size of prevAttnOut is not that of the heads of prevSoftmaxMax");
  for (const RingOperands* side : {&a.before, &a.now, &a.both}) {
    CheckExpertShape(plan, side->out, out);
    CheckSameType(side->out, a.before.out);
    for (const Operand* o : {&side->most, &side->sum}) CheckExpertShape(plan, *o, wanted);
  }
  if (flat) return;
  if (!a.ends.present()) RefuseExperts(plan, "inputLayout TND needs actualSeqQlen");
  CheckExpertRank(plan, a.ends, 1, 1);
}

void PlanRing(Plan& plan, const RingArgs& a) {
  CheckRing(plan, a);
  if (a.both.out.tensor->empty() && a.both.most.tensor->empty()) return;
  const auto side = [](const RingOperands& o) { return RingSide{Rows(o.out), Rows(o.most), Rows(o.sum)}; };
  RingBody body;
  body.before = side(a.before), body.now = side(a.now), body.both = side(a.both);
  body.flat = a.layout == "SBH";
  body.heads = a.both.most.shape()[1];
  body.rows = a.both.out.shape()[0];
  if (!body.flat && a.numbers != "TND")
    body.ends = Indices(plan, *a.ends.tensor), body.ends_at = a.ends.binding;
  plan.SetCost(200 + static_cast<uint64_t>(a.both.out.tensor->count()));
  plan.SetBody(body);
}

// A caller's string, or what it is when there is none.
std::string_view TextOr(const char* given, std::string_view text) {
  return given == nullptr || *given == 0 ? text : std::string_view(given);
}

template <class Arguments>
RingArgs TakeRing(const Arguments& a, const char* numbers) {
  return {.before = {a.prev_attn_out, a.prev_softmax_max, a.prev_softmax_sum},
          .now = {a.cur_attn_out, a.cur_softmax_max, a.cur_softmax_sum},
          .both = {a.attn_out_out, a.softmax_max_out, a.softmax_sum_out},
          .ends = a.actual_seq_qlen,
          .layout = TextOr(a.input_layout, "SBH"),
          .numbers = TextOr(numbers, "")};
}

}  // namespace

namespace kernels {

void RingAttentionUpdate(Plan& plan, DType, const RingAttentionUpdateArguments& a) {
  PlanRing(plan, TakeRing(a, ""));
}

void RingAttentionUpdateV2(Plan& plan, DType, const RingAttentionUpdateV2Arguments& a) {
  PlanRing(plan, TakeRing(a, a.input_softmax_layout));
}

}  // namespace kernels
}  // namespace belay::ops
