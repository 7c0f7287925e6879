// Rows of experts brought back to the tokens that they were made of, and added up. Every rank sends each the
// rows that came from it, in the order in which they came.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

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

// What both halves know.
struct Combine {
  const char* function;
  Deal deal;
  DType type;
  int bindings;
  int64_t most_rows, part_bytes;  // of what one rank sends to another
  int64_t out_at, in_at;          // in the workspace: for all, of all

  Note& NoteAt(char* parts, int64_t r) const { return *reinterpret_cast<Note*>(parts + r * part_bytes); }
};

struct ReturnBody : Combine {
  explicit ReturnBody(const Combine& both) : Combine(both) {}

  Rows expanded, out;
  Indices counts;
  Scratch<int64_t> places;  // where each row goes among all parts
  int counts_at = 0;
  int64_t tokens = 0;

  void operator()(const Frame& frame) const {
    const std::span<const int64_t> sums = counts.Read(frame, counts_at);
    int64_t* place = places.At(frame);
    std::vector<int64_t> rows(static_cast<size_t>(deal.world), 0);
    const int64_t total = Place(sums, place, rows);
    for (int64_t r = 0; r < deal.world; ++r) {
      const int64_t count = total < 0 ? -1 : rows[static_cast<size_t>(r)];
      NoteAt(frame.workspace + out_at, r) = NoteOf(deal, tokens, count, type, 0);
    }
    const MoreFrame more(frame, bindings, out_at + static_cast<int64_t>(sizeof(Note)));
    ParallelFor(std::max<int64_t>(total, 0), RowGrain(deal.width), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) out.Copy(more.frame(), place[row], expanded, row);
    });
  }

  // How many rows there are; -1: the sums are none.
  int64_t Place(std::span<const int64_t> sums, int64_t* place, std::vector<int64_t>& rows) const {
    int64_t row = 0;
    for (int64_t i = 0; i < deal.here() * deal.world; ++i) {
      const int64_t end = sums[static_cast<size_t>(i)], r = i % deal.world;
      int64_t& of_rank = rows[static_cast<size_t>(r)];
      if (end < row || end > expanded.count() || of_rank + end - row > most_rows) return -1;
      while (row < end) place[row++] = r * most_rows + of_rank++;
    }
    return row;
  }
};

struct GatherBody : Combine {
  explicit GatherBody(const Combine& both) : Combine(both) {}

  Rows in, weights, added, out;
  Indices ids;
  Mask mask;
  Scratch<int64_t> places;          // the row of each column of each token, or -1
  Scratch<int64_t> counts, firsts;  // of each expert: its rows for this rank, the next one's place
  int ids_at = 0;

  void operator()(const Frame& frame) const {
    const std::span<const int64_t> chosen = ids.Read(frame, ids_at);
    int64_t* count = counts.At(frame);
    std::fill_n(count, counts.count(), int64_t{0});
    int64_t* place = places.At(frame);
    ForEachColumn(frame, chosen, [&](int64_t at, int64_t expert, int64_t) {
      place[at] = expert;
      if (expert >= 0) ++count[expert];
    });
    CheckParts(frame.workspace + in_at, Firsts(count, firsts.At(frame)));
    int64_t* next = firsts.At(frame);
    for (int64_t at = 0; at < places.count(); ++at) {
      if (place[at] >= 0) place[at] = next[place[at]]++;
    }
    const MoreFrame more(frame, bindings, in_at + static_cast<int64_t>(sizeof(Note)));
    ParallelFor(out.count(), RowGrain(deal.width * deal.columns()), [&](int64_t begin, int64_t end) {
      for (int64_t token = begin; token < end; ++token)
        Token(more.frame(), token, place + token * deal.columns());
    });
  }

  // column(number, expert, token): the shared experts come first; -1: takes no part.
  template <class Column>
  void ForEachColumn(const Frame& frame, std::span<const int64_t> chosen, const Column& column) const {
    int64_t at = 0;
    for (int64_t token = 0; token < out.count(); ++token) {
      const int64_t* of_token = chosen.data() + token * deal.top_k;
      bool takes_part = false;
      for (int64_t k = 0; k < deal.top_k; ++k) takes_part |= mask.Takes(frame, token, k);
      for (int64_t s = 0; s < deal.shared; ++s) column(at++, takes_part ? s : -1, token);
      for (int64_t k = 0; k < deal.top_k; ++k) {
        const bool takes = mask.Takes(frame, token, k);
        if (takes && (of_token[k] < 0 || of_token[k] >= deal.experts))
          FailNoExpert(function, deal.rank, token, deal.experts);
        column(at++, takes ? deal.shared + of_token[k] : -1, token);
      }
    }
  }

  // Where the rows of each expert begin, and how many each rank must have sent.
  std::vector<int64_t> Firsts(const int64_t* count, int64_t* first) const {
    std::vector<int64_t> rows(static_cast<size_t>(deal.world), 0);
    for (int64_t e = 0; e < counts.count(); ++e) {
      const int64_t r = deal.HolderOf(deal.rank, e < deal.shared ? e : deal.shared, e - deal.shared).rank;
      int64_t& of_rank = rows[static_cast<size_t>(r)];
      first[e] = r * most_rows + of_rank;
      of_rank += count[e];
    }
    return rows;
  }

  void CheckParts(char* parts, const std::vector<int64_t>& rows) const {
    const Note own = NoteOf(deal, 0, 0, type, 0);
    for (int64_t r = 0; r < deal.world; ++r) {
      const Note& note = NoteAt(parts, r);
      CompareNotes(function, note, own, r);
      if (note.rows == rows[static_cast<size_t>(r)]) continue;
      if (note.rows < 0) {
        Fail(kIndexFault, "experts-counts", "{}: rank {}'s epSendCounts are no running sums of its rows",
             function, r);
      }
      Fail(kIndexFault, "experts-counts",
           "{}: rank {} sends {} rows back, but this rank's tokens have {} there", function, r, note.rows,
           rows[static_cast<size_t>(r)]);
    }
  }

  void Token(const Frame& frame, int64_t token, const int64_t* place) const {
    alignas(64) float sum[kBlock], block[kBlock];
    for (int64_t first = 0; first < deal.width; first += kBlock) {
      const int64_t n = std::min(kBlock, deal.width - first);
      std::fill_n(sum, n, 0.0f);
      for (int64_t i = 0; i < deal.columns(); ++i) {
        const int64_t column = (i + deal.shared) % deal.columns();  // the shared ones last
        if (place[column] < 0) continue;
        const float* row = in.Load(frame, place[column], first, n, block);
        const float factor = column < deal.shared ? 1 : weights.At(frame, token, column - deal.shared);
        for (int64_t j = 0; j < n; ++j) sum[j] += row[j] * factor;
      }
      if (added.present()) {
        const float* row = added.Load(frame, token, first, n, block);
        for (int64_t j = 0; j < n; ++j) sum[j] += row[j];
      }
      out.Store(frame, token, first, n, sum);
    }
  }
};

struct CombineArgs {
  const Operand &expanded, &ids, &counts, &weights, &mask, &added;
  const char* group;
  DealArgs deal;
  const Operand& out;
};

template <class Arguments>
CombineArgs TakeCombine(const Arguments& a, const Operand& mask, const Operand& added) {
  return {.expanded = a.expand_x,
          .ids = a.expert_ids,
          .counts = a.ep_send_counts,
          .weights = a.expert_scales,
          .mask = mask,
          .added = added,
          .group = a.group_ep,
          .deal = TakeDeal(a),
          .out = a.x};
}

// Arguments that the pages reserve.
struct Reserved {
  const Operand &activation_scale, &weight_scale, &group_list;
  int64_t out_dtype, comm_quant_mode, group_list_type;
};

template <class Arguments>
Reserved TakeReserved(const Arguments& a) {
  return {.activation_scale = a.activation_scale,
          .weight_scale = a.weight_scale,
          .group_list = a.group_list,
          .out_dtype = a.out_dtype,
          .comm_quant_mode = a.comm_quant_mode,
          .group_list_type = a.group_list_type};
}

void CheckReserved(const Plan& plan, const Reserved& r) {
  for (const Operand* o : {&r.activation_scale, &r.weight_scale, &r.group_list}) {
    if (o->present()) RefuseExperts(plan, fmt::format("{} is reserved: it is null", o->name));
  }
  if (r.out_dtype != 0) RefuseExperts(plan, "outDtype is reserved: it is 0");
  if (r.group_list_type != 0) RefuseExperts(plan, "groupListType is reserved: it is 0");
  if (r.comm_quant_mode != 0)
    RefuseExperts(plan, "commQuantMode is 0: rows quantised on their way are not there yet");
}

Deal CheckCombine(const Plan& plan, const CombineArgs& a) {
  CheckExpertRank(plan, a.ids, 2, 2);
  CheckExpertRank(plan, a.expanded, 2, 2);
  const int64_t tokens = a.ids.shape()[0], width = a.expanded.shape()[1];
  CheckSameType(a.expanded, a.out);
  CheckExpertShape(plan, a.out, {tokens, width});
  CheckExpertShape(plan, a.weights, a.ids.shape());
  const Deal deal = MakeDeal(plan, a.deal, tokens, a.ids.shape()[1], width, a.expanded);
  CheckAtLeast(plan, a.counts, deal.here() * deal.world);
  if (!a.added.present()) return deal;
  CheckSameType(a.expanded, a.added);
  CheckExpertRank(plan, a.added, 2, 3);
  if (a.added.shape().back(0) != width || a.added.tensor->count() != tokens * width)
    RefuseExperts(plan, "sharedExpertX has another shape than the result");
  if (deal.shared > 0) RefuseExperts(plan, "sharedExpertX is for groups without ranks of shared experts");
  return deal;
}

void PlanCombine(Plan& plan, const CombineArgs& a) {
  const Deal deal = CheckCombine(plan, a);
  const DType type = a.expanded.dtype();
  Combine both{plan.function(), deal, type, plan.binding_count(), deal.MostFromOne(), 0, 0, 0};
  both.part_bytes = static_cast<int64_t>(sizeof(Note)) +
                    WorkspacePart(both.most_rows * deal.width * static_cast<int64_t>(tensor::BytesOf(type)));
  both.out_at = plan.AddWorkspace(both.part_bytes * deal.world);
  both.in_at = plan.AddWorkspace(both.part_bytes * deal.world);
  const Rows rows = PartRows(plan, type, deal.world, both.part_bytes, both.most_rows, deal.width);
  const int64_t tokens = a.out.shape()[0];

  ReturnBody send(both);
  send.expanded = Rows(a.expanded), send.out = rows, send.tokens = tokens;
  send.counts = Indices(plan, *a.counts.tensor), send.counts_at = a.counts.binding;
  send.places = Scratch<int64_t>(plan, a.expanded.shape()[0]);
  GatherBody gather(both);
  gather.in = rows, gather.weights = Rows(a.weights), gather.added = Rows(a.added), gather.out = Rows(a.out);
  gather.ids = Indices(plan, *a.ids.tensor), gather.ids_at = a.ids.binding;
  gather.mask = Mask(plan, a.mask, a.ids.shape());
  gather.places = Scratch<int64_t>(plan, tokens * deal.columns());
  gather.counts = Scratch<int64_t>(plan, deal.shared + deal.experts);
  gather.firsts = Scratch<int64_t>(plan, deal.shared + deal.experts);
  plan.SetCost(1000 + static_cast<uint64_t>(a.out.tensor->count() * (deal.columns() + 1)) / 4);
  plan.SetBody(gather);
  plan.SetExchange({.group = a.group,
                    .kind = Exchange::Kind::kAllToAll,
                    .first = true,
                    .from = {-1, both.out_at},
                    .to = {-1, both.in_at},
                    .count = static_cast<uint64_t>(both.part_bytes),
                    .type = DType::kI8,
                    .rank = deal.rank,
                    .ranks = deal.world,
                    .before = send});
}

}  // namespace

namespace kernels {

void MoeDistributeCombine(Plan& plan, DType, const MoeDistributeCombineArguments& a) {
  if (a.x_active_mask.present())
    RefuseExperts(plan, "xActiveMask is reserved; aclnnMoeDistributeCombineV2 takes it");
  CheckReserved(plan, TakeReserved(a));
  CheckElements(a.expand_idx, a.expert_ids.tensor->count());
  const Operand none;
  PlanCombine(plan, TakeCombine(a, none, none));
}

void MoeDistributeCombineV2(Plan& plan, DType, const MoeDistributeCombineV2Arguments& a) {
  CheckCommAlg(plan, a.comm_alg);
  CheckReserved(plan, TakeReserved(a));
  PlanCombine(plan, TakeCombine(a, a.x_active_mask, a.shared_expert_x));
}

}  // namespace kernels
}  // namespace belay::ops
