// Tokens that go to the ranks that hold their experts, and back: who holds which expert, and what the ranks
// tell each other with the rows. The ranks of the shared experts come first; each of the others holds as many
// of the experts that tokens choose.
#pragma once

#include <cstdint>

#include "ops/experts/rows.h"
#include "ops/plan.h"
#include "ops/schema.h"

namespace belay::ops {

struct DealArgs {
  int64_t world, rank, experts;
  int64_t tp_world, tp_rank, shard_type, shared, shared_ranks, global_bs;
};

template <class Arguments>
DealArgs TakeDeal(const Arguments& a) {
  return {.world = a.ep_world_size,
          .rank = a.ep_rank_id,
          .experts = a.moe_expert_num,
          .tp_world = a.tp_world_size,
          .tp_rank = a.tp_rank_id,
          .shard_type = a.expert_shard_type,
          .shared = a.shared_expert_num,
          .shared_ranks = a.shared_expert_rank_num,
          .global_bs = a.global_bs};
}

struct Deal {
  struct Holder {
    int64_t rank, expert;  // the expert by its number on that rank
  };

  int64_t world, rank, experts, shared, shared_ranks;
  int64_t most;          // tokens of a rank
  int64_t top_k, width;  // of a token
  int64_t local;         // experts on a rank that has no shared one

  // A token goes to every shared expert, then to those that it has chosen.
  int64_t columns() const { return shared + top_k; }
  int64_t here() const { return rank < shared_ranks ? 1 : local; }
  Holder HolderOf(int64_t source, int64_t column, int64_t chosen) const {
    if (column >= shared) return {shared_ranks + chosen / local, chosen % local};
    const int64_t copies = shared_ranks / shared;
    return {column * copies + source % copies, 0};
  }
  // Rows that go from one rank to another at most, and from all of them to this one.
  int64_t MostFromOne() const;
  int64_t RanksThatSend() const;
};

// Throws Error 161002 for what does not fit together, or is not there. `tokens`: of this rank.
Deal MakeDeal(const Plan& plan, const DealArgs& args, int64_t tokens, int64_t top_k, int64_t width,
              const Operand& expanded);

// There may be more elements than are read or written, as a card needs.
void CheckAtLeast(const Plan& plan, const Operand& operand, int64_t least);

// How a card's ranks reach each other; here it makes no difference.
void CheckCommAlg(const Plan& plan, const char* comm_alg);

// What stands before the rows that a rank sends, so that ranks which were called differently tell of it.
struct alignas(64) Note {
  int32_t tokens;  // of the sender
  int32_t rows;    // that follow; -1: the sender's counts were no running sums
  int32_t world, experts, shared, shared_ranks, most, top_k, width, type, way;
};
static_assert(sizeof(Note) == 64);

Note NoteOf(const Deal& deal, int64_t tokens, int64_t rows, DType type, int way);
// In a task: throws Error 507035 unless rank `from` was called as this one was.
void CompareNotes(const char* function, const Note& theirs, const Note& own, int64_t from);

// Experts as they are sent: what takes no part, and what is no expert.
enum Chosen : int32_t { kNoPart = -1, kNoExpert = -2 };

[[noreturn]] void FailNoExpert(const char* function, int64_t rank, int64_t token, int64_t experts);

// Rows in the workspace, as rows of one more tensor than the plan has: `parts` times `rows`, from a part's
// `at` on. Read and written through a MoreFrame.
Rows PartRows(const Plan& plan, DType type, int64_t parts, int64_t part_bytes, int64_t rows, int64_t width);

// The frame with a place in the workspace as one more tensor.
class MoreFrame {
 public:
  static constexpr int kMost = 24;
  MoreFrame(const Frame& frame, int bindings, int64_t at);
  MoreFrame(const MoreFrame&) = delete;
  MoreFrame& operator=(const MoreFrame&) = delete;
  Frame frame() const { return {at_, workspace_}; }

 private:
  char* at_[kMost];
  char* workspace_;
};

// Whether a token takes part, or what it has chosen. Without a tensor everything does.
class Mask {
 public:
  Mask() = default;
  Mask(const Plan& plan, const Operand& mask, const Shape& chosen);
  bool Takes(const Frame& frame, int64_t token, int64_t k) const {
    return !rows_.present() || rows_.At(frame, token, rows_.width() == 1 ? 0 : k) != 0;
  }

 private:
  Rows rows_;
};

}  // namespace belay::ops
