// Products with weights of small integers: the weights become floats in the workspace, then it is a product
// as any.
#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/error.h"
#include "ops/float_copy.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/matmul/linear.h"
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
  body.weights_at = body.shift.at +
                    WorkspacePart(a.antiquant_offset.present() ? a.antiquant_offset.tensor->count() * 4 : 0);
  body.inner_at = body.weights_at + WorkspacePart(w.count() * 4);
  body.offset = w.offset, body.row_step = w.strides[0], body.column_step = w.strides[1];
  body.four_bits = w.dtype == DType::kI4;
  body.x = a.x.binding, body.weight = a.weight.binding, body.out = a.out.binding;
  body.bias = a.bias.present() ? a.bias.binding : -1;

  const Tensor floats = tensor::PackedOf(DType::kF32, w.shape);
  body.product = std::make_shared<PlanRef>(NewPlan("product"));
  AddProductArgs args;
  args.mat1 = {a.x.tensor, nullptr, 0, a.x.name};
  args.mat2 = {&floats, nullptr, 1, a.weight.name};
  if (a.bias.present()) args.self = {a.bias.tensor, nullptr, 2, a.bias.name};
  args.out = {a.out.tensor, nullptr, 3, a.out.name};
  PlanAddProduct(**body.product, args);
  if (a.out.tensor->empty()) return;
  plan.SetWorkspace(static_cast<uint64_t>(body.inner_at) + (*body.product)->workspace_bytes());
  body.room = {plan, body.rows, std::max<int64_t>(1, 65536 / std::max<int64_t>(body.columns, 1)),
               2 * body.columns + (body.columns + 3) / 4};
  plan.SetCost((*body.product)->cost() + static_cast<uint64_t>(w.count()));
  plan.SetBody(body);
}

// The same with weights that may lie in a card's tiles.
template <class Arguments>
void PlanAnyWeight(Plan& plan, const Arguments& a) {
  Untiled untiled(plan);
  const Operand plain = untiled.Plain(a.weight);
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
