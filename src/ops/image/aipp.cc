#include "ops/image/aipp.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include "base/codes.h"
#include "base/error.h"
#include "ops/image/row_loops.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

struct Strides4 {
  int64_t n, c, h, w;
};

// The channels of a row of an image, each by itself.
class PixelRow {
 public:
  static constexpr int64_t kMostChannels = 4;

  PixelRow(const ImageSource& source, int64_t channels, int64_t width, int32_t* values)
      : source_(source), wide_(channels == 4), width_(width), values_(values) {}

  int32_t* channel(int64_t i) { return values_ + i * width_; }

  // From (x, y) on, `count` pixels.
  void Read(const uint8_t* image, int64_t x, int64_t y, int64_t count) {
    switch (source_.format) {
      case ImageFormat::kYuv420sp:
        return ReadYuv(image, x, y, count);
      case ImageFormat::kRgb888:
        return ReadColours(image + (y * source_.w + x) * 3, 3, 0, count);
      case ImageFormat::kXrgb8888:
        return ReadXrgb(image + (y * source_.w + x) * 4, count);
      default:
        WidenBytes(image + y * source_.w + x, 1, count, channel(0));
    }
  }

  void Convert(int64_t count) {
    static constexpr std::array<int32_t, 3> kNothing{};
    bool yuv = source_.format == ImageFormat::kYuv420sp;
    ColourMatrix matrix{source_.matrix, yuv ? source_.input_bias : kNothing,
                        yuv ? kNothing : source_.output_bias};
    ConvertRow(matrix, channel(0), channel(1), channel(2), count);
  }

 private:
  // Regions begin at even places, so x is that of a pair.
  void ReadYuv(const uint8_t* image, int64_t x, int64_t y, int64_t count) {
    const uint8_t* uv = image + (source_.h + y / 2) * source_.w + x;
    WidenBytes(image + y * source_.w + x, 1, count, channel(0));
    WidenShared(uv + (source_.swap_rb ? 1 : 0), count, channel(1));
    WidenShared(uv + (source_.swap_rb ? 0 : 1), count, channel(2));
  }
  void ReadColours(const uint8_t* at, int64_t step, int64_t first, int64_t count) {
    for (int64_t i = 0; i < 3; ++i)
      WidenBytes(at + (source_.swap_rb ? 2 - i : i), step, count, channel(first + i));
  }
  // X stands in front; it is dropped where three channels are wanted.
  void ReadXrgb(const uint8_t* at, int64_t count) {
    if (wide_) WidenBytes(at + (source_.swap_ax ? 3 : 0), 4, count, channel(0));
    ReadColours(at + (source_.swap_ax ? 0 : 1), 4, wide_ ? 1 : 0, count);
  }

  const ImageSource& source_;
  bool wide_;
  int64_t width_;
  int32_t* values_;
};

struct PreprocessBody {
  ImageSource source;
  ImageRegion region;
  int64_t count, channels, h, w;
  Strides4 strides;
  int64_t images_bytes, params_bytes;
  int images, params, out;
  PieceScratch<int32_t> rows;
  Scratch<ImageRegion> regions_of;

  void operator()(const Frame& frame) const {
    std::span<ImageRegion> regions;
    ImageSource from = source;
    if (params >= 0) {
      regions = {regions_of.At(frame), static_cast<size_t>(count)};
      from = ReadBatch(frame.at[params], regions);
    }
    const auto* bytes = reinterpret_cast<const uint8_t*>(frame.at[images]);
    auto* to = reinterpret_cast<float*>(frame.at[out]);
    int64_t size = ImageBytes(from.format, from.h, from.w);
    rows.For(frame, [&](int64_t begin, int64_t end, int32_t* values) {
      PixelRow pixels(from, channels, w, values);
      for (int64_t row = begin; row < end; ++row) {
        int64_t n = row / h, y = row % h;
        const ImageRegion& where = regions.empty() ? region : regions[static_cast<size_t>(n)];
        Row(from, where, bytes + n * size, y, pixels, to + n * strides.n + y * strides.h);
      }
    });
  }

  // The bytes come from the program, which may not have set them, and may lie anywhere.
  ImageSource ReadBatch(const char* bytes_of_batch, std::span<ImageRegion> regions) const {
    ImageBatch batch;
    std::memcpy(&batch, bytes_of_batch, sizeof batch);
    if (batch.magic != kImageBatchMagic || batch.count != static_cast<uint64_t>(count) ||
        static_cast<int64_t>(ImageBatchBytes(batch.count)) > params_bytes) {
      Fail(codes::kGeAippBatchEmpty, "aipp-not-set",
           "the parameters of dynamic AIPP were not set; call aclmdlSetInputAIPP before the execution");
    }
    std::memcpy(regions.data(), bytes_of_batch + offsetof(ImageBatch, region), regions.size_bytes());
    for (const ImageRegion& where : regions) {
      if (auto reason = WhyNot(batch.source, where, channels, h, w))
        Fail(codes::kGeParamInvalid, "aipp-image", "{}", *reason);
    }
    int64_t need = count * ImageBytes(batch.source.format, batch.source.h, batch.source.w);
    if (need > images_bytes)
      Fail(codes::kGeParamInvalid, "aipp-image",
           "the images have {} bytes; the input has {} (max_src_image_size)", need, images_bytes);
    return batch.source;
  }

  void Row(const ImageSource& from, const ImageRegion& where, const uint8_t* image, int64_t y,
           PixelRow& pixels, float* to) const {
    int64_t left = where.padding ? where.left : 0, top = where.padding ? where.top : 0;
    int64_t inner_h = where.crop ? where.crop_h : from.h, inner_w = where.crop ? where.crop_w : from.w;
    if (y < top || y >= top + inner_h) return Fill(to, 0, w, where.padding_value);
    Fill(to, 0, left, where.padding_value);
    Fill(to, left + inner_w, w, where.padding_value);
    pixels.Read(image, where.crop ? where.crop_x : 0, y - top + (where.crop ? where.crop_y : 0), inner_w);
    if (from.convert) pixels.Convert(inner_w);
    for (int64_t c = 0; c < channels; ++c) {
      auto i = static_cast<size_t>(c);
      NormaliseRow(pixels.channel(c), inner_w, static_cast<float>(where.mean[i]), where.least[i],
                   where.factor[i], strides.w, to + c * strides.c + left * strides.w);
    }
  }

  void Fill(float* to, int64_t begin, int64_t end, float value) const {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t x = begin; x < end; ++x) to[c * strides.c + x * strides.w] = value;
    }
  }
};

}  // namespace

Shape ImageShape(ImageFormat format, int64_t h, int64_t w) {
  switch (format) {
    case ImageFormat::kYuv420sp:
      return {h < 0 ? h : h * 3 / 2, w, 1};
    case ImageFormat::kXrgb8888:
      return {h, w, 4};
    case ImageFormat::kRgb888:
      return {h, w, 3};
    default:
      return {h, w, 1};
  }
}

int64_t ImageBytes(ImageFormat format, int64_t h, int64_t w) { return CountOf(ImageShape(format, h, w)); }

int MostChannels(ImageFormat format) {
  if (format == ImageFormat::kYuv400) return 1;
  return format == ImageFormat::kXrgb8888 ? 4 : 3;
}

int64_t WidthAfter(const ImageSource& source, const ImageRegion& region) {
  return (region.crop ? region.crop_w : source.w) +
         (region.padding ? int64_t{region.left} + region.right : 0);
}
int64_t HeightAfter(const ImageSource& source, const ImageRegion& region) {
  return (region.crop ? region.crop_h : source.h) +
         (region.padding ? int64_t{region.top} + region.bottom : 0);
}

namespace {
constexpr int64_t kWidestPadded = 1080;
}  // namespace

std::optional<std::string> WhyNot(const ImageSource& source, const ImageRegion& region, int64_t channels,
                                  int64_t h, int64_t w) {
  auto format = static_cast<int>(source.format);
  if (format < 1 || format > 4) return fmt::format("input format {} is not supported", format);
  if (source.w < 1 || source.h < 1 || source.w > 1 << 16 || source.h > 1 << 16) {
    return fmt::format("an image of {} x {} pixels is not possible", source.w, source.h);
  }
  bool yuv = source.format == ImageFormat::kYuv420sp;
  if (yuv && (source.w % 2 != 0 || source.h % 2 != 0))
    return "width and height of a YUV420SP image must be even";
  if (source.convert && (source.format == ImageFormat::kYuv400 || channels == 4)) {
    return "only three channels can be converted to other colours";
  }
  if (channels < 1 || channels > MostChannels(source.format)) {
    return fmt::format("the network takes {} channels; the image gives {} at most", channels,
                       MostChannels(source.format));
  }
  if (region.crop) {
    bool inside = region.crop_x >= 0 && region.crop_y >= 0 && region.crop_w > 0 && region.crop_h > 0 &&
                  int64_t{region.crop_x} + region.crop_w <= source.w &&
                  int64_t{region.crop_y} + region.crop_h <= source.h;
    if (!inside) {
      return fmt::format("the region of {} x {} at ({}, {}) is not inside the image of {} x {}",
                         region.crop_w, region.crop_h, region.crop_x, region.crop_y, source.w, source.h);
    }
    if (yuv && (region.crop_x % 2 != 0 || region.crop_y % 2 != 0))
      return "a region of a YUV420SP image must begin at even places";
  }
  if (region.padding && (region.left < 0 || region.right < 0 || region.top < 0 || region.bottom < 0))
    return "padding is negative";
  if (region.padding && w > kWidestPadded)
    return fmt::format("the network takes images {} wide; with padding {} is the most", w, kWidestPadded);
  if (WidthAfter(source, region) == w && HeightAfter(source, region) == h) return std::nullopt;
  return fmt::format("the image becomes {} x {} (width x height), but the network takes {} x {}",
                     WidthAfter(source, region), HeightAfter(source, region), w, h);
}

void PlanPreprocess(Plan& plan, const ImageArgs& args) {
  const Tensor& out = *args.out.tensor;
  PreprocessBody body{.source = args.source,
                      .region = args.region,
                      .count = out.shape[0],
                      .channels = out.shape[1],
                      .h = out.shape[2],
                      .w = out.shape[3],
                      .strides = {out.strides[0], out.strides[1], out.strides[2], out.strides[3]},
                      .images_bytes = args.images.tensor->count(),
                      .params_bytes = args.params.present() ? args.params.tensor->count() : 0,
                      .images = args.images.binding,
                      .params = args.params.present() ? args.params.binding : -1,
                      .out = args.out.binding,
                      .rows = {},
                      .regions_of = {}};
  const int64_t grain = std::max<int64_t>(1, 16 * 1024 / std::max<int64_t>(body.w, 1));
  body.rows = {plan, body.count * body.h, grain, PixelRow::kMostChannels * body.w};
  if (body.params >= 0) body.regions_of = {plan, body.count};
  plan.SetCost(static_cast<uint64_t>(out.count()) * 3);
  plan.SetBody(body);
}

}  // namespace belay::ops
