// Panels for processors with AVX-512 and its instructions for pairs of BFLOAT16 and fours of bytes.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>

#include "base/simd_targets.h"
#include "ops/matmul/panels.h"

namespace belay::ops {

#if defined(__x86_64__) && !defined(BELAY_BASELINE_VECTORS)
#ifndef __clang__
// Its own headers begin vectors with themselves.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

namespace {

#define BELAY_PANELS gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16")
#define BELAY_PANEL_PART BELAY_PANELS, gnu::always_inline

// A unit: what an instruction takes of a column at once, two BFLOAT16 or four bytes.
constexpr int64_t kLanes = 16, kVectors = 4, kWide = kVectors * kLanes, kMostRows = 6;
constexpr int64_t kUnitBytes = 4, kVectorBytes = 64;
// A block of panels is made at once. Of rows many columns, that as many bytes are read side by side as may
// be; of columns many units for the same reason.
constexpr int64_t kUnits = 64, kPanels = 4, kUnitsAcross = 128, kPanelsAcross = 2;
static_assert(kUnits * kPanels == kUnitsAcross * kPanelsAcross);

struct PanelRoom {
  alignas(64) uint32_t panels[kUnits * kPanels * kWide];
  alignas(64) uint32_t fours[kUnits / 2 * kPanels * kWide];       // of bytes that become floats
  alignas(64) char bytes[kUnits * kUnitBytes * kPanels * kWide];  // of nibbles
  alignas(64) int32_t start[kWide];
};

[[BELAY_PANEL_PART]] inline __mmask64 FirstBytes(int64_t count) {
  return count >= kVectorBytes ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
}

// Up to 64 bytes of a line, from byte x on; 0 behind them.
[[BELAY_PANEL_PART]] inline __m512i LineAt(const char* line, int64_t x, int64_t tile, int64_t count) {
  if (count <= 0) return _mm512_setzero_si512();
  if (tile == PanelMatrix::kTile) return _mm512_maskz_loadu_epi8(FirstBytes(count), line + x);
  const char* at = line + x / PanelMatrix::kTile * tile;
  const __mmask64 mask = FirstBytes(count);
  const __m256i low = _mm256_maskz_loadu_epi8(static_cast<__mmask32>(mask), at);
  const __m256i high = _mm256_maskz_loadu_epi8(static_cast<__mmask32>(mask >> 32), at + tile);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

struct Lines {
  const char* data;
  int64_t line, tile, count;  // lines
  int64_t bytes;              // of each

  [[BELAY_PANEL_PART]] inline __m512i At(int64_t i, int64_t x) const {
    return i < count ? LineAt(data + i * line, x, tile, bytes - x) : _mm512_setzero_si512();
  }
  [[BELAY_PANEL_PART]] inline void Fetch(int64_t i) const {
    constexpr int64_t kAhead = 12;
    if (tile != PanelMatrix::kTile) return;  // they lie behind one another
    for (int64_t x = 0; x < bytes; x += kVectorBytes) FetchAt(i + kAhead, x);
  }
  [[BELAY_PANEL_PART]] inline void FetchAt(int64_t i, int64_t x) const {
    _mm_prefetch(reinterpret_cast<const char*>(reinterpret_cast<uintptr_t>(data) +
                                               static_cast<uintptr_t>(i * line + x)),
                 _MM_HINT_T0);
  }
};

// Lines are rows of BFLOAT16: each two of them become pairs.
[[BELAY_PANELS]] void PairRows(const Lines& rows, int64_t panel, uint32_t* to) {
  uint32_t* begin = to;
  const __m512i low = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7,
                                       38, 6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
  const __m512i high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
  for (int64_t k = 0; k < rows.count; k += 2) {
    rows.Fetch(k), rows.Fetch(k + 1);
    for (int64_t x = 0; x < rows.bytes; x += 2 * kVectorBytes, to += panel) {
      for (int64_t half = 0; half < 2; ++half) {
        const int64_t at = x + half * kVectorBytes;
        const __m512i even = rows.At(k, at), odd = rows.At(k + 1, at);
        _mm512_store_si512(to + half * 2 * kLanes, _mm512_permutex2var_epi16(even, low, odd));
        _mm512_store_si512(to + (half * 2 + 1) * kLanes, _mm512_permutex2var_epi16(even, high, odd));
      }
    }
    to = begin += kWide;
  }
}

[[BELAY_PANEL_PART]] inline void FourLines(__m512i r0, __m512i r1, __m512i r2, __m512i r3, uint32_t* to) {
  const __m512i a = _mm512_unpacklo_epi8(r0, r1), b = _mm512_unpackhi_epi8(r0, r1);
  const __m512i c = _mm512_unpacklo_epi8(r2, r3), d = _mm512_unpackhi_epi8(r2, r3);
  // Of each 16 columns the first four, the next four, ...
  const __m512i e = _mm512_unpacklo_epi16(a, c), f = _mm512_unpackhi_epi16(a, c);
  const __m512i g = _mm512_unpacklo_epi16(b, d), h = _mm512_unpackhi_epi16(b, d);
  const __m512i ef = _mm512_shuffle_i32x4(e, f, 0x44), ef_far = _mm512_shuffle_i32x4(e, f, 0xee);
  const __m512i gh = _mm512_shuffle_i32x4(g, h, 0x44), gh_far = _mm512_shuffle_i32x4(g, h, 0xee);
  _mm512_store_si512(to, _mm512_shuffle_i32x4(ef, gh, 0x88));
  _mm512_store_si512(to + kLanes, _mm512_shuffle_i32x4(ef, gh, 0xdd));
  _mm512_store_si512(to + 2 * kLanes, _mm512_shuffle_i32x4(ef_far, gh_far, 0x88));
  _mm512_store_si512(to + 3 * kLanes, _mm512_shuffle_i32x4(ef_far, gh_far, 0xdd));
}

// Lines are rows of bytes: each four of them become fours. `panel`: from one panel to the next.
[[BELAY_PANELS]] void FourRowsOfBytes(const Lines& rows, int64_t panel, uint32_t* to) {
  for (int64_t k = 0; k < rows.count; k += 4) {
    for (int64_t i = 0; i < 4; ++i) rows.Fetch(k + i);
    uint32_t* unit = to + k / 4 * kWide;
    for (int64_t x = 0; x < rows.bytes; x += kVectorBytes, unit += panel)
      FourLines(rows.At(k, x), rows.At(k + 1, x), rows.At(k + 2, x), rows.At(k + 3, x), unit);
  }
}

// 16 lines of 16 units each become 16 units of 16 columns.
[[BELAY_PANEL_PART]] inline void TurnSquare(__m512i (&v)[kLanes], uint32_t* to) {
  __m512i w[kLanes];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    w[2 * i] = _mm512_unpacklo_epi32(v[2 * i], v[2 * i + 1]);
    w[2 * i + 1] = _mm512_unpackhi_epi32(v[2 * i], v[2 * i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    v[4 * i] = _mm512_unpacklo_epi64(w[4 * i], w[4 * i + 2]);
    v[4 * i + 1] = _mm512_unpackhi_epi64(w[4 * i], w[4 * i + 2]);
    v[4 * i + 2] = _mm512_unpacklo_epi64(w[4 * i + 1], w[4 * i + 3]);
    v[4 * i + 3] = _mm512_unpackhi_epi64(w[4 * i + 1], w[4 * i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {  // v[4 j + i]: lanes of units i, 4 + i, 8 + i, 12 + i of lines 4 j to 4 j + 3
    const __m512i near = _mm512_shuffle_i32x4(v[i], v[4 + i], 0x88),
                  far = _mm512_shuffle_i32x4(v[i], v[4 + i], 0xdd);
    const __m512i near2 = _mm512_shuffle_i32x4(v[8 + i], v[12 + i], 0x88),
                  far2 = _mm512_shuffle_i32x4(v[8 + i], v[12 + i], 0xdd);
    _mm512_store_si512(to + i * kWide, _mm512_shuffle_i32x4(near, near2, 0x88));
    _mm512_store_si512(to + (4 + i) * kWide, _mm512_shuffle_i32x4(far, far2, 0x88));
    _mm512_store_si512(to + (8 + i) * kWide, _mm512_shuffle_i32x4(near, near2, 0xdd));
    _mm512_store_si512(to + (12 + i) * kWide, _mm512_shuffle_i32x4(far, far2, 0xdd));
  }
}

// Lines are columns: units of a line lie side by side.
[[BELAY_PANELS]] void TurnColumns(const Lines& columns, int64_t panel, uint32_t* to) {
  for (int64_t j = 0; j < columns.count; j += kLanes) {
    for (int64_t u = 0; u * kUnitBytes < columns.bytes; u += kLanes) {
      __m512i v[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
        v[i] = columns.At(j + i, u * kUnitBytes);
        columns.FetchAt(j + kLanes + i, u * kUnitBytes);
      }
      TurnSquare(v, to + j / kWide * panel + u * kWide + j % kWide);
    }
  }
}

// Each byte of nibbles becomes two bytes.
[[BELAY_PANELS]] void SpreadNibbles(const Lines& lines, char* to, int64_t line) {
  const __m512i eight = _mm512_set1_epi8(8);
  for (int64_t i = 0; i < lines.count; ++i) {
    lines.Fetch(i);
    for (int64_t x = 0; x < lines.bytes; x += PanelMatrix::kTile) {
      const __m512i wide = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(lines.At(i, x)));
      const __m512i both =
          _mm512_or_si512(_mm512_and_si512(wide, _mm512_set1_epi16(15)),
                          _mm512_and_si512(_mm512_slli_epi16(wide, 4), _mm512_set1_epi16(0xf00)));
      // Bit 3 is the sign.
      _mm512_store_si512(to + i * line + 2 * x, _mm512_sub_epi8(_mm512_xor_si512(both, eight), eight));
    }
  }
}

// The byte at the top of each number, as a float.
[[BELAY_PANEL_PART]] inline __m512i FloatOfTop(__m512i at_top) {
  return _mm512_castps_si512(_mm512_cvtepi32_ps(_mm512_srai_epi32(at_top, 24)));
}

[[BELAY_PANEL_PART]] inline __m512i PairOf(__m512i even, __m512i odd) {
  return _mm512_mask_blend_epi16(0xaaaaaaaau, _mm512_srli_epi32(even, 16), odd);
}

// Fours of bytes become pairs of BFLOAT16, exactly.
[[BELAY_PANELS]] void FoursToPairs(const uint32_t* fours, int64_t count, uint32_t* pairs) {
  for (int64_t u = 0; u < count; ++u) {
    for (int64_t v = 0; v < kWide; v += kLanes) {
      const __m512i x = _mm512_load_si512(fours + u * kWide + v);
      const __m512i even = FloatOfTop(_mm512_slli_epi32(x, 24)), odd = FloatOfTop(_mm512_slli_epi32(x, 16));
      _mm512_store_si512(pairs + 2 * u * kWide + v, PairOf(even, odd));
      _mm512_store_si512(pairs + (2 * u + 1) * kWide + v,
                         PairOf(FloatOfTop(_mm512_slli_epi32(x, 8)), FloatOfTop(x)));
    }
  }
}

// What of b is brought into panels at once.
struct PanelBlock {
  int64_t k, deep, j, n;
  int64_t units;  // of a panel, at most

  int64_t panel() const { return units * kWide; }
};

Lines LinesOf(const PanelMatrix& b, const PanelBlock& at) {
  const int64_t bits = BitsOf(b.type), x = (b.across ? at.k : at.j) * bits / 8;
  return {
      b.data + (b.across ? at.j : at.k) * b.line + x / PanelMatrix::kTile * b.tile + x % PanelMatrix::kTile,
      b.line, b.tile, b.across ? at.n : at.deep, ((b.across ? at.deep : at.n) * bits + 7) / 8};
}

void PackFours(const PanelMatrix& b, const PanelBlock& at, int64_t panel, char* room, uint32_t* to) {
  Lines lines = LinesOf(b, at);
  if (b.type == PanelType::kNibbles) {
    const int64_t line = b.across ? kUnitsAcross * kUnitBytes : kPanels * kWide;
    SpreadNibbles(lines, room, line);
    lines = {room, line, PanelMatrix::kTile, lines.count, b.across ? at.deep : at.n};
  }
  b.across ? TurnColumns(lines, panel, to) : FourRowsOfBytes(lines, panel, to);
}

void PackPairs(const PanelMatrix& b, const PanelBlock& at, PanelRoom& room) {
  if (b.type == PanelType::kBFloat16) {
    const Lines lines = LinesOf(b, at);
    return b.across ? TurnColumns(lines, at.panel(), room.panels) : PairRows(lines, at.panel(), room.panels);
  }
  PackFours(b, at, at.panel() / 2, room.bytes, room.fours);
  for (int64_t p = 0; p * kWide < at.n; ++p)
    FoursToPairs(room.fours + p * at.panel() / 2, (at.deep + 3) / 4, room.panels + p * at.panel());
}

// As many bytes at a unit of a row as there are, 0 behind them, to meet a unit of each column.
template <int64_t kBytes>
[[BELAY_PANEL_PART]] inline __m512i Repeated(const void* from) {
  int unit = 0;
  std::memcpy(&unit, from, kBytes);
  return _mm512_set1_epi32(unit);
}

[[BELAY_PANEL_PART]] inline __m512 Summed(__m512 sum, __m512i a, __m512i b) {
  return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}
[[BELAY_PANEL_PART]] inline __m512i Summed(__m512i sum, __m512i a, __m512i b) {
  return _mm512_dpbusd_epi32(sum, a, b);
}

// A unit of each row times a unit of each column.
template <int kRows, int64_t kBytes, class Vector>
[[BELAY_PANEL_PART]] inline void AddUnit(const char* a, int64_t line, const uint32_t* unit,
                                         Vector (&sums)[kRows][kVectors]) {
  __m512i b[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) b[v] = _mm512_load_si512(unit + v * kLanes);
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
    const __m512i by = Repeated<kBytes>(a + r * line);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[r][v] = Summed(sums[r][v], by, b[v]);
  }
}

// kRows rows of so many bytes. `line`: from one row to the next, in bytes.
template <int kRows, class Vector>
[[BELAY_PANEL_PART]] inline void AddUnits(const char* a, int64_t line, int64_t bytes, const uint32_t* panel,
                                          Vector (&sums)[kRows][kVectors]) {
  for (; bytes >= kUnitBytes; bytes -= kUnitBytes, a += kUnitBytes, panel += kWide)
    AddUnit<kRows, kUnitBytes>(a, line, panel, sums);
  switch (bytes) {
    case 1:
      return AddUnit<kRows, 1>(a, line, panel, sums);
    case 2:
      return AddUnit<kRows, 2>(a, line, panel, sums);
    case 3:
      return AddUnit<kRows, 3>(a, line, panel, sums);
    default:
      return;
  }
}

[[BELAY_PANEL_PART]] inline __mmask16 FirstColumns(int64_t count) {
  return static_cast<__mmask16>(FirstBytes(std::clamp<int64_t>(count, 0, kLanes)));
}

// Rows of a in two parts, of which the other one may be null. `line`: from one row to the next, in bytes.
struct PairedA {
  const char *first, *other;
  int64_t line, bytes;
};

struct FloatResult {
  float* c;
  int64_t ldc, n;
  const float* by;  // of the columns; null: 1
  bool adds;
};

template <int kRows>
[[BELAY_PANELS]] void MultiplyPairs(const PairedA& a, const uint32_t* panel, const FloatResult& result) {
  __m512 sums[kRows][kVectors];
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_setzero_ps();
  }
  AddUnits(a.first, a.line, a.bytes, panel, sums);
  if (a.other != nullptr) AddUnits(a.other, a.line, a.bytes, panel, sums);
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const __mmask16 mask = FirstColumns(result.n - v * kLanes);
    const __m512 by =
        result.by == nullptr ? _mm512_set1_ps(1) : _mm512_maskz_loadu_ps(mask, result.by + v * kLanes);
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      float* to = result.c + r * result.ldc + v * kLanes;
      const __m512 before = result.adds ? _mm512_maskz_loadu_ps(mask, to) : _mm512_setzero_ps();
      _mm512_mask_storeu_ps(to, mask, _mm512_fmadd_ps(sums[r][v], by, before));
    }
  }
}

template <int kRows>
[[BELAY_PANELS]] void MultiplyFours(const char* a, int64_t line, int64_t bytes, const uint32_t* panel,
                                    const int32_t* start, int32_t* c, int64_t ldc, int64_t n, bool adds) {
  __m512i sums[kRows][kVectors];
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_load_si512(start + v * kLanes);
  }
  AddUnits(a, line, bytes, panel, sums);
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      int32_t* to = c + r * ldc + v * kLanes;
      const __mmask16 mask = FirstColumns(n - v * kLanes);
      const __m512i before = adds ? _mm512_maskz_loadu_epi32(mask, to) : _mm512_setzero_si512();
      _mm512_mask_storeu_epi32(to, mask, _mm512_add_epi32(before, sums[r][v]));
    }
  }
}

// Calls rows(first, count) for as many rows at once as there are registers for, evenly.
template <class Rows>
void ForRowTiles(int64_t m, const Rows& rows) {
  for (int64_t i = 0; i < m;) {
    const int64_t left = m - i, tiles = (left + kMostRows - 1) / kMostRows,
                  count = (left + tiles - 1) / tiles;
    rows(i, count);
    i += count;
  }
}

// Calls block(which) for all that lies in b, down its rows first.
template <class Block>
void ForBlocks(const PanelGemm& g, int64_t unit, const Block& block) {
  const int64_t units = g.b.across ? kUnitsAcross : kUnits, deep = units * unit;
  const int64_t wide = kWide * (g.b.across ? kPanelsAcross : kPanels);
  for (int64_t j = 0; j < g.n; j += wide) {
    for (int64_t k = 0; k < g.k; k += deep)
      block(PanelBlock{k, std::min(deep, g.k - k), j, std::min(wide, g.n - j), units});
  }
}

void MultiplyFloatPanels(const PanelGemm& g) {
  static constexpr decltype(&MultiplyPairs<1>) kBy[] = {&MultiplyPairs<1>, &MultiplyPairs<2>,
                                                        &MultiplyPairs<3>, &MultiplyPairs<4>,
                                                        &MultiplyPairs<5>, &MultiplyPairs<6>};
  constexpr int64_t kSize = 2;
  PanelRoom room;
  ForBlocks(g, kUnitBytes / kSize, [&](const PanelBlock& at) {
    PackPairs(g.b, at, room);
    const auto row_of = [&](const void* a, int64_t i) {
      return a == nullptr ? nullptr : static_cast<const char*>(a) + kSize * (i * g.lda + at.k);
    };
    for (int64_t j = 0; j < at.n; j += kWide) {
      const int64_t n = std::min(kWide, at.n - j);
      const float* by = g.by == nullptr ? nullptr : g.by + at.j + j;
      ForRowTiles(g.m, [&](int64_t i, int64_t rows) {
        kBy[rows - 1]({row_of(g.a, i), row_of(g.a_rest, i), kSize * g.lda, kSize * at.deep},
                      room.panels + j / kWide * at.panel(),
                      {static_cast<float*>(g.c) + i * g.ldc + at.j + j, g.ldc, n, by, g.adds || at.k != 0});
      });
    }
  });
}

// What the sums begin with: less the zero of a times the sum of each column.
[[BELAY_PANELS]] void StartOf(const uint32_t* panel, int64_t units, uint8_t zero, int32_t* start) {
  for (int64_t v = 0; v < kWide; v += kLanes) {
    __m512i sum = _mm512_setzero_si512();
    if (zero != 0) {
      for (int64_t u = 0; u < units; ++u)
        sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi8(1), _mm512_load_si512(panel + u * kWide + v));
    }
    _mm512_store_si512(start + v, _mm512_mullo_epi32(sum, _mm512_set1_epi32(-int32_t{zero})));
  }
}

void MultiplyBytePanels(const PanelGemm& g) {
  static constexpr decltype(&MultiplyFours<1>) kBy[] = {&MultiplyFours<1>, &MultiplyFours<2>,
                                                        &MultiplyFours<3>, &MultiplyFours<4>,
                                                        &MultiplyFours<5>, &MultiplyFours<6>};
  PanelRoom room;
  ForBlocks(g, kUnitBytes, [&](const PanelBlock& at) {
    PackFours(g.b, at, at.panel(), room.bytes, room.panels);
    for (int64_t j = 0; j < at.n; j += kWide) {
      const uint32_t* panel = room.panels + j / kWide * at.panel();
      StartOf(panel, (at.deep + 3) / 4, g.a_zero, room.start);
      ForRowTiles(g.m, [&](int64_t i, int64_t rows) {
        kBy[rows - 1](static_cast<const char*>(g.a) + i * g.lda + at.k, g.lda, at.deep, panel, room.start,
                      static_cast<int32_t*>(g.c) + i * g.ldc + at.j + j, g.ldc, std::min(kWide, at.n - j),
                      at.k != 0);
      });
    }
  });
}

bool HasInstructions() {
  static const bool has = __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vnni");
  return has && simd::Level() == 2;
}

}  // namespace

PanelFunction BestFloatPanels() { return HasInstructions() ? &MultiplyFloatPanels : FloatPanels256(); }

PanelFunction BestBytePanels() { return HasInstructions() ? &MultiplyBytePanels : BytePanels256(); }
#else
PanelFunction BestFloatPanels() { return FloatPanels256(); }
PanelFunction BestBytePanels() { return BytePanels256(); }
#endif

}  // namespace belay::ops
