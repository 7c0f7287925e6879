// Panels for processors with vectors of 256 bits (AVX2): elements become floats, or pairs of 16 bits, as they
// are brought into panels, for there are no instructions for pairs of BFLOAT16, and that for bytes saturates.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>

#include "base/simd_targets.h"
#include "ops/matmul/panels.h"

namespace belay::ops {

#if defined(__x86_64__) && !defined(BELAY_BASELINE_VECTORS)
namespace {

#define BELAY_PANELS_256 gnu::target("avx2,fma,f16c")
#define BELAY_PANEL_256_PART BELAY_PANELS_256, gnu::always_inline

// A panel has 16 columns, of which each unit is 32 bits: a float, or a pair of rows of bytes.
constexpr int64_t kHalf = 8, kAcross = 2 * kHalf, kTileRows256 = 6;
// Rows of which so few are multiplied by themselves, four lines at once, so much of these in f32.
constexpr int64_t kHardlyAny = 2, kFour = 4, kPiece256 = 512;
constexpr int64_t kDeepest = 256, kRoomOfB = 128 * 256, kChunk = 8 * kTileRows256;

struct Room256 {
  alignas(64) uint32_t b[kRoomOfB];
  alignas(64) uint32_t a[kChunk][kDeepest];
};

// What of b is brought into panels at once, in elements; `high`: units that a panel has room for.
struct Block256 {
  int64_t k, deep, j, n, high;
};

constexpr int64_t Sixteens(int64_t count) { return (count + kAcross - 1) / kAcross * kAcross; }

// 16 elements of a line, or the `count` that are left of it and 0 behind them.
template <PanelType kType>
struct Elements {
  static constexpr int64_t kBytes = kAcross * BitsOf(kType) / 8;
  alignas(32) char few[kBytes] = {};

  const char* At(const PanelMatrix& b, int64_t line, int64_t first, int64_t count) {
    const int64_t x = first * BitsOf(kType) / 8;
    const char* from = b.data + line * b.line + x / PanelMatrix::kTile * b.tile + x % PanelMatrix::kTile;
    if (count >= kAcross) return from;
    std::memset(few, 0, kBytes);
    std::memcpy(few, from, static_cast<size_t>((count * BitsOf(kType) + 7) / 8));
    return few;
  }
};

// 16 small integers as bytes.
template <PanelType kType>
[[BELAY_PANEL_256_PART]] inline __m128i BytesFrom(const char* from) {
  if constexpr (kType == PanelType::kBytes) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  } else {
    const __m128i wide = _mm_cvtepu8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
    const __m128i low = _mm_and_si128(wide, _mm_set1_epi16(15));
    const __m128i high = _mm_and_si128(_mm_slli_epi16(wide, 4), _mm_set1_epi16(0xf00));
    const __m128i eight = _mm_set1_epi8(8);  // bit 3 is the sign
    return _mm_sub_epi8(_mm_xor_si128(_mm_or_si128(low, high), eight), eight);
  }
}

[[BELAY_PANEL_256_PART]] inline __m256i FloatsOfBytes(__m128i bytes) {
  return _mm256_castps_si256(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)));
}

[[BELAY_PANEL_256_PART]] inline __m256i FloatsOfBFloat16(const void* from) {
  const __m128i bits = _mm_loadu_si128(static_cast<const __m128i*>(from));
  return _mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16);
}

[[BELAY_PANEL_256_PART]] inline __m256i FloatsOfFloat16(const void* from) {
  return _mm256_castps_si256(_mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(from))));
}

// 16 elements as floats.
template <PanelType kType>
[[BELAY_PANEL_256_PART]] inline void FloatsFrom(const char* from, __m256i& low, __m256i& high) {
  if constexpr (kType == PanelType::kBFloat16) {
    low = FloatsOfBFloat16(from), high = FloatsOfBFloat16(from + kHalf * 2);
  } else if constexpr (kType == PanelType::kFloat16) {
    low = FloatsOfFloat16(from), high = FloatsOfFloat16(from + kHalf * 2);
  } else {
    const __m128i bytes = BytesFrom<kType>(from);
    low = FloatsOfBytes(bytes), high = FloatsOfBytes(_mm_unpackhi_epi64(bytes, bytes));
  }
}

[[BELAY_PANEL_256_PART]] inline float SumOfLanes(__m256 v) {
  __m128 sum = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

[[BELAY_PANEL_256_PART]] inline void Put(uint32_t* to, __m256i units) {
  _mm256_store_si256(reinterpret_cast<__m256i*>(to), units);
}

// 8 columns of 8 units each become 8 rows of 8.
[[BELAY_PANEL_256_PART]] inline void PutTurned(const __m256i (&v)[kHalf], uint32_t* to) {
  __m256i w[kHalf], x[kHalf];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    w[2 * i] = _mm256_unpacklo_epi32(v[2 * i], v[2 * i + 1]);
    w[2 * i + 1] = _mm256_unpackhi_epi32(v[2 * i], v[2 * i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    x[4 * i] = _mm256_unpacklo_epi64(w[4 * i], w[4 * i + 2]);
    x[4 * i + 1] = _mm256_unpackhi_epi64(w[4 * i], w[4 * i + 2]);
    x[4 * i + 2] = _mm256_unpacklo_epi64(w[4 * i + 1], w[4 * i + 3]);
    x[4 * i + 3] = _mm256_unpackhi_epi64(w[4 * i + 1], w[4 * i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    Put(to + i * kAcross, _mm256_permute2x128_si256(x[i], x[4 + i], 0x20));
    Put(to + (4 + i) * kAcross, _mm256_permute2x128_si256(x[i], x[4 + i], 0x31));
  }
}

// Lines lie far apart, where no processor looks ahead by itself.
[[BELAY_PANEL_256_PART]] inline void FetchLine(const PanelMatrix& b, int64_t line, int64_t first,
                                               int64_t count) {
  constexpr int64_t kAhead = 12, kCacheLine = 64;
  if (b.tile != PanelMatrix::kTile) return;
  const auto from = reinterpret_cast<uintptr_t>(b.data) + static_cast<uintptr_t>((line + kAhead) * b.line);
  const int64_t begin = first * BitsOf(b.type) / 8, end = begin + count * BitsOf(b.type) / 8;
  for (int64_t x = begin; x < end; x += kCacheLine)
    _mm_prefetch(reinterpret_cast<const char*>(from + static_cast<uintptr_t>(x)), _MM_HINT_T0);
}

// As floats: a unit is an element.
template <PanelType kType>
struct AsFloats {
  static constexpr int64_t kEach = 1;

  [[BELAY_PANELS_256]] static void Rows(const PanelMatrix& b, const Block256& at, uint32_t* to) {
    Elements<kType> elements;
    for (int64_t k = 0; k < at.deep; ++k) {
      FetchLine(b, at.k + k, at.j, at.n);
      for (int64_t j = 0; j < at.n; j += kAcross) {
        __m256i low, high;
        FloatsFrom<kType>(elements.At(b, at.k + k, at.j + j, at.n - j), low, high);
        uint32_t* unit = to + j * at.high + k * kAcross;
        Put(unit, low), Put(unit + kHalf, high);
      }
    }
  }

  [[BELAY_PANEL_256_PART]] static inline void Squares(const char* const (&lines)[kHalf], uint32_t* to) {
    __m256i low[kHalf], high[kHalf];
#pragma GCC unroll 8
    for (int i = 0; i < kHalf; ++i) FloatsFrom<kType>(lines[i], low[i], high[i]);
    PutTurned(low, to), PutTurned(high, to + kHalf * kAcross);
  }
};

// As pairs of 16 bits, which an instruction multiplies and adds exactly.
template <PanelType kType>
struct AsPairs {
  static constexpr int64_t kEach = 2;

  [[BELAY_PANELS_256]] static void Rows(const PanelMatrix& b, const Block256& at, uint32_t* to) {
    Elements<kType> elements, next;
    for (int64_t k = 0; k < at.deep; k += 2) {
      FetchLine(b, at.k + k, at.j, at.n), FetchLine(b, at.k + k + 1, at.j, at.n);
      for (int64_t j = 0; j < at.n; j += kAcross) {
        const __m128i even = BytesFrom<kType>(elements.At(b, at.k + k, at.j + j, at.n - j));
        const __m128i odd = k + 1 == at.deep ? _mm_setzero_si128()
                                             : BytesFrom<kType>(next.At(b, at.k + k + 1, at.j + j, at.n - j));
        uint32_t* unit = to + j * at.high + k / 2 * kAcross;
        Put(unit, _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(even, odd)));
        Put(unit + kHalf, _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(even, odd)));
      }
    }
  }

  [[BELAY_PANEL_256_PART]] static inline void Squares(const char* const (&lines)[kHalf], uint32_t* to) {
    __m256i pairs[kHalf];
#pragma GCC unroll 8
    for (int i = 0; i < kHalf; ++i) pairs[i] = _mm256_cvtepi8_epi16(BytesFrom<kType>(lines[i]));
    PutTurned(pairs, to);
  }
};

// Lines are columns: 16 elements of 8 of them at a time.
template <PanelType kType, class Units>
[[BELAY_PANELS_256]] void TurnLines(const PanelMatrix& b, const Block256& at, uint32_t* to) {
  Elements<kType> elements[kHalf];
  for (int64_t j = 0; j < at.n; j += kHalf) {
    for (int64_t k = 0; k < at.deep; k += kAcross) {
      const char* lines[kHalf];
      for (int64_t i = 0; i < kHalf; ++i) {
        const bool there = j + i < at.n;  // what lies behind is multiplied, but not stored
        lines[i] = elements[i].At(b, at.j + (there ? j + i : j), at.k + k, at.deep - k);
        if (k % (2 * kAcross) == 0) FetchLine(b, at.j + j + i, at.k + k, 1);
      }
      Units::Squares(lines, to + j / kAcross * kAcross * at.high + k / Units::kEach * kAcross + j % kAcross);
    }
  }
}

template <PanelType kType, template <PanelType> class Units>
void Pack256(const PanelMatrix& b, const Block256& at, uint32_t* to) {
  b.across ? TurnLines<kType, Units<kType>>(b, at, to) : Units<kType>::Rows(b, at, to);
}

void PackFloats(const PanelMatrix& b, const Block256& at, uint32_t* to) {
  switch (b.type) {
    case PanelType::kBFloat16:
      return Pack256<PanelType::kBFloat16, AsFloats>(b, at, to);
    case PanelType::kFloat16:
      return Pack256<PanelType::kFloat16, AsFloats>(b, at, to);
    case PanelType::kBytes:
      return Pack256<PanelType::kBytes, AsFloats>(b, at, to);
    case PanelType::kNibbles:
      return Pack256<PanelType::kNibbles, AsFloats>(b, at, to);
  }
}

void PackPairs256(const PanelMatrix& b, const Block256& at, uint32_t* to) {
  b.type == PanelType::kBytes ? Pack256<PanelType::kBytes, AsPairs>(b, at, to)
                              : Pack256<PanelType::kNibbles, AsPairs>(b, at, to);
}

float OfBFloat16(const uint16_t* bits) {
  const uint32_t wide = uint32_t{*bits} << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

// What of row i of a begins at k, as floats: the sum of its two parts.
[[BELAY_PANELS_256]] void TakeFloats(const PanelGemm& g, int64_t i, int64_t k, int64_t count, float* to) {
  const int64_t first = i * g.lda + k;
  if (g.a_floats) {
    std::copy_n(static_cast<const float*>(g.a) + first, count, to);
    return;
  }
  const auto* a = static_cast<const uint16_t*>(g.a) + first;
  const auto* rest = g.a_rest == nullptr ? nullptr : static_cast<const uint16_t*>(g.a_rest) + first;
  int64_t x = 0;
  for (; x + kHalf <= count; x += kHalf) {
    __m256 v = _mm256_castsi256_ps(FloatsOfBFloat16(a + x));
    if (rest != nullptr) v = _mm256_add_ps(v, _mm256_castsi256_ps(FloatsOfBFloat16(rest + x)));
    _mm256_store_ps(to + x, v);
  }
  for (; x < count; ++x) to[x] = OfBFloat16(a + x) + (rest == nullptr ? 0 : OfBFloat16(rest + x));
}

// A row of bytes in 16 bits, less its zero; 0 behind an odd one.
[[BELAY_PANELS_256]] void TakePairs(const uint8_t* a, uint8_t zero, int64_t count, uint32_t* to) {
  auto* wide = reinterpret_cast<int16_t*>(to);
  for (int64_t i = 0; i < count; ++i) wide[i] = static_cast<int16_t>(a[i] - zero);
  if (count % 2 != 0) wide[count] = 0;
}

struct Result256 {
  void* c;
  int64_t ldc, n;   // elements
  const float* by;  // of the columns; null: 1
  bool adds;
};

[[BELAY_PANEL_256_PART]] inline __m256 Added256(__m256 sum, uint32_t a, __m256i b) {
  float value;
  std::memcpy(&value, &a, sizeof value);
  return _mm256_fmadd_ps(_mm256_set1_ps(value), _mm256_castsi256_ps(b), sum);
}
[[BELAY_PANEL_256_PART]] inline __m256i Added256(__m256i sum, uint32_t a, __m256i b) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_set1_epi32(static_cast<int>(a)), b));
}

[[BELAY_PANEL_256_PART]] inline void PutSums(float* to, __m256 sum, const float* by, bool adds) {
  const __m256 before = adds ? _mm256_loadu_ps(to) : _mm256_setzero_ps();
  _mm256_storeu_ps(to, _mm256_fmadd_ps(sum, _mm256_loadu_ps(by), before));
}
[[BELAY_PANEL_256_PART]] inline void PutSums(int32_t* to, __m256i sum, const float*, bool adds) {
  auto* at = reinterpret_cast<__m256i*>(to);
  _mm256_storeu_si256(at, adds ? _mm256_add_epi32(sum, _mm256_loadu_si256(at)) : sum);
}

// So many rows times `units` units of each column.
template <int kRows, class Vector, class T>
[[BELAY_PANELS_256]] void Tile256(const uint32_t* a, const uint32_t* panel, int64_t units,
                                  const Result256& result) {
  Vector sums[kRows][2] = {};
  for (int64_t u = 0; u < units; ++u, panel += kAcross) {
    const __m256i left = _mm256_load_si256(reinterpret_cast<const __m256i*>(panel));
    const __m256i right = _mm256_load_si256(reinterpret_cast<const __m256i*>(panel + kHalf));
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      sums[r][0] = Added256(sums[r][0], a[r * kDeepest + u], left);
      sums[r][1] = Added256(sums[r][1], a[r * kDeepest + u], right);
    }
  }
  const bool whole = result.n >= kAcross;
  alignas(32) float by[kAcross];
  std::fill_n(by, kAcross, 1.0f);
  if (result.by != nullptr) std::copy_n(result.by, std::min(result.n, kAcross), by);
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
    T* to = static_cast<T*>(result.c) + r * result.ldc;
    T few[kAcross] = {};
    if (!whole && result.adds) std::copy_n(to, result.n, few);
    T* at = whole ? to : few;
    PutSums(at, sums[r][0], by, result.adds), PutSums(at + kHalf, sums[r][1], by + kHalf, result.adds);
    if (!whole) std::copy_n(few, result.n, to);
  }
}

template <class Vector, class T>
void Tiles256(const Room256& room, const Block256& at, int64_t units, int64_t rows, Result256 result) {
  static constexpr decltype(&Tile256<1, Vector, T>) kBy[] = {&Tile256<1, Vector, T>, &Tile256<2, Vector, T>,
                                                             &Tile256<3, Vector, T>, &Tile256<4, Vector, T>,
                                                             &Tile256<5, Vector, T>, &Tile256<6, Vector, T>};
  for (int64_t j = 0; j < at.n; j += kAcross) {
    for (int64_t i = 0; i < rows; i += kTileRows256) {
      Result256 part = result;
      part.c = static_cast<T*>(result.c) + i * result.ldc + j, part.n = at.n - j;
      if (part.by != nullptr) part.by += j;
      kBy[std::min(kTileRows256, rows - i) - 1](room.a[i], room.b + j * at.high, units, part);
    }
  }
}

// What is made of b at once lies in the first cache where few rows take it, else in the second. Of lines as
// much is read side by side as may be.
template <class Each>
void ForBlocks256(const PanelGemm& g, int64_t each, const Each& block) {
  const bool few = g.m <= kTileRows256;
  const int64_t deep = g.b.across ? kDeepest : few ? 32 : kRoomOfB / kDeepest;
  const int64_t wide = g.b.across ? few ? kAcross : kRoomOfB / kDeepest : few ? 128 : kDeepest;
  for (int64_t j = 0; j < g.n; j += wide) {
    for (int64_t k = 0; k < g.k; k += deep) {
      const int64_t high = Sixteens(std::min(deep, g.k - k)) / each;
      block(Block256{k, std::min(deep, g.k - k), j, std::min(wide, g.n - j), high});
    }
  }
}

// One row of a times lines that are columns: four of them share what is loaded of the row.
template <PanelType kType>
[[BELAY_PANELS_256]] void RowTimesColumns(const PanelGemm& g, const float* a, int64_t k, int64_t count,
                                          float* c) {
  Elements<kType> elements[kFour];
  for (int64_t j = 0; j < g.n; j += kFour) {
    float totals[kFour] = {};
    for (int64_t piece = 0; piece < count; piece += kPiece256) {
      __m256 sums[kFour][2] = {};
      const int64_t end = std::min(count, piece + kPiece256);
      for (int64_t x = piece; x < end; x += kAcross) {
        const __m256 a_low = _mm256_load_ps(a + x), a_high = _mm256_load_ps(a + x + kHalf);
#pragma GCC unroll 4
        for (int64_t i = 0; i < kFour; ++i) {
          __m256i low, high;
          FloatsFrom<kType>(elements[i].At(g.b, std::min(j + i, g.n - 1), k + x, end - x), low, high);
          FetchLine(g.b, j + i, k + x, 1);
          sums[i][0] = _mm256_fmadd_ps(a_low, _mm256_castsi256_ps(low), sums[i][0]);
          sums[i][1] = _mm256_fmadd_ps(a_high, _mm256_castsi256_ps(high), sums[i][1]);
        }
      }
      for (int64_t i = 0; i < kFour; ++i) totals[i] += SumOfLanes(_mm256_add_ps(sums[i][0], sums[i][1]));
    }
    for (int64_t i = 0; i < std::min(kFour, g.n - j); ++i)
      c[j + i] = totals[i] * (g.by == nullptr ? 1 : g.by[j + i]) + (g.adds || k != 0 ? c[j + i] : 0);
  }
}

// Adds to y what some lines, which are rows, make of columns [j, j + wide).
template <PanelType kType, int kLines>
[[BELAY_PANELS_256]] void AddLines(const PanelGemm& g, const float* a, int64_t k, int64_t j, int64_t wide,
                                   float* y) {
  Elements<kType> elements[kLines];
  __m256 by[kLines];
  for (int i = 0; i < kLines; ++i) by[i] = _mm256_set1_ps(a[i]), FetchLine(g.b, k + i, j, wide);
  for (int64_t x = 0; x < wide; x += kAcross) {
    __m256 left = _mm256_load_ps(y + x), right = _mm256_load_ps(y + x + kHalf);
#pragma GCC unroll 4
    for (int i = 0; i < kLines; ++i) {
      __m256i low, high;
      FloatsFrom<kType>(elements[i].At(g.b, k + i, j + x, wide - x), low, high);
      left = _mm256_fmadd_ps(by[i], _mm256_castsi256_ps(low), left);
      right = _mm256_fmadd_ps(by[i], _mm256_castsi256_ps(high), right);
    }
    _mm256_store_ps(y + x, left), _mm256_store_ps(y + x + kHalf, right);
  }
}

// One row of a times lines that are rows, for columns whose sums stay in the first cache.
template <PanelType kType>
void RowTimesRows(const PanelGemm& g, const float* a, int64_t k, int64_t count, float* c) {
  constexpr int64_t kWide = 1024;
  alignas(32) float y[kWide];
  for (int64_t j = 0; j < g.n; j += kWide) {
    const int64_t wide = std::min(kWide, g.n - j);
    for (int64_t piece = 0; piece < count; piece += kPiece256) {
      const int64_t end = std::min(count, piece + kPiece256);
      std::fill_n(y, Sixteens(wide), 0.0f);
      int64_t x = piece;
      for (; x + kFour <= end; x += kFour) AddLines<kType, kFour>(g, a + x, k + x, j, wide, y);
      for (; x < end; ++x) AddLines<kType, 1>(g, a + x, k + x, j, wide, y);
      const bool adds = g.adds || k + piece != 0;
      for (int64_t i = 0; i < wide; ++i)
        c[j + i] = y[i] * (g.by == nullptr ? 1 : g.by[j + i]) + (adds ? c[j + i] : 0);
    }
  }
}

template <PanelType kType>
void RowTimesLines(const PanelGemm& g, const float* a, int64_t k, int64_t count, float* c) {
  g.b.across ? RowTimesColumns<kType>(g, a, k, count, c) : RowTimesRows<kType>(g, a, k, count, c);
}

// Rows that are hardly any: no panels are made.
void MultiplyRows256(const PanelGemm& g) {
  static constexpr decltype(&RowTimesLines<PanelType::kBytes>) kBy[] = {
      &RowTimesLines<PanelType::kBFloat16>, &RowTimesLines<PanelType::kBytes>,
      &RowTimesLines<PanelType::kNibbles>, &RowTimesLines<PanelType::kFloat16>};
  constexpr int64_t kMost = 16 * 1024, kShared = 64, kSharedColumns = 16;
  alignas(64) float a[kMost];
  // What several rows take lies in a cache when the next one comes.
  const int64_t deep = g.m == 1 || g.b.across ? kMost : kShared;
  const int64_t wide = g.m == 1 || !g.b.across ? g.n : kSharedColumns;
  for (int64_t j = 0; j < g.n; j += wide) {
    PanelGemm part = g;
    part.n = std::min(wide, g.n - j);
    if (g.b.across) part.b.data += j * g.b.line;
    if (g.by != nullptr) part.by += j;
    for (int64_t k = 0; k < g.k; k += deep) {
      const int64_t count = std::min(deep, g.k - k);
      for (int64_t i = 0; i < g.m; ++i) {
        TakeFloats(g, i, k, count, a);
        std::fill_n(a + count, Sixteens(count) - count, 0.0f);
        kBy[static_cast<int>(g.b.type)](part, a, k, count, static_cast<float*>(g.c) + i * g.ldc + j);
      }
    }
  }
}

void MultiplyFloats256(const PanelGemm& g) {
  if (g.m <= kHardlyAny) return MultiplyRows256(g);
  Room256 room;
  ForBlocks256(g, 1, [&](const Block256& at) {
    PackFloats(g.b, at, room.b);
    for (int64_t i = 0; i < g.m; i += kChunk) {
      const int64_t rows = std::min(kChunk, g.m - i);
      for (int64_t r = 0; r < rows; ++r)
        TakeFloats(g, i + r, at.k, at.deep, reinterpret_cast<float*>(room.a[r]));
      Tiles256<__m256, float>(room, at, at.deep, rows,
                              {static_cast<float*>(g.c) + i * g.ldc + at.j, g.ldc, 0,
                               g.by == nullptr ? nullptr : g.by + at.j, g.adds || at.k != 0});
    }
  });
}

void MultiplyBytes256(const PanelGemm& g) {
  Room256 room;
  ForBlocks256(g, 2, [&](const Block256& at) {
    PackPairs256(g.b, at, room.b);
    for (int64_t i = 0; i < g.m; i += kChunk) {
      const int64_t rows = std::min(kChunk, g.m - i);
      for (int64_t r = 0; r < rows; ++r)
        TakePairs(static_cast<const uint8_t*>(g.a) + (i + r) * g.lda + at.k, g.a_zero, at.deep, room.a[r]);
      Tiles256<__m256i, int32_t>(
          room, at, (at.deep + 1) / 2, rows,
          {static_cast<int32_t*>(g.c) + i * g.ldc + at.j, g.ldc, 0, nullptr, at.k != 0});
    }
  });
}

}  // namespace

PanelFunction FloatPanels256() { return simd::Level() == 1 ? &MultiplyFloats256 : nullptr; }
PanelFunction BytePanels256() { return simd::Level() == 1 ? &MultiplyBytes256 : nullptr; }
#else
PanelFunction FloatPanels256() { return nullptr; }
PanelFunction BytePanels256() { return nullptr; }
#endif

}  // namespace belay::ops
