// Rows of tokens laid out expert by expert, for inference: expanded, counted, quantised on the way.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/experts/experts.h"
#include "ops/experts/row_loops.h"
#include "ops/experts/rows.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

enum CountsAs : int64_t { kSums, kCounts, kNumbered, kNoCounts };
enum QuantMode : int64_t { kNotQuantised = -1, kStatic = 0, kDynamicRows = 1 };

struct RouteBody {
  Rows x, scale, shift, expanded, scale_out;
  Indices experts;
  WholeOut row_idx, counts, before;
  Scratch<Placed> order;
  Scratch<int64_t> slots, found;  // the copy in each row of the result, or -1; copies of each expert
  PieceScratch<float> room;
  int experts_at;
  int64_t top_k, first, last;  // the experts that count
  int64_t capacity;            // rows of each expert, or 0: one after another
  CountsAs counted;
  QuantMode quant;
  bool scatter, uncounted;  // uncounted: nobody asks how many copies each expert has

  void operator()(const Frame& frame) const {
    Placed* placed = order.At(frame);
    const std::span<int64_t> chosen = experts.Read(frame, experts_at);
    int64_t active = 0;  // copies for experts that count; the others come last
    for (int64_t& expert : chosen) {
      active += expert >= first && expert < last;
      if (expert < first) expert = std::numeric_limits<int32_t>::max();
    }
    SortPlaces(chosen, placed);
    int64_t *slot = slots.At(frame), *count = found.At(frame);
    std::fill_n(slot, slots.count(), int64_t{-1});
    std::fill_n(count, found.count(), int64_t{0});
    for (int64_t i = 0; i < active; ++i) {
      if (uncounted) {
        if (i < slots.count()) slot[i] = placed[i].place;
        continue;
      }
      int64_t& of_expert = count[placed[i].value - first];
      const bool kept = capacity == 0 ? i < slots.count() : of_expert < capacity;
      if (kept) slot[capacity == 0 ? i : placed[i].value * capacity + of_expert] = placed[i].place;
      ++of_expert;
    }
    WriteRowIdx(frame, placed, active, slot);
    WriteCounts(frame, count);
    if (slots.count() == 0) return;
    room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
      for (int64_t row = begin; row < end; ++row) Row(frame, row, slot[row], chosen, mine);
    });
  }

  void WriteRowIdx(const Frame& frame, const Placed* placed, int64_t active, const int64_t* slot) const {
    if (scatter) {
      for (int64_t i = 0; i < row_idx.count(); ++i) row_idx.Set(frame, i, placed[i].place);
      return;
    }
    for (int64_t i = 0; i < row_idx.count(); ++i) row_idx.Set(frame, i, -1);
    if (capacity == 0) {
      for (int64_t i = 0; i < active; ++i) row_idx.Set(frame, placed[i].place, i);
      return;
    }
    for (int64_t i = 0; i < slots.count(); ++i) {
      if (slot[i] >= 0) row_idx.Set(frame, slot[i], i);
    }
  }

  void WriteCounts(const Frame& frame, const int64_t* count) const {
    if (before.present()) {
      for (int64_t i = 0; i < found.count(); ++i) before.Set(frame, i, count[i]);
    }
    if (counted == kNumbered) {
      int64_t pair = 0;
      for (int64_t i = 0; i < found.count(); ++i) {
        if (count[i] == 0) continue;
        counts.Set(frame, pair * 2, first + i);
        counts.Set(frame, pair++ * 2 + 1, count[i]);
      }
      for (int64_t i = pair * 2; i < counts.count(); ++i) counts.Set(frame, i, 0);
    }
    if (counted != kSums && counted != kCounts) return;
    int64_t sum = 0;
    for (int64_t i = 0; i < found.count(); ++i) {
      sum += count[i];
      counts.Set(frame, i, counted == kSums ? sum : count[i]);
    }
  }

  void Row(const Frame& frame, int64_t row, int64_t copy, std::span<const int64_t> chosen,
           float* values) const {
    if (copy < 0) {  // rows beyond the last are nobody's
      if (capacity > 0) expanded.Clear(frame, row);
      if (capacity > 0 && scale_out.present()) scale_out.Set(frame, row, 0, 0);
      return;
    }
    const int64_t token = copy / top_k;
    if (quant == kNotQuantised) {
      expanded.Copy(frame, row, x, token);
      if (scale_out.present()) scale_out.Set(frame, row, 0, scale.At(frame, token, 0));
      return;
    }
    const float* from = x.Load(frame, token, values);
    if (from != values) std::copy_n(from, x.width(), values);
    float step = 0;
    if (quant == kStatic) {
      const float by = scale.At(frame, 0, 0), plus = shift.At(frame, 0, 0);
      for (int64_t i = 0; i < x.width(); ++i) values[i] = values[i] * by + plus;
    } else {
      step = Divide(frame, scale.count() == 1 ? 0 : chosen[static_cast<size_t>(copy)] - first, values);
    }
    RoundToBytes(values, x.width());
    expanded.Store(frame, row, values);
    if (scale_out.present()) scale_out.Set(frame, row, 0, step);
  }

  // Divides a row, smoothed where that is asked for, by what makes its largest number 127.
  float Divide(const Frame& frame, int64_t expert, float* values) const {
    const int64_t n = x.width();
    if (scale.present()) {
      const float* by = scale.Load(frame, expert, values + n);
      for (int64_t i = 0; i < n; ++i) values[i] *= by[i];
    }
    return DivideByLargest(values, n);
  }
};

// The first version: the caller numbers the copies, column by column.
struct NumberedRouteBody {
  Rows x, expanded;
  Indices experts, copies;
  WholeOut row_idx, expert_out;
  Scratch<Placed> order;
  int experts_at, copies_at;

  void operator()(const Frame& frame) const {
    Placed* placed = order.At(frame);
    SortPlaces(experts.Read(frame, experts_at), placed);
    const std::span<const int64_t> named = copies.Places(frame, copies_at, order.count());
    for (int64_t i = 0; i < order.count(); ++i) {
      expert_out.Set(frame, i, placed[i].value);
      placed[i].place = named[static_cast<size_t>(placed[i].place)];
      row_idx.Set(frame, placed[i].place, i);
    }
    ParallelFor(expanded.count(), RowGrain(x.width()), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) expanded.Copy(frame, i, x, placed[i].place % x.count());
    });
  }
};

// What all versions are given.
struct RouteArgs {
  const Operand &x, &experts;
  int64_t active, capacity, expert_num;
  bool drop;
  const Operand &expanded, &row_idx;
};

template <class Arguments>
RouteArgs TakeRoute(const Arguments& a) {
  return {.x = a.x,
          .experts = a.expert_idx,
          .active = a.active_num,
          .capacity = a.expert_capacity,
          .expert_num = a.expert_num,
          .drop = a.drop_pad_mode == 1,
          .expanded = a.expanded_x_out,
          .row_idx = a.expanded_row_idx_out};
}

int64_t RowsOf(const RouteArgs& a) {
  const int64_t copies = a.experts.tensor->count();
  if (a.drop) return a.expert_num * a.capacity;
  return a.active > 0 ? std::min(a.active, copies) : copies;
}

void CheckRoute(const Plan& plan, const RouteArgs& a, bool quantised) {
  CheckExpertRank(plan, a.x, 2, 2);
  CheckExpertRank(plan, a.experts, 2, 2);
  const int64_t copies = a.experts.tensor->count();
  if (a.x.shape()[0] != a.experts.shape()[0])
    RefuseExperts(plan, "x and expertIdx have other numbers of rows");
  if (a.drop && (a.capacity < 1 || a.expert_num < 1))
    RefuseExperts(plan, "dropPadMode 1 needs expertCapacity and expertNum above 0");
  if (a.drop) {
    CheckExpertShape(plan, a.expanded, {a.expert_num, a.capacity, a.x.shape()[1]});
  } else {
    CheckExpertShape(plan, a.expanded, {RowsOf(a), a.x.shape()[1]});
  }
  if (!quantised) CheckSameType(a.x, a.expanded);
  CheckExpertShape(plan, a.row_idx, {copies});
}

RouteBody RouteParts(Plan& plan, const RouteArgs& a, int64_t first, int64_t last, bool quantised,
                     bool counted) {
  CheckRoute(plan, a, quantised);
  RouteBody body{};
  const int64_t copies = a.experts.tensor->count(), rows = RowsOf(a), width = a.x.shape()[1];
  body.x = Rows(a.x), body.expanded = Rows(a.expanded), body.row_idx = WholeOut(a.row_idx);
  body.experts = Indices(plan, *a.experts.tensor), body.experts_at = a.experts.binding;
  body.order = Scratch<Placed>(plan, copies), body.slots = Scratch<int64_t>(plan, rows);
  body.uncounted = !counted;
  if (counted) body.found = Scratch<int64_t>(plan, std::max<int64_t>(last - first, 0));
  body.room = PieceScratch<float>(plan, rows, RowGrain(width), quantised ? 2 * width : 0);
  body.top_k = std::max<int64_t>(a.experts.shape()[1], 1), body.first = first, body.last = last;
  body.capacity = a.drop ? a.capacity : 0;
  body.counted = kNoCounts, body.quant = kNotQuantised;
  plan.SetCost(500 + static_cast<uint64_t>(copies) * 40 +
               static_cast<uint64_t>(a.expanded.tensor->count()) / 4);
  return body;
}

struct CountOperands {
  int64_t drop_pad_mode, flag;
  bool before_flag;
  const Operand &counts, &before;
};

template <class Arguments>
CountOperands TakeCounts(const Arguments& a) {
  return {.drop_pad_mode = a.drop_pad_mode,
          .flag = a.expert_tokens_count_or_cumsum_flag,
          .before_flag = a.expert_tokens_before_capacity_flag,
          .counts = a.expert_tokens_count_or_cumsum_out,
          .before = a.expert_tokens_before_capacity_out};
}

// The second version, with or without quantised rows. Without a number of experts all count.
RouteBody CountedRoute(Plan& plan, const RouteArgs& a, const CountOperands& o, bool quantised) {
  if (o.drop_pad_mode != 0 && !a.drop) RefuseExperts(plan, "dropPadMode is 0 or 1");
  if (o.flag < 0 || o.flag > 2) RefuseExperts(plan, "expertTokensCountOrCumsumFlag is from 0 to 2");
  if (a.active < 0 || a.expert_num < 0) RefuseExperts(plan, "activeNum or expertNum is negative");
  const bool counts = o.flag != 0 && !a.drop, before = o.before_flag && a.drop;
  if (counts && (a.expert_num < 1 || !o.counts.present()))
    RefuseExperts(plan, "counts are asked for, but expertNum is 0 or expertTokensCountOrCumsumOut null");
  if (before && !o.before.present())
    RefuseExperts(plan, "expertTokensBeforeCapacityFlag is true, but its result is null");
  RouteBody body = RouteParts(plan, a, 0, a.expert_num, quantised, counts || a.drop);
  if (a.expert_num == 0) body.last = std::numeric_limits<int64_t>::max();
  if (counts) CheckExpertShape(plan, o.counts, {a.expert_num});
  if (counts) body.counts = WholeOut(o.counts), body.counted = o.flag == 1 ? kSums : kCounts;
  if (before) CheckExpertShape(plan, o.before, {a.expert_num});
  if (before) body.before = WholeOut(o.before);
  return body;
}

struct QuantOperands {
  const Operand &scale, &shift, &scale_out;
  int64_t mode;
};

// Where the scales of rows come from and go to.
void TakeQuant(Plan& plan, const RouteArgs& a, const QuantOperands& q, RouteBody* body) {
  const int64_t width = a.x.shape()[1], experts = body->last - body->first;
  const Shape rows{RowsOf(a)};
  body->quant = static_cast<QuantMode>(q.mode);
  if (q.mode != kStatic && q.shift.present()) RefuseExperts(plan, "offset is for quantMode 0");
  if (q.mode != kNotQuantised && (a.x.dtype() == DType::kI8 || a.expanded.dtype() != DType::kI8))
    RefuseExperts(plan, "quantMode 0 and 1 make INT8 from floats");
  if (q.mode == kStatic) {
    if (!q.scale.present() || !q.shift.present()) RefuseExperts(plan, "quantMode 0 needs scale and offset");
    CheckExpertShape(plan, q.scale, {1});
    CheckExpertShape(plan, q.shift, {1});
    body->scale = Rows(q.scale), body->shift = Rows(q.shift);
    return;
  }
  if (q.mode == kNotQuantised) {
    if (!q.scale.present()) return;
    CheckExpertShape(plan, q.scale, {a.x.shape()[0]});
    body->scale = Rows(q.scale, true);
  } else if (q.scale.present()) {
    if (q.scale.shape() != Shape{1, width}) CheckExpertShape(plan, q.scale, {experts, width});
    body->scale = Rows(q.scale);
  }
  if (!q.scale_out.present()) RefuseExperts(plan, "expandedScaleOut is null");
  CheckExpertShape(plan, q.scale_out, rows);
  body->scale_out = Rows(q.scale_out, true);
}

// out[token] = skip1 + skip2 + the sum of scales * (rows + bias) over its copies.
struct FinalizeBody {
  Rows rows, skips[2], bias, scales, out;
  Indices places, experts;
  int places_at, experts_at;
  int64_t top_k;
  bool by_columns;

  void operator()(const Frame& frame) const {
    const std::span<const int64_t> at = places.Read(frame, places_at);
    for (const int64_t place : at) {
      if (place >= -1 && place < rows.count()) continue;
      Fail(kIndexFault, "op-index-range", "index {} is beyond a dimension of {} elements", place,
           rows.count());
    }
    std::span<const int64_t> expert;
    if (bias.present()) expert = experts.Places(frame, experts_at, bias.count());
    ParallelFor(out.count(), RowGrain(out.width() * top_k), [&](int64_t begin, int64_t end) {
      for (int64_t token = begin; token < end; ++token) Token(frame, token, at, expert);
    });
  }

  void Token(const Frame& frame, int64_t token, std::span<const int64_t> at,
             std::span<const int64_t> expert) const {
    alignas(64) float sum[kBlock], block[kBlock], added[kBlock];
    const RowLoops& loops = BestRowLoops();
    for (int64_t first = 0; first < out.width(); first += kBlock) {
      const int64_t n = std::min(kBlock, out.width() - first);
      std::fill_n(sum, n, 0.0f);
      for (const Rows& skip : skips) {
        if (!skip.present()) continue;
        const float* from = skip.Load(frame, token, first, n, block);
        loops.add(sum, sum, from, n);
      }
      for (int64_t k = 0; k < top_k; ++k) {
        const int64_t row = at[static_cast<size_t>(by_columns ? k * out.count() + token : token * top_k + k)];
        const float factor = scales.present() ? scales.At(frame, token, k) : 1;
        if (row >= 0) {
          const float* from = rows.Load(frame, row, first, n, block);
          loops.add_times(sum, from, factor, n);
        }
        if (!bias.present()) continue;
        const float* from = bias.Load(frame, expert[static_cast<size_t>(token * top_k + k)], first, n, added);
        loops.add_times(sum, from, factor, n);
      }
      out.Store(frame, token, first, n, sum);
    }
  }
};

struct FinalizeArgs {
  const Operand &rows, &places, &skip, &other_skip, &bias, &scales, &experts;
  int64_t mode;
  const Operand& out;
};

void PlanFinalize(Plan& plan, const FinalizeArgs& a) {
  if (a.mode < 0 || a.mode > 3) RefuseExperts(plan, "dropPadMode is from 0 to 3");
  const bool drops = a.mode == 1 || a.mode == 3;
  CheckExpertRank(plan, a.rows, drops ? 3 : 2, drops ? 3 : 2);
  CheckExpertRank(plan, a.places, 1, 1);
  if (a.scales.present()) CheckExpertRank(plan, a.scales, 2, 2);
  const int64_t top_k = a.scales.present() ? a.scales.shape()[1] : 1, copies = a.places.shape()[0];
  if (top_k < 1 || copies % top_k != 0)
    RefuseExperts(plan, "expandedRowIdx has another number of elements than scales");
  const Shape shape{copies / top_k, a.rows.shape().back(0)};
  CheckSameType(a.rows, a.out);
  CheckExpertShape(plan, a.out, shape);
  if (a.scales.present()) CheckExpertShape(plan, a.scales, {shape[0], top_k});
  for (const Operand* skip : {&a.skip, &a.other_skip}) {
    if (skip->present()) CheckExpertShape(plan, *skip, shape);
  }
  if (!a.skip.present() && a.other_skip.present())
    RefuseExperts(plan, "the second tensor to add is given without the first");
  FinalizeBody body{};
  if (a.bias.present()) {
    if (!a.experts.present()) RefuseExperts(plan, "a bias needs the experts of the rows");
    CheckExpertRank(plan, a.bias, 2, 2);
    CheckExpertShape(plan, a.bias, {a.bias.shape()[0], shape[1]});
    body.bias = Rows(a.bias), body.experts = Indices(plan, *a.experts.tensor);
    body.experts_at = a.experts.binding;
  }
  if (a.experts.present()) CheckExpertShape(plan, a.experts, {shape[0], top_k});
  if (a.out.tensor->empty()) return;
  body.rows = Rows(a.rows), body.skips[0] = Rows(a.skip), body.skips[1] = Rows(a.other_skip);
  body.scales = Rows(a.scales), body.out = Rows(a.out), body.places = Indices(plan, *a.places.tensor);
  body.places_at = a.places.binding, body.top_k = top_k, body.by_columns = a.mode < 2;
  plan.SetCost(500 + static_cast<uint64_t>(a.out.tensor->count() * (top_k + 1)) / 4);
  plan.SetBody(body);
}

struct ExpertSumsBody {
  Indices experts;
  int binding;
  WholeOut out;
  Scratch<int64_t> counts;

  void operator()(const Frame& frame) const {
    int64_t *count = counts.At(frame), sum = 0;
    std::fill_n(count, out.count(), int64_t{0});
    for (const int64_t expert : experts.Read(frame, binding)) {
      if (expert < out.count()) ++count[std::max<int64_t>(expert, 0)];
    }
    for (int64_t i = 0; i < out.count(); ++i) out.Set(frame, i, sum += count[i]);
  }
};

// Rows by (rank, expert) become rows by (expert, rank).
struct ReRouteBody {
  Rows tokens, scales, out, scales_out;
  Indices counts;
  int binding;
  WholeOut from, sums;
  Scratch<int64_t> source;
  int64_t ranks, experts;

  void operator()(const Frame& frame) const {
    const std::span<const int64_t> count = counts.Read(frame, binding);
    int64_t* row_of = source.At(frame);
    int64_t total = 0;
    for (const int64_t each : count) {
      total += each < 0 ? tokens.count() + 1 : each;
      if (total > tokens.count()) break;
    }
    if (total != tokens.count())
      Fail(kIndexFault, "experts-counts", "expertTokenNumPerRank does not add up to the {} rows of tokens",
           tokens.count());
    for (int64_t expert = 0, row = 0; expert < experts; ++expert) {
      int64_t of_expert = 0;
      for (int64_t rank = 0, at = 0; rank < ranks; ++rank) {
        const int64_t* of_rank = count.data() + rank * experts;
        for (int64_t e = 0; e < experts; ++e) {
          if (e == expert) {
            for (int64_t i = 0; i < of_rank[e]; ++i) row_of[row++] = at + i;
            of_expert += of_rank[e];
          }
          at += of_rank[e];
        }
      }
      sums.Set(frame, expert, of_expert);
    }
    ParallelFor(tokens.count(), RowGrain(tokens.width()), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        out.Copy(frame, row, tokens, row_of[row]);
        from.Set(frame, row, row_of[row]);
        if (scales.present()) scales_out.Copy(frame, row, scales, row_of[row]);
      }
    });
  }
};

}  // namespace

namespace kernels {

void MoeInitRouting(Plan& plan, DType, const Operand& x, const Operand& rowIdx, const Operand& expertIdx,
                    int64_t activeNum, const Operand& expandedXOut, const Operand& expandedRowIdxOut,
                    const Operand& expandedExpertIdxOut) {
  CheckExpertRank(plan, x, 2, 2);
  CheckExpertRank(plan, expertIdx, 2, 2);
  CheckExpertShape(plan, rowIdx, expertIdx.shape());
  if (x.shape()[0] != expertIdx.shape()[0]) RefuseExperts(plan, "x and expertIdx have other numbers of rows");
  if (activeNum < 0) RefuseExperts(plan, "activeNum is negative");
  const int64_t count = expertIdx.tensor->count();
  const int64_t rows = std::min(activeNum, x.shape()[0]) * expertIdx.shape()[1];
  CheckSameType(x, expandedXOut);
  CheckExpertShape(plan, expandedXOut, {rows, x.shape()[1]});
  for (const Operand* o : {&expandedRowIdxOut, &expandedExpertIdxOut}) CheckExpertShape(plan, *o, {count});
  if (count == 0) return;
  plan.SetCost(500 + static_cast<uint64_t>(count) * 40 +
               static_cast<uint64_t>(expandedXOut.tensor->count()) / 4);
  plan.SetBody(NumberedRouteBody{Rows(x), Rows(expandedXOut), Indices(plan, *expertIdx.tensor),
                                 Indices(plan, *rowIdx.tensor), WholeOut(expandedRowIdxOut),
                                 WholeOut(expandedExpertIdxOut), Scratch<Placed>(plan, count),
                                 expertIdx.binding, rowIdx.binding});
}

void MoeInitRoutingV2(Plan& plan, DType, const MoeInitRoutingV2Arguments& a) {
  const RouteArgs args = TakeRoute(a);
  plan.SetBody(CountedRoute(plan, args, TakeCounts(a), false));
}

void MoeInitRoutingQuantV2(Plan& plan, DType, const MoeInitRoutingQuantV2Arguments& a) {
  if (a.quant_mode != kStatic && a.quant_mode != kDynamicRows) RefuseExperts(plan, "quantMode is 0 or 1");
  if (a.expert_num == 0 && a.quant_mode == kDynamicRows && a.scale.present() &&
      a.scale.shape() != Shape{1, a.x.shape().back(0)}) {
    RefuseExperts(plan, "a scale for each expert needs expertNum");
  }
  const RouteArgs args = TakeRoute(a);
  RouteBody body = CountedRoute(plan, args, TakeCounts(a), true);
  TakeQuant(plan, args, {a.scale, a.offset, a.dynamic_quant_scale_out, a.quant_mode}, &body);
  plan.SetBody(body);
}

void MoeInitRoutingV3(Plan& plan, DType, const MoeInitRoutingV3Arguments& a) {
  const bool drop = a.drop_pad_mode == 1, quantised = a.quant_mode != kNotQuantised;
  if (a.drop_pad_mode != 0 && !drop) RefuseExperts(plan, "dropPadMode is 0 or 1");
  if (a.quant_mode < kNotQuantised || a.quant_mode > kDynamicRows)
    RefuseExperts(plan, "quantMode is -1, 0 or 1; 8-bit floats and 4 bits are not there yet");
  if (a.expert_tokens_num_type < kSums || a.expert_tokens_num_type > kNumbered)
    RefuseExperts(plan, "expertTokensNumType is from 0 to 2");
  if (a.row_idx_type != 0 && a.row_idx_type != 1) RefuseExperts(plan, "rowIdxType is 0 or 1");
  if (a.expert_num < 1) RefuseExperts(plan, "expertNum is not above 0");
  int64_t first = 0, last = a.expert_num;
  if (!a.active_expert_range.empty()) {
    if (a.active_expert_range.size() != 2) RefuseExperts(plan, "activeExpertRange has not two numbers");
    first = a.active_expert_range[0], last = a.active_expert_range[1];
  }
  if (first < 0 || last < first || last > a.expert_num)
    RefuseExperts(plan, "activeExpertRange is not within the experts");
  if (drop && (first != 0 || last != a.expert_num || a.row_idx_type != 0))
    RefuseExperts(plan, "dropPadMode 1 takes all experts and rowIdxType 0");
  const RouteArgs args = TakeRoute(a);
  RouteBody body = RouteParts(plan, args, first, last, quantised, drop || a.expert_tokens_num_flag);
  body.scatter = a.row_idx_type == 1;
  if (a.expert_tokens_num_flag) {
    if (!a.expert_tokens_count_or_cumsum_out.present())
      RefuseExperts(plan, "expertTokensNumFlag is true, but its result is null");
    const bool pairs = a.expert_tokens_num_type == kNumbered;
    CheckExpertShape(plan, a.expert_tokens_count_or_cumsum_out,
                     pairs ? Shape{a.expert_num, 2} : Shape{last - first});
    body.counts = WholeOut(a.expert_tokens_count_or_cumsum_out),
    body.counted = static_cast<CountsAs>(a.expert_tokens_num_type);
  }
  TakeQuant(plan, args, {a.scale, a.offset, a.expanded_scale_out, a.quant_mode}, &body);
  plan.SetBody(body);
}

void MoeFinalizeRouting(Plan& plan, DType, const Operand& expandedPermutedRows, const Operand& skip1,
                        const Operand& skip2Optional, const Operand& bias, const Operand& scales,
                        const Operand& expandedSrcToDstRow, const Operand& expertForSourceRow,
                        const Operand& out) {
  PlanFinalize(plan, {.rows = expandedPermutedRows,
                      .places = expandedSrcToDstRow,
                      .skip = skip1,
                      .other_skip = skip2Optional,
                      .bias = bias,
                      .scales = scales,
                      .experts = expertForSourceRow,
                      .mode = 0,
                      .out = out});
}

void MoeFinalizeRoutingV2(Plan& plan, DType, const MoeFinalizeRoutingV2Arguments& a) {
  PlanFinalize(plan, {.rows = a.expanded_x,
                      .places = a.expanded_row_idx,
                      .skip = a.x1,
                      .other_skip = a.x2,
                      .bias = a.bias,
                      .scales = a.scales,
                      .experts = a.expert_idx,
                      .mode = a.drop_pad_mode,
                      .out = a.out});
}

void MoeComputeExpertTokens(Plan& plan, DType, const Operand& sortedExperts, int64_t numExperts,
                            const Operand& out) {
  CheckExpertRank(plan, sortedExperts, 1, 1);
  if (numExperts < 1) RefuseExperts(plan, "numExperts is not above 0");
  CheckExpertShape(plan, out, {numExperts});
  plan.SetCost(200 + static_cast<uint64_t>(sortedExperts.tensor->count()) * 2);
  plan.SetBody(ExpertSumsBody{Indices(plan, *sortedExperts.tensor), sortedExperts.binding, WholeOut(out),
                              Scratch<int64_t>(plan, numExperts)});
}

void MoeReRouting(Plan& plan, DType, const MoeReRoutingArguments& a) {
  if (a.expert_token_num_type != 1)
    RefuseExperts(plan, "expertTokenNumType is 1: other numbers are not there yet");
  if (a.idx_type != 0) RefuseExperts(plan, "idxType is 0: other numbers are not there yet");
  CheckExpertRank(plan, a.tokens, 2, 2);
  CheckExpertRank(plan, a.expert_token_num_per_rank, 2, 2);
  const Shape counts = a.expert_token_num_per_rank.shape();
  const int64_t rows = a.tokens.shape()[0];
  CheckSameType(a.tokens, a.permute_tokens_out);
  CheckExpertShape(plan, a.permute_tokens_out, a.tokens.shape());
  CheckExpertShape(plan, a.permute_token_idx_out, {rows});
  CheckExpertShape(plan, a.expert_token_num_out, {counts[1]});
  if (a.per_token_scales.present()) {
    if (!a.permute_per_token_scales_out.present())
      RefuseExperts(plan, "perTokenScales is given, but its result is null");
    for (const Operand* o : {&a.per_token_scales, &a.permute_per_token_scales_out})
      CheckExpertShape(plan, *o, {rows});
  }
  plan.SetCost(500 + static_cast<uint64_t>(a.tokens.tensor->count()) / 4);
  plan.SetBody(ReRouteBody{Rows(a.tokens), Rows(a.per_token_scales, true), Rows(a.permute_tokens_out),
                           a.per_token_scales.present() ? Rows(a.permute_per_token_scales_out, true) : Rows(),
                           Indices(plan, *a.expert_token_num_per_rank.tensor),
                           a.expert_token_num_per_rank.binding, WholeOut(a.permute_token_idx_out),
                           WholeOut(a.expert_token_num_out), Scratch<int64_t>(plan, rows), counts[0],
                           counts[1]});
}

}  // namespace kernels
}  // namespace belay::ops
