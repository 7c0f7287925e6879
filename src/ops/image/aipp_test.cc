// Preprocessing against plain loops that do one stage after the other on whole images.
#include "ops/image/aipp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "base/error.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

struct Image {
  int64_t c, h, w;
  std::vector<double> v;
  Image(int64_t channels, int64_t height, int64_t width)
      : c(channels), h(height), w(width), v(static_cast<size_t>(c * h * w)) {}
  double& at(int64_t i, int64_t y, int64_t x) { return v[static_cast<size_t>((i * h + y) * w + x)]; }
};

Image Decode(const ImageSource& s, const uint8_t* bytes) {
  int64_t c = MostChannels(s.format);
  Image image(c, s.h, s.w);
  for (int64_t y = 0; y < s.h; ++y) {
    for (int64_t x = 0; x < s.w; ++x) {
      for (int64_t i = 0; i < c; ++i) {
        int64_t at = (y * s.w + x) * c + i;
        if (s.format == ImageFormat::kYuv420sp) {
          at = i == 0 ? y * s.w + x : s.w * s.h + (y / 2) * s.w + (x / 2) * 2 + (i - 1);
        }
        image.at(i, y, x) = bytes[at];
      }
    }
  }
  return image;
}

void SwapChannels(const ImageSource& s, Image& image) {
  for (int64_t y = 0; y < image.h; ++y) {
    for (int64_t x = 0; x < image.w; ++x) {
      if (s.swap_ax && image.c == 4) {
        for (int64_t i = 3; i > 0; --i) std::swap(image.at(i, y, x), image.at(i - 1, y, x));
      }
      if (!s.swap_rb) continue;
      if (s.format == ImageFormat::kYuv420sp) std::swap(image.at(1, y, x), image.at(2, y, x));
      if (s.format == ImageFormat::kRgb888) std::swap(image.at(0, y, x), image.at(2, y, x));
      if (s.format == ImageFormat::kXrgb8888) std::swap(image.at(1, y, x), image.at(3, y, x));
    }
  }
}

Image Cropped(const ImageRegion& r, Image& image) {
  if (!r.crop) return image;
  Image part(image.c, r.crop_h, r.crop_w);
  for (int64_t i = 0; i < part.c; ++i) {
    for (int64_t y = 0; y < part.h; ++y) {
      for (int64_t x = 0; x < part.w; ++x) part.at(i, y, x) = image.at(i, y + r.crop_y, x + r.crop_x);
    }
  }
  return part;
}

// The first ones, without X where that is the one too many.
Image WithChannels(Image& image, int64_t channels) {
  Image part(channels, image.h, image.w);
  int64_t skip = image.c == 4 && channels < 4 ? 1 : 0;
  for (int64_t i = 0; i < channels; ++i) {
    for (int64_t y = 0; y < part.h; ++y) {
      for (int64_t x = 0; x < part.w; ++x) part.at(i, y, x) = image.at(i + skip, y, x);
    }
  }
  return part;
}

void Recolour(const ImageSource& s, Image& image) {
  for (int64_t y = 0; y < image.h && s.convert; ++y) {
    for (int64_t x = 0; x < image.w; ++x) {
      double from[3], sum[3];
      bool yuv = s.format == ImageFormat::kYuv420sp;
      for (size_t j = 0; j < 3; ++j)
        from[j] = image.at(static_cast<int64_t>(j), y, x) - (yuv ? s.input_bias[j] : 0);
      for (size_t i = 0; i < 3; ++i) {
        sum[i] = 0;
        for (size_t j = 0; j < 3; ++j) sum[i] += s.matrix[i * 3 + j] * from[j];
        double value = std::floor(sum[i] / 256) + (yuv ? 0 : s.output_bias[i]);
        image.at(static_cast<int64_t>(i), y, x) = std::fmin(255, std::fmax(0, value));
      }
    }
  }
}

Image NormalisedAndPadded(const ImageRegion& r, Image& image) {
  int64_t left = r.padding ? r.left : 0, right = r.padding ? r.right : 0, top = r.padding ? r.top : 0,
          bottom = r.padding ? r.bottom : 0;
  Image out(image.c, image.h + top + bottom, image.w + left + right);
  for (double& value : out.v) value = r.padding_value;
  for (int64_t i = 0; i < image.c; ++i) {
    auto k = static_cast<size_t>(i);
    for (int64_t y = 0; y < image.h; ++y) {
      for (int64_t x = 0; x < image.w; ++x) {
        out.at(i, y + top, x + left) = (image.at(i, y, x) - r.mean[k] - static_cast<double>(r.least[k])) *
                                       static_cast<double>(r.factor[k]);
      }
    }
  }
  return out;
}

Image Reference(const ImageSource& s, const ImageRegion& r, const uint8_t* bytes, int64_t channels) {
  Image image = Decode(s, bytes);
  SwapChannels(s, image);
  image = Cropped(r, image);
  int64_t colours = channels == 4 || image.c == 1 ? image.c : 3;
  image = WithChannels(image, colours);
  Recolour(s, image);
  image = WithChannels(image, channels);
  return NormalisedAndPadded(r, image);
}

class Random {
 public:
  explicit Random(unsigned seed) : rng_(seed) {}
  int32_t Int(int32_t least, int32_t most) {
    return std::uniform_int_distribution<int32_t>(least, most)(rng_);
  }
  bool Coin() { return Int(0, 1) == 1; }

  ImageSource Source(ImageFormat format) {
    ImageSource s{.format = format,
                  .w = Int(4, 20) * 2,
                  .h = Int(4, 12) * 2,
                  .convert = format != ImageFormat::kYuv400 && Coin(),
                  .swap_rb = Coin(),
                  .swap_ax = Coin()};
    if (Coin()) {
      for (int32_t& m : s.matrix) m = Int(-500, 500);
      for (int32_t& b : s.input_bias) b = Int(0, 255);
      for (int32_t& b : s.output_bias) b = Int(0, 255);
    }
    return s;
  }
  ImageRegion Region(const ImageSource& s) {
    ImageRegion r{.crop = Coin(), .padding = Coin(), .crop_x = Int(0, 2) * 2, .crop_y = Int(0, 2) * 2};
    r.crop_w = Int(1, s.w - r.crop_x), r.crop_h = Int(1, s.h - r.crop_y);
    r.left = Int(0, 5), r.right = Int(0, 5), r.top = Int(0, 5), r.bottom = Int(0, 5);
    r.padding_value = static_cast<float>(Int(-9, 9)) / 4;
    for (size_t i = 0; i < 4; ++i)
      r.mean[i] = Int(0, 255), r.least[i] = static_cast<float>(Int(0, 90)) / 7,
      r.factor[i] = static_cast<float>(Int(-90, 90)) / 64;
    return r;
  }
  std::vector<uint8_t> Bytes(size_t count) {
    std::vector<uint8_t> bytes(count);
    for (uint8_t& b : bytes) b = static_cast<uint8_t>(Int(0, 255));
    return bytes;
  }

 private:
  std::mt19937 rng_;
};

tensor::Tensor Packed(tensor::DType dtype, Shape shape, void* data) {
  tensor::Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape = shape;
  tensor.strides = PackedStrides(shape);
  tensor.data = data;
  return tensor;
}

struct Call {
  std::vector<uint8_t> images;
  std::vector<std::byte> params;  // empty: static
  int64_t n, c, h, w;
  bool channels_last = false;
  ImageSource source = {};
  ImageRegion region = {};

  std::vector<float> Run() {
    std::vector<float> out(static_cast<size_t>(n * c * h * w), 1e30f);
    Tensor in = Packed(DType::kU8, {static_cast<int64_t>(images.size())}, images.data());
    Tensor values = Packed(DType::kF32, {n, c, h, w}, out.data());
    if (channels_last) values.strides = {c * h * w, 1, w * c, c};
    PlanRef plan = NewPlan("Aipp");
    auto bind = [&](const Tensor& tensor, Access access) {
      return Operand{&tensor, nullptr, plan->Bind(&tensor, access, "x", plan->binding_count(), 0), "x"};
    };
    ImageArgs args{
        .images = bind(in, Access::kRead), .params = {}, .out = {}, .source = source, .region = region};
    Tensor batch = Packed(DType::kU8, {static_cast<int64_t>(params.size())}, params.data());
    if (!params.empty()) args.params = bind(batch, Access::kRead);
    args.out = bind(values, Access::kWrite);
    PlanPreprocess(*plan, args);
    testing::RunPlan(*plan);
    return out;
  }
};

void Expect(const std::vector<float>& got, int64_t n, Image want, bool channels_last) {
  for (int64_t i = 0; i < want.c; ++i) {
    for (int64_t y = 0; y < want.h; ++y) {
      for (int64_t x = 0; x < want.w; ++x) {
        int64_t at = channels_last ? (y * want.w + x) * want.c + i : (i * want.h + y) * want.w + x;
        double value = static_cast<double>(got[static_cast<size_t>(n * want.c * want.h * want.w + at)]);
        ASSERT_NEAR(value, want.at(i, y, x), 1e-4 + 1e-6 * std::fabs(want.at(i, y, x)))
            << i << " " << y << " " << x;
      }
    }
  }
}

constexpr ImageFormat kFormats[] = {ImageFormat::kYuv420sp, ImageFormat::kXrgb8888, ImageFormat::kRgb888,
                                    ImageFormat::kYuv400};

TEST(Aipp, AgreesWithPlainLoops) {
  Random random(1);
  for (int round = 0; round < 400; ++round) {
    ImageSource source = random.Source(kFormats[round % 4]);
    ImageRegion region = random.Region(source);
    int64_t channels = source.convert ? random.Int(1, 3) : random.Int(1, MostChannels(source.format));
    Call call{.images = {},
              .params = {},
              .n = 2,
              .c = channels,
              .h = HeightAfter(source, region),
              .w = WidthAfter(source, region),
              .channels_last = random.Coin(),
              .source = source,
              .region = region};
    ASSERT_EQ(WhyNot(source, region, call.c, call.h, call.w), std::nullopt);
    auto bytes = static_cast<size_t>(ImageBytes(source.format, source.h, source.w));
    call.images = random.Bytes(2 * bytes);
    std::vector<float> got = call.Run();
    for (int64_t n = 0; n < 2; ++n) {
      Expect(got, n, Reference(source, region, call.images.data() + static_cast<size_t>(n) * bytes, channels),
             call.channels_last);
      if (HasFatalFailure()) FAIL() << "round " << round;
    }
  }
}

std::vector<std::byte> BatchOf(const ImageSource& source, const std::vector<ImageRegion>& regions) {
  std::vector<std::byte> bytes(ImageBatchBytes(regions.size()));
  ImageBatch batch{kImageBatchMagic, static_cast<uint32_t>(regions.size()), source, {}};
  std::memcpy(bytes.data(), &batch, sizeof batch);
  std::memcpy(bytes.data() + offsetof(ImageBatch, region), regions.data(),
              regions.size() * sizeof(ImageRegion));
  return bytes;
}

TEST(Aipp, EachImageOfABatchHasItsRegion) {
  Random random(2);
  ImageSource source = random.Source(ImageFormat::kYuv420sp);
  ImageRegion first{.crop = true, .crop_x = 2, .crop_y = 0, .crop_w = 4, .crop_h = 5, .mean = {9, 8, 7, 6}};
  ImageRegion second{
      .crop = true, .padding = true, .crop_x = 0, .crop_y = 2, .crop_w = 3, .crop_h = 3, .left = 1, .top = 2};
  auto bytes = static_cast<size_t>(ImageBytes(source.format, source.h, source.w));
  Call call{.images = random.Bytes(2 * bytes),
            .params = BatchOf(source, {first, second}),
            .n = 2,
            .c = 3,
            .h = 5,
            .w = 4};
  std::vector<float> got = call.Run();
  Expect(got, 0, Reference(source, first, call.images.data(), 3), false);
  Expect(got, 1, Reference(source, second, call.images.data() + bytes, 3), false);
}

TEST(Aipp, ParametersThatWereNotSetAreRefused) {
  Random random(3);
  ImageSource source{.format = ImageFormat::kRgb888, .w = 4, .h = 4};
  ImageRegion whole;
  Call call{.images = random.Bytes(48), .params = BatchOf(source, {whole}), .n = 1, .c = 3, .h = 4, .w = 4};
  EXPECT_NO_THROW(call.Run());
  auto refused = [&](auto change) {
    Call other = call;
    change(other);
    try {
      other.Run();
    } catch (const Error&) {
      return true;
    }
    return false;
  };
  EXPECT_TRUE(refused([](Call& c) { std::fill(c.params.begin(), c.params.end(), std::byte{0}); }));
  EXPECT_TRUE(refused([](Call& c) { c.h = 5; })) << "the image becomes another size";
  EXPECT_TRUE(refused([](Call& c) { c.images.resize(47); })) << "the images end too early";
  EXPECT_TRUE(refused([](Call& c) { c.n = 2; })) << "for one image only";
}

TEST(Aipp, SaysWhatDoesNotFit) {
  ImageSource yuv{.format = ImageFormat::kYuv420sp, .w = 8, .h = 6};
  ImageRegion whole;
  EXPECT_EQ(WhyNot(yuv, whole, 3, 6, 8), std::nullopt);
  auto reason = [&](auto change, int64_t channels = 3, int64_t h = 6, int64_t w = 8) {
    ImageSource s = yuv;
    ImageRegion r = whole;
    change(s, r);
    return WhyNot(s, r, channels, h, w).value_or("");
  };
  auto nothing = [](ImageSource&, ImageRegion&) {};
  EXPECT_NE(reason(nothing, 4), "");
  EXPECT_NE(reason(nothing, 0), "");
  EXPECT_NE(reason(nothing, 3, 6, 9), "");
  EXPECT_NE(reason([](ImageSource& s, ImageRegion&) { s.format = ImageFormat::kNone; }), "");
  EXPECT_NE(reason([](ImageSource& s, ImageRegion&) { s.w = 7; }, 3, 6, 7), "") << "odd";
  EXPECT_NE(reason([](ImageSource& s, ImageRegion&) { s.w = 0; }, 3, 6, 0), "");
  EXPECT_NE(
      reason([](ImageSource&, ImageRegion& r) { r = {.crop = true, .crop_x = 1, .crop_w = 4, .crop_h = 6}; },
             3, 6, 4),
      "")
      << "an odd place";
  EXPECT_NE(
      reason([](ImageSource&, ImageRegion& r) { r = {.crop = true, .crop_x = 6, .crop_w = 4, .crop_h = 6}; },
             3, 6, 4),
      "")
      << "outside";
  EXPECT_NE(reason([](ImageSource&, ImageRegion& r) { r = {.padding = true, .left = -1, .right = 1}; }), "");
  const ImageSource wide{.format = ImageFormat::kRgb888, .w = 1079, .h = 2};
  EXPECT_EQ(WhyNot(wide, {.padding = true, .right = 1}, 3, 2, 1080), std::nullopt);
  EXPECT_NE(WhyNot(wide, {.padding = true, .left = 1, .right = 1}, 3, 2, 1081), std::nullopt)
      << "1,080 at most";
  EXPECT_NE(
      reason([](ImageSource& s, ImageRegion&) { s.format = ImageFormat::kYuv400, s.convert = true; }, 1), "");
}

}  // namespace
}  // namespace belay::ops
