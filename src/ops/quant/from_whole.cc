// Whole numbers back to floats: of eight and four bits, and the sums of products of such.
#include <cstdint>
#include <span>

#include "ops/experts/experts.h"
#include "ops/experts/rows.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

// A number for each of the last dimension, or one for all.
struct ColumnFactors {
  Rows values;
  int64_t count = 0;

  ColumnFactors() = default;
  explicit ColumnFactors(const Operand& o) : values(o, true) {
    if (o.present()) count = o.tensor->count();
  }
  float At(const Frame& frame, int64_t i) const { return values.At(frame, count == 1 ? 0 : i, 0); }
  // All n of them to `to`; `none` where they are not there.
  void Spread(const Frame& frame, int64_t n, float none, float* to) const {
    for (int64_t i = 0; i < n; ++i) to[i] = values.present() ? At(frame, i) : none;
  }
};

constexpr int64_t kNibbles = 8;  // in a word of 32 bits

struct AntiQuantBody {
  Rows bytes, y;
  Indices words;  // instead of bytes
  int words_at = -1;
  ColumnFactors scale, shift;
  Scratch<float> factors;
  PieceScratch<float> room;
  bool squared;

  void operator()(const Frame& frame) const {
    const int64_t n = y.width();
    float *by = factors.At(frame), *plus = by + n;
    scale.Spread(frame, n, 1, by);
    shift.Spread(frame, n, 0, plus);
    for (int64_t i = 0; squared && i < n; ++i) by[i] *= by[i];
    std::span<const int64_t> packed;
    if (words_at >= 0) packed = words.Read(frame, words_at);
    room.For(frame, [&](int64_t begin, int64_t end, float* values) {
      for (int64_t row = begin; row < end; ++row) {
        const float* x = words_at < 0 ? bytes.Load(frame, row, values) : Nibbles(packed, row, values);
        for (int64_t i = 0; i < n; ++i) values[i] = (x[i] + plus[i]) * by[i];
        y.Store(frame, row, values);
      }
    });
  }

  // The numbers of a row, from the low bits on.
  const float* Nibbles(std::span<const int64_t> packed, int64_t row, float* values) const {
    const int64_t n = y.width();
    for (int64_t i = 0; i < n; ++i) {
      const auto word = static_cast<uint32_t>(packed[static_cast<size_t>((row * n + i) / kNibbles)]);
      const auto bits = static_cast<int>(word >> 4 * (i % kNibbles) & 15u);
      values[i] = static_cast<float>(bits < 8 ? bits : bits - 16);
    }
    return values;
  }
};

struct DequantBody {
  Indices x, whole_bias;
  int x_at, whole_bias_at = -1;
  Rows row_scale, out;
  ColumnFactors scale, bias;
  Scratch<float> factors;
  PieceScratch<float> room;

  void operator()(const Frame& frame) const {
    const int64_t n = out.width();
    float *by = factors.At(frame), *plus = by + n;
    scale.Spread(frame, n, 1, by);
    bias.Spread(frame, n, 0, plus);
    const std::span<const int64_t> sums = x.Read(frame, x_at);
    std::span<const int64_t> first;
    if (whole_bias_at >= 0) first = whole_bias.Read(frame, whole_bias_at);
    room.For(frame, [&](int64_t begin, int64_t end, float* values) {
      for (int64_t row = begin; row < end; ++row) {
        const float of_row = row_scale.present() ? row_scale.At(frame, row, 0) : 1;
        for (int64_t i = 0; i < n; ++i) {
          const int64_t sum =
              sums[static_cast<size_t>(row * n + i)] + (first.empty() ? 0 : first[static_cast<size_t>(i)]);
          values[i] = static_cast<float>(sum) * by[i] * of_row + plus[i];
        }
        out.Store(frame, row, values);
      }
    });
  }
};

void CheckWantedType(const Plan& plan, int64_t type, const Operand& out) {
  // torch-npu passes it in four bytes.
  if (static_cast<int32_t>(type) != static_cast<int32_t>(out.dtype()))
    RefuseExperts(plan, "the type that is asked for is not that of the result");
}

}  // namespace

namespace kernels {

void AscendAntiQuant(Plan& plan, DType, const Operand& x, const Operand& scale, const Operand& offset,
                     int64_t dstType, bool sqrtMode, const Operand& y) {
  CheckWantedType(plan, dstType, y);
  CheckExpertRank(plan, x, 1, 8);
  CheckExpertRank(plan, scale, 1, 1);
  Shape wanted = x.shape();
  const bool words = x.dtype() == DType::kI32;
  if (words && wanted.back(0) > INT64_MAX / kNibbles) RefuseExperts(plan, "x has too many columns");
  if (words) wanted.back(0) *= kNibbles;
  CheckExpertShape(plan, y, wanted);
  const int64_t n = wanted.back(0);
  if (scale.tensor->count() != 1) CheckExpertShape(plan, scale, {n});
  if (offset.present()) {
    CheckExpertShape(plan, offset, scale.shape());
    if (offset.dtype() != scale.dtype()) RefuseExperts(plan, "scale and offset have one type");
  }
  if (y.tensor->empty()) return;
  AntiQuantBody body;
  body.y = Rows(y), body.scale = ColumnFactors(scale), body.shift = ColumnFactors(offset);
  body.squared = sqrtMode;
  if (words) {
    body.words = Indices(plan, *x.tensor), body.words_at = x.binding;
  } else {
    body.bytes = Rows(x);
  }
  body.factors = {plan, 2 * n};
  body.room = {plan, body.y.count(), RowGrain(n), n};
  plan.SetCost(500 + static_cast<uint64_t>(y.tensor->count()));
  plan.SetBody(body);
}

void DequantBias(Plan& plan, DType, const Operand& x, const Operand& weightScale, const Operand& rowScale,
                 const Operand& bias, int64_t outputDtype, const Operand& out) {
  CheckWantedType(plan, outputDtype, out);
  CheckExpertRank(plan, x, 2, 2);
  const int64_t m = x.shape()[0], n = x.shape()[1];
  CheckExpertShape(plan, out, x.shape());
  CheckExpertShape(plan, weightScale, {n});
  if (rowScale.present()) CheckExpertShape(plan, rowScale, {m});
  if (bias.present()) CheckExpertShape(plan, bias, {n});
  if (out.tensor->empty()) return;
  DequantBody body;
  body.x = Indices(plan, *x.tensor), body.x_at = x.binding;
  body.out = Rows(out), body.row_scale = Rows(rowScale, true), body.scale = ColumnFactors(weightScale);
  if (bias.present() && bias.dtype() == DType::kI32) {
    body.whole_bias = Indices(plan, *bias.tensor), body.whole_bias_at = bias.binding;
  } else {
    body.bias = ColumnFactors(bias);
  }
  body.factors = {plan, 2 * n};
  body.room = {plan, m, RowGrain(n), n};
  plan.SetCost(500 + static_cast<uint64_t>(out.tensor->count()) * 2);
  plan.SetBody(body);
}

}  // namespace kernels
}  // namespace belay::ops
