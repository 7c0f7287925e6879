#include "ops/conv/winograd.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/conv/own_backend.h"
#include "ops/conv/winograd_loops.h"

namespace belay::ops {
namespace {

constexpr int64_t kTile = 4, kResult = 2;  // pixels along each dimension

int64_t Columns(const ConvGeometry& g) {
  return (g.out_channels + kSmallPanel - 1) / kSmallPanel * kSmallPanel;
}

// A dilated kernel sees every so many pixels: there are as many images between each other as the dilation
// says.
int64_t TilesAlong(const ConvGeometry& g, int d) {
  const int64_t images = std::min(g.dilation[d], g.out[d]), few = g.out[d] / images,
                larger = g.out[d] % images;  // of the images have one pixel more
  return larger * ((few + kResult) / kResult) + (images - larger) * ((few + kResult - 1) / kResult);
}

// Where tiles begin.
std::vector<int64_t> Beginnings(const ConvGeometry& g, int d) {
  std::vector<int64_t> at;
  for (int64_t image = 0; image < std::min(g.dilation[d], g.out[d]); ++image) {
    for (int64_t pixel = image; pixel < g.out[d]; pixel += kResult * g.dilation[d]) at.push_back(pixel);
  }
  return at;
}

int64_t TileCount(const ConvGeometry& g) { return g.batch * g.out[0] * TilesAlong(g, 1) * TilesAlong(g, 2); }

// Of a product: the channels of all planes that a kernel sees.
int64_t DepthOf(const ConvGeometry& g) { return g.kernel[0] * g.in_channels; }

// Tiles at a time: what is made of them stays in the second cache while there are few channels, and
// the weights are read seldom while there are many.
int64_t TilesTogether(const ConvGeometry& g) {
  constexpr int64_t kBytes = 768 * 1024, kFewest = 48;
  const int64_t tiles = TileCount(g),
                one = kTilePixels * (DepthOf(g) + Columns(g)) * static_cast<int64_t>(sizeof(float));
  const int64_t most = std::max(kFewest, kBytes / one), blocks = (tiles + most - 1) / most;
  return (tiles + blocks - 1) / blocks;
}

struct Winograd {
  explicit Winograd(const ConvSpec& of)
      : spec(of),
        together(TilesTogether(of.geometry)),
        columns(Columns(of.geometry)),
        down(Beginnings(of.geometry, 1)),
        across(Beginnings(of.geometry, 2)) {}

  int64_t scratch_floats() const {
    return spec.geometry.in_channels + kTilePixels * together * (DepthOf(spec.geometry) + columns);
  }

  ConvSpec spec;
  int64_t together, columns;
  std::vector<int64_t> down, across;  // the first pixels of tiles
  WinogradLoops loops = BestWinogradLoops();
};

// One call: the tiles of all images in order, block by block.
class WinogradRun {
 public:
  WinogradRun(const Winograd& winograd, const ConvCall& call)
      : winograd_(winograd),
        g_(winograd.spec.geometry),
        call_(call),
        nothing_(static_cast<float*>(call.scratch)),
        gathered_(nothing_ + g_.in_channels),
        depth_(DepthOf(g_)),
        products_(gathered_ + kTilePixels * winograd.together * depth_) {
    std::fill_n(nothing_, g_.in_channels, 0.0f);
  }

  void All() {
    const int64_t tiles = TileCount(g_);
    for (int64_t begin = 0; begin < tiles; begin += winograd_.together)
      Block(begin, std::min(begin + winograd_.together, tiles));
  }

 private:
  struct Place {
    int64_t image, plane, row, column;  // of the first pixel of the result
  };

  Place PlaceOf(int64_t tile) const {
    const size_t across = winograd_.across.size(), down = winograd_.down.size(),
                 number = static_cast<size_t>(tile);
    const auto plane = static_cast<int64_t>(number / across / down);
    return {plane / g_.out[0], plane % g_.out[0], winograd_.down[number / across % down],
            winograd_.across[number % across]};
  }

  void Block(int64_t begin, int64_t end) {
    const int64_t rows = end - begin, gathered = rows * depth_, products = rows * winograd_.columns;
    for (int64_t t = begin; t < end; ++t) Gather(PlaceOf(t), gathered_ + (t - begin) * depth_, gathered);
    const auto* weights = static_cast<const float*>(call_.weights);
    for (int p = 0; p < kTilePixels; ++p) {
      winograd_.loops.multiply(gathered_ + p * gathered, weights + p * depth_ * winograd_.columns, rows,
                               depth_, winograd_.columns, products_ + p * products, winograd_.columns);
    }
    for (int64_t t = begin; t < end; ++t)
      Scatter(PlaceOf(t), products_ + (t - begin) * winograd_.columns, products);
  }

  void Gather(const Place& place, float* to, int64_t step) const {
    for (int64_t through = 0; through < g_.kernel[0]; ++through, to += g_.in_channels) {
      const float* pixels[kTilePixels];
      Find(place, through, pixels);
      winograd_.loops.gather(pixels, g_.in_channels, to, step);
    }
  }

  // The pixels of the input that a tile is made of, in the plane that this one of the kernel meets.
  void Find(const Place& place, int64_t through, const float** pixels) const {
    const int64_t z = place.plane - g_.before[0] + through;
    if (z < 0 || z >= g_.in[0]) return static_cast<void>(std::fill_n(pixels, kTilePixels, nothing_));
    const auto* image = static_cast<const float*>(call_.src) +
                        (place.image * g_.in[0] + z) * g_.in[1] * g_.in[2] * g_.in_channels;
    for (int64_t i = 0; i < kTilePixels; ++i) {
      const int64_t y = place.row - g_.before[1] + i / kTile * g_.dilation[1],
                    x = place.column - g_.before[2] + i % kTile * g_.dilation[2];
      const bool inside = y >= 0 && y < g_.in[1] && x >= 0 && x < g_.in[2];
      pixels[i] = inside ? image + (y * g_.in[2] + x) * g_.in_channels : nothing_;
    }
  }

  struct Tile {
    const WinogradRun* run;
    const Place& place;
  };

  // By the definition: a value that is not finite reaches only the pixels that it is part of.
  void Define(const Place& place, int64_t channel, int64_t count, float* sums) const {
    double totals[kResultPixels][Redo::kMost] = {};
    for (int64_t through = 0; through < g_.kernel[0]; ++through) {
      const float* pixels[kTilePixels];
      Find(place, through, pixels);
      for (int64_t i = 0; i < g_.in_channels; ++i) {
        double kernels[9][Redo::kMost];
        Kernels(channel, count, through * g_.in_channels + i, kernels);
        Define(pixels, i, count, kernels, totals);
      }
    }
    for (int p = 0; p < kResultPixels; ++p) {
      for (int64_t o = 0; o < count; ++o) sums[p * Redo::kMost + o] = static_cast<float>(totals[p][o]);
    }
  }

  // What channel i of a plane adds.
  void Define(const float* const* pixels, int64_t i, int64_t count, const double (*kernels)[Redo::kMost],
              double (*totals)[Redo::kMost]) const {
    for (int p = 0; p < kResultPixels; ++p) {
      for (int tap = 0; tap < 9; ++tap) {
        const float* pixel = pixels[(p / kResult + tap / 3) * kTile + p % kResult + tap % 3];
        if (pixel == nothing_) continue;
        const auto x = static_cast<double>(pixel[i]);
        for (int64_t o = 0; o < count; ++o) totals[p][o] += x * kernels[tap][o];
      }
    }
  }

  // The kernels of `count` channels, not mixed, at one row of a product's weights.
  void Kernels(int64_t channel, int64_t count, int64_t row, double (*kernels)[Redo::kMost]) const {
    const int64_t matrix = winograd_.columns * depth_, panel = PanelOf(winograd_.columns);
    for (int64_t o = 0; o < count; ++o) {
      const int64_t c = channel + o;
      const float* at =
          static_cast<const float*>(call_.weights) + (c / panel * depth_ + row) * panel + c % panel;
      float mixed[kTilePixels], kernel[9];
      for (int p = 0; p < kTilePixels; ++p) mixed[p] = at[p * matrix];
      UnmixKernel(mixed, kernel);
      for (int tap = 0; tap < 9; ++tap) kernels[tap][o] = static_cast<double>(kernel[tap]);
    }
  }

  void Scatter(const Place& place, const float* from, int64_t step) const {
    float* pixels[kResultPixels];
    auto* image = static_cast<float*>(call_.dst) +
                  (place.image * g_.out[0] + place.plane) * g_.out[1] * g_.out[2] * g_.out_channels;
    for (int64_t i = 0; i < kResultPixels; ++i) {
      const int64_t y = place.row + i / kResult * g_.dilation[1],
                    x = place.column + i % kResult * g_.dilation[2];
      pixels[i] = y < g_.out[1] && x < g_.out[2] ? image + (y * g_.out[2] + x) * g_.out_channels : nullptr;
    }
    const ConvSpec& spec = winograd_.spec;
    const auto* bias = spec.bias ? static_cast<const float*>(call_.bias) : nullptr;
    const Tile tile{this, place};
    const Redo redo{&tile, [](const void* of, int64_t channel, int64_t count, float* sums) {
                      const Tile& t = *static_cast<const Tile*>(of);
                      t.run->Define(t.place, channel, count, sums);
                    }};
    winograd_.loops.scatter(from, step, bias, g_.out_channels, spec.residual, pixels, redo);
    for (float* pixel : pixels) {
      if (pixel != nullptr) winograd_.loops.activate(spec.activation, pixel, g_.out_channels);
    }
  }

  const Winograd& winograd_;
  const ConvGeometry& g_;
  const ConvCall& call_;
  float *nothing_, *gathered_;
  const int64_t depth_;
  float* products_;
};

// [tile row][tile column][out / panel][kernel plane][in][panel]
bool WinogradLayout(const ConvSpec& spec, WeightLayout* layout) {
  if (!WinogradFits(spec)) return false;
  const ConvGeometry& g = spec.geometry;
  const int64_t matrix = Columns(g) * DepthOf(g), panel = PanelOf(Columns(g));
  *layout = {.bf16 = false,
             .mixed = true,
             .sizes = {1, g.out_channels, g.in_channels, g.kernel[0], 3, 3},
             .padded = {1, Columns(g), g.in_channels, g.kernel[0], kTile, kTile},
             .strides = {kTilePixels * matrix, panel * DepthOf(g), panel, panel * g.in_channels,
                         kTile * matrix, matrix},
             .block_count = 1,
             .block_dims = {1},
             .block_sizes = {panel}};
  return true;
}

using WinogradBackend = OwnBackend<Winograd, WinogradRun, &WinogradLayout>;

bool PackTiles(const ConvPrimitive& primitive, const void* weights, void* packed, void*) {
  const ConvGeometry& g = WinogradBackend::Of(primitive).spec.geometry;
  const int64_t depth = DepthOf(g), matrix = Columns(g) * depth, panel = PanelOf(Columns(g));
  const auto* from = static_cast<const float*>(weights);
  auto* to = static_cast<float*>(packed);
  std::fill_n(to, kTilePixels * matrix, 0.0f);
  for (int64_t o = 0; o < g.out_channels; ++o) {
    for (int64_t i = 0; i < depth; ++i, from += 9) {
      float mixed[kTilePixels];
      MixKernel(from, mixed);
      const int64_t row = i % g.kernel[0] * g.in_channels + i / g.kernel[0];  // they lie by channels
      float* at = to + (o / panel * depth + row) * panel + o % panel;
      for (int p = 0; p < kTilePixels; ++p) at[p * matrix] = mixed[p];
    }
  }
  return true;
}

// On every processor
constexpr ConvBackend kWinograd = WinogradBackend::With([] { return "winograd"; }, &PackTiles);

// Three become four.
void Mix(const float* from, int64_t from_step, float* to, int64_t to_step) {
  const float a = from[0], b = from[from_step], c = from[2 * from_step];
  to[0] = a;
  to[to_step] = 0.5f * (a + b + c);
  to[2 * to_step] = 0.5f * (a - b + c);
  to[3 * to_step] = c;
}

void Unmix(const float* from, int64_t from_step, float* to, int64_t to_step) {
  to[0] = from[0];
  to[to_step] = from[from_step] - from[2 * from_step];
  to[2 * to_step] = from[3 * from_step];
}

}  // namespace

bool WinogradFits(const ConvSpec& spec) {
  const ConvGeometry& g = spec.geometry;
  for (int d = 0; d < 3; ++d) {
    if ((d > 0 && g.kernel[d] != 3) || g.stride[d] != 1 || (d == 0 && g.dilation[d] != 1)) return false;
  }
  return spec.type == ConvType::kF32 && g.groups == 1 && !g.transposed && g.kernel[0] <= 3 &&
         HasActivationLoop(spec.activation.kind);
}

bool WinogradPays(const ConvSpec& spec) {
  constexpr int64_t kFewestChannels = 16, kFewestTiles = 16;
  const ConvGeometry& g = spec.geometry;
  const bool filled = 9 * g.out_channels >= 5 * Columns(g);  // the rest of the panels is computed in vain
  return WinogradFits(spec) && g.in_channels >= kFewestChannels && filled && TileCount(g) >= kFewestTiles;
}

bool WinogradMixes(const float* weights, int64_t count) {
  constexpr float kMost = 1e37f;  // nine of them can be added
  return std::all_of(weights, weights + count, [](float w) { return std::abs(w) <= kMost; });
}

void MixKernel(const float* kernel, float* mixed) {
  float rows[12];
  for (int c = 0; c < 3; ++c) Mix(kernel + c, 3, rows + c, 3);
  for (int r = 0; r < 4; ++r) Mix(rows + 3 * r, 1, mixed + 4 * r, 1);
}

void UnmixKernel(const float* mixed, float* kernel) {
  float rows[12];
  for (int r = 0; r < 4; ++r) Unmix(mixed + 4 * r, 1, rows + 3 * r, 1);
  for (int c = 0; c < 3; ++c) Unmix(rows + c, 3, kernel + c, 3);
}

const ConvBackend& WinogradConv() { return kWinograd; }

}  // namespace belay::ops
