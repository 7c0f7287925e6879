#include "ops/layout/float_transpose.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "ops/layout/float_square.h"
#include "ops/layout/square.h"

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

}  // namespace

void TransposeFloats(const float* from, float* to, int64_t batch, int64_t rows, int64_t columns) {
  if (std::min(rows, columns) <= kFew) return TransposeFew(from, to, batch, rows, columns);
  // The longer side is shared; along the shorter one squares follow each other.
  const bool by_columns = columns >= rows;
  const int64_t longer = std::max(rows, columns), shorter = std::min(rows, columns);
  const int64_t strips = std::max<int64_t>(1, longer / kSide);
  const int64_t grain = std::max<int64_t>(1, 64 * 1024 / (shorter * kSide));
  const TurnFloatSquare turn = BestTurnFloatSquare();
  // What is left beside the last strip is done with it.
  const auto strip = [&](const float* source, float* target, int64_t begin, int64_t end) {
    for (int64_t i = 0; i < shorter; i += kSide) {
      const int64_t along = std::max<int64_t>(0, std::min(i, shorter - kSide));
      const int64_t r = by_columns ? along : begin, c = by_columns ? begin : along;
      const float* from_square = source + r * columns + c;
      float* to_square = target + c * rows + r;
      if (std::min(shorter, end - begin) >= kSide) {
        turn(from_square, columns, to_square, rows);
      } else {
        const int64_t narrow = std::min(kSide, shorter);  // less than a large square on one side
        TurnBySquares<float>(reinterpret_cast<const char*>(from_square), columns * kOfFloat,
                             reinterpret_cast<char*>(to_square), rows * kOfFloat,
                             by_columns ? narrow : end - begin, by_columns ? end - begin : narrow);
      }
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

}  // namespace belay::ops
