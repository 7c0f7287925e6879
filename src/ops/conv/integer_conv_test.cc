#include "ops/conv/integer_conv.h"

#include <gtest/gtest.h>

#include <random>

#include "ops/conv/channels_last.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Sample;

struct IntegerCase {
  Shape in, weight, out;  // channels first
  std::vector<int64_t> strides, dilations, before, after;
  int64_t groups;
  DType from, weights;
  bool x_zero, constant;
  int64_t w_zeros;
};

IntegerCase RandomIntegerCase(std::mt19937& rng) {
  const auto pick = [&rng](auto... of) {
    const int64_t all[] = {of...};
    return all[rng() % sizeof...(of)];
  };
  IntegerCase c{};
  c.groups = pick(1, 1, 2, 5);
  const int64_t in = pick(1, 3, 16, 20), out = c.groups * pick(1, 4, 17, 40);
  c.in = {pick(1, 2), c.groups * in}, c.weight = {out, in}, c.out = {c.in[0], out};
  for (int64_t d = pick(1, 2, 3); d > 0; --d) {
    const int64_t kernel = pick(1, 1, 2, 3, 5), dilation = pick(1, 1, 2), stride = pick(1, 1, 2, 3),
                  before = pick(0, 0, 1, 6), after = pick(0, 0, 1, 6);
    const int64_t size = (kernel - 1) * dilation + 1 + pick(0, 1, 4, 9);
    c.strides.push_back(stride), c.dilations.push_back(dilation);
    c.before.push_back(before), c.after.push_back(after);
    c.in.push_back(size), c.weight.push_back(kernel);
    c.out.push_back(ConvOutputSize(size, kernel, stride, dilation, before, after));
  }
  c.from = pick(0, 1) == 0 ? DType::kU8 : DType::kI8, c.weights = pick(0, 1) == 0 ? DType::kU8 : DType::kI8;
  c.x_zero = pick(0, 1) == 1, c.w_zeros = pick(0, 1, out), c.constant = pick(0, 1) == 1;
  return c;
}

int64_t ByteAt(const Sample& sample, int64_t i) {
  const char byte = sample.storage[static_cast<size_t>(i)];
  return sample.tensor.dtype == DType::kI8 ? static_cast<int8_t>(byte) : static_cast<uint8_t>(byte);
}

Sample RandomBytes(DType dtype, const Shape& shape, std::mt19937& rng) {
  Sample sample(dtype, shape);
  for (char& byte : sample.storage) byte = static_cast<char>(rng());
  return sample;
}

struct IntegerData {
  Sample x, w, x_zero, w_zero;
};

// The place behind a tap along each dimension; false: it is in the padding.
bool PixelSeen(const IntegerCase& c, int64_t place, int64_t tap, int64_t* pixel) {
  int64_t step = 1;
  *pixel = 0;
  for (int d = c.in.rank() - 1; d >= 2; --d) {
    const auto k = static_cast<size_t>(d - 2);
    const int64_t at = place % c.out[d] * c.strides[k] - c.before[k] + tap % c.weight[d] * c.dilations[k];
    if (at < 0 || at >= c.in[d]) return false;
    *pixel += at * step;
    step *= c.in[d], place /= c.out[d], tap /= c.weight[d];
  }
  return true;
}

int64_t Spatial(const Shape& shape) {
  int64_t count = 1;
  for (int d = 2; d < shape.rank(); ++d) count *= shape[d];
  return count;
}

struct Element {
  int64_t image, channel, place;
};
// By its definition.
int32_t WantedSum(const IntegerCase& c, bool planes, const IntegerData& data, const Element& e) {
  const auto [image, channel, place] = e;
  const int64_t inputs = c.weight[1], first = channel / (c.out[1] / c.groups) * inputs,
                taps = Spatial(c.weight);
  const int64_t x_zero = c.x_zero ? ByteAt(data.x_zero, 0) : 0,
                w_zero = c.w_zeros == 0 ? 0 : ByteAt(data.w_zero, c.w_zeros == 1 ? 0 : channel);
  int64_t sum = 0, pixel = 0;
  for (int64_t tap = 0; tap < taps; ++tap) {
    if (!PixelSeen(c, place, tap, &pixel)) continue;
    for (int64_t i = 0; i < inputs; ++i) {
      const int64_t at = planes ? (image * c.in[1] + first + i) * Spatial(c.in) + pixel
                                : (image * Spatial(c.in) + pixel) * c.in[1] + first + i;
      sum += (ByteAt(data.x, at) - x_zero) * (ByteAt(data.w, (channel * inputs + i) * taps + tap) - w_zero);
    }
  }
  return static_cast<int32_t>(sum);
}

// As planes, or with the channels last.
void CheckIntegerConv(const IntegerCase& c, bool planes, std::mt19937& rng) {
  IntegerData data{RandomBytes(c.from, c.in, rng), RandomBytes(c.weights, c.weight, rng),
                   RandomBytes(c.from, {}, rng),
                   RandomBytes(c.weights, c.w_zeros > 1 ? Shape{c.w_zeros} : Shape{}, rng)};
  Sample y(DType::kI32, c.out);
  if (!planes)
    data.x.tensor.strides = ChannelsLastStrides(c.in), y.tensor.strides = ChannelsLastStrides(c.out);
  PlanRef plan = testing::NewPlan();
  IntegerConvArgs args;
  args.conv.input = data.x.BoundTo(*plan, Access::kRead, "x");
  args.conv.weight =
      c.constant ? Operand{&data.w.tensor, nullptr, -1, "w"} : data.w.BoundTo(*plan, Access::kRead, "w");
  args.conv.constant_weight = c.constant ? data.w.storage.data() : nullptr;
  if (c.x_zero) args.x_zero = data.x_zero.BoundTo(*plan, Access::kRead, "x_zero");
  if (c.w_zeros > 0) args.w_zero = data.w_zero.BoundTo(*plan, Access::kRead, "w_zero");
  args.conv.out = y.BoundTo(*plan, Access::kWrite, "y");
  args.conv.strides = c.strides, args.conv.dilations = c.dilations, args.conv.groups = c.groups;
  args.conv.before = c.before, args.conv.after = c.after;
  planes ? PlanIntegerPlanes(*plan, args) : PlanIntegerConv(*plan, args);
  testing::RunPlan(*plan);
  const auto* sums = reinterpret_cast<const int32_t*>(y.storage.data());
  for (int64_t i = 0; i < y.tensor.count(); ++i) {
    const int64_t places = Spatial(c.out), image = i / places / c.out[1],
                  channel = planes ? i / places % c.out[1] : i % c.out[1],
                  place = planes ? i % places : i / c.out[1] % places;
    ASSERT_EQ(sums[i], WantedSum(c, planes, data, {image, channel, place})) << i;
  }
}

TEST(IntegerConv, SumsExactly) {
  std::mt19937 rng(11);
  for (int i = 0; i < 200; ++i) {
    const IntegerCase c = RandomIntegerCase(rng);
    SCOPED_TRACE(std::to_string(i) + ": " + c.in.ToString() + " by " + c.weight.ToString() + ", groups " +
                 std::to_string(c.groups) + ", zeros " + std::to_string(c.w_zeros));
    CheckIntegerConv(c, i % 2 == 0, rng);
    if (HasFatalFailure()) return;
  }
}

// Several blocks of rows, for several cores.
TEST(IntegerConv, InBlocks) {
  std::mt19937 rng(12);
  const IntegerCase c{
      {2, 12, 30, 31}, {20, 12, 3, 3}, {2, 20, 30, 31}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, DType::kI8,
      DType::kU8,      true,           false,           20};
  for (bool planes : {true, false}) CheckIntegerConv(c, planes, rng);
}

}  // namespace
}  // namespace belay::ops
