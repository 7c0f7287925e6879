// Tokens sent to the ranks that hold their experts. Every rank lays out its tokens with what they have
// chosen, all gather that, and each takes what is for its experts.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/experts/deal.h"
#include "ops/experts/experts.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

constexpr int64_t kDynamic = 2;

// What a rank sends: its note, what its tokens have chosen, how much that counts, the steps of quantised
// rows, the rows. One row for each token, or (each) for each of its columns.
struct Parcel {
  Parcel(const Deal& deal, bool each_column, bool quantised, int64_t element)
      : each(each_column ? deal.columns() : 1),
        weights(ids + WorkspacePart(deal.most * deal.top_k * 4)),
        steps(weights + WorkspacePart(deal.most * deal.top_k * 4)),
        rows(steps + (quantised ? WorkspacePart(deal.most * each * 4) : 0)),
        bytes(rows + WorkspacePart(deal.most * each * deal.width * element)) {}

  static constexpr int64_t ids = sizeof(Note);
  int64_t each;
  int64_t weights, steps, rows, bytes;  // offsets
};

template <class T>
T* In(char* part, int64_t offset) {
  return reinterpret_cast<T*>(part + offset);
}

// What both halves know.
struct Dispatch {
  const char* function;
  Deal deal;
  Parcel parcel;
  bool quantised, smoothed;  // smoothed: each expert has its scales
  DType type;                // of x
  int bindings;
  int64_t own_at, all_at;  // in the workspace: the own parcel, those of all

  int way() const { return quantised + smoothed; }
};

struct SendBody : Dispatch {
  Rows x, scales, weights, out;
  Indices ids;
  Mask mask;
  PieceScratch<float> room;
  int ids_at;

  void operator()(const Frame& frame) const {
    char* part = frame.workspace + own_at;
    std::memset(part, 0, static_cast<size_t>(parcel.rows));
    *In<Note>(part, 0) = NoteOf(deal, x.count(), 0, type, way());
    auto* chosen = In<int32_t>(part, parcel.ids);
    auto* counts_as = In<float>(part, parcel.weights);
    const std::span<const int64_t> experts = ids.Read(frame, ids_at);
    for (int64_t i = 0; i < ids.count(); ++i) {
      const int64_t expert = experts[static_cast<size_t>(i)], token = i / deal.top_k, k = i % deal.top_k;
      const bool known = expert >= 0 && expert < deal.experts;
      chosen[i] = !mask.Takes(frame, token, k) ? int32_t{kNoPart}
                  : known                      ? static_cast<int32_t>(expert)
                                               : int32_t{kNoExpert};
      if (weights.present()) counts_as[i] = weights.At(frame, token, k);
    }
    const MoreFrame more(frame, bindings, own_at + parcel.rows);
    room.For(frame, [&](int64_t begin, int64_t end, float* values) {
      for (int64_t row = begin; row < end; ++row) Row(more.frame(), row, part, values);
    });
  }

  void Row(const Frame& frame, int64_t row, char* part, float* values) const {
    const int64_t token = row / parcel.each, column = row % parcel.each;
    if (!quantised) return out.Copy(frame, row, x, token);
    const float* from = x.Load(frame, token, values);
    if (from != values) std::copy_n(from, deal.width, values);
    if (smoothed) {
      int64_t expert = column;
      if (column >= deal.shared) {
        const int32_t chosen = In<int32_t>(part, parcel.ids)[token * deal.top_k + column - deal.shared];
        if (chosen < 0) return;  // goes nowhere
        expert = deal.shared + chosen;
      }
      const float* by = scales.Load(frame, expert, values + deal.width);
      for (int64_t i = 0; i < deal.width; ++i) values[i] *= by[i];
    }
    In<float>(part, parcel.steps)[row] = DivideByLargest(values, deal.width);
    RoundToBytes(values, deal.width);
    out.Store(frame, row, values);
  }
};

struct ReceiveBody : Dispatch {
  explicit ReceiveBody(const Dispatch& both) : Dispatch(both) {}

  Rows in, expanded, steps_out, weights_out;
  WholeOut idx, assist, nums, counts, tp_counts;
  Scratch<int64_t> from;               // what each row of the result is: (rank, token, column) as one number
  Scratch<int64_t> firsts, of_expert;  // where rows of (expert, rank) go next; chosen so far by this rank
  bool sums = false;

  void operator()(const Frame& frame) const {
    char* parts = frame.workspace + all_at;
    const Note& own = *In<Note>(parts, deal.rank * parcel.bytes);
    for (int64_t r = 0; r < deal.world; ++r)
      CompareNotes(function, *In<Note>(parts, r * parcel.bytes), own, r);
    int64_t* first = firsts.At(frame);
    std::fill_n(first, firsts.count(), int64_t{0});
    ForEachRow(parts, [&](int64_t place, int64_t) { ++first[place]; });
    const int64_t total = WriteCounts(frame, first);
    int64_t* rows = from.At(frame);
    ForEachRow(parts, [&](int64_t place, int64_t row) { rows[first[place]++] = row; });
    if (idx.present()) WriteIdx(frame, In<int32_t>(parts, deal.rank * parcel.bytes + parcel.ids));
    const MoreFrame more(frame, bindings, all_at + parcel.rows);
    ParallelFor(total, RowGrain(deal.width), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) Row(more.frame(), row, rows[row], parts);
    });
  }

  // row(place, number): place is that of (expert, rank) among those of this rank.
  template <class Row>
  void ForEachRow(char* parts, const Row& row) const {
    for (int64_t r = 0; r < deal.world; ++r) {
      char* part = parts + r * parcel.bytes;
      for (int64_t token = 0; token < In<Note>(part, 0)->tokens; ++token) {
        const int32_t* chosen = In<int32_t>(part, parcel.ids) + token * deal.top_k;
        const bool takes_part =
            std::any_of(chosen, chosen + deal.top_k, [](int32_t c) { return c != kNoPart; });
        for (int64_t column = takes_part ? 0 : deal.columns(); column < deal.columns(); ++column) {
          const int32_t expert = column < deal.shared ? 0 : chosen[column - deal.shared];
          if (expert == kNoPart) continue;
          if (expert == kNoExpert) FailNoExpert(function, r, token, deal.experts);
          const Deal::Holder holder = deal.HolderOf(r, column, expert);
          if (holder.rank != deal.rank) continue;
          row(holder.expert * deal.world + r, (r * deal.most + token) * deal.columns() + column);
        }
      }
    }
  }

  // Turns the counts into where the first row of each place goes.
  int64_t WriteCounts(const Frame& frame, int64_t* first) const {
    int64_t total = 0;
    for (int64_t expert = 0; expert < deal.here(); ++expert) {
      const int64_t before = total;
      for (int64_t r = 0; r < deal.world; ++r) {
        int64_t& place = first[expert * deal.world + r];
        total += std::exchange(place, total);
        counts.Set(frame, expert * deal.world + r, total);
      }
      nums.Set(frame, expert, sums ? total : total - before);
    }
    for (int64_t i = firsts.count(); i < counts.count(); ++i) counts.Set(frame, i, 0);
    for (int64_t i = 0; tp_counts.present() && i < tp_counts.count(); ++i)
      tp_counts.Set(frame, i, i == 0 ? total : 0);
    if (total > expanded.count()) {
      Fail(kIndexFault, "experts-counts", "{}: {} rows came for {}; a token chooses an expert only once",
           function, total, expanded.count());
    }
    return total;
  }

  // The how-manieth of this rank's tokens each is for its expert.
  void WriteIdx(const Frame& frame, const int32_t* chosen) const {
    int64_t* seen = of_expert.At(frame);
    std::fill_n(seen, of_expert.count(), int64_t{0});
    for (int64_t i = 0; i < idx.count(); ++i) idx.Set(frame, i, seen[chosen[i]]++);
  }

  void Row(const Frame& frame, int64_t row, int64_t number, char* parts) const {
    const int64_t column = number % deal.columns(), at = number / deal.columns();
    const int64_t token = at % deal.most, r = at / deal.most;
    const int64_t sent = token * parcel.each + (parcel.each > 1 ? column : 0);
    expanded.Copy(frame, row, in, r * deal.most * parcel.each + sent);
    char* part = parts + r * parcel.bytes;
    if (quantised) steps_out.Set(frame, row, 0, In<float>(part, parcel.steps)[sent]);
    if (weights_out.present()) {
      const int64_t k = column - deal.shared;
      weights_out.Set(frame, row, 0, k < 0 ? 1 : In<float>(part, parcel.weights)[token * deal.top_k + k]);
    }
    if (!assist.present()) return;
    assist.Set(frame, row * kAssist, r);
    assist.Set(frame, row * kAssist + 1, token);
    assist.Set(frame, row * kAssist + 2, column);
  }

  static constexpr int64_t kAssist = 128;  // numbers for each row
};

struct DispatchArgs {
  const Operand &x, &ids, &scales, &mask, &weights;
  const char* group;
  DealArgs deal;
  int64_t quant_mode, nums_type;
  const Operand &expanded, &steps, &idx, &assist, &nums, &counts, &tp_counts, &weights_out;
};

template <class Arguments>
DispatchArgs TakeDispatch(const Arguments& a, const Operand& mask, const Operand& idx,
                          const Operand& assist) {
  return {.x = a.x,
          .ids = a.expert_ids,
          .scales = a.scales,
          .mask = mask,
          .weights = a.expert_scales,
          .group = a.group_ep,
          .deal = TakeDeal(a),
          .quant_mode = a.quant_mode,
          .nums_type = a.expert_token_nums_type,
          .expanded = a.expand_x,
          .steps = a.dynamic_scales,
          .idx = idx,
          .assist = assist,
          .nums = a.expert_token_nums,
          .counts = a.ep_recv_counts,
          .tp_counts = a.tp_recv_counts,
          .weights_out = a.expand_scales};
}

void CheckQuant(const Plan& plan, const DispatchArgs& a, const Deal& deal) {
  if (a.quant_mode != 0 && a.quant_mode != kDynamic)
    RefuseExperts(plan, "quantMode is 0 or 2: others are not there yet");
  if (a.quant_mode == 0) {
    if (a.scales.present()) RefuseExperts(plan, "scales are for quantMode 2");
    return CheckSameType(a.x, a.expanded);
  }
  if (a.expanded.dtype() != DType::kI8) RefuseExperts(plan, "quantMode 2 makes INT8");
  if (a.scales.present()) CheckExpertShape(plan, a.scales, {deal.shared + deal.experts, deal.width});
  if (!a.steps.present()) RefuseExperts(plan, "quantMode 2 needs a result for the rows' scales");
}

void CheckDispatch(const Plan& plan, const DispatchArgs& a, const Deal& deal) {
  const int64_t rows = a.expanded.shape()[0];
  if (a.weights.present()) CheckExpertShape(plan, a.weights, a.ids.shape());
  if (a.nums_type != 0 && a.nums_type != 1) RefuseExperts(plan, "expertTokenNumsType is 0 or 1");
  CheckQuant(plan, a, deal);
  CheckExpertShape(plan, a.nums, {deal.here()});
  CheckAtLeast(plan, a.counts, deal.here() * deal.world);
  CheckAtLeast(plan, a.assist, rows * ReceiveBody::kAssist);
  if (a.idx.present()) CheckElements(a.idx, a.ids.tensor->count());
  if (a.quant_mode != 0) CheckAtLeast(plan, a.steps, rows);
  if (a.weights.present()) CheckAtLeast(plan, a.weights_out, rows);
}

void PlanDispatch(Plan& plan, const DispatchArgs& a) {
  CheckExpertRank(plan, a.x, 2, 2);
  CheckExpertRank(plan, a.ids, 2, 2);
  const Shape x = a.x.shape(), chosen = a.ids.shape();
  if (x[0] != chosen[0]) RefuseExperts(plan, "x and expertIds have other numbers of rows");
  const Deal deal = MakeDeal(plan, a.deal, x[0], chosen[1], x[1], a.expanded);
  CheckDispatch(plan, a, deal);
  const bool quantised = a.quant_mode != 0, smoothed = quantised && a.scales.present();
  const auto element = static_cast<int64_t>(tensor::BytesOf(a.expanded.dtype()));
  Dispatch both{plan.function(),
                deal,
                Parcel(deal, smoothed, quantised, element),
                quantised,
                smoothed,
                a.x.dtype(),
                plan.binding_count(),
                0,
                0};
  both.own_at = plan.AddWorkspace(both.parcel.bytes);
  both.all_at = plan.AddWorkspace(both.parcel.bytes * deal.world);
  const int64_t each = both.parcel.each, sent = x[0] * each;
  const DType type = a.expanded.dtype();

  SendBody send{both,
                Rows(a.x),
                Rows(a.scales),
                Rows(a.weights),
                PartRows(plan, type, 1, both.parcel.bytes, deal.most * each, deal.width),
                Indices(plan, *a.ids.tensor),
                Mask(plan, a.mask, chosen),
                PieceScratch<float>(plan, sent, RowGrain(deal.width), quantised ? 2 * deal.width : 0),
                a.ids.binding};
  ReceiveBody receive(both);
  receive.in = PartRows(plan, type, deal.world, both.parcel.bytes, deal.most * each, deal.width);
  receive.expanded = Rows(a.expanded);
  if (quantised) receive.steps_out = Rows(a.steps, true);
  if (a.weights.present()) receive.weights_out = Rows(a.weights_out, true);
  receive.idx = WholeOut(a.idx), receive.assist = WholeOut(a.assist), receive.nums = WholeOut(a.nums);
  receive.counts = WholeOut(a.counts), receive.tp_counts = WholeOut(a.tp_counts);
  receive.from = Scratch<int64_t>(plan, a.expanded.shape()[0]);
  receive.firsts = Scratch<int64_t>(plan, deal.here() * deal.world);
  receive.of_expert = Scratch<int64_t>(plan, deal.experts);
  receive.sums = a.nums_type == 0;
  plan.SetCost(1000 + static_cast<uint64_t>(sent * deal.width) / 2);
  plan.SetBody(receive);
  plan.SetExchange({.group = a.group,
                    .kind = Exchange::Kind::kAllGather,
                    .first = true,
                    .from = {-1, both.own_at},
                    .to = {-1, both.all_at},
                    .count = static_cast<uint64_t>(both.parcel.bytes),
                    .type = DType::kI8,
                    .rank = deal.rank,
                    .ranks = deal.world,
                    .before = send});
}

}  // namespace

namespace kernels {

void MoeDistributeDispatch(Plan& plan, DType, const MoeDistributeDispatchArguments& a) {
  if (a.x_active_mask.present())
    RefuseExperts(plan, "xActiveMask is reserved; aclnnMoeDistributeDispatchV2 takes it");
  const Operand none;
  PlanDispatch(plan, TakeDispatch(a, none, a.expand_idx, none));
}

void MoeDistributeDispatchV2(Plan& plan, DType, const MoeDistributeDispatchV2Arguments& a) {
  CheckCommAlg(plan, a.comm_alg);
  const Operand none;
  PlanDispatch(plan, TakeDispatch(a, a.x_active_mask, none, a.assist_info_for_combine));
}

}  // namespace kernels
}  // namespace belay::ops
