#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/resize/grid_loops.cc"
#include "ops/resize/grid_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/some_lanes-inl.h"

#ifndef BELAY_OPS_GRID_LOOPS_ONCE
#define BELAY_OPS_GRID_LOOPS_ONCE
#include <algorithm>
#include <iterator>
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using GridD = hn::ScalableTag<float>;
using GridI = hn::RebindToSigned<GridD>;
using GridV = hn::Vec<GridD>;

// Both neighbours of places along one dimension.
struct GridNeighbours {
  hn::Vec<GridI> index[2];
  GridV weight[2];
  hn::Mask<GridD> inside[2];
};

// As GridTaps::At has them.
HWY_INLINE GridNeighbours NeighboursAt(GridV coordinate, int64_t size, const GridPlane& plane) {
  constexpr float kFarthest = 1e9f;  // so that it fits in an integer; NaN goes there too
  const GridD d;
  const GridI di;
  const auto n = static_cast<float>(size);
  const auto one = hn::Set(d, 1), half = hn::Set(d, 0.5f), last = hn::Set(d, n - 1);
  const auto moved = hn::Add(coordinate, one);
  auto x = plane.align ? hn::Mul(hn::Mul(moved, half), last)
                       : hn::Mul(hn::Sub(hn::Mul(moved, hn::Set(d, n)), one), half);
  x = hn::IfThenElse(hn::Gt(x, hn::Set(d, -kFarthest)), x, hn::Set(d, -kFarthest));
  x = hn::Min(x, hn::Set(d, kFarthest));
  if (plane.border) {
    const auto low = hn::Set(d, plane.align ? 0.0f : -0.5f), high = hn::Set(d, n - (plane.align ? 1 : 0.5f));
    const auto outside = hn::Or(hn::Lt(x, low), hn::Gt(x, high));
    x = hn::IfThenElse(outside, hn::Min(hn::Max(x, hn::Zero(d)), last), x);
  }
  const auto low = hn::Floor(x), rest = hn::Sub(x, low);
  const auto left = hn::ConvertTo(di, low), most = hn::Set(di, static_cast<int32_t>(size - 1));
  GridNeighbours found;
  found.weight[0] = hn::Sub(one, rest), found.weight[1] = rest;
  for (int k = 0; k < 2; ++k) {
    const auto at = hn::Add(left, hn::Set(di, k));
    found.index[k] = hn::Min(hn::Max(at, hn::Zero(di)), most);
    found.inside[k] = hn::RebindMask(d, hn::Eq(at, found.index[k]));
  }
  return found;
}

HWY_ATTR void FindPlaces(const float* grid, int64_t n, const GridPlane& plane, GridTerms& terms) {
  const GridD d;
  const GridI di;
  alignas(64) float places[2 * GridTerms::kMost];
  std::fill(std::copy_n(grid, 2 * n, places), std::end(places), 0.0f);
  const auto nothing = hn::Set(d, -0.0f);
  for (int64_t i = 0; i < n; i += static_cast<int64_t>(hn::Lanes(d))) {
    GridV x, y;
    hn::LoadInterleaved2(d, places + 2 * i, x, y);
    const GridNeighbours across = NeighboursAt(x, plane.width, plane),
                         down = NeighboursAt(y, plane.height, plane);
    for (int k = 0; k < 4; ++k) {
      const int r = k / 2, c = k % 2;
      const auto row = hn::Mul(down.index[r], hn::Set(di, static_cast<int32_t>(plane.width)));
      const auto weight = hn::Mul(down.weight[r], across.weight[c]);
      const auto inside = hn::And(down.inside[r], across.inside[c]);
      hn::Store(hn::Add(row, across.index[c]), di, terms.pixel[k] + i);
      hn::Store(plane.border ? weight : hn::IfThenElse(inside, weight, nothing), d, terms.weight[k] + i);
    }
  }
}

HWY_ATTR void SumPlaces(const GridTerms& terms, int64_t n, const float* image, float* out) {
  const GridD d;
  const GridI di;
  for (int64_t i = 0; i < n; i += static_cast<int64_t>(hn::Lanes(d))) {
    auto sum = hn::Zero(d);
    for (int k = 0; k < 4; ++k) {
      const auto weight = hn::Load(d, terms.weight[k] + i);
      const auto pixel = hn::GatherIndex(d, image, hn::Load(di, terms.pixel[k] + i));
      const auto outside = hn::RebindMask(d, hn::Lt(hn::BitCast(di, weight), hn::Zero(di)));
      sum = hn::Add(sum, hn::Mul(weight, hn::IfThenZeroElse(outside, pixel)));
    }
    StoreSome(sum, d, out + i, n - i);
  }
}

const GridLoops* GridLoopsHere() {
  static constexpr GridLoops kLoops = {&FindPlaces, &SumPlaces};
  return &kLoops;
}

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(GridLoopsHere);
const GridLoops& BestGridLoops() { return *BELAY_SIMD_CALL(GridLoopsHere)(); }
}  // namespace belay::ops
#endif
