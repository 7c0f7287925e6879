// What the functions of native sparse attention share: packed sequences whose lengths the host tells, heads
// of query that share those of key in groups, keys in pages.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "ops/index/indices.h"
#include "ops/plan.h"
#include "ops/schema.h"

namespace belay::ops {

constexpr int64_t kNsaCopies = 8;  // of each number in softmaxMax and softmaxSum

struct NsaArgs {
  const Operand &query, &key, &value, &out;
  int64_t heads;
  double scale;
  const char* layout;
};

// One token of query for each sequence, and its keys in pages.
struct NsaPagedArgs {
  const Operand &query, &key, &value, &table, &out;
  std::span<const int64_t> lengths, key_lengths;
  int64_t heads, key_heads, page;
  double scale;
  const char* layout;  // TND, BSND or BSH
};

// Of what a function for inference is given.
template <class Arguments>
NsaPagedArgs PagedArgsOf(const Arguments& a, std::span<const int64_t> key_lengths) {
  return {.query = a.query,
          .key = a.key,
          .value = a.value,
          .table = a.block_table,
          .out = a.output,
          .lengths = a.actual_q_seq_len,
          .key_lengths = key_lengths,
          .heads = a.num_heads,
          .key_heads = a.num_key_value_heads,
          .page = a.page_block_size,
          .scale = a.scale_value,
          .layout = a.layout};
}

// The tensors of NsaPagedArgs with a dimension for heads: [tokens, heads, size], and key and value [pages,
// rows, heads, size].
struct NsaViews {
  Tensor query, key, value, out;
};

// A token of query, and the keys of its sequence.
struct NsaPlace {
  int64_t sequence, row;  // row: of the token, within its sequence
  int64_t first_key, keys;
};

// A place in `size` ones, none of which counts from the end. Fails beyond them.
int64_t PlaceWithin(int64_t place, int64_t size);
// The row that a token of a sequence has in the pages of that sequence.
int64_t RowInPages(std::span<const int64_t> pages, int64_t token, int64_t page_rows, int64_t page_count);

class NsaSequences {
 public:
  NsaSequences() = default;
  // TND: query [tokens, heads, deep], key [keys, key heads, deep], value [keys, key heads, size]; running
  // sums of lengths. Throws Error 161002 for what does not fit.
  NsaSequences(const Plan& plan, const NsaArgs& args, std::span<const int64_t> ends,
               std::span<const int64_t> key_ends);

  NsaSequences(Plan& plan, const NsaPagedArgs& args, NsaViews* views);

  int64_t tokens() const { return tokens_; }
  int64_t heads() const { return heads_; }
  int64_t key_heads() const { return key_heads_; }
  int64_t group() const { return heads_ / key_heads_; }
  int64_t deep() const { return deep_; }
  int64_t size() const { return size_; }
  int64_t sequences() const { return static_cast<int64_t>(key_ends_.size()); }
  int64_t most_keys() const { return most_keys_; }
  int64_t most_rows() const { return most_rows_; }
  float scale() const { return scale_; }

  NsaPlace Of(int64_t token) const;
  // The same of a sequence's first token.
  NsaPlace KeysOf(int64_t sequence) const;
  // [first, last) of the tokens of a sequence.
  std::pair<int64_t, int64_t> TokensOf(int64_t sequence) const;
  // Rows of the tensors, heads side by side.
  int64_t QueryRow(int64_t token, int64_t key_head) const { return token * heads_ + key_head * group(); }
  int64_t KeyRow(const NsaPlace& place, int64_t column, int64_t key_head,
                 std::span<const int64_t> pages) const {
    const auto first = static_cast<size_t>(place.sequence * pages_each_);
    const int64_t row = pages.empty() ? place.first_key + column
                                      : RowInPages(pages.subspan(first), column, page_rows_, page_count_);
    return row * key_heads_ + key_head;
  }
  // Of all sequences; none where keys lie one behind the other.
  std::span<const int64_t> Pages(const Frame& frame) const;

 private:
  void TakeHeads(const Plan& plan, int64_t heads, int64_t key_heads);

  int64_t tokens_ = 0, heads_ = 0, key_heads_ = 1, deep_ = 0, size_ = 0, most_keys_ = 0, most_rows_ = 0;
  float scale_ = 1;
  std::vector<int64_t> ends_, key_ends_;
  Indices pages_;
  int pages_at_ = -1;
  int64_t page_rows_ = 1, page_count_ = 0, pages_each_ = 0;
};

// Throws unless there are `count` blocks for each token and head of key: [tokens, key heads, count], or with
// a dimension for the one token of a sequence.
void CheckChosenShape(const Plan& plan, const Operand& o, const NsaSequences& sequences, int64_t count);

}  // namespace belay::ops
