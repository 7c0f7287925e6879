// Preprocessing of images in front of a network: channels swapped, cropped, colours converted, normalised,
// padded, in this order (AIPP in the documentation).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "ops/schema.h"

namespace belay::ops {

// Numbered as aclAippInputFormat.
enum class ImageFormat : uint8_t { kNone = 0, kYuv420sp = 1, kXrgb8888 = 2, kRgb888 = 3, kYuv400 = 4 };

// What may differ from image to image.
struct ImageRegion {
  bool crop = false, padding = false;
  int32_t crop_x = 0, crop_y = 0, crop_w = 0, crop_h = 0;
  int32_t left = 0, right = 0, top = 0, bottom = 0;
  float padding_value = 0;
  std::array<int32_t, 4> mean{};
  std::array<float, 4> least{}, factor{1, 1, 1, 1};
};

// What is the same for all images of a batch. Defaults are the documented ones: BT.601 to B, G, R.
struct ImageSource {
  ImageFormat format = ImageFormat::kNone;
  int32_t w = 0, h = 0;
  bool convert = false;  // colours by the matrix, in 1/256
  bool swap_rb = false;  // R and B, or U and V
  bool swap_ax = false;  // the fourth channel goes to the front: RGBX becomes XRGB
  std::array<int32_t, 9> matrix{298, 516, 0, 298, -100, -208, 298, 0, 409};
  std::array<int32_t, 3> input_bias{16, 128, 128};   // taken off Y, U, V
  std::array<int32_t, 3> output_bias{16, 128, 128};  // added to what R, G, B became
};

// [h, w, c] of the bytes of an image: NV12 is h * 3 / 2 rows of one channel.
Shape ImageShape(ImageFormat format, int64_t h, int64_t w);
int64_t ImageBytes(ImageFormat format, int64_t h, int64_t w);
// As how many channels its pixels can be read.
int MostChannels(ImageFormat format);

int64_t WidthAfter(const ImageSource& source, const ImageRegion& region);
int64_t HeightAfter(const ImageSource& source, const ImageRegion& region);

// What is wrong with them for a network that takes [channels, h, w]; nothing when they fit.
std::optional<std::string> WhyNot(const ImageSource& source, const ImageRegion& region, int64_t channels,
                                  int64_t h, int64_t w);

// The parameters of a batch as bytes of device memory, for the network's extra input. What wrote them checked
// them; what reads them cannot know that it was written at all.
struct ImageBatch {
  uint32_t magic;
  uint32_t count;
  ImageSource source;
  ImageRegion region[1];  // `count` of them
};
inline constexpr uint32_t kImageBatchMagic = 0x50504941;
constexpr size_t ImageBatchBytes(uint64_t count) {
  return sizeof(ImageBatch) + (count - 1) * sizeof(ImageRegion);
}

struct ImageArgs {
  Operand images;  // u8, one image behind the other
  Operand params;  // u8, an ImageBatch; absent: `source` and `region` for all
  Operand out;     // f32 [n, c, h, w], or any order of it by strides
  ImageSource source;
  ImageRegion region;
};
void PlanPreprocess(Plan& plan, const ImageArgs& args);

}  // namespace belay::ops
