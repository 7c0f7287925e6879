// How the weights of a convolution lie where a backend reads them: blocks of a few channels in an order of
// its own. Written as text it goes into model files, so that weights are packed when a model is compiled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace belay::ops {

// Dimensions are [group][out][in][kernel: depth, height, width]. Shared with libbelay_dnnl.so.
struct WeightLayout {
  static constexpr int kRank = 6;
  static constexpr int kMostBlocks = 6;

  bool bf16;   // else f32, or what the plain loops compute in
  bool mixed;  // four by four elements for Winograd's method stand for each kernel of three by three
  int64_t sizes[kRank];
  int64_t padded[kRank];   // what lies there of each, rounded up to whole blocks
  int64_t strides[kRank];  // of the outermost blocks, in elements
  int32_t block_count;
  int32_t block_dims[kMostBlocks];  // the innermost last
  int64_t block_sizes[kMostBlocks];

  int64_t count() const;  // of elements, padding included
  int64_t bytes() const { return count() * (bf16 ? 2 : 4); }
  int64_t laid(int d) const {
    return mixed && d >= 4 ? 4 : sizes[d];
  }  // elements along a dimension, without padding
  int64_t OffsetOf(const int64_t* index) const;
  bool HasSizes(const int64_t* wanted) const { return std::equal(sizes, sizes + kRank, wanted); }
};

bool operator==(const WeightLayout& a, const WeightLayout& b);

// Weights in the layout that the text tells, and for which processors it is the best.
struct PackedWeights {
  std::string layout, machine;
  std::shared_ptr<const char[]> data;
  int64_t bytes = 0;
};

std::string TextOf(const WeightLayout& layout);
// The sizes in the order of the dimensions; throws Error where the text is no layout.
WeightLayout ParseWeightLayout(std::string_view text);
// One element after the other, in the order of the dimensions.
WeightLayout PlainWeightLayout(const int64_t* sizes);
// f32 weights as PlainWeightLayout has them, laid out; 0 where the layout has more elements than they.
void LayOut(const float* plain, const WeightLayout& layout, float* to);
// The weights as PlainWeightLayout has them, in f32. Throws Error where data and layout do not fit together.
std::shared_ptr<const char[]> Unpacked(const PackedWeights& weights);

}  // namespace belay::ops
