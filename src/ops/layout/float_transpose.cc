#include "ops/layout/float_transpose.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "ops/layout/square.h"

namespace belay::ops {
namespace {

// A block has whole lines of the cache on both sides. Each line is read and written once and at once:
// rows of images are often a multiple of a page apart, where few lines can stay in the cache together.
constexpr int64_t kSide = 16;

void TransposeBlock(const float* from, float* to, int64_t from_ld, int64_t to_ld) {
  alignas(64) float block[kSide][kSide];
  for (int64_t r = 0; r < kSide; ++r) std::memcpy(block[r], from + r * from_ld, sizeof block[r]);
  constexpr auto kBytes = static_cast<int64_t>(sizeof(float));
  constexpr int64_t kFew = Square<float>::kSide;
  for (int64_t c = 0; c < kSide; c += kFew) {
    for (int64_t r = 0; r < kSide; r += kFew) {
      Square<float>::Turn(reinterpret_cast<const char*>(&block[r][c]), kSide * kBytes,
                          reinterpret_cast<char*>(to + c * to_ld + r), to_ld * kBytes);
    }
  }
}

// At the edges.
void TransposeRest(const float* from, float* to, int64_t rows, int64_t columns, int64_t from_ld,
                   int64_t to_ld) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) to[c * to_ld + r] = from[r * from_ld + c];
  }
}

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
  const int64_t down = (rows + kSide - 1) / kSide, across = (columns + kSide - 1) / kSide;
  // The longer side is shared; along the shorter one blocks follow each other.
  const bool by_columns = across >= down;
  const int64_t strips = by_columns ? across : down, length = by_columns ? down : across;
  const int64_t grain = std::max<int64_t>(1, 64 * 1024 / (length * kSide * kSide));
  ParallelFor(batch * strips, grain, [&](int64_t begin, int64_t end) {
    for (int64_t strip = begin; strip < end; ++strip) {
      const int64_t image = strip / strips * rows * columns;
      for (int64_t i = 0; i < length; ++i) {
        const int64_t r = (by_columns ? i : strip % strips) * kSide;
        const int64_t c = (by_columns ? strip % strips : i) * kSide;
        const float* source = from + image + r * columns + c;
        float* target = to + image + c * rows + r;
        if (r + kSide <= rows && c + kSide <= columns) {
          TransposeBlock(source, target, columns, rows);
        } else {
          TransposeRest(source, target, std::min(kSide, rows - r), std::min(kSide, columns - c), columns,
                        rows);
        }
      }
    }
  });
}

}  // namespace belay::ops
