// A convolution cut into parts of equal work for the cores.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/conv/conv_backend.h"

namespace belay::ops {

struct ConvPart {
  ConvGeometry geometry;
  int64_t src, dst;  // elements from the start of the packed tensors
};

// At most about `width` parts; fewer where there is little work, one where there is too little, or no way to
// cut it. More where the rows of a single dimension are longer than `longest_row` (0: any may be), of as much
// work as is worth a call.
std::vector<ConvPart> CutConv(const ConvGeometry& whole, int width, int64_t longest_row = 0);

// How many of so many cores are worth it.
int64_t CoresFor(const ConvGeometry& geometry, int width);

// Parts of whole images, at most so many together; each is flattened.
std::vector<ConvPart> CutImages(const ConvGeometry& whole, int64_t together);

// Parts as CutConv has them, however little work there is.
std::vector<ConvPart> CutRowsEvenly(const ConvGeometry& whole, int64_t width);

// About so many, for one core after another: parts of equal rows where their number can be divided so, and of
// few rows beside what two of them read only where nothing else is left.
std::vector<ConvPart> CutRowsAlike(const ConvGeometry& whole, int64_t parts);

// Multiplications, each with an addition.
int64_t ConvProducts(const ConvGeometry& geometry);
double ConvFlops(const ConvGeometry& geometry);

// The most products that an element of the result is the sum of.
int64_t ConvDepth(const ConvGeometry& geometry);
// So many that a sum in FLOAT one after the other would show it.
bool IsDeep(const ConvGeometry& geometry);

// With fewer dimensions where that is the same: those of which every position stands for itself become one,
// or images of the batch. The weights lie as before.
ConvGeometry Flattened(const ConvGeometry& geometry);

}  // namespace belay::ops
