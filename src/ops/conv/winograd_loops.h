// The inner loops of winograd.cc. Tiles are four by four pixels of the input and two by two of the
// result; what is made of them lies as sixteen matrices with a row of channels for each tile.
#pragma once

#include <cstdint>

#include "ops/conv/activation.h"

namespace belay::ops {

constexpr int kTilePixels = 16, kResultPixels = 4;
// Columns of a packed matrix that lie together; less where that would leave more of them empty.
constexpr int64_t kPanel = 32, kSmallPanel = 16;
constexpr int64_t PanelOf(int64_t columns) { return columns % kPanel == 0 ? kPanel : kSmallPanel; }

// What is computed otherwise where mixing has made more of an infinity or NaN than there is.
struct Redo {
  static constexpr int64_t kMost = 16;
  const void* context;
  // The sums of `count` channels of a tile from `channel` on, without the bias; of pixel p to sums[p *
  // kMost].
  void (*sums)(const void* context, int64_t channel, int64_t count, float* sums);
};

struct WinogradLoops {
  // Mixes the pixels of a tile; element p of a channel goes to to[p * step + channel].
  void (*gather)(const float* const* pixels, int64_t channels, float* to, int64_t step);
  // products = tiles x weights: [rows][depth] times [columns / panel][depth][panel], where the panel is that
  // of `columns`, which are whole small ones. Rows of products are `step` apart.
  void (*multiply)(const float* tiles, const float* weights, int64_t rows, int64_t depth, int64_t columns,
                   float* products, int64_t step);
  // The result from sixteen products: added to the bias, which may be null, and, if `add`, to what
  // is there. A null pixel lies outside.
  void (*scatter)(const float* products, int64_t step, const float* bias, int64_t channels, bool add,
                  float* const* pixels, const Redo& redo);
  void (*activate)(const Activation& activation, float* values,
                   int64_t count);  // of the kinds of HasActivationLoop
};

bool HasActivationLoop(ActivationKind kind);
// For this processor.
WinogradLoops BestWinogradLoops();

}  // namespace belay::ops
