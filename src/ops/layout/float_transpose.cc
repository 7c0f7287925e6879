#include "ops/layout/float_transpose.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "ops/layout/float_square.h"
#include "ops/layout/square.h"
#include "tensor/convert.h"

namespace belay::ops {
namespace {

constexpr int64_t kSide = kFloatSquare, kOfFloat = sizeof(float);

// So few channels that a block would be mostly edge, as in pictures.
constexpr int64_t kFew = 4;

template <int kChannels>
void Interleave(const float* from, float* to, int64_t pixels, int64_t ld) {
  for (int64_t i = 0; i < pixels; ++i) {
    for (int64_t c = 0; c < kChannels; ++c) to[i * kChannels + c] = from[c * ld + i];
  }
}

template <int kChannels>
void Separate(const float* from, float* to, int64_t pixels, int64_t ld) {
  for (int64_t i = 0; i < pixels; ++i) {
    for (int64_t c = 0; c < kChannels; ++c) to[c * ld + i] = from[i * kChannels + c];
  }
}

void TransposeFew(const float* from, float* to, int64_t batch, int64_t rows, int64_t columns) {
  using Move = void (*)(const float*, float*, int64_t, int64_t);
  static constexpr Move kJoin[] = {&Interleave<1>, &Interleave<2>, &Interleave<3>, &Interleave<4>};
  static constexpr Move kPart[] = {&Separate<1>, &Separate<2>, &Separate<3>, &Separate<4>};
  const bool join = rows <= kFew;
  const int64_t few = join ? rows : columns, pixels = join ? columns : rows;
  constexpr int64_t kPiece = 1024;
  const int64_t pieces = (pixels + kPiece - 1) / kPiece;
  ParallelFor(batch * pieces, 32, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / pieces * few * pixels, first = i % pieces * kPiece;
      const int64_t count = std::min(kPiece, pixels - first);
      if (join) {
        kJoin[few - 1](from + image + first, to + image + first * few, count, pixels);
      } else {
        kPart[few - 1](from + image + first * few, to + image + first, count, pixels);
      }
    }
  });
}

// A part of a matrix in another type that is turned at once, so that its floats stay in the nearest cache.
constexpr int64_t kPartRows = 32, kPartColumns = 128;

// visit(first element of the matrix, first row, rows, first column, columns, room for so many floats)
template <class Visit>
void EachPart(int64_t batch, int64_t rows, int64_t columns, const Visit& visit) {
  const int64_t parts = (columns + kPartColumns - 1) / kPartColumns;
  const int64_t grain = std::max<int64_t>(1, 64 * 1024 / (rows * std::min(columns, kPartColumns)));
  ParallelFor(batch * parts, grain, [&](int64_t begin, int64_t end) {
    alignas(64) float part[kPartRows * kPartColumns];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i % parts * kPartColumns, image = i / parts * rows * columns;
      for (int64_t row = 0; row < rows; row += kPartRows) {
        visit(image, row, std::min(kPartRows, rows - row), column, std::min(kPartColumns, columns - column),
              part);
      }
    }
  });
}

struct MemoryRows {
  DType type;
  char* at;
  int64_t step;  // elements

  char* Row(int64_t r) const { return at + r * step * static_cast<int64_t>(BytesOf(type)); }
};

// `height` rows of `width` elements; at once where they follow each other on both sides.
void ConvertRows(const MemoryRows& to, const MemoryRows& from, int64_t height, int64_t width) {
  if (to.step == width && from.step == width) width *= height, height = 1;
  for (int64_t r = 0; r < height; ++r) tensor::Convert(to.type, to.Row(r), from.type, from.Row(r), width);
}

MemoryRows RowsOfFloats(float* floats, int64_t step) {
  return {DType::kF32, reinterpret_cast<char*>(floats), step};
}

}  // namespace

void TurnFloats(const float* from, int64_t from_step, float* to, int64_t to_step, int64_t rows,
                int64_t columns) {
  const int64_t least = std::min(rows, columns);
  if (least < Square<float>::kSide) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) to[c * to_step + r] = from[r * from_step + c];
    }
    return;
  }
  if (least < kSide) {
    return TurnBySquares<float>(reinterpret_cast<const char*>(from), from_step * kOfFloat,
                                reinterpret_cast<char*>(to), to_step * kOfFloat, rows, columns);
  }
  const TurnFloatSquare turn = BestTurnFloatSquare();
  // The last squares may begin before those in front of them end.
  for (int64_t i = 0; i < rows; i += kSide) {
    const int64_t r = std::min(i, rows - kSide);
    for (int64_t k = 0; k < columns; k += kSide) {
      const int64_t c = std::min(k, columns - kSide);
      turn(from + r * from_step + c, from_step, to + c * to_step + r, to_step);
    }
  }
}

void TransposeFloats(const float* from, float* to, int64_t batch, int64_t rows, int64_t columns) {
  if (std::min(rows, columns) <= kFew) return TransposeFew(from, to, batch, rows, columns);
  // The longer side is shared; along the shorter one squares follow each other.
  const bool by_columns = columns >= rows;
  const int64_t longer = std::max(rows, columns), shorter = std::min(rows, columns);
  const int64_t strips = std::max<int64_t>(1, longer / kSide);
  const int64_t grain = std::max<int64_t>(1, 64 * 1024 / (shorter * kSide));
  // What is left beside the last strip is done with it.
  const auto strip = [&](const float* source, float* target, int64_t begin, int64_t end) {
    if (by_columns) {
      TurnFloats(source + begin, columns, target + begin * rows, rows, rows, end - begin);
    } else {
      TurnFloats(source + begin * columns, columns, target + begin, rows, end - begin, columns);
    }
  };
  ParallelFor(batch * strips, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / strips * rows * columns, first = i % strips * kSide;
      strip(from + image, to + image, first, std::min(first + kSide, longer));
      if (i % strips == strips - 1 && longer % kSide != 0 && longer > kSide)
        strip(from + image, to + image, longer - kSide, longer);
    }
  });
}

void LoadTransposed(DType type, const char* from, float* to, int64_t batch, int64_t rows, int64_t columns) {
  if (type == DType::kF32)
    return TransposeFloats(reinterpret_cast<const float*>(from), to, batch, rows, columns);
  const auto size = static_cast<int64_t>(BytesOf(type));
  EachPart(
      batch, rows, columns,
      [&](int64_t image, int64_t row, int64_t height, int64_t column, int64_t width, float* part) {
        const char* source = from + (image + row * columns + column) * size;
        ConvertRows(RowsOfFloats(part, width), {type, const_cast<char*>(source), columns}, height, width);
        TurnFloats(part, width, to + image + column * rows + row, rows, height, width);
      });
}

void StoreTransposed(DType type, const float* from, char* to, int64_t batch, int64_t rows, int64_t columns) {
  if (type == DType::kF32) return TransposeFloats(from, reinterpret_cast<float*>(to), batch, rows, columns);
  const auto size = static_cast<int64_t>(BytesOf(type));
  // Of what is made, which is read a part at a time.
  EachPart(batch, columns, rows,
           [&](int64_t image, int64_t row, int64_t height, int64_t column, int64_t width, float* part) {
             TurnFloats(from + image + column * columns + row, columns, part, width, width, height);
             const MemoryRows target{type, to + (image + row * rows + column) * size, rows};
             ConvertRows(target, RowsOfFloats(part, width), height, width);
           });
}

void TurnHalves(const uint16_t* from, int64_t from_step, uint16_t* to, int64_t to_step, int64_t rows,
                int64_t columns) {
  constexpr int64_t kBytes = sizeof(uint16_t);
  const int64_t least = std::min(rows, columns);
  if (least < Square<uint16_t>::kSide) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) to[c * to_step + r] = from[r * from_step + c];
    }
    return;
  }
  const auto at = [&](int64_t r, int64_t c) {
    return reinterpret_cast<const char*>(from + r * from_step + c);
  };
  const auto place = [&](int64_t r, int64_t c) { return reinterpret_cast<char*>(to + c * to_step + r); };
  if (least < kHalfSquare) {
    return TurnBySquares<uint16_t>(at(0, 0), from_step * kBytes, place(0, 0), to_step * kBytes, rows,
                                   columns);
  }
  const TurnHalfSquare turn = BestTurnHalfSquare();
  // The last squares may begin before those in front of them end.
  for (int64_t i = 0; i < rows; i += kHalfSquare) {
    const int64_t r = std::min(i, rows - kHalfSquare);
    for (int64_t k = 0; k < columns; k += kHalfSquare) {
      const int64_t c = std::min(k, columns - kHalfSquare);
      turn(at(r, c), from_step * kBytes, place(r, c), to_step * kBytes);
    }
  }
}

void TransposeHalves(const char* from, char* to, int64_t batch, int64_t rows, int64_t columns) {
  const auto* source = reinterpret_cast<const uint16_t*>(from);
  auto* target = reinterpret_cast<uint16_t*>(to);
  EachPart(batch, rows, columns,
           [&](int64_t image, int64_t row, int64_t height, int64_t column, int64_t width, float*) {
             TurnHalves(source + image + row * columns + column, columns,
                        target + image + column * rows + row, rows, height, width);
           });
}

}  // namespace belay::ops
