// Displaced taps against their definition.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ops/detect/detect.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Floats;
using testing::Sample;

struct DeformCase {
  Shape x, weight, out;
  DeformArgs args;
  bool bias, mask;
};

DeformCase RandomDeformCase(std::mt19937& rng) {
  const auto pick = [&rng](auto... of) {
    const int64_t all[] = {of...};
    return all[rng() % sizeof...(of)];
  };
  DeformCase c{};
  c.args.groups = pick(1, 1, 2, 3), c.args.offset_groups = pick(1, 1, 2, 3);
  const int64_t in = pick(1, 2, 5, 16, 33) * c.args.groups * c.args.offset_groups,
                out = pick(1, 4, 7) * c.args.groups;
  c.x = {pick(1, 2), in, pick(1, 5, 12, 20), pick(1, 6, 11, 21)};
  c.weight = {out, in / c.args.groups, pick(1, 2, 3), pick(1, 3)};
  c.out = {c.x[0], out, 0, 0};
  for (int d = 0; d < 2; ++d) {
    c.args.strides[d] = pick(1, 1, 2), c.args.dilations[d] = pick(1, 2), c.args.before[d] = pick(0, 1, 3);
    c.out[d + 2] = (c.x[d + 2] + c.args.before[d]) / c.args.strides[d] + 1;
  }
  c.bias = pick(0, 1) == 1, c.mask = pick(0, 1) == 1;
  return c;
}

struct DeformData {
  Sample x, weight, offset, bias, mask, out;
};

double PixelOf(const DeformCase& c, const float* plane, int64_t row, int64_t column) {
  const bool inside = row >= 0 && column >= 0 && row < c.x[2] && column < c.x[3];
  return inside ? static_cast<double>(plane[row * c.x[3] + column]) : 0;
}

// What a tap sees of one channel from position (i, j).
double SeenBy(const DeformCase& c, const DeformData& data, int64_t n, int64_t channel, int64_t tap, int64_t i,
              int64_t j) {
  const int64_t taps = c.weight[2] * c.weight[3], plane = c.out[2] * c.out[3],
                group = channel / (c.x[1] / c.args.offset_groups),
                at = ((n * c.args.offset_groups + group) * taps + tap) * 2 * plane + i * c.out[3] + j;
  const auto moved = [&](int d, int64_t place, int64_t k, int64_t offset) {
    const int64_t from = place * c.args.strides[d] - c.args.before[d] + k * c.args.dilations[d];
    return static_cast<double>(static_cast<float>(from) + Floats(data.offset)[offset]);
  };
  const double y = moved(0, i, tap / c.weight[3], at), along = moved(1, j, tap % c.weight[3], at + plane);
  const auto high = static_cast<double>(c.x[2]), wide = static_cast<double>(c.x[3]);
  if (!(y > -1 && y < high && along > -1 && along < wide)) return 0;
  const auto top = static_cast<int64_t>(std::floor(y)), left = static_cast<int64_t>(std::floor(along));
  const double down = y - std::floor(y), right = along - std::floor(along);
  const float* from = Floats(data.x) + (n * c.x[1] + channel) * c.x[2] * c.x[3];
  const double seen = (1 - down) * (1 - right) * PixelOf(c, from, top, left) +
                      (1 - down) * right * PixelOf(c, from, top, left + 1) +
                      down * (1 - right) * PixelOf(c, from, top + 1, left) +
                      down * right * PixelOf(c, from, top + 1, left + 1);
  const int64_t mask = ((n * c.args.offset_groups + group) * taps + tap) * plane + i * c.out[3] + j;
  return c.mask ? seen * static_cast<double>(Floats(data.mask)[mask]) : seen;
}

double WantedAt(const DeformCase& c, const DeformData& data, int64_t n, int64_t o, int64_t i, int64_t j) {
  const int64_t taps = c.weight[2] * c.weight[3], group = o / (c.weight[0] / c.args.groups);
  double sum = c.bias ? static_cast<double>(Floats(data.bias)[o]) : 0;
  for (int64_t k = 0; k < c.weight[1]; ++k) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      sum += SeenBy(c, data, n, group * c.weight[1] + k, tap, i, j) *
             static_cast<double>(Floats(data.weight)[(o * c.weight[1] + k) * taps + tap]);
    }
  }
  return sum;
}

DeformData RandomDeformData(const DeformCase& c, std::mt19937& rng) {
  const int64_t taps = c.args.offset_groups * c.weight[2] * c.weight[3];
  DeformData data{{DType::kF32, c.x},
                  {DType::kF32, c.weight},
                  {DType::kF32, {c.x[0], taps * 2, c.out[2], c.out[3]}},
                  {DType::kF32, {c.out[1]}},
                  {DType::kF32, {c.x[0], taps, c.out[2], c.out[3]}},
                  {DType::kF32, c.out}};
  for (Sample* sample : {&data.x, &data.weight, &data.offset, &data.bias, &data.mask})
    sample->Randomise(rng, 3);
  // Far beyond the image, and nowhere.
  Floats(data.offset)[0] = 1e30f, Floats(data.offset)[rng() % 3] = -INFINITY;
  return data;
}

TEST(DeformConv, IsWhatItsTapsSee) {
  std::mt19937 rng(3);
  for (int round = 0; round < 60; ++round) {
    DeformCase c = RandomDeformCase(rng);
    DeformData data = RandomDeformData(c, rng);
    SCOPED_TRACE(std::to_string(round) + ": " + c.x.ToString() + " by " + c.weight.ToString());
    PlanRef plan = testing::NewPlan();
    c.args.x = data.x.BoundTo(*plan, Access::kRead, "x");
    c.args.weight = data.weight.BoundTo(*plan, Access::kRead, "weight");
    c.args.offset = data.offset.BoundTo(*plan, Access::kRead, "offset");
    if (c.bias) c.args.bias = data.bias.BoundTo(*plan, Access::kRead, "bias");
    if (c.mask) c.args.mask = data.mask.BoundTo(*plan, Access::kRead, "mask");
    c.args.out = data.out.BoundTo(*plan, Access::kWrite, "out");
    PlanDeformConv(*plan, c.args);
    testing::RunPlan(*plan);
    const float* got = Floats(data.out);
    for (int64_t at = 0; at < data.out.tensor.count(); ++at) {
      const int64_t j = at % c.out[3], i = at / c.out[3] % c.out[2], o = at / c.out[3] / c.out[2] % c.out[1],
                    n = at / c.out[3] / c.out[2] / c.out[1];
      const double want = WantedAt(c, data, n, o, i, j);
      ASSERT_NEAR(static_cast<double>(got[at]), want, 2e-5 * std::max(1.0, std::fabs(want))) << at;
    }
  }
}

}  // namespace
}  // namespace belay::ops
