// Products of batches whose results lie batch beside batch, as attention brings latent vectors back to its
// heads.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/experts/experts.h"
#include "ops/experts/rows.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/matmul/packed_scale.h"
#include "ops/through.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// Rows times a packed scale for each column, as bytes.
struct ScaledBytesBody {
  Rows rows, bytes;
  Indices scales;
  int scales_at;

  void operator()(const Frame& frame) const {
    const std::span<const int64_t> packed = scales.Read(frame, scales_at);
    ParallelFor(rows.count(), RowGrain(rows.width()), [&](int64_t begin, int64_t end) {
      alignas(64) float block[kBlock], scaled[kBlock];
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t first = 0; first < rows.width(); first += kBlock) {
          const int64_t n = std::min(kBlock, rows.width() - first);
          const float* from = rows.Load(frame, i, first, n, block);
          for (int64_t k = 0; k < n; ++k) {
            const auto scale = static_cast<uint64_t>(packed[static_cast<size_t>(first + k)]);
            scaled[k] =
                std::clamp(std::nearbyint(from[k] * ScaleOf(scale)) + OffsetIn(scale), -128.0f, 127.0f);
          }
          bytes.Store(frame, i, first, n, scaled);
        }
      }
    });
  }
};

bool IsOrder(std::span<const int64_t> order, std::initializer_list<int64_t> wanted) {
  return std::equal(order.begin(), order.end(), wanted.begin(), wanted.end());
}

Tensor Turned(const Tensor& t) {  // the first two of three dimensions
  Tensor view = t;
  std::swap(view.shape[0], view.shape[1]);
  std::swap(view.strides[0], view.strides[1]);
  return view;
}

// Results [rows, batches, columns], packed or as `out` lies, of x [batches, rows, inner].
void PlanBatches(Plan& plan, DType compute, const Operand& x, const Operand& weight, int64_t cube,
                 const Operand& out) {
  const Tensor by_batch = Turned(*out.tensor);
  kernels::Matmul(plan, compute, x, weight, cube, {&by_batch, nullptr, out.binding, out.name});
}

Tensor InPieces(const Tensor& packed, int64_t rows,
                int64_t pieces) {  // [rows, all] as [pieces, rows, all / pieces]
  const int64_t all = packed.count() / std::max<int64_t>(rows, 1), width = all / pieces;
  Tensor view = packed;
  view.shape = {pieces, rows, width};
  view.strides = {width, all, 1};
  return view;
}

}  // namespace

namespace kernels {

void TransposeBatchMatMul(Plan& plan, DType, const TransposeBatchMatMulArguments& a) {
  if (a.bias.present()) RefuseExperts(plan, "biasOptional is not there yet; pass null");
  if (!IsOrder(a.perm_x1, {0, 1, 2}) && !IsOrder(a.perm_x1, {1, 0, 2}))
    RefuseExperts(plan, "permX1 is 0, 1, 2 or 1, 0, 2");
  if (!IsOrder(a.perm_x2, {0, 1, 2})) RefuseExperts(plan, "permX2 is 0, 1, 2");
  if (!IsOrder(a.perm_y, {1, 0, 2})) RefuseExperts(plan, "permY is 1, 0, 2");
  CheckExpertRank(plan, a.x1, 3, 3);
  CheckExpertRank(plan, a.x2, 3, 3);
  CheckSameType(a.x1, a.x2);
  const Tensor left = a.perm_x1[0] == 0 ? *a.x1.tensor : Turned(*a.x1.tensor);
  const int64_t batches = left.shape[0], rows = left.shape[1], columns = a.x2.shape()[2];
  CheckExpertShape(plan, a.x2, {batches, left.shape[2], columns});
  if (a.batch_split_factor < 1 || batches * columns % a.batch_split_factor != 0)
    RefuseExperts(plan, "batchSplitFactor divides the elements of a row of the result");
  const Operand x{&left, nullptr, a.x1.binding, a.x1.name};
  const Shape product{rows, batches, columns};
  if (a.scale.present()) {
    if (a.batch_split_factor != 1) RefuseExperts(plan, "with scaleOptional batchSplitFactor is 1");
    if (a.out.dtype() != DType::kI8) RefuseExperts(plan, "with scaleOptional the result is of ACL_INT8");
    CheckExpertShape(plan, a.scale, {batches * columns});
    CheckExpertShape(plan, a.out, {rows, 1, batches * columns});
    if (a.out.tensor->empty()) return;
    return PlanThrough(
        plan, tensor::PackedOf(DType::kF32, product), {&x, &a.x2, &a.scale}, a.out,
        [&](Plan& part, const auto& in, const Operand& between) {
          PlanBatches(part, a.x1.dtype(), in[0], in[1], a.cube_math_type, between);
        },
        [&](Plan& part, const auto& in, const Operand& between, const Operand& to) {
          const Tensor flat = InPieces(*between.tensor, rows, 1);
          const Rows from(Operand{&flat, nullptr, between.binding, between.name});
          part.SetCost(static_cast<uint64_t>(flat.count()));
          part.SetBody(ScaledBytesBody{from, Rows(to), Indices(part, *in[2].tensor), in[2].binding});
        });
  }
  CheckSameType(a.x1, a.out);
  if (a.batch_split_factor == 1) {
    CheckExpertShape(plan, a.out, product);
    if (a.out.tensor->empty()) return;
    return PlanBatches(plan, a.x1.dtype(), x, a.x2, a.cube_math_type, a.out);
  }
  CheckExpertShape(plan, a.out, {a.batch_split_factor, rows, batches * columns / a.batch_split_factor});
  if (a.out.tensor->empty()) return;
  PlanThrough(
      plan, tensor::PackedOf(a.out.dtype(), product), {&x, &a.x2}, a.out,
      [&](Plan& part, const auto& in, const Operand& between) {
        PlanBatches(part, a.x1.dtype(), in[0], in[1], a.cube_math_type, between);
      },
      [&](Plan& part, const auto&, const Operand& between, const Operand& to) {
        const Tensor pieces = InPieces(*between.tensor, rows, a.batch_split_factor);
        Copy(part, to.dtype(), {&pieces, nullptr, between.binding, between.name}, to);
      });
}

}  // namespace kernels
}  // namespace belay::ops
