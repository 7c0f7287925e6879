// Sequences of attention over chosen keys: their lengths lie on the device, and keys have one head, in one
// piece, packed or in pages.
#pragma once

#include <cstdint>
#include <span>

#include "ops/index/indices.h"
#include "ops/plan.h"
#include "ops/scratch.h"

namespace belay::ops {

struct SparseSequencesArgs {
  const Operand &query, &key, &query_lengths, &key_lengths, &pages;
  const char *query_layout, *key_layout;  // BSND, TND; PA_BSND too
  int64_t sparse_mode, before, after;
};

class SparseSequences {
 public:
  struct Sequence {
    int64_t first, rows;         // of the query's tokens
    int64_t key_first, columns;  // of the keys' rows, where these are in no pages
  };

  SparseSequences() = default;
  // Throws Error 161002 for what does not fit.
  SparseSequences(Plan& plan, const SparseSequencesArgs& args);

  int64_t batches() const { return batches_; }
  int64_t most_columns() const { return most_columns_; }
  // A shape with this last dimension for each token, or for each token and head.
  Shape OfTokens(int64_t last) const { return WithLast({last}); }
  Shape OfHeads(int64_t last) const { return WithLast({heads_, last}); }
  Shape WithLast(std::initializer_list<int64_t> last) const;
  int64_t tokens() const { return packed_ ? rows_ : batches_ * rows_; }
  int64_t heads() const { return heads_; }

  // All of them. Fails where lengths or pages lie beyond the tensors.
  std::span<const Sequence> Read(const Frame& frame) const;

  // A token's place among those of a sequence; null: it belongs to none.
  const Sequence* Of(std::span<const Sequence> all, int64_t token) const;
  // Keys that the token sees, from the first one on.
  int64_t Seen(const Sequence& s, int64_t token) const;
  // The row of the keys' tensor, as one of heads that lie one behind the other.
  int64_t KeyRow(const Frame& frame, std::span<const Sequence> all, const Sequence& s, int64_t column) const;

 private:
  void TakeLengths(Plan& plan, const SparseSequencesArgs& a);
  int64_t KeyRows() const { return paged_ ? most_columns_ : key_rows_; }

  bool packed_ = false, keys_packed_ = false, paged_ = false, causal_ = false;
  int64_t batches_ = 0, rows_ = 0, heads_ = 0, key_rows_ = 0, most_columns_ = 0;
  int64_t page_rows_ = 0, page_count_ = 0, pages_each_ = 0;
  Indices query_lengths_, key_lengths_, pages_;
  int query_at_ = -1, keys_at_ = -1, pages_at_ = -1;
  Scratch<Sequence> room_;
  Scratch<int64_t> table_;
};

}  // namespace belay::ops
