#include "ops/quant/swiglu_rows.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/experts/experts.h"
#include "ops/experts/row_loops.h"
#include "ops/experts/rows.h"
#include "ops/index/indices.h"
#include "ops/quant/quant_loops.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

struct SwigluBody {
  Rows x, column_scale, row_scale, smooth, y, steps;
  Indices groups;
  Scratch<int64_t> ends;  // of the groups
  int groups_at = -1;
  bool counts = false, factors = false;
  SwigluForm form;
  PieceScratch<float> room;

  void operator()(const Frame& frame) const {
    std::span<const int64_t> found;
    if (groups_at >= 0) found = Ends(frame);
    const int64_t last = groups_at >= 0 ? found.empty() ? 0 : found.back() : x.count();
    room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
      for (int64_t row = begin; row < std::min(end, last); ++row) Row(frame, row, found, mine);
    });
  }

  std::span<const int64_t> Ends(const Frame& frame) const {
    const std::span<const int64_t> numbers = groups.Read(frame, groups_at);
    int64_t *to = ends.At(frame), at = 0;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const int64_t n = counts ? numbers[i] : numbers[i] - at;
      if (n < 0 || n > x.count() - at) {
        Fail(kIndexFault, "experts-groups",
             "groupList gives group {} {} of {} rows, of which {} were taken before; it must fit the tensors",
             i, n, x.count(), at);
      }
      to[i] = at += n;
    }
    return {to, numbers.size()};
  }

  void Row(const Frame& frame, int64_t row, std::span<const int64_t> found, float* values) const {
    const int64_t n = x.width(), half = n / 2;
    const RowLoops& loops = BestRowLoops();
    float* other = values + n;
    const int64_t group = std::upper_bound(found.begin(), found.end(), row) - found.begin();
    const float* from = x.Load(frame, row, values);
    if (from != values) std::copy_n(from, n, values);
    if (column_scale.present()) {
      const float* by = column_scale.Load(frame, column_scale.count() == 1 ? 0 : group, other);
      loops.multiply(values, values, by, n);
    }
    if (row_scale.present()) loops.multiply_by(values, values, row_scale.At(frame, row, 0), n);
    Gate(values, half, other);
    if (smooth.present()) {
      const float* by = smooth.Load(frame, smooth.count() == 1 ? 0 : group, values);
      smooth.width() == 1 ? loops.multiply_by(other, other, *by, half)
                          : loops.multiply(other, other, by, half);
    }
    Quantise(frame, row, other, half);
  }

  // Neighbours come apart first, into `to` and what lies behind its half.
  void Gate(const float* row, int64_t half, float* to) const {
    const float *active = row + (form.left ? 0 : half), *gate = row + (form.left ? half : 0);
    if (form.neighbours) {
      for (int64_t i = 0; i < half; ++i) to[i] = row[2 * i], to[half + i] = row[2 * i + 1];
      active = to, gate = to + half;
    }
    BestRowLoops().gate(to, active, gate, {form.limited, form.limit, form.alpha, form.bias}, half);
  }

  void Quantise(const Frame& frame, int64_t row, float* values, int64_t n) const {
    const QuantLoops& loops = BestQuantLoops();
    const auto [least, greatest] = loops.range(values, n);
    const float most = std::max(greatest, -least), step = most / 127;
    loops.divide(values, step, n);
    loops.round(values, 0, n, {-128, 127});
    y.Store(frame, row, values);
    steps.Set(frame, row, 0, factors ? 127 / most : step);
  }
};

// [n] or [groups, n]; `singles`: or [groups], a number for each.
Rows RowsOfGroups(const Plan& plan, const Operand& o, int64_t groups, int64_t n, bool singles) {
  if (!o.present()) return {};
  if (singles && o.shape() == Shape{groups} && (groups != 1 || n != 1)) return Rows(o, true);
  if (o.shape().rank() != 1 || groups != 1) CheckExpertShape(plan, o, {groups, n});
  if (o.shape().rank() == 1) CheckExpertShape(plan, o, {n});
  return Rows(o);
}

}  // namespace

void PlanSwigluRows(Plan& plan, const SwigluRowsArgs& a) {
  CheckExpertRank(plan, a.x, 2, 8);
  const Shape shape = a.x.shape();
  const int64_t n = shape.back(0);
  if (n % 2 != 0) RefuseExperts(plan, "the last dimension of x is odd: it has no halves");
  Shape half = shape;
  half.back(0) = n / 2;
  const Shape rows = Shape::Of(shape.data(), shape.rank() - 1);
  CheckExpertShape(plan, a.y, half);
  CheckExpertShape(plan, a.steps, rows);
  if (a.groups.present()) CheckExpertRank(plan, a.groups, 1, 1);
  const int64_t groups = a.groups.present() ? a.groups.shape()[0] : 1;
  SwigluBody body;
  body.x = Rows(a.x), body.y = Rows(a.y), body.steps = Rows(a.steps, true), body.form = a.form;
  body.factors = a.factors;
  body.column_scale = RowsOfGroups(plan, a.column_scale, groups, n, false);
  body.smooth = RowsOfGroups(plan, a.smooth, groups, n / 2, true);
  if (a.row_scale.present()) {
    Shape one_each = rows;
    one_each.push_back(1);
    if (a.row_scale.shape() != rows) CheckExpertShape(plan, a.row_scale, one_each);
    body.row_scale = Rows(a.row_scale, a.row_scale.shape() == rows);
  }
  if (body.x.count() == 0 || n == 0) return;
  if (a.groups.present()) {
    body.groups = Indices(plan, *a.groups.tensor), body.groups_at = a.groups.binding, body.counts = a.counts;
    body.ends = Scratch<int64_t>(plan, groups);
  }
  body.room = {plan, body.x.count(), RowGrain(n), 2 * n};
  plan.SetCost(500 + static_cast<uint64_t>(a.x.tensor->count()) * 4);
  plan.SetBody(body);
}

}  // namespace belay::ops
