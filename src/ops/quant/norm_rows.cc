// Rows added up, divided by the root of their mean square and quantised, in one pass.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "base/parallel.h"
#include "ops/experts/experts.h"
#include "ops/experts/row_loops.h"
#include "ops/experts/rows.h"
#include "ops/kernels.h"
#include "ops/norm/norm_loops.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

// Where one of the two results goes, and by which numbers.
struct QuantisedRow {
  Rows y, factor, shift;  // factor: a scale, or what smooths the row; shift: zero points
  Rows scale;             // of each row, where it is found from the row

  bool present() const { return y.present(); }
};

struct NormBody {
  Rows x1, x2, gamma, beta, sum;
  QuantisedRow results[2];
  PieceScratch<float> room;
  float epsilon;
  bool dynamic, divides;

  void operator()(const Frame& frame) const {
    room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
      for (int64_t row = begin; row < end; ++row) Row(frame, row, mine);
    });
  }

  // What is normalised is the sum as it is stored.
  void Row(const Frame& frame, int64_t row, float* normal) const {
    const int64_t n = x1.width();
    float *other = normal + n, *values = other + n;
    const float *a = x1.Load(frame, row, normal), *b = x2.Load(frame, row, other);
    const RowLoops& rows = BestRowLoops();
    rows.add(values, a, b, n);
    sum.Store(frame, row, values);
    const float* x = sum.Load(frame, row, values);
    const NormLoops<float>& loops = BestNormLoops<float>();
    double total = 0, squares = 0;
    loops.deviations(x, 0, n, &total, &squares);
    const auto by = static_cast<float>(1 / std::sqrt(squares / static_cast<double>(n) + epsilon));
    const float* weight = gamma.Load(frame, 0, other);
    loops.apply(normal, x, weight, nullptr, 0, by, n);
    if (beta.present()) {
      const float* plus = beta.Load(frame, 0, other);
      rows.add(normal, normal, plus, n);
    }
    for (const QuantisedRow& result : results) {
      if (result.present())
        dynamic ? ByItself(frame, row, result, normal, other) : ByScale(frame, row, result, normal, other);
    }
  }

  void ByScale(const Frame& frame, int64_t row, const QuantisedRow& to, const float* normal,
               float* room) const {
    const int64_t n = x1.width();
    float* values = room + n;
    const float* scale = to.factor.Load(frame, 0, room);
    const RowLoops& rows = BestRowLoops();
    divides ? rows.divide(values, normal, scale, n) : rows.multiply(values, normal, scale, n);
    if (to.shift.present()) {
      const float* plus = to.shift.Load(frame, 0, room);
      rows.add(values, values, plus, n);
    }
    Store(frame, row, to, values);
  }

  void ByItself(const Frame& frame, int64_t row, const QuantisedRow& to, const float* normal,
                float* room) const {
    const int64_t n = x1.width();
    float* values = room + n;
    std::copy_n(normal, n, values);
    if (to.factor.present()) {
      const float* smooth = to.factor.Load(frame, 0, room);
      BestRowLoops().multiply(values, values, smooth, n);
    }
    to.scale.Set(frame, row, 0, DivideByLargest(values, n));
    Store(frame, row, to, values);
  }

  void Store(const Frame& frame, int64_t row, const QuantisedRow& to, float* values) const {
    RoundToBytes(values, x1.width());
    to.y.Store(frame, row, values);
  }
};

struct NormArgs {
  const Operand &x1, &x2, &gamma;
  const Operand* beta;
  const Operand& sum;
  double epsilon;
};

template <class Arguments>
NormArgs TakeNorm(const Arguments& a, const Operand* beta) {
  return {.x1 = a.x1, .x2 = a.x2, .gamma = a.gamma, .beta = beta, .sum = a.x_out, .epsilon = a.epsilon};
}

// Shapes and types of what comes before quantisation. True: there is nothing to do.
bool BeginNorm(Plan& plan, const NormArgs& a, NormBody& body) {
  CheckExpertRank(plan, a.x1, 1, 8);
  const Shape& shape = a.x1.tensor->shape;
  const int64_t width = shape.back(0);
  if (a.gamma.shape() != Shape{width})
    RefuseExperts(plan, "gamma has other than the one dimension of x1's last: only rows are normalised here");
  for (const Operand* operand : {&a.x2, &a.sum}) CheckExpertShape(plan, *operand, shape);
  for (const Operand* operand : {&a.x2, &a.gamma, &a.sum}) {
    if (operand->dtype() != a.x1.dtype()) RefuseExperts(plan, "x1, x2, gamma and xOut have one type");
  }
  body.x1 = Rows(a.x1), body.x2 = Rows(a.x2), body.sum = Rows(a.sum), body.gamma = Rows(a.gamma);
  if (a.beta != nullptr && a.beta->present()) {
    CheckExpertShape(plan, *a.beta, {width});
    body.beta = Rows(*a.beta);
  }
  body.epsilon = static_cast<float>(a.epsilon);
  return a.x1.tensor->empty();
}

void EndNorm(Plan& plan, NormBody& body) {
  const int64_t width = body.x1.width();
  body.room = {plan, body.x1.count(), RowGrain(width), 3 * width};
  plan.SetCost(500 + static_cast<uint64_t>(body.x1.count() * width) * 2);
  plan.SetBody(body);
}

}  // namespace

namespace kernels {

void AddRmsNormQuant(Plan& plan, DType, const AddRmsNormQuantArguments& a) {
  NormBody body{};
  const bool empty = BeginNorm(plan, TakeNorm(a, nullptr), body);
  if (a.axis != -1) RefuseExperts(plan, "axis is not -1, the only one that there is");
  body.divides = a.div_mode;
  const Operand* scales[] = {&a.scales1, &a.scales2};
  const Operand* zeros[] = {&a.zero_points1, &a.zero_points2};
  const Operand* outs[] = {&a.y1_out, &a.y2_out};
  for (size_t i = 0; i < 2; ++i) {
    if (!scales[i]->present()) {
      if (zeros[i]->present()) RefuseExperts(plan, "zeroPoints2 is given without scales2");
      continue;  // this result is left as it is
    }
    CheckExpertShape(plan, *outs[i], a.x1.shape());
    CheckExpertShape(plan, *scales[i], a.gamma.shape());
    if (zeros[i]->present()) CheckExpertShape(plan, *zeros[i], a.gamma.shape());
    body.results[i] = {Rows(*outs[i]), Rows(*scales[i]), Rows(*zeros[i]), Rows()};
  }
  if (!empty) EndNorm(plan, body);
}

void AddRmsNormDynamicQuantV2(Plan& plan, DType, const AddRmsNormDynamicQuantV2Arguments& a) {
  NormBody body{};
  const bool empty = BeginNorm(plan, TakeNorm(a, &a.beta), body);
  if (!a.output_mask.empty() &&
      (a.output_mask.size() != 2 || (a.output_mask[0] == 0 && a.output_mask[1] == 0)))
    RefuseExperts(plan, "outputMask holds two truth values, one of them true");
  body.dynamic = true;
  const bool asked[] = {
      a.output_mask.empty() || a.output_mask[0] != 0,
      a.output_mask.empty() ? a.smooth_scale1.present() && a.smooth_scale2.present() : a.output_mask[1] != 0};
  const Operand* smooth[] = {&a.smooth_scale1, &a.smooth_scale2};
  const Operand* outs[] = {&a.y1_out, &a.y2_out};
  const Operand* scales[] = {&a.scale1_out, &a.scale2_out};
  const Shape rows = Shape::Of(a.x1.tensor->shape.data(), a.x1.shape().rank() - 1);
  for (size_t i = 0; i < 2; ++i) {
    if (!asked[i]) continue;
    CheckExpertShape(plan, *outs[i], a.x1.shape());
    CheckExpertShape(plan, *scales[i], rows);
    if (smooth[i]->present()) CheckExpertShape(plan, *smooth[i], a.gamma.shape());
    body.results[i] = {Rows(*outs[i]), Rows(*smooth[i]), Rows(), Rows(*scales[i], true)};
  }
  if (!empty) EndNorm(plan, body);
}

}  // namespace kernels
}  // namespace belay::ops
