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

void TransposeBatchMatMul(Plan& plan, DType, const Operand& x1, const Operand& x2, const Operand& bias,
                          const Operand& scale, std::span<const int64_t> permX1,
                          std::span<const int64_t> permX2, std::span<const int64_t> permY,
                          int64_t cubeMathType, int64_t batchSplitFactor, const Operand& out) {
  if (bias.present()) RefuseExperts(plan, "biasOptional is not there yet; pass null");
  if (!IsOrder(permX1, {0, 1, 2}) && !IsOrder(permX1, {1, 0, 2}))
    RefuseExperts(plan, "permX1 is 0, 1, 2 or 1, 0, 2");
  if (!IsOrder(permX2, {0, 1, 2})) RefuseExperts(plan, "permX2 is 0, 1, 2");
  if (!IsOrder(permY, {1, 0, 2})) RefuseExperts(plan, "permY is 1, 0, 2");
  CheckExpertRank(plan, x1, 3, 3);
  CheckExpertRank(plan, x2, 3, 3);
  CheckSameType(x1, x2);
  const Tensor left = permX1[0] == 0 ? *x1.tensor : Turned(*x1.tensor);
  const int64_t batches = left.shape[0], rows = left.shape[1], columns = x2.shape()[2];
  CheckExpertShape(plan, x2, {batches, left.shape[2], columns});
  if (batchSplitFactor < 1 || batches * columns % batchSplitFactor != 0)
    RefuseExperts(plan, "batchSplitFactor divides the elements of a row of the result");
  const Operand x{&left, nullptr, x1.binding, x1.name};
  const Shape product{rows, batches, columns};
  if (scale.present()) {
    if (batchSplitFactor != 1) RefuseExperts(plan, "with scaleOptional batchSplitFactor is 1");
    if (out.dtype() != DType::kI8) RefuseExperts(plan, "with scaleOptional the result is of ACL_INT8");
    CheckExpertShape(plan, scale, {batches * columns});
    CheckExpertShape(plan, out, {rows, 1, batches * columns});
    if (out.tensor->empty()) return;
    return PlanThrough(
        plan, tensor::PackedOf(DType::kF32, product), {&x, &x2, &scale}, out,
        [&](Plan& part, const auto& in, const Operand& between) {
          PlanBatches(part, x1.dtype(), in[0], in[1], cubeMathType, between);
        },
        [&](Plan& part, const auto& in, const Operand& between, const Operand& to) {
          const Tensor flat = InPieces(*between.tensor, rows, 1);
          const Rows from(Operand{&flat, nullptr, between.binding, between.name});
          part.SetCost(static_cast<uint64_t>(flat.count()));
          part.SetBody(ScaledBytesBody{from, Rows(to), Indices(part, *in[2].tensor), in[2].binding});
        });
  }
  CheckSameType(x1, out);
  if (batchSplitFactor == 1) {
    CheckExpertShape(plan, out, product);
    if (out.tensor->empty()) return;
    return PlanBatches(plan, x1.dtype(), x, x2, cubeMathType, out);
  }
  CheckExpertShape(plan, out, {batchSplitFactor, rows, batches * columns / batchSplitFactor});
  if (out.tensor->empty()) return;
  PlanThrough(
      plan, tensor::PackedOf(out.dtype(), product), {&x, &x2}, out,
      [&](Plan& part, const auto& in, const Operand& between) {
        PlanBatches(part, x1.dtype(), in[0], in[1], cubeMathType, between);
      },
      [&](Plan& part, const auto&, const Operand& between, const Operand& to) {
        const Tensor pieces = InPieces(*between.tensor, rows, batchSplitFactor);
        Copy(part, to.dtype(), {&pieces, nullptr, between.binding, between.name}, to);
      });
}

}  // namespace kernels
}  // namespace belay::ops
