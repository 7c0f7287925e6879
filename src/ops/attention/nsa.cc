#include "ops/attention/nsa.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "ops/experts/experts.h"
#include "ops/layout/checks.h"

namespace belay::ops {
namespace {

// Throws unless they rise to the number of all tokens. The length of the longest.
int64_t CheckEnds(const Plan& plan, std::span<const int64_t> ends, int64_t tokens) {
  int64_t before = 0, most = 0;
  for (const int64_t end : ends) {
    if (end < before) RefuseExperts(plan, "the running sums of the lengths of sequences fall");
    most = std::max(most, end - before);
    before = end;
  }
  if (before != tokens) RefuseExperts(plan, "the running sums of the lengths do not end with all tokens");
  return most;
}

// The last dimension in `heads` parts, or the two last ones as they are; one token in a dimension of its own
// is left out.
Tensor WithHeads(const Plan& plan, const Operand& o, int64_t heads, bool packed, bool token) {
  Tensor t = *o.tensor;
  Shape& shape = t.shape;
  const int last = shape.rank() - 1;
  const bool split = !packed && last == 2 && heads > 0 && shape[last] % heads == 0;
  const bool as_it_is = packed ? last == 2 : last == 3;
  if (!split && !as_it_is) RefuseExperts(plan, "a tensor has not the dimensions of its layout");
  Shape parted;
  tensor::Strides strides;
  for (int d = 0; d < last + (split ? 0 : 1); ++d) {
    if (token && !packed && d == 1) {
      if (shape[d] != 1) RefuseExperts(plan, "query has one token for each sequence");
      continue;
    }
    strides[parted.rank()] = t.strides[d];
    parted.push_back(shape[d]);
  }
  if (split) {
    const int64_t size = shape[last] / heads;
    strides[parted.rank()] = t.strides[last] * size;
    parted.push_back(heads);
    strides[parted.rank()] = t.strides[last];
    parted.push_back(size);
  }
  if (parted.back(1) != heads) RefuseExperts(plan, "a tensor has another number of heads than is told");
  t.shape = parted, t.strides = strides;
  return t;
}

// One for each sequence, or the running sum of that.
bool AreOnes(std::span<const int64_t> lengths) {
  int64_t sum = 0;
  bool ones = true, sums = true;
  for (const int64_t n : lengths) ones &= n == 1, sums &= n == ++sum;
  return ones || sums;
}

}  // namespace

NsaSequences::NsaSequences(const Plan& plan, const NsaArgs& a, std::span<const int64_t> ends,
                           std::span<const int64_t> key_ends)
    : ends_(ends.begin(), ends.end()), key_ends_(key_ends.begin(), key_ends.end()) {
  if (std::string_view(a.layout) != "TND")
    RefuseExperts(plan, "the layout is TND, the only one that there is");
  for (const Operand* o : {&a.query, &a.key, &a.value}) CheckExpertRank(plan, *o, 3, 3);
  for (const Operand* o : {&a.key, &a.value, &a.out}) CheckSameType(a.query, *o);
  const Shape &q = a.query.shape(), &v = a.value.shape();
  tokens_ = q[0], heads_ = q[1], deep_ = q[2], key_heads_ = v[1], size_ = v[2];
  CheckExpertShape(plan, a.key, {v[0], v[1], deep_});
  CheckExpertShape(plan, a.out, {tokens_, heads_, size_});
  if (a.heads != heads_) RefuseExperts(plan, "headNum is not the number of heads of query");
  TakeHeads(plan, heads_, key_heads_);
  if (ends_.empty() || ends_.size() != key_ends_.size())
    RefuseExperts(plan, "the lengths of sequences are as many for query as for key, and not null");
  most_rows_ = CheckEnds(plan, ends_, tokens_);
  most_keys_ = CheckEnds(plan, key_ends_, v[0]);
  scale_ = static_cast<float>(a.scale);
}

void NsaSequences::TakeHeads(const Plan& plan, int64_t heads, int64_t key_heads) {
  heads_ = heads, key_heads_ = key_heads;
  if (key_heads < 1 || heads % key_heads != 0)
    RefuseExperts(plan, "the heads of query are no multiple of those of key");
}

NsaSequences::NsaSequences(Plan& plan, const NsaPagedArgs& a, NsaViews* views) {
  const std::string_view layout = a.layout;
  if (layout != "TND" && layout != "BSND" && layout != "BSH")
    RefuseExperts(plan, "the layout is TND, BSND or BSH");
  for (const Operand* o : {&a.key, &a.value, &a.out}) CheckSameType(a.query, *o);
  const bool packed = layout == "TND";
  if (!a.table.present()) RefuseExperts(plan, "keys lie in pages: blockTable is not null");
  TakeHeads(plan, a.heads, a.key_heads);
  views->query = WithHeads(plan, a.query, heads_, packed, true);
  views->out = WithHeads(plan, a.out, heads_, packed, true);
  views->key = WithHeads(plan, a.key, key_heads_, false, false);
  views->value = WithHeads(plan, a.value, key_heads_, false, false);
  const Shape &q = views->query.shape, &k = views->key.shape, &v = views->value.shape;
  tokens_ = q[0], deep_ = q[2], size_ = v[3], scale_ = static_cast<float>(a.scale);
  if (k != Shape{v[0], v[1], key_heads_, deep_} || views->out.shape != Shape{tokens_, heads_, size_})
    RefuseExperts(plan, "query, key, value and output do not fit each other");
  if (k[1] != a.page || a.page < 1) RefuseExperts(plan, "pageBlockSize is not the tokens of a page of key");
  if (static_cast<int64_t>(a.key_lengths.size()) != tokens_)
    RefuseExperts(plan, "there is a length of the keys for each sequence");
  if (!a.lengths.empty() && (static_cast<int64_t>(a.lengths.size()) != tokens_ || !AreOnes(a.lengths)))
    RefuseExperts(plan, "query has one token for each sequence");
  CheckExpertRank(plan, a.table, 2, 2);
  page_rows_ = k[1], page_count_ = k[0], pages_each_ = a.table.shape()[1];
  if (a.table.shape()[0] != tokens_) RefuseExperts(plan, "blockTable has a row for each sequence");
  most_rows_ = 1;
  for (const int64_t n : a.key_lengths) {
    if (n < 0 || n > pages_each_ * page_rows_)
      RefuseExperts(plan, "a length of keys is below 0 or beyond the pages of its sequence");
    most_keys_ = std::max(most_keys_, n);
    ends_.push_back(static_cast<int64_t>(ends_.size()) + 1);
    key_ends_.push_back((key_ends_.empty() ? 0 : key_ends_.back()) + n);
  }
  if (tokens_ == 0) return;
  pages_ = Indices(plan, *a.table.tensor), pages_at_ = a.table.binding;
}

std::span<const int64_t> NsaSequences::Pages(const Frame& frame) const {
  return pages_at_ < 0 ? std::span<const int64_t>() : pages_.Read(frame, pages_at_);
}

int64_t PlaceWithin(int64_t place, int64_t size) {
  if (place < 0 || place >= size)
    Fail(kIndexFault, "op-index-range", "index {} is beyond a dimension of {} elements", place, size);
  return place;
}

int64_t RowInPages(std::span<const int64_t> pages, int64_t token, int64_t page_rows, int64_t page_count) {
  const int64_t page = PlaceWithin(pages[static_cast<size_t>(token / page_rows)], page_count);
  return page * page_rows + token % page_rows;
}

NsaPlace NsaSequences::KeysOf(int64_t sequence) const {
  const auto at = static_cast<size_t>(sequence);
  const int64_t first = sequence == 0 ? 0 : key_ends_[at - 1];
  return {sequence, 0, first, key_ends_[at] - first};
}

NsaPlace NsaSequences::Of(int64_t token) const {
  NsaPlace place = KeysOf(std::upper_bound(ends_.begin(), ends_.end(), token) - ends_.begin());
  place.row = token - TokensOf(place.sequence).first;
  return place;
}

std::pair<int64_t, int64_t> NsaSequences::TokensOf(int64_t sequence) const {
  const auto at = static_cast<size_t>(sequence);
  return {sequence == 0 ? 0 : ends_[at - 1], ends_[at]};
}

void CheckChosenShape(const Plan& plan, const Operand& o, const NsaSequences& s, int64_t count) {
  if (o.present() && o.shape() == Shape{s.tokens(), 1, s.key_heads(), count}) return;
  CheckExpertShape(plan, o, {s.tokens(), s.key_heads(), count});
}

}  // namespace belay::ops
