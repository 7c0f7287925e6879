// Products by the processor's instructions for pairs of BFLOAT16 and fours of bytes. The second matrix is
// brought into panels as these take it, each of which is multiplied by all rows of the first one while it
// lies in the first cache: so weights come by once as they lie, few rows or many. With AVX2 alone elements
// become floats, or pairs of 16 bits, as they are brought there.
#pragma once

#include <cstdint>

#include "ops/pipeline.h"
#include "ops/quant/quant_loops.h"
#include "ops/schema.h"

namespace belay::ops {

// FLOAT16 is for panels of AVX2 alone.
enum class PanelType : uint8_t { kBFloat16, kBytes, kNibbles, kFloat16 };

// Of an element.
constexpr int64_t BitsOf(PanelType type) {
  return type == PanelType::kBytes ? 8 : type == PanelType::kNibbles ? 4 : 16;
}

// The second matrix, [k, n]. Its lines are rows, or columns where it lies `across`; along a line elements lie
// side by side, of nibbles the first one in the low bits.
struct PanelMatrix {
  const char* data;
  int64_t line;  // bytes from one line to the next
  int64_t tile;  // bytes from each 32 bytes of a line to the next ones
  bool across;
  PanelType type;

  static constexpr int64_t kTile = 32;
};

struct PanelGemm {
  int64_t m, n, k;
  const void* a;  // rows of BFLOAT16, or of bytes without sign
  int64_t lda;    // elements
  PanelMatrix b;
  void* c;  // floats, or sums of bytes
  int64_t ldc;
  uint8_t a_zero = 0;  // what is taken from bytes of a
  // Of floats: c = (a + a_rest) x b, each column times its `by`; added to what is there.
  const void* a_rest = nullptr;
  const float* by = nullptr;
  bool adds = false;
  bool a_floats = false;  // a is of floats, which panels of AVX2 alone take
};

// Computes on the calling thread. Null where the processor does not have the instructions.
using PanelFunction = void (*)(const PanelGemm& gemm);
PanelFunction BestFloatPanels();  // a of BFLOAT16, b of any type: c of floats
PanelFunction BestBytePanels();   // a of bytes, b of bytes or nibbles: c of INT32, which wrap
// Those of processors with AVX2 alone; null on others.
PanelFunction FloatPanels256();
PanelFunction BytePanels256();

// Where a matrix lies in a tensor of which panels are made.
struct PanelPlace {
  int binding = -1;  // -1: it lies otherwise
  int64_t at = 0, rows = 0, columns = 0, line = 0, tile = PanelMatrix::kTile;
  int64_t matrix = 0;  // bytes of each in tiles
  bool across = false;
  PanelType type = PanelType::kBytes;

  PanelPlace() = default;
  // The last two dimensions, at an index of those before; in a card's tiles, too. INT32 holds eight nibbles
  // along the dimension without gaps.
  PanelPlace(const Operand& operand, int64_t index);

  bool present() const { return binding >= 0; }
  PanelPlace Transposed() const;
  // What begins at a row and a column: multiples of each() along a line. `offset`: of another matrix, in
  // elements of the view.
  PanelMatrix From(const Frame& frame, int64_t row, int64_t column, int64_t offset = 0) const;
  int64_t each() const { return PanelMatrix::kTile * 8 / BitsOf(type); }  // elements in 32 bytes

 private:
  void TakeTiles(const Tensor& t, int64_t index);
  void TakeLines(const Tensor& t, int64_t index);
};

// Whether this processor multiplies x of a type with such weights by panels: BFLOAT16 with any, FLOAT16 with
// small integers, small integers with those.
bool PanelsMultiply(DType x, const Operand& weight);

// Rows of FLOAT16 or BFLOAT16 times small integers, which are (weight + plus) * by, these of columns or of
// groups of rows of each column. A FLOAT16 is the sum of two BFLOAT16, so each such row becomes two.
struct WeightPanels {
  PanelPlace weights;
  int64_t depth = 1;  // rows of a group
  DType x = DType::kBF16;
  bool shifts = false;

  int64_t each() const { return x == DType::kF16 ? 2 : 1; }
  int64_t groups() const { return weights.rows / depth; }
  // A row as one or two of BFLOAT16, and of each group the sum of what is in it.
  void TakeRow(const void* from, int64_t step, uint16_t* to, float* sums) const;

  // factors(group, by, plus) says where the numbers of the columns are. a, sums: as TakeRow made them; c:
  // packed.
  template <class FactorsOf>
  void Multiply(const Frame& frame, const uint16_t* a, const float* sums, int64_t m, int64_t column,
                int64_t n, float* c, const FactorsOf& factors) const {
    const int64_t k = weights.rows;
    for (int64_t g = 0; g < groups(); ++g) {
      const float *by = nullptr, *plus = nullptr;
      factors(g, &by, &plus);
      BestFloatPanels()({.m = m,
                         .n = n,
                         .k = depth,
                         .a = a + g * depth,
                         .lda = k * each(),
                         .b = weights.From(frame, g * depth, column),
                         .c = c,
                         .ldc = n,
                         .a_rest = each() == 2 ? a + k + g * depth : nullptr,
                         .by = by,
                         .adds = g != 0});
      if (plus == nullptr) continue;
      for (int64_t i = 0; i < m; ++i)
        BestQuantLoops().add_products(c + i * n, sums[i * groups() + g], plus, by, n);
    }
  }
};

}  // namespace belay::ops
