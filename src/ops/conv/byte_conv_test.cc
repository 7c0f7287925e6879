#include "ops/conv/byte_conv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ops/conv/channels_last.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Sample;

struct ByteCase {
  int64_t batch, groups, in, out, height, width, kernel, stride, dilation, before, after;
  DType from, to;
  int32_t in_zero, out_zero;
  bool bias, by_channel;
};

int64_t Size(int64_t in, const ByteCase& c) {
  return ConvOutputSize(in, c.kernel, c.stride, c.dilation, c.before, c.after);
}

int Below(std::mt19937& rng, int limit) { return static_cast<int>(rng() % static_cast<unsigned>(limit)); }

ByteCase RandomCase(std::mt19937& rng) {
  for (;;) {
    auto upto = [&](int limit) { return int64_t{1} + Below(rng, limit); };
    ByteCase c{};
    c.batch = upto(2), c.groups = Below(rng, 3) == 0 ? upto(20) : 1;
    const bool deep = Below(rng, 2) == 0;
    c.in = c.groups * upto(deep ? 40 : 4), c.out = c.groups * upto(deep ? 40 : 4);
    if (Below(rng, 4) == 0) c.groups = c.in = c.out = upto(70);
    c.height = upto(24), c.width = upto(24), c.kernel = upto(5), c.stride = upto(3), c.dilation = upto(2);
    c.before = Below(rng, 3), c.after = Below(rng, 3);
    c.from = Below(rng, 2) == 0 ? DType::kU8 : DType::kI8,
    c.to = Below(rng, 2) == 0 ? DType::kU8 : DType::kI8;
    auto zero = [&](DType type) {
      return Below(rng, 3) == 0 ? 0 : Below(rng, 256) - (type == DType::kI8 ? 128 : 0);
    };
    c.in_zero = zero(c.from), c.out_zero = zero(c.to);
    c.bias = Below(rng, 2) == 0, c.by_channel = Below(rng, 2) == 0;
    if (Size(c.height, c) > 0 && Size(c.width, c) > 0) return c;
  }
}

int Byte(const Sample& sample, int64_t i) {
  const char byte = sample.storage[static_cast<size_t>(i)];
  return sample.tensor.dtype == DType::kI8 ? static_cast<int8_t>(byte) : static_cast<uint8_t>(byte);
}

// A tensor with its channels last in memory.
Sample Image(DType dtype, const Shape& shape, std::mt19937& rng) {
  Sample sample(dtype, shape);
  sample.tensor.strides = ChannelsLastStrides(shape);
  for (char& byte : sample.storage) byte = static_cast<char>(rng());
  return sample;
}

struct Data {
  Sample x, y;
  std::vector<int8_t> weight;
  std::vector<float> bias, scales;
};

Data RandomData(const ByteCase& c, std::mt19937& rng) {
  Data data{Image(c.from, {c.batch, c.in, c.height, c.width}, rng),
            Image(c.to, {c.batch, c.out, Size(c.height, c), Size(c.width, c)}, rng),
            {},
            {},
            {}};
  const int64_t each = c.in / c.groups * c.kernel * c.kernel;
  for (int64_t i = 0; i < c.out * each; ++i) data.weight.push_back(static_cast<int8_t>(rng()));
  if (c.bias) {
    for (int64_t i = 0; i < c.out; ++i) data.bias.push_back(static_cast<float>(Below(rng, 200000) - 100000));
  }
  // Powers of two put sums halfway between two bytes, where the way of rounding shows.
  const float scale = 1.0f / static_cast<float>(1 << (8 + Below(rng, 6)));
  for (int64_t i = 0; i < (c.by_channel ? c.out : 1); ++i)
    data.scales.push_back(Below(rng, 2) == 0 ? scale
                                             : scale * static_cast<float>(1 + Below(rng, 1000)) / 777);
  return data;
}

// Every byte of the input times every weight, scattered to where it lands.
std::vector<int64_t> Sums(const ByteCase& c, const Data& data) {
  const int64_t rows = Size(c.height, c), columns = Size(c.width, c);
  std::vector<int64_t> sums(static_cast<size_t>(c.batch * rows * columns * c.out));
  const int64_t inputs = c.in / c.groups, outputs = c.out / c.groups;
  for (int64_t i = 0; i < c.batch * c.height * c.width * c.in; ++i) {
    const int64_t channel = i % c.in, w = i / c.in % c.width, h = i / c.in / c.width % c.height,
                  n = i / c.in / c.width / c.height;
    for (int64_t tap = 0; tap < c.kernel * c.kernel; ++tap) {
      const int64_t down = h + c.before - tap / c.kernel * c.dilation,
                    right = w + c.before - tap % c.kernel * c.dilation;
      if (down < 0 || right < 0 || down % c.stride != 0 || right % c.stride != 0) continue;
      if (down / c.stride >= rows || right / c.stride >= columns) continue;
      for (int64_t o = 0; o < outputs; ++o) {
        const int64_t to = channel / inputs * outputs + o,
                      pixel = (n * rows + down / c.stride) * columns + right / c.stride;
        const int64_t weight = (to * inputs + channel % inputs) * c.kernel * c.kernel + tap;
        sums[static_cast<size_t>(pixel * c.out + to)] +=
            int64_t{Byte(data.x, i) - c.in_zero} * data.weight[static_cast<size_t>(weight)];
      }
    }
  }
  return sums;
}

int Wanted(const ByteCase& c, const Data& data, int64_t sum, size_t channel) {
  if (c.bias) sum += static_cast<int64_t>(data.bias[channel]);
  const float steps = static_cast<float>(sum) * data.scales[c.by_channel ? channel : 0];
  const int64_t least = c.to == DType::kI8 ? -128 : 0;
  return static_cast<int>(std::clamp<int64_t>(std::llrint(steps) + c.out_zero, least, least + 255));
}

using Planner = void (*)(Plan&, const ByteConvArgs&);

void CheckBytes(const ByteCase& c, Data& data, Planner make) {
  Sample weight(DType::kI8, {c.out, c.in / c.groups, c.kernel, c.kernel});
  const std::vector<int64_t> strides(2, c.stride), dilations(2, c.dilation), before(2, c.before),
      after(2, c.after);
  PlanRef plan = testing::NewPlan();
  ByteConvArgs args{.conv = {},
                    .weight = data.weight,
                    .bias = data.bias,
                    .scales = data.scales,
                    .in_zero = c.in_zero,
                    .out_zero = c.out_zero};
  args.conv.input = data.x.BoundTo(*plan, Access::kRead, "x");
  args.conv.out = data.y.BoundTo(*plan, Access::kWrite, "y");
  args.conv.weight = {&weight.tensor, nullptr, -1, "w"};
  args.conv.strides = strides, args.conv.dilations = dilations, args.conv.groups = c.groups;
  args.conv.before = before, args.conv.after = after;
  make(*plan, args);
  testing::RunPlan(*plan);
  const std::vector<int64_t> sums = Sums(c, data);
  for (size_t i = 0; i < sums.size(); ++i) {
    const int want = Wanted(c, data, sums[i], i % static_cast<size_t>(c.out));
    ASSERT_EQ(Byte(data.y, static_cast<int64_t>(i)), want) << i << " of sum " << sums[i];
  }
}

TEST(ByteConv, RoundsExactSums) {
  std::mt19937 rng(5);
  for (int i = 0; i < 150; ++i) {
    const ByteCase c = RandomCase(rng);
    Data data = RandomData(c, rng);
    SCOPED_TRACE(std::to_string(i) + ": " + std::to_string(c.groups) + " groups, " + std::to_string(c.in) +
                 " to " + std::to_string(c.out) + ", kernel " + std::to_string(c.kernel));
    CheckBytes(c, data, &PlanByteConv);
    if (i % 4 == 0) CheckBytes(c, data, &PlanPlainByteConv);
    if (HasFatalFailure()) return;
  }
}

// Enough work for several cores: its rows are cut.
// oneDNN has wrong sums at the edges of these.
TEST(ByteConv, GroupsOfUnalignedChannels) {
  std::mt19937 rng(5);
  for (int64_t groups : {2, 3, 5}) {
    for (int64_t channels : {17, 19, 22, 33}) {
      const ByteCase c{.batch = 2,
                       .groups = groups,
                       .in = groups * channels,
                       .out = 5 * groups,
                       .height = 9,
                       .width = 10,
                       .kernel = 4,
                       .stride = 1,
                       .dilation = 1,
                       .before = 1,
                       .after = 1,
                       .from = DType::kU8,
                       .to = DType::kU8,
                       .in_zero = 30,
                       .out_zero = 120,
                       .bias = false,
                       .by_channel = false};
      Data data = RandomData(c, rng);
      CheckBytes(c, data, &PlanByteConv);
    }
  }
}

TEST(ByteConv, InParts) {
  std::mt19937 rng(6);
  for (int64_t kernel : {1, 3}) {
    ByteCase c{1,          1,          48,         40,         40, 41, kernel, 1,   1,
               kernel / 2, kernel / 2, DType::kU8, DType::kU8, 9,  7,  true,   true};
    Data data = RandomData(c, rng);
    CheckBytes(c, data, &PlanByteConv);
  }
}

}  // namespace
}  // namespace belay::ops
