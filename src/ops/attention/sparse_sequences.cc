#include "ops/attention/sparse_sequences.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "base/error.h"
#include "ops/experts/experts.h"

namespace belay::ops {
namespace {

constexpr int64_t kAllTokens = std::numeric_limits<int64_t>::max();

bool PacksTokens(const Plan& plan, std::string_view layout) {
  if (layout != "BSND" && layout != "TND") RefuseExperts(plan, "the layout of query is BSND or TND");
  return layout == "TND";
}

[[noreturn]] void RefuseLength(const char* what, int64_t sequence, int64_t length, int64_t most) {
  Fail(kIndexFault, "sparse-lengths", "{} gives sequence {} {} tokens of {}; it must fit the tensor", what,
       sequence, length, most);
}

}  // namespace

SparseSequences::SparseSequences(Plan& plan, const SparseSequencesArgs& a) {
  packed_ = PacksTokens(plan, a.query_layout == nullptr ? "" : a.query_layout);
  const std::string_view keys = a.key_layout == nullptr ? "" : a.key_layout;
  paged_ = keys == "PA_BSND";
  if (!paged_ && keys != (packed_ ? "TND" : "BSND"))
    RefuseExperts(plan, "the layout of the keys is PA_BSND, or that of query");
  keys_packed_ = keys == "TND";
  if (a.sparse_mode != 0 && a.sparse_mode != 3) RefuseExperts(plan, "sparseMode is 0 or 3");
  if (a.before != kAllTokens || a.after != kAllTokens)
    RefuseExperts(plan, "preTokens and nextTokens are 2^63 - 1, the only ones that there are");
  causal_ = a.sparse_mode == 3;
  CheckExpertRank(plan, a.query, packed_ ? 3 : 4, packed_ ? 3 : 4);
  CheckExpertRank(plan, a.key, keys_packed_ ? 3 : 4, keys_packed_ ? 3 : 4);
  const Shape &q = a.query.shape(), &k = a.key.shape();
  if (k.back(1) != 1) RefuseExperts(plan, "keys have one head");
  if (k.back(0) != q.back(0)) RefuseExperts(plan, "heads of query and key are of one size");
  heads_ = q.back(1), rows_ = packed_ ? q[0] : q[1], key_rows_ = keys_packed_ ? k[0] : k[1];
  TakeLengths(plan, a);
}

void SparseSequences::TakeLengths(Plan& plan, const SparseSequencesArgs& a) {
  if (packed_ && !a.query_lengths.present())
    RefuseExperts(plan, "a query of TND needs actualSeqLengthsQuery");
  if ((paged_ || keys_packed_) && !a.key_lengths.present())
    RefuseExperts(plan, "keys of TND or in pages need the lengths of their sequences");
  batches_ = packed_ ? a.query_lengths.tensor->count() : a.query.shape()[0];
  for (const Operand* lengths : {&a.query_lengths, &a.key_lengths}) {
    if (lengths->present()) CheckExpertShape(plan, *lengths, {batches_});
  }
  if (!paged_ && !keys_packed_ && a.key.shape()[0] != batches_)
    RefuseExperts(plan, "query and key have other batches");
  most_columns_ = key_rows_;
  if (paged_) {
    if (!a.pages.present()) RefuseExperts(plan, "keys in pages need blockTable");
    CheckExpertRank(plan, a.pages, 2, 2);
    if (a.pages.shape()[0] != batches_) RefuseExperts(plan, "blockTable has a row for each sequence");
    page_rows_ = a.key.shape()[1], page_count_ = a.key.shape()[0], pages_each_ = a.pages.shape()[1];
    most_columns_ = page_rows_ * pages_each_;
    pages_ = Indices(plan, *a.pages.tensor), pages_at_ = a.pages.binding;
    table_ = Scratch<int64_t>(plan, a.pages.tensor->count());
  } else if (a.pages.present()) {
    RefuseExperts(plan, "blockTable is for keys of PA_BSND");
  }
  if (a.query_lengths.present())
    query_lengths_ = Indices(plan, *a.query_lengths.tensor), query_at_ = a.query_lengths.binding;
  if (a.key_lengths.present())
    key_lengths_ = Indices(plan, *a.key_lengths.tensor), keys_at_ = a.key_lengths.binding;
  room_ = Scratch<Sequence>(plan, batches_);
}

Shape SparseSequences::WithLast(std::initializer_list<int64_t> last) const {
  Shape shape = packed_ ? Shape{rows_} : Shape{batches_, rows_};
  for (const int64_t size : last) shape.push_back(size);
  return shape;
}

std::span<const SparseSequences::Sequence> SparseSequences::Read(const Frame& frame) const {
  Sequence* all = room_.At(frame);
  std::span<const int64_t> rows, columns;
  if (query_at_ >= 0) rows = query_lengths_.Read(frame, query_at_);
  if (keys_at_ >= 0) columns = key_lengths_.Read(frame, keys_at_);
  if (paged_) std::ranges::copy(pages_.Read(frame, pages_at_), table_.At(frame));
  int64_t end = 0, key_end = 0;
  for (int64_t i = 0; i < batches_; ++i) {
    const auto at = static_cast<size_t>(i);
    Sequence& s = all[i];
    s.first = packed_ ? end : i * rows_, s.rows = rows.empty() ? rows_ : rows[at] - (packed_ ? end : 0);
    if (s.rows < 0 || s.rows > rows_ - (packed_ ? end : 0))
      RefuseLength("actualSeqLengthsQuery", i, s.rows, rows_);
    s.key_first = keys_packed_ ? key_end : i * key_rows_;
    s.columns = columns.empty() ? key_rows_ : columns[at] - (keys_packed_ ? key_end : 0);
    if (s.columns < 0 || s.columns > KeyRows() - (keys_packed_ ? key_end : 0))
      RefuseLength("actualSeqLengthsKey", i, s.columns, KeyRows());
    end += s.rows, key_end += s.columns;
    for (int64_t p = 0; paged_ && p * page_rows_ < s.columns; ++p) {
      const int64_t page = table_.At(frame)[i * pages_each_ + p];
      if (page >= 0 && page < page_count_) continue;
      Fail(kIndexFault, "op-index-range", "index {} is beyond a dimension of {} elements", page, page_count_);
    }
  }
  return {all, static_cast<size_t>(batches_)};
}

const SparseSequences::Sequence* SparseSequences::Of(std::span<const Sequence> all, int64_t token) const {
  const auto after = std::upper_bound(all.begin(), all.end(), token,
                                      [](int64_t t, const Sequence& s) { return t < s.first; });
  // Those without tokens begin where another one does.
  for (auto at = after; at != all.begin();) {
    --at;
    if (token < at->first + at->rows) return &*at;
    if (at->rows != 0) return nullptr;
  }
  return nullptr;
}

int64_t SparseSequences::Seen(const Sequence& s, int64_t token) const {
  if (!causal_) return s.columns;
  return std::clamp<int64_t>(s.columns - s.rows + (token - s.first) + 1, 0, s.columns);
}

int64_t SparseSequences::KeyRow(const Frame& frame, std::span<const Sequence> all, const Sequence& s,
                                int64_t column) const {
  if (!paged_) return s.key_first + column;
  const int64_t sequence = &s - all.data();
  return table_.At(frame)[sequence * pages_each_ + column / page_rows_] * page_rows_ + column % page_rows_;
}

}  // namespace belay::ops
