// Sum over any set of dimensions. Elements are converted to the wanted type, summed in f32, f64 or
// i64, and rounded once. Which way round to walk depends on the memory: either one result at a time
// along what is folded, or a row of results side by side.
#include <algorithm>
#include <vector>

#include "ops/kernels.h"
#include "ops/loop_nest.h"
#include "ops/pipeline.h"
#include "ops/reduce/sum_loops.h"
#include "ops/rules.h"

namespace belay::ops {
namespace {

using tensor::Convert;

template <class T>
struct Accumulator;
template <>
struct Accumulator<float> {
  static constexpr DType kType = DType::kF32;
  static float Sum(const SumLoops& l, const float* x, int64_t n) { return l.f32(x, n); }
  static void Add(const SumLoops& l, float* a, const float* x, int64_t n) { l.add_f32(a, x, n); }
};
template <>
struct Accumulator<double> {
  static constexpr DType kType = DType::kF64;
  static double Sum(const SumLoops& l, const double* x, int64_t n) { return l.f64(x, n); }
  static void Add(const SumLoops& l, double* a, const double* x, int64_t n) { l.add_f64(a, x, n); }
};
template <>
struct Accumulator<int64_t> {
  static constexpr DType kType = DType::kI64;
  static int64_t Sum(const SumLoops& l, const int64_t* x, int64_t n) { return l.i64(x, n); }
  static void Add(const SumLoops& l, int64_t* a, const int64_t* x, int64_t n) {
    l.add_i64(a, x, n);
  }
};

// Adds numbers in a tree, whatever their count, with one partial sum a level: the level's bit in
// `count` says whether it holds one.
template <class T>
class Cascade {
 public:
  void Add(T value) {
    int level = 0;
    for (uint64_t c = count_++; c & 1; c >>= 1) value = level_[level++] + value;
    level_[level] = value;
  }
  T Total() const {
    T total = 0;
    for (int level = 0; level < 64; ++level) {
      if (count_ >> level & 1) total = level_[level] + total;
    }
    return total;
  }

 private:
  uint64_t count_ = 0;
  T level_[64];
};

template <class T>
struct SumBody {
  using Acc = Accumulator<T>;
  LoopNest kept;    // out, in
  LoopNest folded;  // in
  Lane in;          // along whichever of the two is walked in blocks
  DType computed;   // of a loaded block
  DType wanted;     // the result is rounded or wrapped to it, then stored
  DType stored;
  int bindings[2];
  bool side_by_side;
  const SumLoops* loops;

  // Folded elements that one core sums before it hands on a partial sum. A constant, so that the
  // order of additions does not depend on how many cores there are.
  static constexpr int64_t kChunk = 64 * 1024;

  void operator()(const Frame& frame) const {
    char* out = frame.at[bindings[0]] + kept.offset(0);
    // An empty input has no memory; nothing is read then.
    char* in_base = folded.count() == 0 ? out : frame.at[bindings[1]] + folded.offset(0);
    if (folded.count() > kChunk && kept.count() < ParallelWidth() && !side_by_side) {
      return SumInChunks(out, in_base);
    }
    char* base[2] = {out, in_base};
    int64_t grain = std::max<int64_t>(1, LoopNest::kGrain / std::max<int64_t>(folded.count(), 1));
    ParallelFor(kept.count(), grain, [&](int64_t begin, int64_t end) {
      kept.Walk(base, begin, end, [this](char** at, int64_t n) { Results(at[0], at[1], n); });
    });
  }

  // n results, `kept.step` apart.
  void Results(char* out, const char* in_base, int64_t n) const {
    if (side_by_side) {
      for (int64_t i = 0; i < n; i += kBlock) {
        Block(out + i * kept.step(0), in_base + i * kept.step(1), std::min(kBlock, n - i));
      }
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      T sum = Range(in_base + i * kept.step(1), 0, folded.count());
      Store(out + i * kept.step(0), sum);
    }
  }

  // Sum of folded elements [begin, end) for the result whose first element is at `base`.
  T Range(const char* base, int64_t begin, int64_t end) const {
    Cascade<T> cascade;
    char* start[1] = {const_cast<char*>(base)};
    folded.Walk(start, begin, end, [&](char** at, int64_t n) {
      alignas(64) T buffer[kBlock];
      for (int64_t i = 0; i < n; i += kBlock) {
        int64_t m = std::min(kBlock, n - i);
        cascade.Add(Acc::Sum(*loops, Load(buffer, at[0] + i * folded.step(0), m), m));
      }
    });
    return cascade.Total();
  }

  // n <= kBlock results side by side: whole rows are added. Rows in groups, groups in supergroups,
  // so that no running sum takes more than kGroup additions at a level.
  void Block(char* out, const char* in_base, int64_t n) const {
    constexpr int kLevels = 4;
    constexpr uint64_t kGroup = 64;
    alignas(64) T sums[kLevels][kBlock];
    alignas(64) T buffer[kBlock];
    std::fill(&sums[0][0], &sums[0][0] + kLevels * kBlock, T{0});
    uint64_t rows = 0;
    char* start[1] = {const_cast<char*>(in_base)};
    folded.Walk(start, 0, folded.count(), [&](char** at, int64_t m) {
      for (int64_t j = 0; j < m; ++j) {
        Acc::Add(*loops, sums[0], Load(buffer, at[0] + j * folded.step(0), n), n);
        uint64_t done = ++rows;
        for (int level = 0; level + 1 < kLevels && done % kGroup == 0; ++level, done /= kGroup) {
          Acc::Add(*loops, sums[level + 1], sums[level], n);
          std::fill(sums[level], sums[level] + n, T{0});
        }
      }
    });
    for (int level = 0; level + 1 < kLevels; ++level) {
      Acc::Add(*loops, sums[level + 1], sums[level], n);
    }
    for (int64_t i = 0; i < n; ++i) Store(out + i * kept.step(0), sums[kLevels - 1][i]);
  }

  // Few results of many elements: the cores share each result.
  void SumInChunks(char* out, char* in_base) const {
    int64_t chunks = (folded.count() + kChunk - 1) / kChunk;
    std::vector<T> partial(static_cast<size_t>(chunks));
    char* base[2] = {out, in_base};
    kept.Walk(base, 0, kept.count(), [&](char** at, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        const char* from = at[1] + i * kept.step(1);
        ParallelFor(chunks, 1, [&](int64_t begin, int64_t end) {
          for (int64_t c = begin; c < end; ++c) {
            partial[static_cast<size_t>(c)] =
                Range(from, c * kChunk, std::min(folded.count(), (c + 1) * kChunk));
          }
        });
        Cascade<T> cascade;
        for (T value : partial) cascade.Add(value);
        Store(at[0] + i * kept.step(0), cascade.Total());
      }
    });
  }

  // n <= kBlock elements as the accumulator's type.
  const T* Load(T* buffer, const char* src, int64_t n) const {
    if (computed == Acc::kType) return static_cast<const T*>(in.Load(buffer, src, n));
    alignas(64) char narrow[kBlock * 8];
    Convert(Acc::kType, buffer, computed, in.Load(narrow, src, n), n);
    return buffer;
  }

  void Store(char* out, T sum) const {
    alignas(8) char value[8];
    Convert(wanted, value, Acc::kType, &sum, 1);
    Convert(stored, out, wanted, value, 1);
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
template <class T>
void SplitDims(SumBody<T>& body, const Operand& self, const Operand& out, uint32_t mask) {
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

template <class T>
void PlanSum(Plan& plan, DType wanted, const Operand& self, uint32_t mask, const Operand& out) {
  SumBody<T> body;
  SplitDims(body, self, out, mask);
  body.bindings[0] = out.binding;
  body.bindings[1] = self.binding;
  body.wanted = wanted;
  body.stored = out.dtype();
  body.computed = ComputeType(wanted);
  body.loops = &BestSumLoops();
  // Neighbours in memory are results: add rows. Otherwise they are what is folded.
  bool many = body.kept.count() > 1 && body.kept.row() > 1 && body.kept.step(1) != 0;
  body.side_by_side = many && (body.folded.count() <= 1 || body.kept.step(1) < body.folded.step(0));
  body.in = Lane(self.dtype(), wanted, body.side_by_side ? body.kept.step(1) : body.folded.step(0));
  plan.SetCost(30 + static_cast<uint64_t>(self.tensor->count()) / 8);
  plan.SetBody(body);
}

}  // namespace

namespace kernels {

void ReduceSum(Plan& plan, DType wanted, const Operand& self, std::span<const int64_t> dims, bool,
               DType, const Operand& out) {
  if (out.tensor->empty()) return;
  uint32_t mask = rules::ReducedDims(self, dims);
  switch (ComputeType(wanted)) {
    case DType::kF32:
      return PlanSum<float>(plan, wanted, self, mask, out);
    case DType::kF64:
      return PlanSum<double>(plan, wanted, self, mask, out);
    default:
      return PlanSum<int64_t>(plan, wanted, self, mask, out);
  }
}

}  // namespace kernels
}  // namespace belay::ops
