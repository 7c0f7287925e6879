// A product of matrices that is added to something.
#include <algorithm>
#include <memory>

#include "base/error.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/loop_nest.h"
#include "ops/matmul/general_product.h"
#include "ops/matmul/linear.h"
#include "ops/pipeline.h"
#include "ops/rules.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// to += by * x, eight at a time, which the compiler puts into vectors.
void AddScaled(float* __restrict to, const float* __restrict x, float by, int64_t n) {
  constexpr int64_t kTogether = 8;
  int64_t i = 0;
  for (; i + kTogether <= n; i += kTogether) {
    for (int64_t j = 0; j < kTogether; ++j) to[i + j] += by * x[i + j];
  }
  for (; i < n; ++i) to[i] += by * x[i];
}

struct AddProductBody {
  std::shared_ptr<PlanRef> product;  // mat1 x mat2 into the workspace, as f32
  int mat1, mat2, self, out, more;
  int64_t inner_at;  // the product's own workspace
  LoopNest nest;     // out, product, self, more
  Lane self_lane, out_lane, more_lane;
  float alpha, beta;

  void operator()(const Frame& frame) const {
    char* sums = frame.workspace;
    if (alpha != 0) {
      char* at[] = {frame.at[mat1], frame.at[mat2], sums};
      (*product)->Run({at, frame.workspace + inner_at});
    }
    char* base[4] = {frame.at[out] + nest.offset(0), sums, self < 0 ? sums : frame.at[self] + nest.offset(2),
                     more < 0 ? sums : frame.at[more] + nest.offset(3)};
    nest.WalkAll(
        base, [this](char** at, int64_t n) { Row(at, n); }, [] {});
  }

  void Row(char** at, int64_t n) const {
    alignas(64) float sum[kBlock], added[kBlock];
    for (int64_t i = 0; i < n; i += kBlock) {
      const int64_t count = std::min(kBlock, n - i);
      const char* from = at[1] + i * nest.step(1);
      std::fill_n(sum, count, 0.0f);
      if (alpha != 0 && nest.step(1) == sizeof(float)) {
        AddScaled(sum, reinterpret_cast<const float*>(from), alpha, count);
      } else if (alpha != 0) {
        for (int64_t k = 0; k < count; ++k)
          sum[k] = alpha * *reinterpret_cast<const float*>(from + k * nest.step(1));
      }
      if (self >= 0 && beta != 0) {
        const auto* x = static_cast<const float*>(self_lane.Load(added, at[2] + i * nest.step(2), count));
        AddScaled(sum, x, beta, count);
      }
      if (more >= 0) {
        const auto* x = static_cast<const float*>(more_lane.Load(added, at[3] + i * nest.step(3), count));
        AddScaled(sum, x, 1, count);
      }
      out_lane.Store(at[0] + i * nest.step(0), sum, count, false);
    }
  }
};

}  // namespace

void PlanAddProduct(Plan& plan, const AddProductArgs& args) {
  const Shape shape = rules::AnyMatrix(args.mat1, args.mat2);
  if (shape != args.out.shape() || (args.self.present() && !BroadcastsTo(args.self.shape(), shape)) ||
      (args.more.present() && args.more.shape() != shape)) {
    Fail(tensor::kInvalidArgument, "op-matrix-shape",
         "the product has the shape {}; {} has {}, and what is added must broadcast to it", shape.ToString(),
         args.out.name, args.out.shape().ToString());
  }
  if (args.out.tensor->empty()) return;
  Tensor sums = PackedOf(DType::kF32, shape);
  auto product = std::make_shared<PlanRef>(NewPlan("product"));
  Operand mat1 = args.mat1, mat2 = args.mat2;
  mat1.binding = (*product)->Bind(mat1.tensor, Access::kRead, "mat1", 0, 0);
  mat2.binding = (*product)->Bind(mat2.tensor, Access::kRead, "mat2", 1, 0);
  Operand into{&sums, nullptr, (*product)->Bind(&sums, Access::kWrite, "product", 2, 0), "product"};
  const DType type = rules::Promote(mat1, mat2, into);
  kernels::Matmul(**product, type, mat1, mat2, args.math_type, into);

  Tensor nothing = PackedOf(DType::kF32, Shape{});
  Operand self = args.self.present() ? args.self : Operand{&nothing};
  Operand more = args.more.present() ? args.more : Operand{&nothing};
  AddProductBody body{.product = product,
                      .mat1 = args.mat1.binding,
                      .mat2 = args.mat2.binding,
                      .self = args.self.present() ? args.self.binding : -1,
                      .out = args.out.binding,
                      .more = args.more.present() ? args.more.binding : -1,
                      .inner_at = WorkspacePart(sums.count() * 4),
                      .nest = LoopNest(shape, {args.out, Operand{&sums}, self, more}),
                      .self_lane = {},
                      .out_lane = {},
                      .more_lane = {},
                      .alpha = static_cast<float>(args.alpha),
                      .beta = static_cast<float>(args.beta)};
  body.self_lane = Lane(self.dtype(), DType::kF32, body.nest.step(2));
  body.more_lane = Lane(more.dtype(), DType::kF32, body.nest.step(3));
  body.out_lane = Lane(args.out.dtype(), DType::kF32, body.nest.step(0));
  plan.SetWorkspace(static_cast<uint64_t>(body.inner_at) + (*product)->workspace_bytes());
  plan.SetCost((*product)->cost() + static_cast<uint64_t>(sums.count()));
  plan.SetBody(body);
}

namespace kernels {

void Addmm(Plan& plan, DType, const Operand& self, const Operand& mat1, const Operand& mat2,
           const Scalar& beta, const Scalar& alpha, const Operand& out, int64_t math_type) {
  if (IsGeneralProduct(mat1.dtype()) || IsGeneralProduct(mat2.dtype()))
    return PlanGeneralProduct(plan, {self, mat1, mat2, out, &beta, &alpha});
  PlanAddProduct(plan, {self, mat1, mat2, out, beta.ToDouble(), alpha.ToDouble(), math_type});
}

// The matrices of a batch side by side times those one below the other: one product has all of the sum.
void Addbmm(Plan& plan, DType compute, const Operand& self, const Operand& batch1, const Operand& batch2,
            const Scalar& beta, const Scalar& alpha, const Operand& out, int64_t math_type) {
  const Shape &a = batch1.shape(), &b = batch2.shape();
  if (a.rank() != 3 || b.rank() != 3 || a[0] != b[0] || a[2] != b[1]) {
    Fail(tensor::kInvalidArgument, "op-matrix-shape",
         "{} has shape {} and {} has {}; these are batches of as many matrices that can be multiplied",
         batch1.name, a.ToString(), batch2.name, b.ToString());
  }
  CheckShape(out, {a[1], b[2]});
  if (out.tensor->empty()) return;
  Tensor turned = *batch1.tensor;
  turned.shape = {a[1], a[0], a[2]};
  turned.strides = {batch1.tensor->strides[1], batch1.tensor->strides[0], batch1.tensor->strides[2]};
  const Tensor beside = PackedOf(batch1.dtype(), turned.shape), below = PackedOf(batch2.dtype(), b);
  const Operand left{&turned, nullptr, batch1.binding, batch1.name};
  PlanThrough(
      plan, beside, {&left, &batch2, &self}, out,
      [&](Plan& part, const auto& in, const Operand& to) { Copy(part, beside.dtype, in[0], to); },
      [&](Plan& part, const auto& in, const Operand& first, const Operand& result) {
        PlanThrough(
            part, below, {&first, &in[1], &in[2]}, result,
            [&](Plan& step, const auto& x, const Operand& to) { Copy(step, below.dtype, x[1], to); },
            [&](Plan& step, const auto& x, const Operand& second, const Operand& to) {
              const Tensor wide = PackedOf(beside.dtype, {a[1], a[0] * a[2]}),
                           high = PackedOf(below.dtype, {a[0] * a[2], b[2]});
              Addmm(step, compute, x[2], {&wide, nullptr, x[0].binding, batch1.name},
                    {&high, nullptr, second.binding, batch2.name}, beta, alpha, to, math_type);
            });
      });
}

void Addmv(Plan& plan, DType, const Operand& self, const Operand& mat, const Operand& vec,
           const Scalar& alpha, const Scalar& beta, const Operand& out, int64_t math_type) {
  if (IsGeneralProduct(mat.dtype()) || IsGeneralProduct(vec.dtype()))
    return PlanGeneralProduct(plan, {self, mat, vec, out, &beta, &alpha});
  PlanAddProduct(plan, {self, mat, vec, out, beta.ToDouble(), alpha.ToDouble(), math_type});
}

}  // namespace kernels
}  // namespace belay::ops
