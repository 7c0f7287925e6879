// Products of small integers, summed exactly, times the scales of their columns and rows; and scales as a
// card's product reads them.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/float_copy.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/layout/moves.h"
#include "ops/loop_nest.h"
#include "ops/matmul/integer.h"
#include "ops/matmul/packed_scale.h"
#include "ops/matmul/panels.h"
#include "ops/matmul/small_factor.h"
#include "ops/pipeline.h"
#include "ops/quant/quant_loops.h"
#include "ops/quant/small_numbers.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

[[noreturn]] void Refuse(const char* why) { Fail(tensor::kInvalidArgument, "quant-product", "{}", why); }

// The matrices of one operand. Strides in elements, of four bits where `four_bits`.
struct ByteMatrices {
  int binding = -1;
  int64_t rows = 0, columns = 0, row_step = 0, column_step = 0, offset = 0;
  std::vector<int64_t> batches;  // where the matrix of each product begins
  bool four_bits = false;
  int64_t at = 0;  // of a packed copy in the workspace

  bool packed() const { return !four_bits && column_step == 1 && (row_step == columns || rows == 1); }
  ByteMatrices Transposed() const {
    ByteMatrices turned = *this;
    std::swap(turned.rows, turned.columns);
    std::swap(turned.row_step, turned.column_step);
    return turned;
  }

  char* Load(const Frame& frame, size_t batch) const {
    char* from = frame.at[binding];
    const int64_t first = offset + batches[batch];
    if (packed()) return from + first;
    char* to = frame.workspace + at;
    ParallelFor(rows, std::max<int64_t>(1, 65536 / (columns + 1)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Row(from, first + i * row_step, to + i * columns);
    });
    return to;
  }

  void Row(const char* from, int64_t first, char* to) const {
    const auto* bytes = reinterpret_cast<const uint8_t*>(from);
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t element = first + j * column_step;
      to[j] = four_bits ? static_cast<char>(NibbleAt(bytes, element)) : from[element];
    }
  }
};

// One number, or one for each column, as floats in the workspace; packed ones hold an offset as well.
struct ColumnFactors {
  FloatCopy floats;
  int binding = -1;  // of packed ones
  int64_t offset = 0, step = 0, count = 0;
  int64_t at = 0;

  const float* Load(const Frame& frame) const {
    auto* to = reinterpret_cast<float*>(frame.workspace + at);
    if (binding < 0) {
      floats.Load(to, frame);
    } else {
      for (int64_t i = 0; i < count; ++i) to[i] = ScaleOf(Packed(frame, i));
    }
    return to;
  }
  uint64_t Packed(const Frame& frame, int64_t i) const {
    uint64_t packed;
    std::memcpy(&packed, frame.at[binding] + offset + i * step, sizeof(packed));
    return packed;
  }
  int64_t Index(int64_t column) const { return count == 1 ? 0 : column; }
};

struct QuantProductBody {
  std::shared_ptr<PlanRef> product;  // bytes to sums, but of panels
  ByteMatrices left, right;          // what is multiplied; turned round where `turned`
  PanelPlace panels;
  bool turned = false;
  int64_t m = 0, n = 0, k = 0;
  ColumnFactors scale, offset;
  FloatCopy row_scale, bias;
  int64_t row_scale_at = 0, bias_at = 0, sums_at = 0, inner_at = 0;
  int whole_bias = -1;  // binding of a bias of INT32
  int64_t bias_offset = 0, bias_step = 0, bias_batch = 0;
  int out = -1;
  std::vector<int64_t> outs;  // bytes: where each result begins
  int64_t out_row = 0, out_column = 0;
  Lane lane;
  bool to_bytes = false, to_sums = false;

  void operator()(const Frame& frame) const {
    const float* by = scale.Load(frame);
    const float* plus = offset.count != 0 ? offset.Load(frame) : nullptr;
    if (row_scale.present()) row_scale.Load(Floats(frame, row_scale_at), frame);
    if (bias.present()) bias.Load(Floats(frame, bias_at), frame);
    for (size_t i = 0; i < outs.size(); ++i) {
      Sum(frame, i);
      ParallelFor(m, std::max<int64_t>(1, 16384 / (n + 1)), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) Row(frame, i, row, by, plus);
      });
    }
  }

  static float* Floats(const Frame& frame, int64_t at) {
    return reinterpret_cast<float*>(frame.workspace + at);
  }

  void Sum(const Frame& frame, size_t batch) const {
    char* sums = frame.workspace + sums_at;
    if (k == 0) {
      std::memset(sums, 0, static_cast<size_t>(m * n) * sizeof(int32_t));
      return;
    }
    if (panels.present()) return SumPanels(frame, batch, reinterpret_cast<int32_t*>(sums));
    char* at[] = {left.Load(frame, batch), right.Load(frame, batch), sums};
    (*product)->Run({at, frame.workspace + inner_at});
  }

  void SumPanels(const Frame& frame, size_t batch, int32_t* sums) const {
    const auto* x = reinterpret_cast<const uint8_t*>(left.Load(frame, batch));
    auto* moved = reinterpret_cast<uint8_t*>(frame.workspace + inner_at);
    constexpr int64_t kMoved = 65536;  // bytes that are worth another core
    ParallelFor(m * k, kMoved,
                [&](int64_t begin, int64_t end) { MoveBytes(x + begin, end - begin, moved + begin); });
    constexpr int64_t kHigh = 256, kColumns = 256, kWorthACore = 1 << 18;
    const int64_t across = (n + kColumns - 1) / kColumns, parts = (m + kHigh - 1) / kHigh * across;
    const int64_t each = std::min(m, kHigh) * std::min(n, kColumns) * k;
    ParallelFor(parts, std::max<int64_t>(1, kWorthACore / each), [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const int64_t r = part / across * kHigh, c = part % across * kColumns;
        BestBytePanels()({std::min(kHigh, m - r), std::min(kColumns, n - c), k, moved + r * k, k,
                          panels.From(frame, 0, c, right.batches[batch]), sums + r * n + c, n, Moved(0)});
      }
    });
  }

  void Row(const Frame& frame, size_t batch, int64_t row, const float* by, const float* plus) const {
    const auto* sums = reinterpret_cast<const int32_t*>(frame.workspace + sums_at);
    sums += turned ? row : row * n;
    const int64_t step = turned ? m : 1;
    const float row_by = row_scale.present() ? Floats(frame, row_scale_at)[row] : 1;
    const float* added = Floats(frame, bias_at) + (bias_batch != 0 ? static_cast<int64_t>(batch) * n : 0);
    char* to = frame.at[out] + outs[batch] + row * out_row;
    if (to_sums) return SumsOf(frame, batch, sums, step, to);
    float values[kBlock];
    for (int64_t first = 0; first < n; first += kBlock) {
      const int64_t count = std::min(kBlock, n - first);
      if (step == 1 && whole_bias < 0) {
        BestQuantLoops().scale_sums(values, sums + first, by + scale.Index(first), scale.count == 1 ? 0 : 1,
                                    row_by, count);
      } else {
        for (int64_t j = 0; j < count; ++j)
          values[j] = Scaled(frame, batch, first + j, sums[(first + j) * step], by) * row_by;
      }
      if (bias.present()) {
        for (int64_t j = 0; j < count; ++j) values[j] += added[first + j];
      }
      if (to_bytes) {
        for (int64_t j = 0; j < count; ++j) values[j] = Byte(frame, first + j, values[j], plus);
      }
      lane.Store(to + first * lane.step(), values, count, false);
    }
  }

  float Scaled(const Frame& frame, size_t batch, int64_t column, int64_t sum, const float* by) const {
    return static_cast<float>(Biased(frame, batch, column, sum)) * by[scale.Index(column)];
  }

  int64_t Biased(const Frame& frame, size_t batch, int64_t column, int64_t sum) const {
    if (whole_bias < 0) return sum;
    int32_t more;
    const int64_t at = bias_offset + static_cast<int64_t>(batch) * bias_batch + column * bias_step;
    std::memcpy(&more, frame.at[whole_bias] + at, sizeof(more));
    return sum + more;
  }

  // A row of sums as they are.
  void SumsOf(const Frame& frame, size_t batch, const int32_t* sums, int64_t step, char* to) const {
    for (int64_t column = 0; column < n; ++column) {
      const auto sum = static_cast<int32_t>(Biased(frame, batch, column, sums[column * step]));
      std::memcpy(to + column * out_column, &sum, sizeof(sum));
    }
  }

  float Byte(const Frame& frame, int64_t column, float value, const float* plus) const {
    if (plus != nullptr) {
      value += plus[offset.Index(column)];
    } else if (scale.binding >= 0) {
      value += OffsetIn(scale.Packed(frame, scale.Index(column)));
    }
    return RoundedToByte(value);
  }
};

void CheckRank(const Operand& operand) {
  const int rank = operand.shape().rank();
  if (rank >= 2 && rank <= 6) return;
  Fail(tensor::kInvalidArgument, "op-matrix-shape", "{} has shape {}; a matrix has two to six dimensions",
       operand.name, operand.shape().ToString());
}

// Element offsets of the matrices for each index of `batch`, to which theirs broadcast.
std::vector<int64_t> BatchesOf(const Tensor& t, const Shape& batch) {
  const Tensor outer = tensor::DimsOf(t, 0, t.shape.rank() - 2);
  return OffsetsOf(batch, tensor::BroadcastStrides(outer.shape, outer.strides, batch), 1);
}

ByteMatrices MatricesOf(const Operand& operand, const Factor& factor, const Shape& batch) {
  const Tensor& t = factor.tensor;
  ByteMatrices found;
  found.binding = operand.binding;
  found.rows = factor.rows(), found.columns = factor.columns();
  found.row_step = t.strides.back(1), found.column_step = t.strides.back(0);
  found.offset = t.offset;
  found.batches = BatchesOf(t, batch);
  found.four_bits = t.dtype == DType::kI4;
  return found;
}

ColumnFactors ColumnsOf(const Operand& operand, int64_t n) {
  const Shape& shape = operand.shape();
  const int64_t count = operand.tensor->count();
  const bool row = shape.rank() == 1 || (shape.rank() == 2 && shape[0] == 1);
  if (!row || (count != 1 && count != n)) {
    Fail(tensor::kInvalidArgument, "quant-factors",
         "{} has shape {}; it holds one number, or one for each of {} columns", operand.name,
         shape.ToString(), n);
  }
  ColumnFactors factors;
  factors.count = count;
  if (operand.dtype() != DType::kU64 && operand.dtype() != DType::kI64) {
    factors.floats = FloatCopy(operand);
    return factors;
  }
  factors.binding = operand.binding;
  factors.offset = tensor::OffsetOf(*operand.tensor);
  factors.step = tensor::StepOf(*operand.tensor, shape.rank() - 1);
  return factors;
}

struct QuantProductArgs {
  const Operand &x1, &x2, &row_scale, &scale, &offset, &bias, &out;
  bool transpose_x1, transpose_x2;
};

void CheckTypes(const QuantProductArgs& a) {
  if (a.x1.dtype() != a.x2.dtype())
    Refuse("x1 and x2 have one type: products of INT8 and INT4 are not there");
  const bool bytes = a.out.dtype() == DType::kI8, sums = a.out.dtype() == DType::kI32;
  if (sums && a.row_scale.present()) Refuse("results of INT32 are sums: they have no x1Scale");
  if (sums && a.bias.present() && a.bias.dtype() != DType::kI32)
    Refuse("results of INT32 have a bias of INT32");
  if (a.offset.present() && !bytes) Refuse("x2Offset is added to results of INT8 only");
  if (bytes && a.row_scale.present()) Refuse("results of INT8 have no x1Scale");
  if (bytes && a.bias.present() && a.bias.dtype() != DType::kI32)
    Refuse("results of INT8 have a bias of INT32");
}

// [n], or [batch, 1, n] where the result has three dimensions.
void SetBias(QuantProductBody& body, const Operand& bias, const Shape& out) {
  const Shape& shape = bias.shape();
  const bool by_batch = shape.rank() == 3;
  if (shape != Shape{body.n} && !(by_batch && out.rank() == 3 && shape == Shape{out[0], 1, body.n})) {
    Fail(tensor::kInvalidArgument, "quant-factors",
         "{} has shape {}; it is [{}], or [batch, 1, {}] for three dimensions", bias.name, shape.ToString(),
         body.n, body.n);
  }
  if (bias.dtype() != DType::kI32) {
    body.bias = FloatCopy(bias);
    body.bias_batch = by_batch ? 1 : 0;
    return;
  }
  body.whole_bias = bias.binding;
  body.bias_offset = tensor::OffsetOf(*bias.tensor);
  body.bias_step = tensor::StepOf(*bias.tensor, shape.rank() - 1);
  body.bias_batch = by_batch ? tensor::StepOf(*bias.tensor, 0) : 0;
}

// x1 x2, or of a transposed x2, whose rows lie side by side, the transposed product of what is transposed.
void SetMatrices(QuantProductBody& body, const QuantProductArgs& a) {
  const Shape& out = a.out.shape();
  body.m = out.back(1), body.n = out.back(0);
  const Factor x1 = FactorOf(a.x1, a.transpose_x1, body.m, -1);
  body.k = x1.columns();
  const Factor x2 = FactorOf(a.x2, a.transpose_x2, body.k, body.n);
  const Shape batch = Shape::Of(out.data(), out.rank() - 2);
  const auto batch_of = [](const Operand& operand) {
    return Shape::Of(operand.tensor->shape.data(), operand.tensor->shape.rank() - 2);
  };
  if (BroadcastShapes(batch_of(a.x1), batch_of(a.x2)) != batch) {
    Fail(tensor::kInvalidArgument, "op-matrix-shape",
         "the batches of {} {} and {} {} do not broadcast to those of out {}", a.x1.name,
         a.x1.shape().ToString(), a.x2.name, a.x2.shape().ToString(), out.ToString());
  }
  body.left = MatricesOf(a.x1, x1, batch), body.right = MatricesOf(a.x2, x2, batch);
  if (PanelsMultiply(a.x1.dtype(), a.x2)) {
    const PanelPlace weights(a.x2, 0);
    body.panels = a.transpose_x2 ? weights.Transposed() : weights;
    if (body.panels.rows == body.k && body.panels.columns == body.n) return;
    body.panels = {};
  }
  body.turned = body.right.row_step == 1 && body.right.column_step != 1;
  if (!body.turned) return;
  std::swap(body.left, body.right);
  body.left = body.left.Transposed(), body.right = body.right.Transposed();
}

void SetResults(QuantProductBody& body, const Operand& out) {
  const Tensor& t = *out.tensor;
  body.out = out.binding;
  body.outs = BatchesOf(t, Shape::Of(t.shape.data(), t.shape.rank() - 2));
  const auto bytes = static_cast<int64_t>(BytesOf(t.dtype));
  for (int64_t& at : body.outs) at = (at + t.offset) * bytes;
  body.out_row = t.strides.back(1) * bytes;
  body.out_column = t.strides.back(0) * bytes;
  body.to_sums = t.dtype == DType::kI32;
  if (!body.to_sums) body.lane = Lane(t.dtype, DType::kF32, body.out_column);
  body.to_bytes = t.dtype == DType::kI8;
}

void PlanSums(Plan& plan, QuantProductBody& body) {
  const Tensor left = tensor::PackedOf(DType::kI8, {body.left.rows, body.left.columns});
  const Tensor right = tensor::PackedOf(DType::kI8, {body.right.rows, body.right.columns});
  const Tensor sums = tensor::PackedOf(DType::kI32, {body.left.rows, body.right.columns});
  int64_t at = 0;
  const auto take = [&](int64_t bytes) { return std::exchange(at, at + WorkspacePart(bytes)); };
  body.left.at = take(body.left.packed() ? 0 : left.count());
  body.right.at = take(body.right.packed() || body.panels.present() ? 0 : right.count());
  body.sums_at = take(sums.count() * 4);
  body.scale.at = take(body.scale.count * 4), body.offset.at = take(body.offset.count * 4);
  body.row_scale_at = take(body.m * 4);
  body.bias_at = take(body.bias.present() ? static_cast<int64_t>(body.outs.size()) * body.n * 4 : 0);
  body.inner_at = at;
  if (body.panels.present()) {
    const int64_t products = left.count() * body.n * static_cast<int64_t>(body.outs.size());
    plan.SetWorkspace(static_cast<uint64_t>(at + left.count()));
    plan.SetProducts(products);
    return plan.SetCost(500 + static_cast<uint64_t>(products / 200 + sums.count()));
  }
  IntegerProductArgs args;
  args.a = {&left, nullptr, 0, "x1"}, args.b = {&right, nullptr, 1, "x2"};
  args.out = {&sums, nullptr, 2, "out"};
  body.product = std::make_shared<PlanRef>(NewPlan("product"));
  PlanIntegerProduct(**body.product, args);
  plan.SetWorkspace(static_cast<uint64_t>(at) + (*body.product)->workspace_bytes());
  plan.SetProducts((*body.product)->products() * static_cast<int64_t>(body.outs.size()));
  plan.SetCost((*body.product)->cost() * body.outs.size() + static_cast<uint64_t>(sums.count()));
}

void PlanQuantProduct(Plan& plan, const QuantProductArgs& a) {
  for (const Operand* operand : {&a.x1, &a.x2, &a.out}) CheckRank(*operand);
  CheckTypes(a);
  QuantProductBody body;
  SetMatrices(body, a);
  body.scale = ColumnsOf(a.scale, body.n);
  if (a.offset.present()) body.offset = ColumnsOf(a.offset, body.n);
  if (a.row_scale.present()) {
    CheckShape(a.row_scale, {body.m});
    body.row_scale = FloatCopy(a.row_scale);
  }
  if (a.bias.present()) SetBias(body, a.bias, a.out.shape());
  if (a.out.tensor->empty()) return;
  SetResults(body, a.out);
  PlanSums(plan, body);
  plan.SetBody(body);
}

struct PackBody {
  LoopNest nest;  // out, scale, offset
  int bindings[3];

  void operator()(const Frame& frame) const {
    char* base[3];
    for (int i = 0; i < 3; ++i) base[i] = bindings[i] < 0 ? nullptr : frame.at[bindings[i]] + nest.offset(i);
    nest.WalkAll(
        base,
        [this](char** at, int64_t n) {
          for (int64_t i = 0; i < n; ++i) {
            uint64_t packed = PackScale(Float(at[1] + i * nest.step(1)));
            if (bindings[2] >= 0) packed |= PackOffset(Float(at[2] + i * nest.step(2)));
            std::memcpy(at[0] + i * nest.step(0), &packed, sizeof(packed));
          }
        },
        [] {});
  }

  static float Float(const char* at) {
    float value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
};

}  // namespace

namespace kernels {

void QuantMatmulV5(Plan& plan, DType, const QuantMatmulV5Arguments& a) {
  // torch-npu passes tensors without elements for what is not there.
  for (const Operand* none : {&a.y_scale, &a.x1_offset, &a.y_offset}) {
    if (!none->present() || none->tensor->empty()) continue;
    Fail(tensor::kInvalidArgument, "quant-product",
         "{} is given, which products of INT8 and INT4 do not have", none->name);
  }
  if (a.group_size != 0) Refuse("groupSize is not 0: scales of groups of what is summed over are not there");
  PlanQuantProduct(plan, {.x1 = a.x1,
                          .x2 = a.x2,
                          .row_scale = a.x1_scale,
                          .scale = a.x2_scale,
                          .offset = a.x2_offset,
                          .bias = a.bias,
                          .out = a.out,
                          .transpose_x1 = a.transpose_x1,
                          .transpose_x2 = a.transpose_x2});
}

void TransQuantParamV2(Plan& plan, DType, const Operand& scale, const Operand& offset, const Operand& out) {
  const auto wanted =
      offset.present() ? BroadcastShapes(scale.shape(), offset.shape()) : std::optional(scale.shape());
  if (!wanted) Refuse("scale and offset do not broadcast to one another");
  CheckShape(out, *wanted);
  if (out.tensor->empty()) return;
  PackBody body;
  body.nest = LoopNest(out.shape(), {out, scale, offset.present() ? offset : scale});
  body.bindings[0] = out.binding, body.bindings[1] = scale.binding;
  body.bindings[2] = offset.present() ? offset.binding : -1;
  plan.SetCost(20 + static_cast<uint64_t>(out.tensor->count()));
  plan.SetBody(body);
}

}  // namespace kernels
}  // namespace belay::ops
