// Numbers quantised by given scales and offsets: of all, or of the places of one dimension.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/experts/experts.h"
#include "ops/experts/row_loops.h"
#include "ops/experts/rows.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/quant/quant_loops.h"
#include "ops/quant/small_out.h"
#include "ops/scratch.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

enum class Rounding : char { kNearest, kDown, kUp, kToZero };

// Numbers of one dimension, or one for all.
struct Factors {
  Rows values, row;  // one by one; and side by side, where they lie in one dimension
  int64_t count = 0;

  Factors() = default;
  explicit Factors(const Operand& o) {
    if (!o.present()) return;
    values = Rows(o, true), count = o.tensor->count();
    if (o.shape().rank() == 1) row = Rows(o);
  }
  bool present() const { return values.present(); }
  // The numbers of n places.
  void Take(const Frame& frame, int64_t place, int64_t step, int64_t n, float* to) const {
    if (step == 0 || count == 1) {
      std::fill_n(to, n, values.At(frame, count == 1 ? 0 : place, 0));
    } else if (row.present()) {
      const float* from = row.Load(frame, 0, to);
      if (from != to) std::copy_n(from, n, to);
    } else {
      for (int64_t i = 0; i < n; ++i) to[i] = values.At(frame, place + i, 0);
    }
  }
};

// Rows of x beside the scale and the shift of each of their numbers, which go by one dimension of x.
struct ScaledRows {
  Rows x;
  Factors scale, shift;
  int64_t between = 0,
          size = 1;  // rows from place to place of the dimension, and its size; 0: the last dimension
  bool squared = false;
  PieceScratch<float> room;

  // row(its number, room for it, its scales, its shifts)
  template <class F>
  void Each(const Frame& frame, F row) const {
    room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
      const int64_t n = x.width();
      float *by = mine + n, *plus = by + n;
      if (between == 0) Take(frame, 0, 1, by, plus);
      for (int64_t i = begin; i < end; ++i) {
        if (between != 0) Take(frame, i / between % size, 0, by, plus);
        row(i, mine, by, plus);
      }
    });
  }

  void Take(const Frame& frame, int64_t place, int64_t step, float* by, float* plus) const {
    scale.Take(frame, place, step, x.width(), by);
    if (squared) BestRowLoops().multiply(by, by, by, x.width());
    if (shift.present()) shift.Take(frame, place, step, x.width(), plus);
  }
};

struct StaticBody {
  ScaledRows in;
  SmallOut small;
  Rows wide;                  // instead, a result of another type
  float least = 0, most = 0;  // of that
  bool divides = false;
  Rounding rounding = Rounding::kNearest;

  void operator()(const Frame& frame) const {
    in.Each(frame, [&](int64_t row, float* values, const float* by, const float* plus) {
      Row(frame, row, values, by, plus);
    });
  }

  float Rounded(float v) const {
    switch (rounding) {
      case Rounding::kDown:
        return std::floor(v);
      case Rounding::kUp:
        return std::ceil(v);
      case Rounding::kToZero:
        return std::trunc(v);
      default:
        return v;
    }
  }

  void Row(const Frame& frame, int64_t row, float* values, const float* by, const float* plus) const {
    const int64_t n = in.x.width();
    const float* from = in.x.Load(frame, row, values);
    const float low = wide.present() ? least : small.least(), high = wide.present() ? most : small.most();
    const RowLoops& loops = BestRowLoops();
    divides ? loops.divide(values, from, by, n) : loops.multiply(values, from, by, n);
    if (in.shift.present()) loops.add(values, values, plus, n);
    if (rounding != Rounding::kNearest) {
      for (int64_t i = 0; i < n; ++i) values[i] = Rounded(values[i]);
    }
    BestQuantLoops().round(values, 0, n, {low, high});
    wide.present() ? wide.Store(frame, row, values) : small.Store(frame, row, values, n);
  }
};

// Rounded to steps and back again, and which of them were within the range. Disabled, x is left as it is.
struct FakeBody {
  ScaledRows in;
  Rows out, mask;
  float least = 0, most = 0;
  bool enabled = true, whole = true;  // whole: x is rounded before the zero point is added, not after

  void operator()(const Frame& frame) const {
    in.Each(frame, [&](int64_t row, float* values, const float* by, const float* plus) {
      const int64_t n = in.x.width();
      float* inside = values + 3 * n;
      const float* from = in.x.Load(frame, row, values);
      enabled ? Steps(from, by, plus, values, inside) : Keep(from, values, inside);
      out.Store(frame, row, values);
      mask.Store(frame, row, inside);
    });
  }

  void Steps(const float* from, const float* by, const float* plus, float* values, float* inside) const {
    for (int64_t i = 0; i < in.x.width(); ++i) {
      const float steps = from[i] / by[i];
      const float at = whole ? std::nearbyint(steps) + plus[i] : std::nearbyint(steps + plus[i]);
      values[i] = (std::min(most, std::max(least, at)) - plus[i]) * by[i];  // NaN: the least
      inside[i] = at >= least && at <= most ? 1.0f : 0.0f;
    }
  }

  void Keep(const float* from, float* values, float* inside) const {
    if (from != values) std::copy_n(from, in.x.width(), values);
    std::fill_n(inside, in.x.width(), 1.0f);
  }
};

void GoBy(int64_t axis, ScaledRows& in, const Shape& shape) {
  if (axis == shape.rank() - 1) return;
  in.between = 1, in.size = shape[static_cast<int>(axis)];
  for (int d = static_cast<int>(axis) + 1; d < shape.rank() - 1; ++d) in.between *= shape[d];
}

template <class Body>
void PlanScaled(Plan& plan, Body& body, const Operand& x, int64_t axis, int64_t arrays = 3) {
  ScaledRows& in = body.in;
  GoBy(axis, in, x.shape());
  if (x.tensor->empty()) return;
  in.room = {plan, in.x.count(), RowGrain(in.x.width()), arrays * in.x.width()};
  plan.SetCost(500 + static_cast<uint64_t>(x.tensor->count()) * 4);
  plan.SetBody(body);
}

int64_t DimensionOf(const Plan& plan, const Operand& x, int64_t axis) {
  const int64_t rank = x.shape().rank(), at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at >= rank) RefuseExperts(plan, std::string("axis is no dimension of ") + x.name);
  return at;
}

// Others than one number have as many as the dimension, which is the only one of theirs that is not 1.
void CheckFactors(const Plan& plan, const Operand& scale, const Operand& shift, int64_t wanted) {
  bool one_dimension = scale.tensor->count() == wanted;
  for (int d = 0; d < scale.shape().rank(); ++d)
    one_dimension = one_dimension && (scale.shape()[d] == 1 || scale.shape()[d] == wanted);
  if (scale.tensor->count() != 1 && !one_dimension) {
    Fail(tensor::kInvalidArgument, "experts-shape",
         "{}: {} has shape {}, which is neither one number nor one for each of {}", plan.function(),
         scale.name, scale.shape().ToString(), wanted);
  }
  if (shift.present()) CheckExpertShape(plan, shift, scale.shape());
}

void PlanFake(Plan& plan, FakeBody body, const Operand& self, const Operand& scale, const Operand& zeroPoint,
              int64_t axis, const Operand& out, const Operand& mask) {
  CheckExpertShape(plan, out, self.shape());
  CheckExpertShape(plan, mask, self.shape());
  body.in.x = Rows(self), body.in.scale = Factors(scale), body.in.shift = Factors(zeroPoint);
  body.out = Rows(out), body.mask = Rows(mask);
  body.whole = zeroPoint.dtype() == DType::kI32;
  PlanScaled(plan, body, self, axis, 4);
}

Rounding RoundingOf(const Plan& plan, const char* name) {
  const std::string_view mode = name == nullptr || *name == 0 ? "round" : name;
  if (mode == "round") return Rounding::kNearest;
  if (mode == "floor") return Rounding::kDown;
  if (mode == "ceil") return Rounding::kUp;
  if (mode != "trunc") RefuseExperts(plan, "roundMode is none of round, floor, ceil and trunc");
  return Rounding::kToZero;
}

}  // namespace

namespace kernels {

void AscendQuantV3(Plan& plan, DType, const Operand& x, const Operand& scale, const Operand& offsetOptional,
                   bool sqrtMode, const char* roundMode, int64_t dstType, int64_t axis, const Operand& y) {
  StaticBody body;
  body.rounding = RoundingOf(plan, roundMode), body.in.squared = sqrtMode;
  CheckSmallType(plan, dstType, y);
  CheckExpertRank(plan, x, 1, 8);
  const int64_t rank = x.shape().rank(), at = axis < 0 ? axis + rank : axis;
  if (at < std::max<int64_t>(rank - 2, 0) || at >= rank)
    RefuseExperts(plan, "axis is neither the last dimension of x nor the last but one");
  body.small = SmallOut(plan, y, x.shape());
  CheckFactors(plan, scale, offsetOptional, x.shape()[static_cast<int>(at)]);
  body.in.x = Rows(x), body.in.scale = Factors(scale), body.in.shift = Factors(offsetOptional);
  PlanScaled(plan, body, x, at);
}

void AscendQuant(Plan& plan, DType type, const Operand& x, const Operand& scale,
                 const Operand& offsetOptional, bool sqrtMode, const char* roundMode, int64_t dstType,
                 const Operand& y) {
  AscendQuantV3(plan, type, x, scale, offsetOptional, sqrtMode, roundMode, dstType, -1, y);
}

void Quantize(Plan& plan, DType, const Operand& x, const Operand& scales, const Operand& zeroPoints,
              DType type, int64_t axis, const Operand& out) {
  CheckExpertRank(plan, x, 1, 8);
  CheckExpertShape(plan, out, x.shape());
  if (type != out.dtype()) RefuseExperts(plan, "dtype is not the type of the result");
  const int64_t at = DimensionOf(plan, x, axis);
  const int64_t place = scales.tensor->count() == 1 ? x.shape().rank() - 1 : at;
  CheckFactors(plan, scales, zeroPoints, x.shape()[static_cast<int>(place)]);
  StaticBody body;
  body.in.x = Rows(x), body.in.scale = Factors(scales), body.in.shift = Factors(zeroPoints);
  body.wide = Rows(out), body.divides = true;
  body.least = type == DType::kU8 ? 0.0f : type == DType::kI8 ? -128.0f : -2147483648.0f;
  body.most = type == DType::kU8   ? 255.0f
              : type == DType::kI8 ? 127.0f
                                   : 2147483648.0f;  // the last one saturates
  PlanScaled(plan, body, x, place);
}

void FakeQuantPerTensorAffineCachemask(Plan& plan, DType, const Operand& self, const Operand& scale,
                                       const Operand& zeroPoint, double fakeQuantEnbled, int64_t quantMin,
                                       int64_t quantMax, const Operand& out, const Operand& mask) {
  CheckFactors(plan, scale, zeroPoint, 1);
  FakeBody body;
  body.least = static_cast<float>(quantMin), body.most = static_cast<float>(quantMax);
  body.enabled = fakeQuantEnbled >= 1;
  PlanFake(plan, body, self, scale, zeroPoint, self.shape().rank() - 1, out, mask);
}

void FakeQuantPerChannelAffineCachemask(Plan& plan, DType, const Operand& self, const Operand& scale,
                                        const Operand& zeroPoint, int64_t axis, int64_t quantMin,
                                        int64_t quantMax, const Operand& out, const Operand& mask) {
  const int64_t at = DimensionOf(plan, self, axis);
  CheckExpertRank(plan, scale, 1, 1);
  CheckExpertShape(plan, scale, Shape{self.shape()[static_cast<int>(at)]});
  CheckExpertShape(plan, zeroPoint, scale.shape());
  FakeBody body;
  body.least = static_cast<float>(quantMin), body.most = static_cast<float>(quantMax);
  PlanFake(plan, body, self, scale, zeroPoint, at, out, mask);
}

}  // namespace kernels
}  // namespace belay::ops
