#include "ops/conv/conv_parts.h"

#include <algorithm>
#include <utility>

namespace belay::ops {
namespace {

constexpr double kWorthACall = 1e6;  // of flops: about 8 us

int64_t Pixels(const int64_t* sizes) { return sizes[0] * sizes[1] * sizes[2]; }

// The dimension whose ranges are contiguous within one image; 3: none.
int OuterDimension(const ConvGeometry& g) {
  for (int d = 0; d < 3; ++d) {
    if (g.out[d] != 1) return d;
    if (g.in[d] != 1) return 3;
  }
  return 3;
}

// Rows [begin, end) of the result and what they read. False: they read nothing.
bool CutRows(const ConvGeometry& g, int d, int64_t begin, int64_t end, ConvPart* part) {
  ConvGeometry& cut = part->geometry;
  int64_t first, last;
  if (g.transposed) {
    // Input row i reaches the rows from i * stride - before on.
    const int64_t from = begin + g.before[d] - (g.kernel[d] - 1) * g.dilation[d];
    first = from <= 0 ? 0 : (from + g.stride[d] - 1) / g.stride[d];
    last = std::min((end - 1 + g.before[d]) / g.stride[d] + 1, g.in[d]);
    cut.before[d] = g.before[d] + begin - first * g.stride[d];
  } else {
    const int64_t from = begin * g.stride[d] - g.before[d];
    const int64_t to = (end - 1) * g.stride[d] - g.before[d] + (g.kernel[d] - 1) * g.dilation[d] + 1;
    first = std::max<int64_t>(from, 0);
    last = std::min(to, g.in[d]);
    cut.before[d] = first - from;
    cut.after[d] = std::max<int64_t>(to - g.in[d], 0);
  }
  cut.out[d] = end - begin;
  cut.in[d] = last - first;
  part->src += first * (Pixels(g.in) / g.in[d]) * g.in_channels;
  part->dst += begin * (Pixels(g.out) / g.out[d]) * g.out_channels;
  return last > first;
}

std::vector<ConvPart> CutBatch(const ConvGeometry& whole, int64_t width) {
  std::vector<ConvPart> parts;
  for (int64_t i = 0; i < width; ++i) {
    const int64_t begin = whole.batch * i / width, end = whole.batch * (i + 1) / width;
    if (end == begin) continue;
    ConvPart part{whole, begin * Pixels(whole.in) * whole.in_channels,
                  begin * Pixels(whole.out) * whole.out_channels};
    part.geometry.batch = end - begin;
    parts.push_back(part);
  }
  return parts;
}

// How many pieces an image's only dimension is cut into, so that none is much longer than that.
int64_t LongRowPieces(const ConvGeometry& g, int64_t longest_row) {
  constexpr int64_t kMostParts = 256;
  if (longest_row == 0 || OuterDimension(g) != 2 || g.kernel[2] == 1 || g.out[2] <= longest_row) return 1;
  const auto by_work = static_cast<int64_t>(ConvFlops(g) / static_cast<double>(g.batch) / kWorthACall);
  const int64_t pieces = std::min((g.out[2] + longest_row - 1) / longest_row, by_work);
  return std::max<int64_t>(std::min(pieces, kMostParts / g.batch), 1);
}

}  // namespace

int64_t ConvProducts(const ConvGeometry& g) {
  const int64_t* pixels = g.transposed ? g.in : g.out;
  return g.batch * Pixels(pixels) * g.out_channels * (g.in_channels / g.groups) * g.kernel[0] * g.kernel[1] *
         g.kernel[2];
}

double ConvFlops(const ConvGeometry& g) { return 2.0 * static_cast<double>(ConvProducts(g)); }

int64_t CoresFor(const ConvGeometry& g, int width) {
  return static_cast<int64_t>(std::clamp<double>(ConvFlops(g) / kWorthACall, 1, width));
}

int64_t ConvDepth(const ConvGeometry& g) {
  int64_t depth = g.in_channels / g.groups;
  for (int d = 0; d < 3; ++d) {
    // Of a transposed one each tap that meets a pixel comes from a pixel of its own.
    const int64_t taps =
        g.transposed && g.dilation[d] == 1 ? (g.kernel[d] + g.stride[d] - 1) / g.stride[d] : g.kernel[d];
    depth *= std::min(taps, g.in[d]);
  }
  return depth;
}

bool IsDeep(const ConvGeometry& g) {
  constexpr int64_t kDeep = 64 * 1024;
  return ConvDepth(g) > kDeep;
}

ConvGeometry Flattened(const ConvGeometry& g) {
  const auto is_apart = [&g](int d) {
    return g.kernel[d] == 1 && g.stride[d] == 1 && g.before[d] == 0 && g.after[d] == 0;
  };
  if (g.transposed) return g;
  ConvGeometry flat = g;
  if (is_apart(0) && is_apart(1) && is_apart(2)) {  // a product of matrices
    flat.batch = flat.in[0] = flat.out[0] = flat.in[1] = flat.out[1] = 1;
    flat.in[2] = flat.out[2] = g.batch * Pixels(g.in);
  } else if (is_apart(0)) {
    flat.batch = g.batch * g.in[0];
    flat.in[0] = flat.out[0] = 1;
  } else if (is_apart(1) && is_apart(2)) {
    for (int64_t* sizes : {flat.in, flat.out}) sizes[2] *= std::exchange(sizes[1], 1);
    for (int64_t* numbers :
         {flat.in, flat.out, flat.kernel, flat.stride, flat.dilation, flat.before, flat.after})
      std::swap(numbers[0], numbers[1]);
  }
  return flat;
}

std::vector<ConvPart> CutImages(const ConvGeometry& whole, int64_t together) {
  // Parts that are alike need one primitive.
  int64_t alike = together;
  while (whole.batch % alike != 0) --alike;
  if (2 * alike > together) together = alike;
  std::vector<ConvPart> parts = CutBatch(whole, (whole.batch + together - 1) / together);
  for (ConvPart& part : parts) part.geometry = Flattened(part.geometry);
  return parts;
}

std::vector<ConvPart> CutRowsEvenly(const ConvGeometry& whole, int64_t width) {
  std::vector<ConvPart> images = CutBatch(whole, std::min<int64_t>(whole.batch, width));
  const int d = OuterDimension(whole);
  if (whole.batch >= width || d == 3) return images;
  std::vector<ConvPart> parts;
  const int64_t rows = whole.out[d];
  const int64_t cuts = std::min<int64_t>(rows, (width + whole.batch - 1) / whole.batch);
  for (const ConvPart& image : images) {
    for (int64_t i = 0; i < cuts; ++i) {
      ConvPart part = image;
      if (!CutRows(whole, d, rows * i / cuts, rows * (i + 1) / cuts, &part)) return images;
      parts.push_back(part);
    }
  }
  return parts;
}

std::vector<ConvPart> CutRowsAlike(const ConvGeometry& whole, int64_t parts) {
  const int d = OuterDimension(whole);
  if (d == 3 || parts <= whole.batch) return CutRowsEvenly(whole, parts);
  constexpr int64_t kShared = 4;  // times the rows that two parts read
  const int64_t shared = std::max<int64_t>((whole.kernel[d] - 1) * whole.dilation[d], 1);
  const int64_t rows = whole.out[d], most = std::max<int64_t>(rows / (kShared * shared), 1);
  const int64_t wanted = std::min((parts + whole.batch - 1) / whole.batch, most);
  int64_t cuts = wanted;
  // Alike, they need few primitives; of an even number of rows, no tile of two by two is cut.
  while (cuts < std::min(2 * wanted, most) && (rows % cuts != 0 || rows / cuts % 2 != 0)) ++cuts;
  if (rows % cuts != 0) cuts = wanted;
  return CutRowsEvenly(whole, cuts * whole.batch);
}

std::vector<ConvPart> CutConv(const ConvGeometry& whole, int width, int64_t longest_row) {
  const int64_t pieces = LongRowPieces(whole, longest_row);
  if (pieces > 1) return CutRowsEvenly(whole, std::max<int64_t>(whole.batch * pieces, width));
  const int64_t cores = CoresFor(whole, width);
  if (cores == 1) return {{whole, 0, 0}};
  return CutRowsEvenly(whole, cores);
}

}  // namespace belay::ops
