// Positions of the largest and least elements. Lines whose elements do not lie along memory are taken
// a block side by side, as their elements do.
#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "ops/layout/moves.h"
#include "ops/layout/square.h"
#include "ops/pipeline.h"
#include "ops/reduce/along_axis.h"
#include "ops/reduce/arg_loops.h"
#include "ops/reduce/reduce.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

using tensor::Convert;

constexpr int64_t kFewLines = 8;    // are taken one by one where they are long
constexpr int64_t kShortLine = 16;  // are taken many at a time even where each lies along memory

template <class T>
struct ArgBody {
  using Place = PlaceOf<T>;
  static constexpr DType kPlaceType = sizeof(Place) == sizeof(int32_t) ? DType::kI32 : DType::kI64;

  LoopNest lines;  // values, indices, in: the first elements
  int64_t size;
  int64_t step;  // bytes along a line
  Lane in;       // along a line, or across lines that lie side by side
  DType computed, value_type, index_type;
  int bindings[3];  // of an absent output: the input's, and its type is not defined
  bool side_by_side;
  bool in_rows;     // lines are short and packed: many are folded in one turn
  bool turned;      // side by side once rows that lie along memory are turned
  bool gathered;    // side by side once their elements are fetched from wherever the lines lie
  int64_t element;  // bytes
  Extreme extreme;
  const FoldLoops<T>* loops;  // largest or least
  ArgLoop<T> better;

  void operator()(const Frame& frame) const {
    char* base[3];
    for (int k = 0; k < 3; ++k) {
      base[k] = frame.at[bindings[k]] + lines.offset(k);
    }
    int64_t grain = std::max<int64_t>(1, LoopNest::kGrain / 4 / size);
    ParallelFor(lines.count(), grain, [&](int64_t begin, int64_t end) {
      if (gathered) return Gathered(base, begin, end);
      lines.Walk(base, begin, end, [this](char** at, int64_t n) {
        int64_t width = side_by_side || in_rows ? kBlock : 1;
        for (int64_t i = 0; i < n; i += width) {
          int64_t m = std::min(width, n - i);
          Lines(at[0] + i * lines.step(0), at[1] + i * lines.step(1), at[2] + i * lines.step(2), m);
        }
      });
    });
  }

  // Lines in the order of the results, whose rows are too short to be taken row by row.
  void Gathered(char* const* base, int64_t begin, int64_t end) const {
    int64_t at[3][kBlock];
    for (int64_t i = begin; i < end; i += kBlock) {
      int64_t m = 0;
      lines.Walk(base, i, std::min(end, i + kBlock), [&](char** piece, int64_t n) {
        for (int k = 0; k < 3; ++k) {
          for (int64_t j = 0; j < n; ++j) at[k][m + j] = piece[k] - base[k] + j * lines.step(k);
        }
        m += n;
      });
      alignas(64) T best[kBlock];
      alignas(64) Place where[kBlock];
      Find(best, where, {base[2], at[2], nullptr}, m);
      if (IsKnown(value_type)) StoreAt(base[0], at[0], value_type, computed, best, m);
      if (IsKnown(index_type)) StoreAt(base[1], at[1], index_type, kPlaceType, where, m);
    }
  }

  static void StoreAt(char* to, const int64_t* at, DType type, DType from, const void* values, int64_t m) {
    const auto bytes = static_cast<int64_t>(BytesOf(type));
    int64_t next = 1;
    while (next < m && at[next] == at[0] + next * bytes) ++next;
    if (next == m) return Convert(type, to + at[0], from, values, m);
    alignas(64) char narrow[kBlock * 8];
    Convert(type, narrow, from, values, m);
    for (int64_t i = 0; i < m; ++i) std::memcpy(to + at[i], narrow + i * bytes, static_cast<size_t>(bytes));
  }

  // A NaN is larger and less than everything else.
  bool Better(T x, T best) const {
    bool strictly = extreme.largest ? x > best : x < best;
    return strictly || (x != x && best == best) || (extreme.last && x == best);
  }

  // Of the first or last element that is equal; there is one.
  int64_t FirstOf(T value, const T* x, int64_t n) const {
    if (value != value) return std::find_if(x, x + n, [](T each) { return each != each; }) - x;
    if (!extreme.last) return std::find(x, x + n, value) - x;
    while (n > 0 && x[n - 1] != value) --n;
    return n - 1;
  }

  // m lines side by side or packed, or one.
  void Lines(char* out, char* indices, const char* src, int64_t m) const {
    if (!side_by_side && !in_rows) return Line(out, indices, src);
    alignas(64) T best[kBlock];
    alignas(64) Place where[kBlock];
    if (in_rows) {
      Rows(best, where, reinterpret_cast<const T*>(src), m);
    } else {
      alignas(64) T columns[kShortLine][kBlock];
      const bool whole = turned && m >= Square<T>::kSide;
      if (whole) {
        TurnBySquares<T>(src, lines.step(2), reinterpret_cast<char*>(columns), sizeof(columns[0]), m, size);
      }
      Find(best, where, {src, nullptr, whole ? columns[0] : nullptr}, m);
    }
    if (IsKnown(value_type)) StoreAll(out, value_type, lines.step(0), computed, best, m);
    if (IsKnown(index_type)) StoreAll(indices, index_type, lines.step(1), kPlaceType, where, m);
  }

  void Rows(T* best, Place* where, const T* x, int64_t m) const {
    static constexpr T kZeros[kBlock] = {};
    loops->fold_rows(best, x, m, size, kZeros);
    for (int64_t r = 0; r < m; ++r) {
      const T* row = x + r * size;
      where[r] = static_cast<Place>(FirstOf(best[r], row, size));
      best[r] = row[where[r]];
    }
  }

  // Where lines are side by side: from an address on, perhaps each with an offset, or turned.
  struct Beside {
    const char* from;
    const int64_t* at;
    const T* columns;
  };

  const T* Column(T* buffer, const Beside& beside, int64_t k, int64_t m) const {
    if (beside.columns != nullptr) return beside.columns + k * kBlock;
    const char* from = beside.from + k * step;
    if (beside.at == nullptr) return static_cast<const T*>(in.Load(buffer, from, m));
    if (in.direct()) {
      PickRow(reinterpret_cast<char*>(buffer), element, from, beside.at, m, element);
      return buffer;
    }
    alignas(64) char picked[kBlock * 8];
    PickRow(picked, element, from, beside.at, m, element);
    return static_cast<const T*>(in.Load(buffer, picked, m));
  }

  void Find(T* best, Place* where, const Beside& beside, int64_t m) const {
    alignas(64) T buffer[kBlock];
    std::copy_n(Column(buffer, beside, 0, m), m, best);
    std::fill_n(where, m, Place{0});
    ArgRows<T> rows{best, where, nullptr, 0, 1, m, 0, extreme.nan_wins};
    const bool turned_over = beside.columns != nullptr;
    if (turned_over || (beside.at == nullptr && in.direct() && step % element == 0)) {
      rows.step = turned_over ? kBlock : step / element;
      rows.x = Column(buffer, beside, 1, m), rows.first = 1, rows.count = size - 1;
      return better(rows);
    }
    for (int64_t k = 1; k < size; ++k) {
      rows.x = Column(buffer, beside, k, m), rows.first = static_cast<Place>(k);
      better(rows);
    }
  }

  void Line(char* out, char* indices, const char* src) const {
    alignas(64) T buffer[kBlock];
    T best = 0;
    int64_t where = 0;
    for (int64_t k = 0; k < size; k += kBlock) {
      const int64_t n = std::min(kBlock, size - k);
      const auto* x = static_cast<const T*>(in.Load(buffer, src + k * step, n));
      const T most = loops->fold(x, n, T{0});  // a NaN where there is one
      if (k != 0 && !Better(most, best)) continue;
      const int64_t place = FirstOf(most, x, n);
      best = x[place], where = k + place;
    }
    if (IsKnown(value_type)) StoreAll(out, value_type, lines.step(0), computed, &best, 1);
    if (IsKnown(index_type)) StoreAll(indices, index_type, lines.step(1), DType::kI64, &where, 1);
  }

  static void StoreAll(char* to, DType type, int64_t step, DType from, const void* values, int64_t m) {
    const auto bytes = static_cast<int64_t>(BytesOf(type));
    if (m == 1 || step == bytes) return Convert(type, to, from, values, m);
    alignas(64) char narrow[kBlock * 8];
    Convert(type, narrow, from, values, m);
    tensor::Scatter(to, step, narrow, m, static_cast<size_t>(bytes));
  }
};

template <class T>
void PlanPlaceAs(Plan& plan, DType computed, Extreme extreme, const Operand& self, int dim,
                 const Operand& values, const Operand& indices) {
  const Tensor& in = *self.tensor;
  Tensor rest = WithoutDim(in, dim);
  auto part = [&](const Operand& out) {
    if (!out.present()) return rest;
    return out.shape().rank() == in.shape.rank() ? WithoutDim(*out.tensor, dim) : *out.tensor;
  };
  Tensor values_rest = part(values), indices_rest = part(indices);
  ArgBody<T> body;
  body.lines = LoopNest(rest.shape, {Operand{&values_rest}, Operand{&indices_rest}, Operand{&rest}});
  body.size = SizeOf(in, dim);
  body.step = StepOf(in, dim);
  auto element = static_cast<int64_t>(BytesOf(in.dtype));
  const bool across = body.step != element && body.lines.step(2) == element;
  const bool countable = body.size <= std::numeric_limits<typename ArgBody<T>::Place>::max();
  const bool long_rows = body.lines.row() > kShortLine || body.lines.has_one_level();
  const bool few = body.lines.count() <= kFewLines && body.size > kBlock;
  body.side_by_side = countable && ((across && long_rows && !few) ||
                                    (body.size <= kShortLine && body.lines.row() > kShortLine));
  body.gathered = countable && !body.side_by_side &&
                  ((body.step != element && body.lines.count() > kFewLines) || !extreme.nan_wins);
  body.element = element;
  body.in = Lane(in.dtype, computed,
                 body.gathered       ? element
                 : body.side_by_side ? body.lines.step(2)
                                     : body.step);
  body.turned = body.side_by_side && !across && body.size <= kShortLine && body.size >= Square<T>::kSide &&
                Lane(in.dtype, computed, element).direct() && body.step == element;
  body.in_rows = !body.side_by_side && !body.gathered && countable && body.size <= kBlock &&
                 body.in.direct() && body.step == element && body.lines.step(2) == body.size * element;
  body.computed = ComputeType(computed);
  body.value_type = values.present() ? values.dtype() : DType::kUndefined;
  body.index_type = indices.present() ? indices.dtype() : DType::kUndefined;
  body.bindings[0] = values.present() ? values.binding : self.binding;
  body.bindings[1] = indices.present() ? indices.binding : self.binding;
  body.bindings[2] = self.binding;
  body.extreme = extreme;
  body.loops = &BestFoldLoops<T>(extreme.largest ? Fold::kMax : Fold::kMin);
  body.better = BestArgLoop<T>(extreme.largest, extreme.last);
  plan.SetCost(50 + static_cast<uint64_t>(in.count()));
  plan.SetBody(body);
}

}  // namespace

void PlanArg(Plan& plan, Extreme extreme, const Operand& self, int dim, const Operand& values,
             const Operand& indices) {
  const Operand& out = indices.present() ? indices : values;
  if (out.tensor->empty()) return;
  if (SizeOf(*self.tensor, dim) == 0) {
    Fail(tensor::kInvalidArgument, "op-empty-dim", "dimension {} of {} is empty: it has no {} element", dim,
         self.name, extreme.largest ? "largest" : "least");
  }
  DType type = self.dtype();
  switch (ComputeType(type)) {
    case DType::kF32:
      return PlanPlaceAs<float>(plan, type, extreme, self, dim, values, indices);
    case DType::kF64:
      return PlanPlaceAs<double>(plan, type, extreme, self, dim, values, indices);
    case DType::kI64:
      return PlanPlaceAs<int64_t>(plan, type, extreme, self, dim, values, indices);
    default:
      return PlanPlaceAs<int32_t>(plan, type, extreme, self, dim, values, indices);
  }
}

}  // namespace belay::ops
