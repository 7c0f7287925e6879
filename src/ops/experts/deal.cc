#include "ops/experts/deal.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "ops/experts/experts.h"
#include "ops/index/indices.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// The documented 768 ranks and 1024 experts, and a little.
constexpr int64_t kMostRanks = 1024, kMostExperts = 1024;

void CheckGroups(const Plan& plan, const DealArgs& a) {
  if (a.world < 1 || a.world > kMostRanks) RefuseExperts(plan, "epWorldSize is from 1 to 1024");
  if (a.rank < 0 || a.rank >= a.world) RefuseExperts(plan, "epRankId is not within epWorldSize");
  if (a.tp_world != 0 && a.tp_world != 1) {
    RefuseExperts(plan,
                  "tpWorldSize is 0 or 1: ranks that share an expert's tokens (groupTp) are not there yet");
  }
  if (a.tp_rank != 0) RefuseExperts(plan, "tpRankId is 0 where there is no groupTp");
  if (a.shard_type != 0) RefuseExperts(plan, "expertShardType is 0: the shared experts' ranks come first");
}

void CheckExperts(const Plan& plan, const DealArgs& a) {
  if (a.shared_ranks < 0 || a.shared_ranks >= a.world)
    RefuseExperts(plan, "sharedExpertRankNum is not within [0, epWorldSize)");
  if (a.shared_ranks == 0 && a.shared != 0 && a.shared != 1)
    RefuseExperts(plan, "sharedExpertNum is 0 or 1 where no rank has shared experts");
  if (a.shared_ranks > 0 && (a.shared < 1 || a.shared_ranks % a.shared != 0))
    RefuseExperts(plan, "sharedExpertRankNum is no multiple of sharedExpertNum");
  if (a.experts < 1 || a.experts > kMostExperts) RefuseExperts(plan, "moeExpertNum is from 1 to 1024");
  if (a.experts % (a.world - a.shared_ranks) != 0)
    RefuseExperts(plan, "moeExpertNum is no multiple of the ranks that have no shared expert");
}

}  // namespace

int64_t Deal::MostFromOne() const { return most * std::min(local, top_k); }

int64_t Deal::RanksThatSend() const {
  if (rank >= shared_ranks) return world;
  const int64_t copies = shared_ranks / shared;
  return (world + copies - 1) / copies;
}

Deal MakeDeal(const Plan& plan, const DealArgs& a, int64_t tokens, int64_t top_k, int64_t width,
              const Operand& expanded) {
  CheckGroups(plan, a);
  CheckExperts(plan, a);
  if (tokens < 1 || width < 1) RefuseExperts(plan, "there are no tokens");
  if (top_k < 1 || top_k > a.experts)
    RefuseExperts(plan, "expertIds chooses no expert, or more than there are");
  if (a.global_bs < 0 || a.global_bs % a.world != 0 || (a.global_bs > 0 && a.global_bs / a.world < tokens))
    RefuseExperts(plan, "globalBs is 0, or epWorldSize times the most tokens that a rank has");
  Deal deal{};
  deal.world = a.world, deal.rank = a.rank, deal.experts = a.experts;
  deal.shared = a.shared_ranks > 0 ? a.shared : 0, deal.shared_ranks = a.shared_ranks;
  deal.most = a.global_bs > 0 ? a.global_bs / a.world : tokens;
  deal.top_k = top_k, deal.width = width, deal.local = a.experts / (a.world - a.shared_ranks);
  CheckExpertRank(plan, expanded, 2, 2);
  CheckExpertShape(plan, expanded, {expanded.shape()[0], width});
  const int64_t each = deal.RanksThatSend() * (a.rank < a.shared_ranks ? 1 : std::min(deal.local, top_k));
  if (deal.most > expanded.shape()[0] / each) {
    RefuseExperts(plan,
                  fmt::format("{} has {} rows; {} tokens of each of {} ranks may want {}", expanded.name,
                              expanded.shape()[0], deal.most, a.world, deal.most * each));
  }
  return deal;
}

void CheckAtLeast(const Plan& plan, const Operand& operand, int64_t least) {
  if (!operand.present() || operand.tensor->count() >= least) return;
  RefuseExperts(plan, fmt::format("{} has {} elements; with these arguments it has {}", operand.name,
                                  operand.tensor->count(), least));
}

void CheckCommAlg(const Plan& plan, const char* comm_alg) {
  if (comm_alg == nullptr) return;
  for (const char* known : {"", "fullmesh", "hierarchy", "fullmesh_v1", "fullmesh_v2"}) {
    if (std::strcmp(comm_alg, known) == 0) return;
  }
  RefuseExperts(plan, fmt::format("commAlg \"{}\" is none of those that the pages name", comm_alg));
}

Note NoteOf(const Deal& d, int64_t tokens, int64_t rows, DType type, int way) {
  const auto as = [](int64_t value) { return static_cast<int32_t>(value); };
  return {as(tokens),   as(rows),
          as(d.world),  as(d.experts),
          as(d.shared), as(d.shared_ranks),
          as(d.most),   as(d.top_k),
          as(d.width),  static_cast<int32_t>(type),
          way};
}

void CompareNotes(const char* function, const Note& theirs, const Note& own, int64_t from) {
  const struct {
    const char* name;
    int32_t theirs, own;
  } rows[] = {{"epWorldSize", theirs.world, own.world},
              {"moeExpertNum", theirs.experts, own.experts},
              {"sharedExpertNum", theirs.shared, own.shared},
              {"sharedExpertRankNum", theirs.shared_ranks, own.shared_ranks},
              {"globalBs / epWorldSize", theirs.most, own.most},
              {"the number of experts of a token", theirs.top_k, own.top_k},
              {"the length of a token", theirs.width, own.width},
              {"the type of tokens", theirs.type, own.type},
              {"the way of quantisation", theirs.way, own.way}};
  for (const auto& row : rows) {
    if (row.theirs == row.own) continue;
    Fail(kIndexFault, "experts-ranks", "{}: {} is {} on rank {} and {} on this one; it is one for all ranks",
         function, row.name, row.theirs, from, row.own);
  }
}

void FailNoExpert(const char* function, int64_t rank, int64_t token, int64_t experts) {
  Fail(kIndexFault, "experts-chosen", "{}: rank {}'s token {} has chosen an expert that is none of the {}",
       function, rank, token, experts);
}

Rows PartRows(const Plan& plan, DType type, int64_t parts, int64_t part_bytes, int64_t rows, int64_t width) {
  Tensor t = tensor::PackedOf(type, Shape{parts, rows, width});
  t.strides[0] = part_bytes / static_cast<int64_t>(tensor::BytesOf(type));
  return Rows(Operand{&t, nullptr, plan.binding_count(), "rows"});
}

MoreFrame::MoreFrame(const Frame& frame, int bindings, int64_t at) : workspace_(frame.workspace) {
  std::copy_n(frame.at, bindings, at_);
  at_[bindings] = workspace_ + at;
}

Mask::Mask(const Plan& plan, const Operand& mask, const Shape& chosen) {
  if (!mask.present()) return;
  CheckExpertRank(plan, mask, 1, 2);
  if (mask.shape().rank() == 1) {
    CheckExpertShape(plan, mask, {chosen[0]});
    rows_ = Rows(mask, true);
  } else {
    CheckExpertShape(plan, mask, chosen);
    rows_ = Rows(mask);
  }
}

}  // namespace belay::ops
