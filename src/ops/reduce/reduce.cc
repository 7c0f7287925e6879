// Folds over any set of dimensions. Which way round to walk depends on the memory: either one result
// at a time along what is folded, or a row of results side by side.
#include "ops/reduce/reduce.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "ops/kernels.h"
#include "ops/loop_nest.h"
#include "ops/pipeline.h"
#include "ops/reduce/byte_loops.h"
#include "ops/reduce/column_fold.h"
#include "ops/through.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

using tensor::Convert;

// Folds numbers in a tree, whatever their count, with one partial result a level: the level's bit in
// `count` says whether it holds one.
template <class T>
class Cascade {
 public:
  explicit Cascade(const FoldLoops<T>& loops) : loops_(loops) {}
  void Add(T value) {
    int level = 0;
    for (uint64_t c = count_++; c & 1; c >>= 1) value = loops_.merge(level_[level++], value);
    level_[level] = value;
  }
  T Total() const {
    T total = loops_.start;
    for (uint64_t left = count_; left != 0; left &= left - 1) {
      total = loops_.merge(level_[std::countr_zero(left)], total);
    }
    return total;
  }

 private:
  const FoldLoops<T>& loops_;
  uint64_t count_ = 0;
  T level_[64];
};

template <class T>
struct ReduceBody {
  LoopNest kept;           // out, in
  LoopNest folded;         // in
  FoldedBlocks<T> blocks;  // along whichever of the two is walked in blocks
  FoldedBlocks<T> along;   // what is folded
  DType wanted;            // the result is rounded or wrapped to it, then stored
  DType stored;
  int bindings[2];
  bool side_by_side;
  bool in_columns;  // rows of results, or of what is folded to them, are taken whole
  int64_t inner;    // of these: elements of a row that are folded to one result
  LoopNest outer;   // of these: the rows; in
  bool rows_together;
  bool small_matrices;
  Reduction how;
  const FoldLoops<T>* loops;
  const FoldLoops<T>* before;  // what p comes from; null: it is given
  T of_nothing;                // what is folded of no elements

  // Folded elements that one core folds before it hands on a partial result. A constant, so that the
  // order of operations does not depend on how many cores there are.
  static constexpr int64_t kChunk = 64 * 1024;
  static constexpr int64_t kSide = ColumnFold<T>::kMost;

  void operator()(const Frame& frame) const {
    char* out = frame.at[bindings[0]] + kept.offset(0);
    // An empty input has no memory; nothing is read then.
    char* in_base = folded.count() == 0 ? out : frame.at[bindings[1]] + folded.offset(0);
    char* base[2] = {out, in_base};
    if (folded.count() > kChunk && kept.count() < ParallelWidth() && !in_columns) {
      return kept.Walk(base, 0, kept.count(),
                       [this](char** at, int64_t n) { Results(at[0], at[1], n, true); });
    }
    if (small_matrices) {
      const int64_t grain = std::max<int64_t>(1, LoopNest::kGrain / (kept.row() * folded.count()));
      return ParallelFor(kept.rows(), grain, [&](int64_t begin, int64_t end) {
        SmallMatrices(out + begin * kept.row_step(0), in_base + begin * kept.row_step(1), end - begin);
      });
    }
    const int64_t unit = in_columns && RowsTogether() ? kept.row() : 1;
    ParallelFor(kept.count() / unit, std::max<int64_t>(1, Grain() / unit), [&](int64_t begin, int64_t end) {
      kept.Walk(base, begin * unit, end * unit,
                [this](char** at, int64_t n) { Results(at[0], at[1], n, false); });
    });
  }

  // The order in which such rows are folded depends on how many results there are in one.
  bool RowsTogether() const {
    return ColumnFold<T>::RowsTogether(outer, kept.row() * inner, column_step()) > 1;
  }
  int64_t column_step() const { return side_by_side ? kept.step(1) : folded.step(0); }

  // Of rows that are folded each core takes a part as long as it can: long parts of rows come from memory
  // faster.
  int64_t Grain() const {
    const int64_t least = std::max<int64_t>(1, LoopNest::kGrain / std::max<int64_t>(folded.count(), 1));
    if (!in_columns) return least;
    const int64_t width = ParallelWidth();
    return std::max(least, std::clamp<int64_t>((kept.count() + width - 1) / width, kBlock, kSide));
  }

  // n results, `kept.step` apart.
  void Results(char* out, const char* in_base, int64_t n, bool split) const {
    if (in_columns) {
      const int64_t some = kSide / inner;
      for (int64_t i = 0; i < n; i += some) {
        Columns(out + i * kept.step(0), in_base + i * kept.step(1), std::min(some, n - i));
      }
      return;
    }
    if (!split && rows_together) return Rows(out, in_base, n);
    for (int64_t i = 0; i < n; ++i) Result(out + i * kept.step(0), in_base + i * kept.step(1), split);
  }

  // Results side by side, or rows that are folded to results and follow each other: what lies behind them
  // is folded first. The cores share what one result is made of where there is much of it for few.
  void FindColumns() {
    constexpr int64_t kMostOfResult = kBlock / 2, kFewResults = 64;
    outer = folded, inner = 1, in_columns = side_by_side;
    if (side_by_side || folded.count() == 0 || folded.rank() < 2 || kept.row() < 2) return;
    if (folded.row() > kMostOfResult || kept.step(1) != folded.row() * folded.step(0)) return;
    if (folded.count() > kChunk && kept.count() < kFewResults) return;
    in_columns = true, inner = folded.row(), outer = folded.OfRows();
  }

  // Packed matrices of a few columns, which are folded: many at a time. Those whose elements change before
  // they are folded must fit into a block.
  bool HasSmallMatrices() const {
    constexpr int64_t kFewColumns = kBlock, kMostInPlace = 16 * kBlock;
    const int64_t size = kept.row() * folded.count();
    return side_by_side && kept.has_two_levels() && folded.has_one_level() && kept.row() <= kFewColumns &&
           size <= (InPlace() ? kMostInPlace : kBlock) && folded.step(0) == kept.row() * kept.step(1) &&
           kept.row_step(1) == size * kept.step(1) && kept.rows_follow(0);
  }
  bool InPlace() const { return loops->elements == nullptr && before == nullptr && blocks.direct(); }

  void SmallMatrices(char* out, const char* in_base, int64_t n) const {
    alignas(64) T buffer[kBlock], changed[kBlock], totals[kBlock], p[kBlock];
    const int64_t width = kept.row(), height = folded.count(), size = width * height;
    const int64_t together = kBlock / (InPlace() ? width : size);
    std::fill_n(p, kBlock, static_cast<T>(how.power));
    for (int64_t i = 0; i < n; i += together) {
      const int64_t m = std::min(together, n - i);
      const char* from = in_base + i * kept.row_step(1);
      const T* x = InPlace() ? reinterpret_cast<const T*>(from) : blocks.Load(buffer, from, m * size);
      if (before != nullptr) AroundColumns(p, changed, x, m);
      if (loops->elements != nullptr) {
        loops->elements(changed, before == nullptr ? x : changed, m * size, before == nullptr ? p[0] : T{0});
        x = changed;
      }
      loops->merge_matrices(totals, x, m, height, width);
      for (int64_t k = 0; how.around_mean && k < m * width; ++k) {
        const char* column = from + k / width * kept.row_step(1) + k % width * kept.step(1);
        totals[k] = AroundExactMean(column, totals[k], p[k]);
      }
      StoreAll(out + i * kept.row_step(0), totals, p, m * width);
    }
  }

  // p of each column of m small matrices, and the elements without it.
  void AroundColumns(T* p, T* changed, const T* x, int64_t m) const {
    const int64_t width = kept.row(), height = folded.count();
    before->merge_matrices(p, x, m, height, width);
    for (int64_t k = 0; k < m * width; ++k) p[k] = MiddleOf(p[k]);
    for (int64_t k = 0; k < m; ++k, p += width) {
      for (int64_t r = 0; r < height; ++r) {
        for (int64_t c = 0; c < width; ++c) *changed++ = static_cast<T>(*x++ - p[c]);
      }
    }
  }

  // Rows of at most kBlock elements, many at a time: what one costs beside its elements is little. Of a
  // result's rows that lie apart each is folded so, and then they are.
  void Rows(char* out, const char* in_base, int64_t n) const {
    alignas(64) T packed[kBlock], totals[kBlock], more[kBlock], p[kBlock];
    const int64_t size = folded.row(), apart = folded.rows() > 1 ? folded.row_step(0) : 0;
    const bool in_memory = blocks.direct() && kept.step(1) == size * folded.step(0);
    const int64_t together = in_memory ? kBlock : kBlock / size;
    std::fill_n(p, std::min(together, n), static_cast<T>(how.power));
    for (int64_t i = 0; i < n; i += together) {
      const int64_t m = std::min(together, n - i);
      for (int64_t each = 0; each < folded.rows(); ++each) {
        const char* first = in_base + i * kept.step(1) + each * apart;
        const T* rows = in_memory ? reinterpret_cast<const T*>(first) : PackedRows(packed, first, m);
        if (before != nullptr) Around(p, rows, m);
        loops->fold_rows(each == 0 ? totals : more, rows, m, size, p);
        if (each != 0) loops->merge_into(totals, more, m);
        for (int64_t r = 0; how.around_mean && r < m; ++r) {
          totals[r] = AroundExactMean(first + r * kept.step(1), totals[r], p[r]);
        }
      }
      StoreAll(out + i * kept.step(0), totals, p, m);
    }
  }

  const T* PackedRows(T* packed, const char* from, int64_t m) const {
    const int64_t size = folded.row();
    if (kept.step(1) == size * folded.step(0)) return blocks.Load(packed, from, m * size);
    for (int64_t r = 0; r < m; ++r) {
      const T* row = blocks.Load(packed + r * size, from + r * kept.step(1), size);
      if (m == 1) return row;
      if (row != packed + r * size) std::copy_n(row, size, packed + r * size);
    }
    return packed;
  }

  // p of each row: its mean or its largest element.
  void Around(T* p, const T* rows, int64_t m) const {
    const int64_t size = folded.count();
    before->fold_rows(p, rows, m, size, p);
    for (int64_t r = 0; r < m; ++r) p[r] = MiddleOf(p[r]);
  }

  void Result(char* out, const char* base, bool split) const {
    T p = static_cast<T>(how.power);
    if (folded.count() == 0) return Store(out, of_nothing, p);
    if (before != nullptr) p = MiddleOf(All(*before, base, T{0}, split));
    T total = All(*loops, base, p, split);
    if (how.around_mean) total = AroundExactMean(base, total, p);
    Store(out, total, p);
  }

  // The sum of squares is around p, a rounded mean; where that shows it is taken away.
  T AroundExactMean(const char* base, T total, T p) const {
    constexpr double kFar = 64;  // deviations
    const auto n = static_cast<double>(folded.count()), sum = static_cast<double>(total);
    const double mean = std::abs(static_cast<double>(p));
    if (!(mean * mean > kFar * kFar * sum / n)) return total;
    double rest = 0;
    char* start[1] = {const_cast<char*>(base)};
    folded.Walk(start, 0, folded.count(), [&](char** at, int64_t m) {
      alignas(64) T buffer[kBlock];
      for (int64_t i = 0; i < m; i += kBlock) {
        const int64_t k = std::min(kBlock, m - i);
        const T* x = along.Load(buffer, at[0] + i * folded.step(0), k);
        for (int64_t j = 0; j < k; ++j) rest += static_cast<double>(x[j]) - static_cast<double>(p);
      }
    });
    return static_cast<T>(std::max(sum - rest * rest / n, 0.0));
  }

  // All folded elements for the result whose first one is at `base`. `split`: the cores share them.
  T All(const FoldLoops<T>& l, const char* base, T p, bool split) const {
    if (folded.count() <= kChunk) return Range(l, base, 0, folded.count(), p);
    const int64_t chunks = (folded.count() + kChunk - 1) / kChunk;
    constexpr int64_t kTogether = 1024;
    T partial[kTogether];
    Cascade<T> cascade(l);
    for (int64_t first = 0; first < chunks; first += kTogether) {
      const int64_t count = std::min(kTogether, chunks - first);
      auto part = [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c) {
          const int64_t at = (first + c) * kChunk;
          partial[c] = Range(l, base, at, std::min(folded.count(), at + kChunk), p);
        }
      };
      split ? ParallelFor(count, 1, part) : part(0, count);
      for (int64_t c = 0; c < count; ++c) cascade.Add(partial[c]);
    }
    return cascade.Total();
  }

  T Range(const FoldLoops<T>& l, const char* base, int64_t begin, int64_t end, T p) const {
    Cascade<T> cascade(l);
    char* start[1] = {const_cast<char*>(base)};
    alignas(64) T buffer[kBlock], together[kBlock];
    int64_t held = 0;
    const bool some = folded.row() <= kBlock / 4;  // short rows are folded several at a time
    folded.Walk(start, begin, end, [&](char** at, int64_t n) {
      for (int64_t i = 0; i < n; i += kBlock) {
        const int64_t m = std::min(kBlock, n - i);
        const T* x = blocks.Load(buffer, at[0] + i * folded.step(0), m);
        if (!some) {
          cascade.Add(l.fold(x, m, p));
          continue;
        }
        if (held + m > kBlock) cascade.Add(l.fold(together, held, p)), held = 0;
        std::copy_n(x, m, together + held);
        held += m;
      }
    });
    if (held != 0) cascade.Add(l.fold(together, held, p));
    return cascade.Total();
  }

  // n <= kSide / inner results: columns are folded, and of those that go into one result then they are.
  void Columns(char* out, const char* in_base, int64_t n) const {
    alignas(64) T totals[kSide], p[kSide], around[kSide];
    std::fill_n(p, n, static_cast<T>(how.power));
    if (before != nullptr) {
      FoldColumns(p, *before, in_base, n, nullptr);
      for (int64_t i = 0; i < n; ++i) {
        p[i] = MiddleOf(p[i]);
        std::fill_n(around + i * inner, inner, p[i]);
      }
    }
    FoldColumns(totals, *loops, in_base, n, before == nullptr ? nullptr : around);
    for (int64_t i = 0; how.around_mean && i < n; ++i) {
      totals[i] = AroundExactMean(in_base + i * kept.step(1), totals[i], p[i]);
    }
    for (int64_t i = 0; i < n; i += kBlock)
      StoreAll(out + i * kept.step(0), totals + i, p + i, std::min(kBlock, n - i));
  }

  void FoldColumns(T* totals, const FoldLoops<T>& l, const char* base, int64_t n, const T* around) const {
    ColumnFold<T> fold(blocks, l, static_cast<T>(how.power), around);
    if (inner == 1) return fold.Fold(totals, outer, base, n, column_step());
    alignas(64) T columns[kSide];
    fold.Fold(columns, outer, base, n * inner, column_step());
    l.rows(totals, columns, n, inner, nullptr, nullptr);
  }

  // p, of what was folded before.
  T MiddleOf(T fold) const {
    if (how.around_mean) return static_cast<T>(fold / static_cast<T>(folded.count()));
    return std::isfinite(static_cast<double>(fold)) ? fold : T{0};
  }

  void FinishAll(T* totals, const T* p, int64_t n) const {
    if (how.finish == Finish::kDivide) return DivideAll(totals, n);
    if constexpr (std::is_floating_point_v<T>) {
      if (how.finish == Finish::kRoot && how.power == 0) {
        for (int64_t i = 0; i < n; ++i) totals[i] = std::sqrt(totals[i]);
        return;
      }
    }
    for (int64_t i = 0; how.finish != Finish::kNone && i < n; ++i) totals[i] = Finished(totals[i], p[i]);
  }

  void DivideAll(T* totals, int64_t n) const {
    if constexpr (std::is_floating_point_v<T>) {
      const T count = static_cast<T>(std::max(0.0, folded.count() + how.divisor));
      for (int64_t i = 0; i < n; ++i) totals[i] /= count;
      for (int64_t i = 0; how.root_of_quotient && i < n; ++i) totals[i] = std::sqrt(totals[i]);
    } else {
      const int64_t count = folded.count();
      for (int64_t i = 0; i < n; ++i) totals[i] = count == 0 ? T{0} : static_cast<T>(totals[i] / count);
    }
  }

  T Finished(T total, T p) const {
    const auto wide = static_cast<double>(total);
    if (how.finish == Finish::kLog) {
      return static_cast<T>(std::log(wide) + (how.around_max ? static_cast<double>(p) : 0));
    }
    return static_cast<T>(how.power == 0 ? std::sqrt(wide) : std::pow(wide, 1 / how.power));
  }

  void Store(char* out, T total, T p) const { StoreAll(out, &total, &p, 1); }

  // n <= kBlock results next to each other.
  void StoreAll(char* out, T* totals, const T* p, int64_t n) const {
    alignas(64) char rounded[kBlock * 8], narrow[kBlock * 8];
    FinishAll(totals, p, n);
    const void* values = totals;
    if (wanted != kTypeOf<T>) {
      Convert(wanted, rounded, kTypeOf<T>, totals, n);
      values = rounded;
    }
    const auto bytes = static_cast<int64_t>(BytesOf(stored));
    if (n == 1 || kept.step(0) == bytes) return Convert(stored, out, wanted, values, n);
    Convert(stored, narrow, wanted, values, n);
    tensor::Scatter(out, kept.step(0), narrow, n, static_cast<size_t>(bytes));
  }
};

// Tensors with only some of the dimensions of `t`.
Tensor Part(const Tensor& t, const Shape& shape, const Shape& strides) {
  Tensor part;
  part.dtype = t.dtype;
  part.shape = shape;
  part.strides = strides;
  part.offset = t.offset;
  return part;
}

// Splits self (and out, whose folded dimensions have size one or are gone) into what is kept and
// what is folded.
template <class Body>
void SplitDims(Body& body, const Operand& self, const Operand& out, uint32_t mask) {
  const Tensor& in = *self.tensor;
  const Tensor& result = *out.tensor;
  Shape kept, folded;
  Shape kept_strides, folded_strides, out_strides;
  bool same_rank = result.shape.rank() == in.shape.rank();
  int o = 0;
  for (int i = 0; i < in.shape.rank(); ++i) {
    if (mask >> i & 1) {
      folded.push_back(in.shape[i]);
      folded_strides.push_back(in.strides[i]);
      if (same_rank) ++o;
      continue;
    }
    kept.push_back(in.shape[i]);
    kept_strides.push_back(in.strides[i]);
    out_strides.push_back(result.strides[o++]);
  }
  Tensor kept_in = Part(in, kept, kept_strides);
  kept_in.offset = 0;  // counted once, by the folded part
  Tensor kept_out = Part(result, kept, out_strides);
  Tensor folded_in = Part(in, folded, folded_strides);
  body.kept = LoopNest(kept, {Operand{&kept_out}, Operand{&kept_in}});
  body.folded = LoopNest(folded, {Operand{&folded_in}});
}

// What p comes from, where it is not given.
template <class T>
const FoldLoops<T>* Before(const Reduction& how) {
  if (how.around_mean) return &BestFoldLoops<T>(Fold::kSum);
  return how.around_max ? &BestFoldLoops<T>(Fold::kMax) : nullptr;
}

// The least and the greatest number of an integer type.
int64_t LeastOf(DType type) {
  const tensor::DTypeInfo& info = InfoOf(type);
  return info.is_signed ? -(int64_t{1} << (info.bits - 2)) * 2 : 0;
}
int64_t GreatestOf(DType type) {
  if (type == DType::kBool) return 1;
  const tensor::DTypeInfo& info = InfoOf(type);
  return static_cast<int64_t>(~uint64_t{0} >> (64 - info.bits + (info.is_signed ? 1 : 0)));
}

template <class T>
T OfNothing(Fold fold, DType type, T start) {
  if (IsFloat(type)) return start;
  if (fold == Fold::kMax) return static_cast<T>(LeastOf(type));
  return fold == Fold::kMin ? static_cast<T>(GreatestOf(type)) : start;
}

// Modulo 2^32 the result is that of 64 bits.
bool FitsItsType(const Reduction& how) {
  const bool plain = how.fold == Fold::kSum || how.fold == Fold::kProduct || how.fold == Fold::kMax ||
                     how.fold == Fold::kMin;
  return plain && how.finish == Finish::kNone;
}

template <class T>
void PlanAs(Plan& plan, const Reduction& how, DType wanted, const Operand& self, uint32_t mask,
            const Operand& out) {
  ReduceBody<T> body;
  SplitDims(body, self, out, mask);
  body.bindings[0] = out.binding;
  body.bindings[1] = self.binding;
  body.wanted = wanted;
  body.stored = out.dtype();
  body.how = how;
  body.loops = &BestFoldLoops<T>(how.fold);
  body.before = Before<T>(how);
  body.of_nothing = OfNothing(how.fold, wanted, body.loops->start);
  // Neighbours in memory are results: fold rows. Otherwise they are what is folded.
  bool many = body.kept.count() > 1 && body.kept.row() > 1 && body.kept.step(1) != 0;
  body.side_by_side = body.folded.count() > 0 && many &&
                      (body.folded.count() == 1 || body.kept.step(1) < body.folded.step(0));
  body.FindColumns();
  constexpr int64_t kFewRows = 64;  // are added up one after the other
  const bool one_row = body.folded.has_one_level() && body.folded.count() <= kBlock;
  const bool few_rows = body.folded.has_two_levels() && body.folded.row() <= kBlock &&
                        body.folded.rows() <= kFewRows && body.before == nullptr;
  body.rows_together = body.folded.count() > 0 && (one_row || few_rows);
  body.blocks = {Lane(self.dtype(), wanted, body.column_step()), ComputeType(wanted)};
  body.small_matrices = body.HasSmallMatrices();
  body.along = {Lane(self.dtype(), wanted, body.folded.step(0)), ComputeType(wanted)};
  plan.SetCost(30 + static_cast<uint64_t>(self.tensor->count()) / 8);
  plan.SetBody(body);
}

// The largest or least of bytes: as they lie, where rows of them are folded, or columns beside each other.
struct BytesBody {
  LoopNest kept, folded;  // out, in; in
  const ByteFold* fold;
  int bindings[2];
  bool side_by_side = false;

  void operator()(const Frame& frame) const {
    char* base[2] = {frame.at[bindings[0]] + kept.offset(0), frame.at[bindings[1]] + folded.offset(0)};
    const int64_t grain = std::max<int64_t>(1, 8 * LoopNest::kGrain / folded.count());
    ParallelFor(kept.count(), grain, [&](int64_t begin, int64_t end) {
      kept.Walk(base, begin, end,
                [this](char** at, int64_t n) { side_by_side ? Columns(at, n) : Rows(at, n); });
    });
  }

  void Rows(char** at, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) {
      at[0][i * kept.step(0)] = static_cast<char>(fold->row(at[1] + i * kept.step(1), folded.count()));
    }
  }

  void Columns(char** at, int64_t n) const {
    constexpr int64_t kTogether = 1024;
    for (int64_t i = 0; i < n; i += kTogether) {
      const int64_t m = std::min(kTogether, n - i);
      char best[kTogether];
      std::memcpy(best, at[1] + i, static_cast<size_t>(m));
      char* start[1] = {at[1] + i};
      folded.Walk(start, 0, folded.count(), [&](char** row, int64_t rows) {
        for (int64_t r = 0; r < rows; ++r) fold->into(best, row[0] + r * folded.step(0), m);
      });
      if (kept.step(0) == 1) {
        std::memcpy(at[0] + i, best, static_cast<size_t>(m));
      } else {
        tensor::Scatter(at[0] + i * kept.step(0), kept.step(0), best, m, 1);
      }
    }
  }
};

// False: it is something else, or so much for one result that the cores should share it.
bool PlanBytes(Plan& plan, const Reduction& how, DType type, const Operand& self, uint32_t mask,
               const Operand& out) {
  constexpr int64_t kMostOfOne = 1 << 22;
  const bool extreme = how.fold == Fold::kMax || how.fold == Fold::kMin;
  const bool bytes =
      (type == DType::kU8 || type == DType::kI8) && self.dtype() == type && out.dtype() == type;
  if (!extreme || !bytes || how.finish != Finish::kNone) return false;
  BytesBody body;
  SplitDims(body, self, out, mask);
  const int64_t folded = body.folded.count();
  if (folded == 0 || folded > kMostOfOne) return false;
  body.side_by_side = body.kept.row() > 1 && body.kept.step(1) == 1;
  if (!body.side_by_side && !(body.folded.has_one_level() && (folded == 1 || body.folded.step(0) == 1)))
    return false;
  body.fold = &BestByteFold(type == DType::kI8, how.fold == Fold::kMax);
  body.bindings[0] = out.binding;
  body.bindings[1] = self.binding;
  plan.SetCost(30 + static_cast<uint64_t>(self.tensor->count()) / 32);
  plan.SetBody(body);
  return true;
}

// Of dimensions of one element: what is folded of it is the element.
bool PlanSingles(Plan& plan, const Reduction& how, DType type, const Operand& self, uint32_t mask,
                 const Operand& out) {
  const Tensor& in = *self.tensor;
  const bool mean = how.fold == Fold::kSum && how.finish == Finish::kDivide && how.divisor == 0 &&
                    !how.root_of_quotient && IsFloat(type);
  if (!(mean || FitsItsType(how)) || type == DType::kBool || self.dtype() != type || out.dtype() != type)
    return false;
  const bool same_rank = out.shape().rank() == in.shape.rank();
  Tensor view = in;
  view.shape = view.strides = {};
  for (int d = 0; d < in.shape.rank(); ++d) {
    const bool folded = (mask >> d & 1) != 0;
    if (folded && in.shape[d] != 1) return false;
    if (folded && !same_rank) continue;
    view.shape.push_back(in.shape[d]);
    view.strides.push_back(in.strides[d]);
  }
  kernels::Copy(plan, type, {&view, nullptr, self.binding, self.name}, out);
  return true;
}

// The dimensions that are folded and lie innermost without one between that stays; 0 where they are all, or
// where what lies from them on is long.
uint32_t InnerFolds(const Shape& shape, uint32_t mask) {
  constexpr int64_t kShort = 64;
  uint32_t inner = 0;
  int64_t size = 1;
  bool apart = false;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    if (shape[d] == 1) continue;
    const bool folded = (mask >> d & 1) != 0;
    if (folded && apart) return size <= kShort ? inner : 0;
    if (folded) inner |= 1u << d;
    apart = inner != 0 && !folded;
    if (!apart) size *= shape[d];
  }
  return 0;
}

// The largest or least over dimensions that lie apart, those that are near each other in memory first: it
// does not matter in which order they are compared.
bool PlanInTurn(Plan& plan, const Reduction& how, DType type, const Operand& self, uint32_t mask,
                const Operand& out) {
  constexpr int64_t kMany = 4096;
  const bool ordered = how.fold == Fold::kMax || how.fold == Fold::kMin;
  const uint32_t inner = ordered && how.finish == Finish::kNone ? InnerFolds(self.shape(), mask) : 0;
  if (inner == 0 || self.dtype() != type || self.tensor->count() < kMany) return false;
  Shape between = self.shape();
  for (int d = 0; d < between.rank(); ++d) {
    if ((inner >> d & 1) != 0) between[d] = 1;
  }
  PlanThrough(
      plan, tensor::PackedOf(type, between), {&self}, out,
      [&](Plan& part, const auto& in, const Operand& to) { PlanReduce(part, how, type, in[0], inner, to); },
      [&](Plan& part, const auto&, const Operand& from, const Operand& to) {
        PlanReduce(part, how, type, from, mask, to);
      });
  return true;
}

}  // namespace

void PlanReduce(Plan& plan, const Reduction& reduction, DType type, const Operand& self, uint32_t mask,
                const Operand& out) {
  if (out.tensor->empty() || PlanSingles(plan, reduction, type, self, mask, out) ||
      PlanBytes(plan, reduction, type, self, mask, out) || PlanInTurn(plan, reduction, type, self, mask, out))
    return;
  switch (ComputeType(type)) {
    case DType::kF32:
      return PlanAs<float>(plan, reduction, type, self, mask, out);
    case DType::kF64:
      return PlanAs<double>(plan, reduction, type, self, mask, out);
    case DType::kI32:
      if (FitsItsType(reduction)) return PlanAs<int32_t>(plan, reduction, type, self, mask, out);
      [[fallthrough]];
    default:
      return PlanAs<int64_t>(plan, reduction, type, self, mask, out);
  }
}

}  // namespace belay::ops
