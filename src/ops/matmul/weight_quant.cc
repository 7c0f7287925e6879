// Products with weights of small integers: panels are made of these where the processor has the instructions,
// else the weights become floats in the workspace, and it is a product as any.
#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/experts/rows.h"
#include "ops/float_copy.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/matmul/linear.h"
#include "ops/matmul/panels.h"
#include "ops/matmul/small_factor.h"
#include "ops/matmul/tiles.h"
#include "ops/quant/quant_loops.h"
#include "ops/quant/small_numbers.h"
#include "ops/scratch.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// The scales or offsets, as floats in the workspace.
struct Factors {
  FloatCopy values;
  int64_t at = 0;  // bytes
  int64_t group_step = 0, column_step = 0;

  void Load(const Frame& frame) const {
    if (values.present()) values.Load(reinterpret_cast<float*>(frame.workspace + at), frame);
  }
  float Get(const Frame& frame, int64_t group, int64_t column) const {
    return reinterpret_cast<const float*>(frame.workspace + at)[group * group_step + column * column_step];
  }
};

struct WeightQuantBody {
  std::shared_ptr<PlanRef> product;  // x, weights in the workspace, bias, out
  int x, weight, bias, out;
  Factors scale, shift;
  int64_t rows, columns, group;           // of the weights
  int64_t offset, row_step, column_step;  // in elements
  bool four_bits;
  int64_t weights_at, inner_at;  // bytes
  PieceScratch<float> room;

  void operator()(const Frame& frame) const {
    scale.Load(frame);
    shift.Load(frame);
    room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
      const RowRoom own{mine, mine + columns, reinterpret_cast<int8_t*>(mine + 2 * columns)};
      for (int64_t i = begin; i < end; ++i) {
        if (i == begin || i % group == 0) TakeGroup(frame, i / group, own);
        Row(frame, i, own);
      }
    });
    char* at[] = {frame.at[x], frame.workspace + weights_at, bias < 0 ? nullptr : frame.at[bias],
                  frame.at[out]};
    (*product)->Run({at, frame.workspace + inner_at});
  }

  // The numbers of a group's columns, what is subtracted before they are scaled, and a row of bytes.
  struct RowRoom {
    float *by, *minus;
    int8_t* bytes;
  };

  void TakeGroup(const Frame& frame, int64_t i, const RowRoom& own) const {
    for (int64_t j = 0; j < columns; ++j) {
      own.by[j] = scale.Get(frame, i, j);
      own.minus[j] = shift.values.present() ? -shift.Get(frame, i, j) : 0;
    }
  }

  void Row(const Frame& frame, int64_t i, const RowRoom& own) const {
    const auto* from = reinterpret_cast<const uint8_t*>(frame.at[weight]);
    const int64_t first = offset + i * row_step;
    const auto* bytes = reinterpret_cast<const int8_t*>(from) + first;
    if (four_bits || column_step != 1) {
      for (int64_t j = 0; j < columns; ++j) own.bytes[j] = Value(from, first + j * column_step);
      bytes = own.bytes;
    }
    float* to = reinterpret_cast<float*>(frame.workspace + weights_at) + i * columns;
    BestQuantLoops().dequantize[static_cast<int>(QuantType::kI8)](to, bytes, own.by, own.minus, 1, columns,
                                                                  {});
  }

  int8_t Value(const uint8_t* from, int64_t element) const {
    return static_cast<int8_t>(four_bits ? NibbleAt(from, element) : from[element]);
  }
};

// The same by panels, which are made of the weights as they lie.
struct WeightPanelsBody {
  WeightPanels product;
  int x, out;
  int64_t m, n, x_at, x_row, x_column, out_at, out_row;  // bytes
  Lane lane;
  Rows bias;
  Factors scale, shift;
  int64_t rows_at, sums_at;  // bytes
  PieceScratch<float> room;

  static constexpr int64_t kHigh = 256, kColumns = 256;
  static int64_t Parts(int64_t m, int64_t n) {
    return (m + kHigh - 1) / kHigh * ((n + kColumns - 1) / kColumns);
  }

  uint16_t* RowsOfX(const Frame& frame, int64_t row) const {
    return reinterpret_cast<uint16_t*>(frame.workspace + rows_at) +
           row * product.each() * product.weights.rows;
  }
  float* SumsOfX(const Frame& frame, int64_t row) const {
    return reinterpret_cast<float*>(frame.workspace + sums_at) + row * product.groups();
  }

  void operator()(const Frame& frame) const {
    scale.Load(frame);
    shift.Load(frame);
    ParallelFor(m, std::max<int64_t>(1, 65536 / product.weights.rows), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        product.TakeRow(frame.at[x] + x_at + i * x_row, x_column, RowsOfX(frame, i), SumsOfX(frame, i));
    });
    const int64_t across = (n + kColumns - 1) / kColumns;
    room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
      for (int64_t part = begin; part < end; ++part)
        Block(frame, part / across * kHigh, part % across * kColumns, mine);
    });
  }

  void Block(const Frame& frame, int64_t row, int64_t column, float* mine) const {
    const int64_t high = std::min(kHigh, m - row), wide = std::min(kColumns, n - column);
    alignas(64) float by_row[kColumns], plus_row[kColumns];
    const auto factors = [&](int64_t group, const float** by, const float** plus) {
      for (int64_t j = 0; j < wide; ++j) by_row[j] = scale.Get(frame, group, column + j);
      *by = by_row;
      if (!product.shifts) return;
      for (int64_t j = 0; j < wide; ++j) plus_row[j] = shift.Get(frame, group, column + j);
      *plus = plus_row;
    };
    product.Multiply(frame, RowsOfX(frame, row), SumsOfX(frame, row), high, column, wide, mine, factors);
    const float* more = bias.present() ? bias.Load(frame, 0, column, wide, by_row) : nullptr;
    for (int64_t i = 0; i < high; ++i) {
      float* values = mine + i * wide;
      for (int64_t j = 0; more != nullptr && j < wide; ++j) values[j] += more[j];
      lane.Store(frame.at[out] + out_at + (row + i) * out_row + column * lane.step(), values, wide, false);
    }
  }
};

// One number; one for each column, as [n] or [1, n]; or [groups, n].
Factors FactorsOf(const Operand& operand, int64_t columns, int64_t groups) {
  Factors factors;
  const Shape& shape = operand.shape();
  const bool one = shape.rank() >= 1 && operand.tensor->count() == 1;
  const bool by_column = shape.rank() >= 1 && shape.back(0) == columns && operand.tensor->count() == columns;
  const bool by_group = shape.rank() == 2 && shape == Shape{groups, columns};
  if (!one && !by_column && !by_group) {
    Fail(tensor::kInvalidArgument, "quant-factors",
         "{} has shape {}; it holds one number, one for each of {} columns, or [{}, {}]", operand.name,
         shape.ToString(), columns, groups, columns);
  }
  factors.values = FloatCopy(operand);
  factors.column_step = one && columns != 1 ? 0 : 1;
  factors.group_step = by_group && groups > 1 ? columns : 0;
  return factors;
}

void RefuseRequantising(const Operand& scale, const Operand& offset) {
  for (const Operand* operand : {&scale, &offset}) {
    if (!operand->present()) continue;
    Fail(tensor::kInvalidArgument, "quant-result",
         "{} is given, but results are not quantised here; pass null", operand->name);
  }
}

// The weights as they are multiplied, of which eight may lie in each INT32.
Tensor WeightOf(const kernels::WeightQuantBatchMatmulArguments& a) {
  for (const Operand* operand : {&a.x, &a.weight}) {
    if (operand->shape().rank() == 2) continue;
    Fail(tensor::kInvalidArgument, "op-matrix-shape", "{} has shape {}; a matrix has two dimensions",
         operand->name, operand->shape().ToString());
  }
  const int64_t columns = a.out.shape().rank() == 2 ? a.out.shape()[1] : -1;
  const Factor weight = FactorOf(a.weight, false, a.x.shape()[1], columns);
  CheckShape(a.out, {a.x.shape()[0], weight.columns()});
  return weight.tensor;
}

// What a later version shares with the first one.
template <class Arguments>
kernels::WeightQuantBatchMatmulArguments FirstVersion(const Arguments& a, const Operand& weight) {
  return {.x = a.x,
          .weight = weight,
          .antiquant_scale = a.antiquant_scale,
          .antiquant_offset = a.antiquant_offset,
          .quant_scale = a.quant_scale,
          .quant_offset = a.quant_offset,
          .bias = a.bias,
          .antiquant_group_size = a.antiquant_group_size,
          .out = a.out};
}

// Whether panels take such weights, and the plan of it.
bool PlanWeightPanels(Plan& plan, const kernels::WeightQuantBatchMatmulArguments& a, int64_t group,
                      const Factors& scale, const Factors& shift) {
  if (!PanelsMultiply(a.x.dtype(), a.weight)) return false;
  WeightPanelsBody body{};
  WeightPanels& product = body.product;
  product.weights = PanelPlace(a.weight, 0);
  const int64_t k = a.x.shape()[1];
  if (product.weights.rows != k || product.weights.columns != a.out.shape()[1] || k % group != 0)
    return false;
  if (group != k && group % product.weights.each() != 0) return false;
  product.depth = group, product.x = a.x.dtype(), product.shifts = shift.values.present();
  body.scale = scale, body.shift = shift;
  body.x = a.x.binding, body.out = a.out.binding, body.m = a.x.shape()[0], body.n = product.weights.columns;
  body.x_at = tensor::OffsetOf(*a.x.tensor), body.x_row = tensor::StepOf(*a.x.tensor, 0);
  body.x_column = tensor::StepOf(*a.x.tensor, 1);
  body.out_at = tensor::OffsetOf(*a.out.tensor), body.out_row = tensor::StepOf(*a.out.tensor, 0);
  body.lane = Lane(a.out.dtype(), DType::kF32, tensor::StepOf(*a.out.tensor, 1));
  if (a.bias.present()) body.bias = Rows(a.bias);
  const auto floats = static_cast<int64_t>(sizeof(float));
  body.rows_at =
      body.shift.at + WorkspacePart(shift.values.present() ? a.antiquant_offset.tensor->count() * floats : 0);
  body.sums_at = body.rows_at + WorkspacePart(body.m * product.each() * k * 2);
  plan.SetWorkspace(static_cast<uint64_t>(body.sums_at + WorkspacePart(body.m * product.groups() * floats)));
  const int64_t parts = WeightPanelsBody::Parts(body.m, body.n), products = body.m * body.n * k;
  constexpr int64_t kWorthACore = 1 << 17;
  constexpr int64_t kHigh = WeightPanelsBody::kHigh, kColumns = WeightPanelsBody::kColumns;
  body.room = {plan, parts, std::clamp<int64_t>(kWorthACore * parts / products, 1, parts), kHigh * kColumns};
  plan.SetProducts(products);
  plan.SetCost(500 + static_cast<uint64_t>(products / 100));
  plan.SetBody(body);
  return true;
}

void PlanWeightQuant(Plan& plan, const kernels::WeightQuantBatchMatmulArguments& a) {
  RefuseRequantising(a.quant_scale, a.quant_offset);
  if (a.antiquant_group_size < 0) {
    Fail(tensor::kInvalidArgument, "quant-group", "antiquantGroupSize is {}; it is 0 or the rows of a group",
         a.antiquant_group_size);
  }
  const Tensor w = WeightOf(a);
  WeightQuantBody body{};
  body.rows = w.shape[0], body.columns = w.shape[1];
  body.group = a.antiquant_group_size == 0 ? std::max<int64_t>(body.rows, 1) : a.antiquant_group_size;
  const int64_t groups = (body.rows + body.group - 1) / body.group;
  body.scale = FactorsOf(a.antiquant_scale, body.columns, groups);
  if (a.antiquant_offset.present()) body.shift = FactorsOf(a.antiquant_offset, body.columns, groups);
  body.shift.at = WorkspacePart(a.antiquant_scale.tensor->count() * 4);

  const Tensor floats = tensor::PackedOf(DType::kF32, w.shape);
  body.product = std::make_shared<PlanRef>(NewPlan("product"));
  AddProductArgs args;
  args.mat1 = {a.x.tensor, nullptr, 0, a.x.name};
  args.mat2 = {&floats, nullptr, 1, a.weight.name};
  if (a.bias.present()) args.self = {a.bias.tensor, nullptr, 2, a.bias.name};
  args.out = {a.out.tensor, nullptr, 3, a.out.name};
  PlanAddProduct(**body.product, args);
  if (a.out.tensor->empty()) return;
  if (w.count() != 0 && PlanWeightPanels(plan, a, body.group, body.scale, body.shift)) return;

  body.weights_at = body.shift.at +
                    WorkspacePart(a.antiquant_offset.present() ? a.antiquant_offset.tensor->count() * 4 : 0);
  body.inner_at = body.weights_at + WorkspacePart(w.count() * 4);
  body.offset = w.offset, body.row_step = w.strides[0], body.column_step = w.strides[1];
  body.four_bits = w.dtype == DType::kI4;
  body.x = a.x.binding, body.weight = a.weight.binding, body.out = a.out.binding;
  body.bias = a.bias.present() ? a.bias.binding : -1;
  plan.SetWorkspace(static_cast<uint64_t>(body.inner_at) + (*body.product)->workspace_bytes());
  body.room = {plan, body.rows, std::max<int64_t>(1, 65536 / std::max<int64_t>(body.columns, 1)),
               2 * body.columns + (body.columns + 3) / 4};
  plan.SetCost((*body.product)->cost() + static_cast<uint64_t>(w.count()));
  plan.SetBody(body);
}

// Whether panels will be made of weights in tiles, as they lie.
template <class Arguments>
bool ReadsTiles(const Arguments& a) {
  if (!PanelsMultiply(a.x.dtype(), a.weight) || a.x.shape().rank() != 2) return false;
  const PanelPlace place(a.weight, 0);
  const int64_t group = a.antiquant_group_size;
  return group <= 0 || (place.rows % group == 0 && (group == place.rows || group % place.each() == 0));
}

// The same with weights that may lie in a card's tiles.
template <class Arguments>
void PlanAnyWeight(Plan& plan, const Arguments& a) {
  Untiled untiled(plan);
  const Operand plain = ReadsTiles(a) ? a.weight : untiled.Plain(a.weight);
  PlanWeightQuant(untiled.inner(), FirstVersion(a, plain));
  untiled.Finish();
}

}  // namespace

namespace kernels {

void WeightQuantBatchMatmul(Plan& plan, DType, const WeightQuantBatchMatmulArguments& a) {
  PlanAnyWeight(plan, a);
}

void WeightQuantBatchMatmulV3(Plan& plan, DType, const WeightQuantBatchMatmulV3Arguments& a) {
  PlanAnyWeight(plan, a);
}

void WeightQuantBatchMatmulNz(Plan& plan, DType, const WeightQuantBatchMatmulNzArguments& a) {
  PlanAnyWeight(plan, a);
}

}  // namespace kernels
}  // namespace belay::ops
