// Rows quantised by what is in them, and numbers quantised by given scales, as inference calls it.
#include <algorithm>
#include <cstdint>

#include "base/parallel.h"
#include "ops/experts/experts.h"
#include "ops/experts/rows.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/quant/quant_loops.h"
#include "ops/quant/small_out.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

struct DynamicBody {
  Rows x, smooth, scale, shift;
  SmallOut y;
  Indices groups;  // running sums of rows that have a row of `smooth` each
  int groups_at;
  PieceScratch<float> room;

  void operator()(const Frame& frame) const {
    std::span<const int64_t> ends;
    if (groups_at >= 0) ends = groups.Read(frame, groups_at);
    room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
      for (int64_t row = begin; row < end; ++row) Row(frame, row, ends, mine);
    });
  }

  void Row(const Frame& frame, int64_t row, std::span<const int64_t> ends, float* values) const {
    const int64_t n = x.width();
    const float* from = x.Load(frame, row, values);
    if (from != values) std::copy_n(from, n, values);
    if (smooth.present()) {
      const auto after = std::upper_bound(ends.begin(), ends.end(), row) - ends.begin();
      const float* by = smooth.Load(frame, std::min<int64_t>(after, smooth.count() - 1), values + n);
      for (int64_t i = 0; i < n; ++i) values[i] *= by[i];
    }
    const QuantLoops& loops = BestQuantLoops();
    const auto [least, most] = shift.present() && n > 0 ? loops.ends(values, n) : loops.range(values, n);
    const float top = y.most();
    const float step = shift.present() ? (most - least) / (2 * top + 1) : std::max(most, -least) / top;
    const float plus = shift.present() && step != 0 ? top - most / step : 0;
    loops.divide(values, step, n);
    loops.round(values, plus, n, {-top - 1, top});
    y.Store(frame, row, values, n);
    scale.Set(frame, row, 0, step);
    if (shift.present()) shift.Set(frame, row, 0, plus);
  }
};

struct DynamicArgs {
  const Operand &x, &smooth;
  const Operand* groups;
  const Operand &y, &scale;
  const Operand* shift;
};

void PlanDynamic(Plan& plan, const DynamicArgs& a) {
  CheckExpertRank(plan, a.x, 1, 8);
  const Shape shape = a.x.shape();
  const int64_t width = shape.back(0);
  const Shape rows = Shape::Of(shape.data(), shape.rank() - 1);
  CheckExpertShape(plan, a.scale, rows);
  DynamicBody body{Rows(a.x), Rows(), Rows(a.scale, true), Rows(), SmallOut(plan, a.y, shape), {}, -1, {}};
  if (a.shift != nullptr) {
    CheckExpertShape(plan, *a.shift, rows);
    body.shift = Rows(*a.shift, true);
  }
  const bool grouped = a.groups != nullptr && a.groups->present();
  if (grouped && !a.smooth.present()) RefuseExperts(plan, "groupIndex is given without smoothScales");
  if (a.smooth.present()) {
    const int64_t groups = grouped ? a.groups->tensor->count() : 1;
    if (grouped || a.smooth.shape().rank() != 1) {
      CheckExpertShape(plan, a.smooth, {groups, width});
    } else {
      CheckExpertShape(plan, a.smooth, {width});
    }
    body.smooth = Rows(a.smooth);
  }
  if (body.x.count() == 0) return;
  if (grouped && body.smooth.count() == 0) RefuseExperts(plan, "groupIndex has no group for the rows of x");
  if (grouped) body.groups = Indices(plan, *a.groups->tensor), body.groups_at = a.groups->binding;
  body.room = {plan, body.x.count(), RowGrain(width), 2 * width};
  plan.SetCost(500 + static_cast<uint64_t>(a.x.tensor->count()));
  plan.SetBody(body);
}

}  // namespace

namespace kernels {

void DynamicQuant(Plan& plan, DType, const Operand& x, const Operand& smoothScalesOptional,
                  const Operand& yOut, const Operand& scaleOut) {
  PlanDynamic(plan, {x, smoothScalesOptional, nullptr, yOut, scaleOut, nullptr});
}

void DynamicQuantV2(Plan& plan, DType, const Operand& x, const Operand& smoothScalesOptional,
                    const Operand& groupIndexOptional, int64_t dstType, const Operand& yOut,
                    const Operand& scaleOut, const Operand& offsetOut) {
  CheckSmallType(plan, dstType, yOut);
  const bool shifts = offsetOut.present() && !offsetOut.tensor->empty();
  PlanDynamic(plan,
              {x, smoothScalesOptional, &groupIndexOptional, yOut, scaleOut, shifts ? &offsetOut : nullptr});
}

}  // namespace kernels
}  // namespace belay::ops
