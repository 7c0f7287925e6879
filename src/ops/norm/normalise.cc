#include "ops/norm/normalise.h"

#include <algorithm>
#include <cmath>

#include "ops/half_rows.h"
#include "ops/loop_nest.h"
#include "ops/norm/norm_loops.h"
#include "ops/norm/turned_rows.h"
#include "ops/pipeline.h"
#include "ops/reduce/fold_loops.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

// The slices in row-major order, and where each operand's part of one starts.
struct Slices {
  static constexpr int kMost = 6;
  int rank = 0;
  int64_t count = 1;
  int64_t sizes[tensor::kMaxRank];
  int64_t steps[kMost][tensor::kMaxRank] = {};  // bytes

  void Add(int64_t size, const int64_t* step_of) {
    sizes[rank] = size;
    for (int k = 0; k < kMost; ++k) steps[k][rank] = step_of[k];
    ++rank;
    count *= size;
  }

  // The operand's slices of n floats lie one behind the other.
  bool FollowEachOther(int k, int64_t n) const {
    auto step = n * static_cast<int64_t>(sizeof(float));
    for (int d = rank - 1; d >= 0; --d) {
      if (sizes[d] != 1 && steps[k][d] != step) return false;
      step *= sizes[d];
    }
    return true;
  }
  // They all have the same of the operand, or none.
  bool Share(int k, bool present) const {
    return !present || std::all_of(steps[k], steps[k] + rank, [](int64_t step) { return step == 0; });
  }

  // One of them after the other, without a division for each.
  struct Place {
    int64_t index[tensor::kMaxRank];
    int64_t offsets[kMost];
  };
  Place At(int64_t slice) const {
    Place place = {};
    for (int d = rank - 1; d >= 0; --d) {
      place.index[d] = slice % sizes[d];
      slice /= sizes[d];
      for (int k = 0; k < kMost; ++k) place.offsets[k] += place.index[d] * steps[k][d];
    }
    return place;
  }
  // Whether so many slices lie along the last dimension, from a place on.
  bool HasInLine(const Place& place, int64_t n) const {
    return rank > 0 && place.index[rank - 1] + n <= sizes[rank - 1];
  }
  void AdvanceInLine(Place& place, int64_t n) const {
    place.index[rank - 1] += n - 1;
    for (int k = 0; k < kMost; ++k) place.offsets[k] += (n - 1) * steps[k][rank - 1];
    Advance(place);
  }
  void Advance(Place& place) const {
    for (int d = rank - 1; d >= 0; --d) {
      const bool over = ++place.index[d] == sizes[d];
      const int64_t by = over ? 1 - sizes[d] : 1;
      for (int k = 0; k < kMost; ++k) place.offsets[k] += by * steps[k][d];
      if (!over) return;
      place.index[d] = 0;
    }
  }
};

enum Slot { kOut, kX, kWeight, kBias, kShift, kFactor };

template <class T>
struct NormBody {
  Slices slices;
  PieceScratch<T> slice;  // where it does not lie as it is computed
  LoopNest inner;         // out, x, weight, bias of one slice
  Lane lanes[4];          // the same
  Normalisation how;
  int bindings[Slices::kMost];  // of absent ones x's
  int64_t offsets[Slices::kMost];
  DType weight_type[2];
  DType stat_type[2];  // of the statistics that are written; not defined where they are not
  bool weighted, biased, all_direct, short_rows;
  bool by_one;  // there is one weight and one bias for a slice
  bool follow;  // these are floats, one behind the other along the slices' last dimension
  bool turned;  // many slices side by side, as they follow each other in memory
  bool packed;  // a slice of x and of the result is a row
  bool tabled;  // slices whose weights do not lie so: an element of the tables for each of theirs
  Scratch<T> tables[2];
  RowRule rule;
  const NormLoops<T>* loops;

  struct Statistics {
    T shift = 0, factor = 1;
    T rest = 0;  // what a far mean has more than `shift`
    SliceMoments moments{};
  };

  void operator()(const Frame& frame) const {
    if (tabled) MakeTables(frame);
    slice.For(frame, [&](int64_t begin, int64_t end, T* buffer) {
      if (turned) begin = ManyTurned(frame, begin, end);
      OneByOne(frame, begin, end, buffer);
    });
  }

  // Of the weights of all slices along their last dimension.
  void MakeTables(const Frame& frame) const {
    Slices::Place place = slices.At(0);
    const int64_t n = inner.count();
    for (int64_t s = 0; s < slices.sizes[slices.rank - 1]; ++s, slices.Advance(place)) {
      char* at[Slices::kMost];
      PlacesOf(at, frame, place);
      int64_t done = s * n;
      inner.Walk(at, 0, n, [&](char** p, int64_t m) {
        for (int64_t i = 0; i < m; i += kBlock, done += kBlock) {
          const int64_t part = std::min(kBlock, m - i);
          for (const Slot slot : {kWeight, kBias}) {
            const int k = slot - kWeight;
            if (!(k == 0 ? weighted : biased)) continue;
            T* to = tables[k].At(frame) + done;
            const void* from = Part(slot, to, p, i, part);
            if (from != to) std::copy_n(static_cast<const T*>(from), part, to);
          }
        }
        done += m - (m + kBlock - 1) / kBlock * kBlock;
      });
    }
  }

  void OneByOne(const Frame& frame, int64_t begin, int64_t end, T* buffer) const {
    Slices::Place place = slices.At(begin);
    for (int64_t s = begin; s < end; ++s, slices.Advance(place)) {
      char* at[Slices::kMost];
      PlacesOf(at, frame, place);
      if (tabled) TakeTables(at, frame, place);
      const SliceMoments moments = Slice(at, buffer);
      if (how.kept) reinterpret_cast<SliceMoments*>(frame.workspace)[s] = moments;
    }
  }

  void TakeTables(char** at, const Frame& frame, const Slices::Place& place) const {
    const int64_t first = place.index[slices.rank - 1] * inner.count();
    if (weighted) at[kWeight] = reinterpret_cast<char*>(tables[0].At(frame) + first);
    if (biased) at[kBias] = reinterpret_cast<char*>(tables[1].At(frame) + first);
  }

  void PlacesOf(char** at, const Frame& frame, const Slices::Place& place) const {
    for (int k = 0; k < Slices::kMost; ++k) at[k] = frame.at[bindings[k]] + offsets[k] + place.offsets[k];
  }

  // As many of the slices as fill whole turns; the first that is left.
  int64_t ManyTurned(const Frame& frame, int64_t begin, int64_t end) const {
    const bool told = how.kept || IsKnown(stat_type[0]) || IsKnown(stat_type[1]);
    Slices::Place place = slices.At(begin);
    char* at[Slices::kMost];
    PlacesOf(at, frame, place);
    if (tabled) TakeTables(at, frame, place);
    const auto* x = reinterpret_cast<const float*>(at[kX]);
    auto* y = reinterpret_cast<float*>(at[kOut]);
    const RowWeights all = WeightsAt(at, false);
    const int64_t n = inner.count();
    for (; begin + kRowsTurned <= end; begin += kRowsTurned, x += kRowsTurned * n, y += kRowsTurned * n) {
      if (follow && !told && slices.HasInLine(place, kRowsTurned)) {
        PlacesOf(at, frame, place);
        BestTurnedRows()(y, x, WeightsAt(at, true), n, rule, nullptr);
        slices.AdvanceInLine(place, kRowsTurned);
        continue;
      }
      float weights[kRowsTurned], biases[kRowsTurned];
      char* stats[kRowsTurned][2];
      for (int64_t r = 0; (told || by_one) && r < kRowsTurned; ++r, slices.Advance(place)) {
        PlacesOf(at, frame, place);
        if (by_one && weighted) weights[r] = static_cast<float>(One(kWeight, at));
        if (by_one && biased) biases[r] = static_cast<float>(One(kBias, at));
        stats[r][0] = at[kShift], stats[r][1] = at[kFactor];
      }
      const RowWeights of_rows{weighted ? weights : nullptr, biased ? biases : nullptr, true};
      RowMoments found[kRowsTurned];
      BestTurnedRows()(y, x, by_one ? of_rows : all, n, rule, told ? found : nullptr);
      for (int64_t r = 0; told && r < kRowsTurned; ++r) Tell(frame, begin + r, stats[r], found[r]);
    }
    return begin;
  }

  RowWeights WeightsAt(char** at, bool by_row) const {
    return {reinterpret_cast<const float*>(weighted ? at[kWeight] : nullptr),
            reinterpret_cast<const float*>(biased ? at[kBias] : nullptr), by_row};
  }

  void Tell(const Frame& frame, int64_t s, char* const* stats, const RowMoments& found) const {
    const T values[2] = {static_cast<T>(found.mean), static_cast<T>(found.factor)};
    for (int k = 0; k < 2; ++k) {
      if (IsKnown(stat_type[k])) Convert(stat_type[k], stats[k], Type(), &values[k], 1);
    }
    if (how.kept) reinterpret_cast<SliceMoments*>(frame.workspace)[s] = {found.mean, found.variance};
  }

  void Reserve(Plan& plan) {
    const int64_t grain = std::max<int64_t>(1, LoopNest::kGrain / 8 / std::max<int64_t>(inner.count(), 1));
    slice = {plan, slices.count, grain, Direct() ? 0 : inner.count()};
    all_direct = AllDirect();
    by_one = Direct() && lanes[kOut].direct() && (weighted || biased) &&
             (!weighted || lanes[kWeight].repeats()) && (!biased || lanes[kBias].repeats());
    follow = by_one && FollowAlongLast(kWeight, weighted) && FollowAlongLast(kBias, biased);
    tabled = PaysTables();
    if (tabled) {
      const int64_t floats = slices.sizes[slices.rank - 1] * inner.count();
      for (int k = 0; k < 2; ++k) {
        if (k == 0 ? weighted : biased) tables[k] = {plan, floats};
      }
      all_direct = true;
    }
    short_rows = (all_direct || by_one) && loops->row != nullptr && inner.count() <= kShortRow;
    const bool means = how.statistic == Statistic::kMoments || how.statistic == Statistic::kMeanSquare;
    const double size = means ? static_cast<double>(inner.count()) : 1;
    rule = {.share = Inverse(size),
            .epsilon = means ? how.epsilon : 0,
            .epsilon_outside = how.epsilon_outside,
            .centred = how.statistic == Statistic::kMoments,
            .far = kFarMean * kFarMean,
            .of_sizes = how.statistic == Statistic::kSizes,
            .zero_stays = !means};
    turned = short_rows && inner.count() > 0 && inner.count() <= kMostTurned &&
             slices.FollowEachOther(kX, inner.count()) && slices.FollowEachOther(kOut, inner.count()) &&
             (by_one || (slices.Share(kWeight, weighted) && slices.Share(kBias, biased)));
  }

  // They differ along the last dimension of the slices only, and many slices are of each.
  bool PaysTables() const {
    constexpr int64_t kMany = 4, kMostElements = 1 << 16;
    if (all_direct || by_one || !packed || !lanes[kX].direct() || !lanes[kOut].direct() || slices.rank == 0 ||
        slices.sizes[slices.rank - 1] * inner.count() > kMostElements)
      return false;
    for (int d = 0; d + 1 < slices.rank; ++d) {
      if ((weighted && slices.steps[kWeight][d] != 0) || (biased && slices.steps[kBias][d] != 0))
        return false;
    }
    return slices.count >= kMany * slices.sizes[slices.rank - 1];
  }

  bool FollowAlongLast(Slot slot, bool present) const {
    if (!present) return true;
    return weight_type[slot - kWeight] == DType::kF32 && slices.rank > 0 &&
           slices.steps[slot][slices.rank - 1] == static_cast<int64_t>(sizeof(float));
  }

  bool Direct() const { return lanes[kX].direct() && inner.row() == inner.count(); }

  // All that a slice needs lies as it is computed.
  bool AllDirect() const {
    return Direct() && lanes[kOut].direct() && (!weighted || lanes[kWeight].direct()) &&
           (!biased || lanes[kBias].direct());
  }

  // Where they lie as they are computed.
  const T* WeightAt(char** at) const { return weighted ? reinterpret_cast<const T*>(at[kWeight]) : nullptr; }
  const T* BiasAt(char** at) const { return biased ? reinterpret_cast<const T*>(at[kBias]) : nullptr; }

  SliceMoments Slice(char** at, T* buffer) const {
    const T* x = Direct() || tabled ? reinterpret_cast<const T*>(at[kX]) : Gathered(at, buffer);
    Statistics found;
    if (short_rows) {
      found = ShortRow(at, x);
    } else {
      found = StatisticsOf(x, inner.count());
      if (all_direct && found.rest == 0) {
        loops->apply(reinterpret_cast<T*>(at[kOut]), x, WeightAt(at), BiasAt(at), found.shift, found.factor,
                     inner.count());
      } else if (by_one && found.rest == 0) {  // so the mean takes no digits away
        const T scale = found.factor * (weighted ? One(kWeight, at) : T{1});
        const T shift = (biased ? One(kBias, at) : T{0}) - found.shift * scale;
        loops->scale(reinterpret_cast<T*>(at[kOut]), x, scale, shift, inner.count());
      } else if (all_direct) {  // where the weights may be those of the tables
        ApplyFar(at, x, found);
      } else {
        Apply(at, x, found);
      }
    }
    T values[2] = {found.shift + found.rest, found.factor};
    for (int k = 0; k < 2; ++k) {
      if (IsKnown(stat_type[k])) Convert(stat_type[k], at[kShift + k], Type(), &values[k], 1);
    }
    return found.moments;
  }

  Statistics ShortRow(char** at, const T* x) const {
    RowMoments found;
    T* y = reinterpret_cast<T*>(at[kOut]);
    if (by_one) {
      const T weight = weighted ? One(kWeight, at) : T{1}, bias = biased ? One(kBias, at) : T{0};
      loops->row_of_channel(y, x, weight, bias, inner.count(), rule, &found);
    } else {
      loops->row(y, x, WeightAt(at), BiasAt(at), inner.count(), rule, &found);
    }
    return {.shift = static_cast<T>(found.mean),
            .factor = static_cast<T>(found.factor),
            .rest = 0,
            .moments = {found.mean, found.variance}};
  }

  // The mean in two steps, where all lies as it is computed.
  void ApplyFar(char** at, const T* x, const Statistics& found) const {
    alignas(64) T y[kBlock];
    const T *w = WeightAt(at), *b = BiasAt(at);
    for (int64_t i = 0; i < inner.count(); i += kBlock) {
      const int64_t m = std::min(kBlock, inner.count() - i);
      loops->apply(y, x + i, nullptr, nullptr, found.shift, T{1}, m);
      loops->apply(reinterpret_cast<T*>(at[kOut]) + i, y, w == nullptr ? w : w + i, b == nullptr ? b : b + i,
                   found.rest, found.factor, m);
    }
  }

  void Apply(char** at, const T* x, const Statistics& found) const {
    int64_t done = 0;
    inner.Walk(at, 0, inner.count(), [&](char** p, int64_t n) {
      alignas(64) T y[kBlock], weights[kBlock], biases[kBlock];
      const void* w = nullptr;
      const void* b = nullptr;
      for (int64_t i = 0; i < n; i += kBlock) {
        int64_t m = std::min(kBlock, n - i);
        if (weighted && (i == 0 || !lanes[kWeight].repeats())) w = Part(kWeight, weights, p, i, m);
        if (biased && (i == 0 || !lanes[kBias].repeats())) b = Part(kBias, biases, p, i, m);
        char* dst = p[kOut] + i * inner.step(kOut);
        T* to = lanes[kOut].direct() ? reinterpret_cast<T*>(dst) : y;
        const T* from = x + done;
        T shift = found.shift;
        if (found.rest != 0) {
          loops->apply(y, from, nullptr, nullptr, shift, T{1}, m);
          from = y, shift = found.rest;
        }
        loops->apply(to, from, static_cast<const T*>(w), static_cast<const T*>(b), shift, found.factor, m);
        if (to == y) lanes[kOut].Store(dst, y, m, false);
        done += m;
      }
    });
  }

  static constexpr DType Type() { return sizeof(T) == 8 ? DType::kF64 : DType::kF32; }

  const void* Part(Slot slot, T* buffer, char** p, int64_t i, int64_t m) const {
    return lanes[slot].Load(buffer, p[slot] + i * inner.step(slot), m);
  }

  T One(Slot slot, char** at) const {
    if (weight_type[slot - kWeight] == Type()) return *reinterpret_cast<const T*>(at[slot]);
    T value;
    return *static_cast<const T*>(lanes[slot].Load(&value, at[slot], 1));
  }

  const T* Gathered(char** at, T* buffer) const {
    T* next = buffer;
    inner.Walk(at, 0, inner.count(), [&](char** p, int64_t n) {
      for (int64_t i = 0; i < n; i += kBlock) {
        int64_t m = std::min(kBlock, n - i);
        const void* block = Part(kX, next, p, i, m);
        if (block != next) std::copy_n(static_cast<const T*>(block), m, next);
        next += m;
      }
    });
    return buffer;
  }

  // In pieces, whose results are added in f64.
  double Folded(Fold fold, const T* x, int64_t n, T p) const {
    constexpr int64_t kPiece = 4096;
    const FoldLoops<T>& f = BestFoldLoops<T>(fold);
    double sum = 0;
    for (int64_t i = 0; i < n; i += kPiece)
      sum += static_cast<double>(f.fold(x + i, std::min(kPiece, n - i), p));
    return sum;
  }

  static double Inverse(double size) { return size == 0 ? 0 : 1 / size; }

  // Rows so long, or so far from zero, that the digits which T loses would show are added up in f64.
  static constexpr int64_t kLongRow = 64 * 1024, kShortRow = 1024;
  static constexpr double kFarMean = 4;  // deviations

  Statistics Moments(const T* x, int64_t n) const {
    const T mean = static_cast<T>(Folded(Fold::kSum, x, n, 0) * rule.share);
    double variance = Folded(Fold::kSumOfSquares, x, n, mean) * rule.share, rest = 0;
    const auto square = static_cast<double>(mean) * static_cast<double>(mean);
    if (n > kLongRow || square > kFarMean * kFarMean * variance) {
      double squares;
      loops->deviations(x, mean, n, &rest, &squares);
      rest *= rule.share;
      variance = std::max(squares * rule.share - rest * rest, 0.0);
    }
    const double root =
        how.epsilon_outside ? std::sqrt(variance) + how.epsilon : std::sqrt(variance + how.epsilon);
    return {.shift = mean,
            .factor = static_cast<T>(1 / root),
            .rest = static_cast<T>(rest),
            .moments = {static_cast<double>(mean) + rest, variance}};
  }

  double MeanSquare(const T* x, int64_t n) const {
    double sum, squares;
    if (n <= kLongRow) return Folded(Fold::kSumOfSquares, x, n, 0) * rule.share;
    loops->deviations(x, 0, n, &sum, &squares);
    return squares * rule.share;
  }

  Statistics StatisticsOf(const T* x, int64_t n) const {
    switch (how.statistic) {
      case Statistic::kMoments:
        return Moments(x, n);
      case Statistic::kMeanSquare:
        return {.factor = static_cast<T>(1 / std::sqrt(MeanSquare(x, n) + how.epsilon))};
      case Statistic::kSizes:
        return {.factor = static_cast<T>(Inverse(Folded(Fold::kSumOfSizes, x, n, 0)))};
      case Statistic::kLength:
        return {.factor = static_cast<T>(Inverse(std::sqrt(Folded(Fold::kSumOfSquares, x, n, 0))))};
      default:
        return {};
    }
  }
};

// Operands with only the dimensions of a slice, or as they are.
Tensor SliceOf(const Tensor& t, uint32_t mask) {
  Tensor part;
  part.dtype = t.dtype;
  for (int i = 0; i < t.shape.rank(); ++i) {
    if (!(mask >> i & 1)) continue;
    part.shape.push_back(t.shape[i]);
    part.strides.push_back(t.strides[i]);
  }
  return part;
}

template <class T>
void PlanNormAs(Plan& plan, const Normalisation& how, DType compute, const NormOperands& o, uint32_t mask) {
  const Operand* all[] = {&o.out, &o.x, &o.weight, &o.bias, &o.shift, &o.factor};
  NormBody<T> body;
  for (int k = 0; k < Slices::kMost; ++k) {
    if (!all[k]->present()) all[k] = &o.x;
    body.bindings[k] = all[k]->binding;
    body.offsets[k] = all[k]->tensor->offset * static_cast<int64_t>(BytesOf(all[k]->dtype()));
  }
  for (int i = 0; i < o.x.shape().rank(); ++i) {
    if (mask >> i & 1) continue;
    int64_t steps[Slices::kMost];
    for (int k = 0; k < Slices::kMost; ++k) {
      steps[k] = all[k]->tensor->strides[i] * static_cast<int64_t>(BytesOf(all[k]->dtype()));
    }
    body.slices.Add(o.x.shape()[i], steps);
  }
  Tensor parts[4];
  for (int k = 0; k < 4; ++k) parts[k] = SliceOf(*all[k]->tensor, mask);
  body.inner = LoopNest(parts[kX].shape,
                        {Operand{&parts[0]}, Operand{&parts[1]}, Operand{&parts[2]}, Operand{&parts[3]}});
  for (int k = 0; k < 4; ++k) {
    // Weights take part as they are; only x and the result are of the type that is computed. A slice of one
    // element lies as it is computed.
    const bool lone = k < 2 && body.inner.count() == 1;
    body.lanes[k] = Lane(parts[k].dtype, k < 2 ? compute : body.Type(),
                         lone ? static_cast<int64_t>(BytesOf(parts[k].dtype)) : body.inner.step(k));
  }
  body.packed = LoopNest(parts[kX].shape, {Operand{&parts[kOut]}, Operand{&parts[kX]}}).has_one_level();
  body.how = how;
  body.weight_type[0] = all[kWeight]->dtype(), body.weight_type[1] = all[kBias]->dtype();
  body.stat_type[0] = o.shift.present() ? o.shift.dtype() : DType::kUndefined;
  body.stat_type[1] = o.factor.present() ? o.factor.dtype() : DType::kUndefined;
  body.weighted = o.weight.present();
  body.biased = o.bias.present();
  body.loops = &BestNormLoops<T>();
  if (how.kept) plan.SetWorkspace(static_cast<uint64_t>(body.slices.count) * sizeof(SliceMoments));
  body.Reserve(plan);
  plan.SetCost(50 + static_cast<uint64_t>(o.x.tensor->count()));
  plan.SetBody(body);
}

// What is the same along all other dimensions than those of the mask, along which it lies as a list. False:
// it is another, or does not lie so.
bool TakeList(const Operand& operand, uint32_t mask, Tensor* flat, Operand* list) {
  if (!operand.present()) return true;
  const Tensor& t = *operand.tensor;
  int64_t count = 1;
  for (int d = t.shape.rank() - 1; d >= 0; --d) {
    if (t.shape[d] == 1) continue;
    const bool listed = (mask >> d & 1) != 0;
    if (t.strides[d] != (listed ? count : 0)) return false;
    if (listed) count *= t.shape[d];
  }
  *flat = tensor::PackedOf(t.dtype, {count});
  flat->offset = t.offset;
  *list = {flat, nullptr, operand.binding, operand.name};
  return ComputeType(t.dtype) == DType::kF32;
}

// Slices that are rows of two bytes an element, with weights that all share.
bool PlanRowsOfHalves(Plan& plan, const Normalisation& how, const NormOperands& o, uint32_t mask) {
  const int rank = o.x.shape().rank();
  int64_t row = 1;
  int first = rank;
  for (; first > 0 && (mask >> (first - 1) & 1) != 0; --first) row *= o.x.shape()[first - 1];
  if ((mask & ((1u << first) - 1)) != 0 || how.kept) return false;
  Tensor flat[4];
  Operand shared[2], told[2];
  if (!AreHalfRows(*o.x.tensor, *o.out.tensor) || !TakeList(o.weight, mask, &flat[0], &shared[0]) ||
      !TakeList(o.bias, mask, &flat[1], &shared[1]) || !TakeList(o.shift, ~mask, &flat[2], &told[0]) ||
      !TakeList(o.factor, ~mask, &flat[3], &told[1]))
    return false;
  HalfRows rows{o.x, o.out, shared, row};
  rows.told = told;
  PlanHalfRows(plan, rows,
               [&](Plan& part, const Operand& x, std::span<const Operand> beside, const Operand& out,
                   std::span<const Operand> numbers) {
                 Tensor spread[4];
                 NormOperands floats{x, out, beside[0], beside[1], numbers[0], numbers[1]};
                 Operand* views[] = {&floats.weight, &floats.bias, &floats.shift, &floats.factor};
                 for (int k = 0; k < 4; ++k) {
                   if (!views[k]->present()) continue;
                   spread[k] = Spread(*views[k]->tensor, x.shape(), k < 2 ? 1 : 0);
                   views[k]->tensor = &spread[k];
                 }
                 PlanNormAs<float>(part, how, DType::kF32, floats, 2);
               });
  return true;
}

}  // namespace

void PlanNormalise(Plan& plan, const Normalisation& how, DType compute, const NormOperands& operands,
                   uint32_t mask) {
  if (operands.out.tensor->empty() || PlanRowsOfHalves(plan, how, operands, mask) ||
      PlanAcross(plan, how, compute, operands, mask))
    return;
  if (ComputeType(compute) == DType::kF64) return PlanNormAs<double>(plan, how, compute, operands, mask);
  PlanNormAs<float>(plan, how, compute, operands, mask);
}

Tensor Spread(const Tensor& tensor, const Shape& like, int first) {
  Tensor view = tensor;
  view.shape = like;
  view.strides = Shape::Filled(like.rank(), 0);
  for (int i = 0; i < tensor.shape.rank(); ++i) {
    if (tensor.shape[i] != 1) view.strides[first + i] = tensor.strides[i];
  }
  return view;
}

}  // namespace belay::ops
