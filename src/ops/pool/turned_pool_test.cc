// Planes that are turned and lie side by side, against windows by their definition.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "ops/pool/pool.h"
#include "ops/testing/in_pieces.h"
#include "ops/testing/sample.h"
#include "ops/testing/simd_levels.h"

namespace belay::ops {
namespace {

using testing::Sample;

struct DrawnPool {
  PoolKind kind = PoolKind::kMax;
  Shape in, out;
  std::vector<PoolDimension> dims;
  std::vector<PoolSpans> spans;
  bool with_places = false, places_in_plane = false, column_major = false, count_padding = false;
};

struct Wanted {
  double value;
  int64_t place;
};

// What the window of one position leaves of a plane: every tap of the kernel is looked at.
Wanted WindowOf(const DrawnPool& p, const float* plane, const std::vector<int64_t>& at) {
  Wanted wanted{-std::numeric_limits<double>::infinity(), 0};
  double sum = 0;
  int64_t inside = 0, counted = 0, taps = 1;
  for (const PoolDimension& d : p.dims) taps *= d.kernel;
  for (int64_t tap = 0; tap < taps; ++tap) {
    int64_t rest = tap, place = 0, step = 1;
    bool in_image = true, in_padding = true;
    std::vector<int64_t> index(p.dims.size());
    for (size_t d = p.dims.size(); d-- > 0; rest /= p.dims[d].kernel) {
      const PoolDimension& dim = p.dims[d];
      index[d] = at[d] * dim.stride - dim.before + rest % dim.kernel * dim.dilation;
      in_image = in_image && index[d] >= 0 && index[d] < dim.in;
      in_padding = in_padding && index[d] < dim.in + dim.after;
      place += index[d] * step, step *= dim.in;
    }
    int64_t other_place = 0, other_step = 1;  // the same by columns
    for (size_t d = 0; d < p.dims.size(); ++d)
      other_place += index[d] * other_step, other_step *= p.dims[d].in;
    counted += in_padding;
    if (!in_image) continue;
    ++inside;
    const double value = plane[place];
    sum += value;
    if (!std::isnan(wanted.value) && !(value <= wanted.value))
      wanted = {value, p.column_major ? other_place : place};
  }
  if (p.kind == PoolKind::kMean)
    wanted.value = sum / static_cast<double>(std::max<int64_t>(1, p.count_padding ? counted : inside));
  return wanted;
}

DrawnPool Drawn(std::mt19937& rng, int rank, int64_t side) {
  const auto below = [&](int64_t n) { return static_cast<int64_t>(rng() % static_cast<uint64_t>(n)); };
  DrawnPool p;
  p.kind = below(2) == 0 ? PoolKind::kMax : PoolKind::kMean;
  p.with_places = p.kind == PoolKind::kMax && below(2) == 0;
  p.places_in_plane = below(2) == 0, p.column_major = below(2) == 0, p.count_padding = below(2) == 0;
  p.in = p.out = {1 + below(3), 1 + below(19)};
  for (int d = 0; d < rank; ++d) {
    PoolDimension dim{1 + below(side), 1 + below(5), 1 + below(3), 1 + below(2), 0, 0};
    dim.before = below((dim.kernel - 1) * dim.dilation / 2 + 1), dim.after = below(3);
    const bool ceil = below(2) == 0;
    while (PoolOutputSize(dim, ceil) < 1) ++dim.in;
    p.dims.push_back(dim), p.in.push_back(dim.in);
    p.out.push_back(PoolOutputSize(dim, ceil));
    p.spans.push_back(SlidingSpans(dim, p.out.back(0)));
  }
  return p;
}

void ExpectAsDefined(const DrawnPool& p, std::mt19937& rng, bool with_nan) {
  Sample x(DType::kF32, p.in), y(DType::kF32, p.out), places(DType::kI64, p.out);
  x.Randomise(rng);
  auto* values = testing::Floats(x);
  if (with_nan) values[rng() % static_cast<uint64_t>(x.tensor.count())] = NAN;
  PlanRef plan = testing::NewPlan();
  PoolArgs args{.kind = p.kind,
                .input = x.BoundTo(*plan, Access::kRead, "x"),
                .out = y.BoundTo(*plan, Access::kWrite, "y"),
                .places = {},
                .spans = p.spans};
  if (p.with_places) args.places = places.BoundTo(*plan, Access::kWrite, "indices");
  args.count_padding = p.count_padding, args.places_in_plane = p.places_in_plane;
  args.column_major = p.column_major;
  PlanPool(*plan, args);
  testing::RunPlan(*plan);
  const int64_t plane = CountOf(p.in) / (p.in[0] * p.in[1]), results = CountOf(p.out) / (p.in[0] * p.in[1]);
  for (int64_t i = 0; i < CountOf(p.out); ++i) {
    std::vector<int64_t> at(p.dims.size());
    int64_t rest = i % results;
    for (size_t d = at.size(); d-- > 0;)
      at[d] = rest % p.out[static_cast<int>(d) + 2], rest /= p.out[static_cast<int>(d) + 2];
    const Wanted wanted = WindowOf(p, values + i / results * plane, at);
    const double value = testing::Floats(y)[i];
    const bool same = std::isnan(wanted.value)
                          ? std::isnan(value)
                          : value == wanted.value || std::abs(value - wanted.value) < 1e-5;
    ASSERT_TRUE(same) << value << " for " << wanted.value << " at " << i << " of " << p.in.ToString();
    if (!p.with_places) continue;
    const int64_t begin = p.places_in_plane ? 0 : i / results * plane;
    ASSERT_EQ(static_cast<const int64_t*>(places.tensor.data)[i], begin + wanted.place)
        << i << " of " << p.in.ToString();
  }
}

class TurnedPool : public testing::SimdLevels {};

TEST_P(TurnedPool, SmallPlanesOfOneToThreeDimensions) {
  const testing::InPieces pieces;
  std::mt19937 rng(21);
  for (int turn = 0; turn < 60; ++turn) {
    const int rank = 1 + turn % 3;
    ExpectAsDefined(Drawn(rng, rank, rank == 3 ? 9 : 20), rng, turn % 5 == 0);
    if (HasFatalFailure()) return;
  }
}

// Of which the lines that a few lines of the result see are turned at a time.
TEST_P(TurnedPool, PlacesInLargePlanes) {
  const testing::InPieces pieces;
  std::mt19937 rng(22);
  for (int turn = 0; turn < 3; ++turn) {
    DrawnPool p;
    p.with_places = true, p.places_in_plane = turn % 2 == 0;
    p.in = p.out = {1, 3};
    for (const int64_t size : {50, 300}) {
      const PoolDimension dim{size, 2 + turn, 1 + turn % 3, 1, turn % 2, 1};
      p.dims.push_back(dim), p.in.push_back(size), p.out.push_back(PoolOutputSize(dim, false));
      p.spans.push_back(SlidingSpans(dim, p.out.back(0)));
    }
    ExpectAsDefined(p, rng, turn == 3);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, TurnedPool, ::testing::Range(0, 3));

}  // namespace
}  // namespace belay::ops
