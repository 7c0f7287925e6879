// Rows quantised by what is in them, and numbers quantised by given scales, as inference calls it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/parallel.h"
#include "ops/experts/experts.h"
#include "ops/experts/rows.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/quant/small_numbers.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

struct DynamicBody {
  Rows x, smooth, y, scale, shift;
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
    float least = n == 0 ? 0 : values[0], most = least;
    for (int64_t i = 1; i < n; ++i) least = std::min(least, values[i]), most = std::max(most, values[i]);
    const float step = shift.present() ? (most - least) / 255 : std::max(most, -least) / 127;
    const float plus = shift.present() && step != 0 ? 127 - most / step : 0;
    for (int64_t i = 0; i < n; ++i) {
      values[i] = RoundedToByte(step == 0 ? 0 : values[i] / step + plus);
    }
    y.Store(frame, row, values);
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
  CheckExpertShape(plan, a.y, shape);
  CheckExpertShape(plan, a.scale, rows);
  DynamicBody body{Rows(a.x), Rows(), Rows(a.y), Rows(a.scale, true), Rows(), {}, -1, {}};
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
  if (grouped) body.groups = Indices(plan, *a.groups->tensor), body.groups_at = a.groups->binding;
  body.room = {plan, body.x.count(), RowGrain(width), 2 * width};
  plan.SetCost(500 + static_cast<uint64_t>(a.x.tensor->count()));
  plan.SetBody(body);
}

// y = round(x * scale + shift), where scale and shift are one number, or one for each of the last dimension.
struct StaticBody {
  Rows x, scale, shift, y;
  PieceScratch<float> room;
  bool squared;
  char rounding;  // of its name: round, floor, ceil, trunc

  void operator()(const Frame& frame) const {
    room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
      for (int64_t row = begin; row < end; ++row) Row(frame, row, mine);
    });
  }

  float Rounded(float v) const {
    return rounding == 'f'   ? std::floor(v)
           : rounding == 'c' ? std::ceil(v)
           : rounding == 't' ? std::trunc(v)
                             : std::nearbyint(v);
  }

  void Row(const Frame& frame, int64_t row, float* values) const {
    const int64_t n = x.width();
    const float* from = x.Load(frame, row, values);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = scale.count() == 1 ? 0 : i;
      float by = scale.At(frame, at, 0);
      if (squared) by *= by;
      const float plus = shift.present() ? shift.At(frame, shift.count() == 1 ? 0 : i, 0) : 0;
      values[i] = std::clamp(Rounded(from[i] * by + plus), -128.0f, 127.0f);
    }
    y.Store(frame, row, values);
  }
};

}  // namespace

namespace kernels {

void DynamicQuant(Plan& plan, DType, const Operand& x, const Operand& smoothScalesOptional,
                  const Operand& yOut, const Operand& scaleOut) {
  PlanDynamic(plan, {x, smoothScalesOptional, nullptr, yOut, scaleOut, nullptr});
}

void DynamicQuantV2(Plan& plan, DType, const Operand& x, const Operand& smoothScalesOptional,
                    const Operand& groupIndexOptional, int64_t dstType, const Operand& yOut,
                    const Operand& scaleOut, const Operand& offsetOut) {
  // torch-npu passes it in four bytes.
  if (static_cast<int32_t>(dstType) != static_cast<int32_t>(DType::kI8))
    RefuseExperts(plan, "dstType is not INT8 (2): four bits and 8-bit floats are not there yet");
  const bool shifts = offsetOut.present() && !offsetOut.tensor->empty();
  PlanDynamic(plan,
              {x, smoothScalesOptional, &groupIndexOptional, yOut, scaleOut, shifts ? &offsetOut : nullptr});
}

void AscendQuant(Plan& plan, DType, const Operand& x, const Operand& scale, const Operand& offsetOptional,
                 bool sqrtMode, const char* roundMode, int64_t dstType, const Operand& y) {
  const std::string_view mode = roundMode == nullptr || *roundMode == 0 ? "round" : roundMode;
  if (mode != "round" && mode != "floor" && mode != "ceil" && mode != "trunc")
    RefuseExperts(plan, "roundMode is none of round, floor, ceil and trunc");
  if (static_cast<int32_t>(dstType) != static_cast<int32_t>(DType::kI8))
    RefuseExperts(plan, "dstType is not INT8 (2): four bits are not there yet");
  CheckExpertRank(plan, x, 1, 8);
  CheckExpertShape(plan, y, x.shape());
  const int64_t width = x.shape().back(0), scales = scale.tensor->count();
  if (scales != 1 && (scales != width || scale.shape().back(0) != width))
    RefuseExperts(plan, "scale has neither one element nor one for each of x's last dimension");
  if (offsetOptional.present()) CheckExpertShape(plan, offsetOptional, scale.shape());
  if (x.tensor->empty()) return;
  StaticBody body{Rows(x), Rows(scale, true), Rows(offsetOptional, true), Rows(y), {}, sqrtMode, mode[0]};
  body.room = {plan, body.x.count(), RowGrain(width), width};
  plan.SetCost(500 + static_cast<uint64_t>(x.tensor->count()) * 4);
  plan.SetBody(body);
}

}  // namespace kernels
}  // namespace belay::ops
