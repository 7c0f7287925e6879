#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/conv/winograd_loops.cc"
#include "ops/conv/winograd_loops.h"

#include <array>
#include <utility>

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/elementwise/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Channels in whole vectors, and what is left of them in smaller ones.
using Floats = hn::CappedTag<float, 16>;
using Quads = hn::CappedTag<float, 4>;
using Single = hn::CappedTag<float, 1>;

template <class V>
HWY_INLINE void MixFour(V& a, V& b, V& c, V& d) {
  const V sum = hn::Add(b, c), difference = hn::Sub(c, b);
  a = hn::Sub(a, c);
  d = hn::Sub(b, d);
  b = sum, c = difference;
}

// From a channel on, as many as fill vectors; returns where it stopped. So do those below.
template <class D>
int64_t Gather(D d, const float* const* pixels, int64_t from, int64_t channels, float* to, int64_t step) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = from;
  for (; i + lanes <= channels; i += lanes) {
    hn::Vec<D> x[kTilePixels];
    for (int p = 0; p < kTilePixels; ++p) x[p] = hn::LoadU(d, pixels[p] + i);
    for (int r = 0; r < kTilePixels; r += 4) MixFour(x[r], x[r + 1], x[r + 2], x[r + 3]);
    for (int c = 0; c < 4; ++c) MixFour(x[c], x[c + 4], x[c + 8], x[c + 12]);
    for (int p = 0; p < kTilePixels; ++p) hn::StoreU(x[p], d, to + p * step + i);
  }
  return i;
}

void GatherTile(const float* const* pixels, int64_t channels, float* to, int64_t step) {
  const int64_t quads = Gather(Floats(), pixels, 0, channels, to, step);
  const int64_t singles = Gather(Quads(), pixels, quads, channels, to, step);
  Gather(Single(), pixels, singles, channels, to, step);
}

// So many rows at a time that their sums stay in registers.
constexpr int64_t kMostRows = HWY_TARGET <= HWY_AVX3 ? 12 : 6;

template <int kRows, int kVectors>
HWY_INLINE void MultiplyVectors(const float* tiles, const float* weights, int64_t panel, int64_t depth,
                                float* products, int64_t columns) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<Floats> sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  for (int64_t k = 0; k < depth; ++k, weights += panel) {
    hn::Vec<Floats> w[kVectors];
    for (int v = 0; v < kVectors; ++v) w[v] = hn::LoadU(d, weights + v * lanes);
    for (int r = 0; r < kRows; ++r) {
      const auto x = hn::Set(d, tiles[r * depth + k]);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(x, w[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[r][v], d, products + r * columns + v * lanes);
  }
}

template <int kRows>
void MultiplyRows(const float* tiles, const float* weights, int64_t panel, int64_t depth, float* products,
                  int64_t columns) {
  constexpr int64_t kMostLanes = 2 * HWY_MAX_BYTES / sizeof(float);
  const auto together = 2 * static_cast<int64_t>(hn::Lanes(Floats()));
  int64_t j = 0;
  for (; j + together <= panel; j += together)
    MultiplyVectors<kRows, 2>(tiles, weights + j, panel, depth, products + j, columns);
  if constexpr (kMostLanes > kSmallPanel) {
    if (j < panel) MultiplyVectors<kRows, 1>(tiles, weights + j, panel, depth, products + j, columns);
  }
}

template <size_t... kRows>
constexpr auto MultiplyByRows(std::index_sequence<kRows...>) {
  return std::array{&MultiplyRows<kRows + 1>...};
}

// Groups of rows of about equal size, each over all columns of a panel while that is in the cache.
void MultiplyTiles(const float* tiles, const float* weights, int64_t rows, int64_t depth, int64_t columns,
                   float* products, int64_t step) {
  static constexpr auto kMultiply = MultiplyByRows(std::make_index_sequence<kMostRows>());
  const int64_t groups = (rows + kMostRows - 1) / kMostRows, panel = PanelOf(columns);
  for (int64_t j = 0; j < columns; j += panel) {
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t begin = rows * g / groups, end = rows * (g + 1) / groups;
      kMultiply[static_cast<size_t>(end - begin - 1)](tiles + begin * depth, weights + j * depth, panel,
                                                      depth, products + begin * step + j, step);
    }
  }
}

template <class D>
int64_t Scatter(D d, const float* products, int64_t step, const float* bias, int64_t from, int64_t channels,
                bool add, float* const* pixels, const Redo& redo) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = from;
  for (; i + lanes <= channels; i += lanes) {
    using V = hn::Vec<D>;
    V x[kTilePixels], y[kResultPixels];
    for (int p = 0; p < kTilePixels; ++p) x[p] = hn::LoadU(d, products + p * step + i);
    for (int c = 0; c < 4; ++c) {
      const V middle = hn::Add(x[c + 4], x[c + 8]), difference = hn::Sub(x[c + 4], x[c + 8]);
      x[c] = hn::Add(x[c], middle);
      x[c + 4] = hn::Sub(difference, x[c + 12]);
    }
    for (int r = 0; r < 2; ++r) {
      const V* row = x + 4 * r;
      y[2 * r] = hn::Add(row[0], hn::Add(row[1], row[2]));
      y[2 * r + 1] = hn::Sub(hn::Sub(row[1], row[2]), row[3]);
    }
    const V all = hn::Add(hn::Add(y[0], y[1]), hn::Add(y[2], y[3]));
    if (!hn::AllTrue(d, hn::IsFinite(all))) [[unlikely]] {
      float sums[kResultPixels * Redo::kMost];
      redo.sums(redo.context, i, lanes, sums);
      for (int p = 0; p < kResultPixels; ++p) y[p] = hn::LoadU(d, sums + p * Redo::kMost);
    }
    const V start = bias != nullptr ? hn::LoadU(d, bias + i) : hn::Zero(d);
    for (int p = 0; p < kResultPixels; ++p) {
      if (pixels[p] == nullptr) continue;
      y[p] = hn::Add(start, y[p]);
      if (add) y[p] = hn::Add(y[p], hn::LoadU(d, pixels[p] + i));
      hn::StoreU(y[p], d, pixels[p] + i);
    }
  }
  return i;
}

void ScatterTile(const float* products, int64_t step, const float* bias, int64_t channels, bool add,
                 float* const* pixels, const Redo& redo) {
  const int64_t quads = Scatter(Floats(), products, step, bias, 0, channels, add, pixels, redo);
  const int64_t singles = Scatter(Quads(), products, step, bias, quads, channels, add, pixels, redo);
  Scatter(Single(), products, step, bias, singles, channels, add, pixels, redo);
}

template <class Function>
HWY_INLINE void ToEach(float* values, int64_t count, Function function) {
  for (int64_t i = 0; i < count; ++i) values[i] = function(values[i]);
}

inline float Between(float x, float low, float high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

void ActivateAll(const Activation& activation, float* values, int64_t count) {
  const float a = activation.alpha, b = activation.beta, scale = activation.scale, shift = activation.shift;
  switch (activation.kind) {
    using enum ActivationKind;
    case kRelu:
      ToEach(values, count, [=](float x) { return x < 0 ? a * x + 0.0f : x; });  // and no -0
      break;
    case kClip:
      ToEach(values, count, [=](float x) { return Between(x, a, b); });
      break;
    case kSigmoid:
      ToEach(values, count, [](float x) { return Sigmoid(x); });
      break;
    case kHardSwish:
      ToEach(values, count, [](float x) { return x * Between(x * (1.0f / 6) + 0.5f, 0, 1); });
      break;
    case kSwish:
      ToEach(values, count, [=](float x) { return x * Sigmoid(a * x); });
      break;
    default:
      break;
  }
  if (activation.scaled()) ToEach(values, count, [=](float x) { return scale * x + shift; });
}

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(GatherTile);
BELAY_SIMD_EXPORT(MultiplyTiles);
BELAY_SIMD_EXPORT(ScatterTile);
BELAY_SIMD_EXPORT(ActivateAll);

bool HasActivationLoop(ActivationKind kind) {
  using enum ActivationKind;
  return kind == kNone || kind == kRelu || kind == kClip || kind == kSigmoid || kind == kHardSwish ||
         kind == kSwish;
}

WinogradLoops BestWinogradLoops() {
  return {BELAY_SIMD_CALL(GatherTile), BELAY_SIMD_CALL(MultiplyTiles), BELAY_SIMD_CALL(ScatterTile),
          BELAY_SIMD_CALL(ActivateAll)};
}
}  // namespace belay::ops
#endif
