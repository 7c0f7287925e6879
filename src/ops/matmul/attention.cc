#include "ops/matmul/attention.h"

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/kernels.h"
#include "ops/matmul/gemm.h"
#include "ops/norm/softmax_loops.h"
#include "ops/scratch.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

// One operand; strides and the offset count elements.
struct Matrices {
  int binding = -1;
  int64_t offset = 0, outer = 0, inner = 0, row = 0, column = 0;

  Matrices() = default;
  explicit Matrices(const Operand& operand) : binding(operand.binding), offset(operand.tensor->offset) {
    const auto& strides = operand.tensor->strides;
    outer = strides[0], inner = strides[1], row = strides[2], column = strides[3];
  }
  float* At(const Frame& frame, int64_t i, int64_t j) const {
    return reinterpret_cast<float*>(frame.at[binding]) + offset + i * outer + j * inner;
  }
  GemmMatrix AsGemm(const float* at, int64_t rows, int64_t columns) const {
    if (column == 1) return {at, rows == 1 ? columns : row, false};
    return {at, columns == 1 ? rows : column, true};
  }
};

struct AttentionBody {
  Matrices query, key, value, mask, out;
  int64_t batches, inner;  // all of them, and those of the second dimension
  int64_t m, n, d, v;
  int64_t rows, blocks;       // of a block of rows, which is computed at once; how many a batch has
  PieceScratch<float> parts;  // the rows of a block scaled, their scores and the sums of those
  float scale;
  GemmFunction multiply;
  const SoftmaxLoops<float>* loops;

  void operator()(const Frame& frame) const {
    parts.For(frame, [&](int64_t begin, int64_t end, float* buffer) {
      for (int64_t part = begin; part < end; ++part) Block(frame, part, buffer);
    });
  }

  void Block(const Frame& frame, int64_t part, float* scaled) const {
    const int64_t i = part / blocks / inner, j = part / blocks % inner;
    const int64_t first = part % blocks * rows, count = std::min(rows, m - first);
    float *scores = scaled + rows * d, *sums = scores + rows * n;
    const float* q = query.At(frame, i, j) + first * query.row;
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t k = 0; k < d; ++k) scaled[r * d + k] = q[r * query.row + k] * scale;
    }
    Multiply({count,
              n,
              d,
              {scaled, d, false},
              key.AsGemm(key.At(frame, i, j), d, n),
              scores,
              n,
              GemmType::kF32,
              GemmType::kF32});
    if (mask.binding >= 0) AddMask(mask.At(frame, i, j) + first * mask.row, scores, count);
    for (int64_t r = 0; r < count; ++r) {
      float* row = scores + r * n;
      sums[r] = loops->exp_sum(row, row, loops->max(row, n), n);
    }
    // The quotients of the softmax are left to the result, whose rows are shorter.
    float* to = out.At(frame, i, j) + first * out.row;
    Multiply({count,
              v,
              n,
              {scores, n, false},
              value.AsGemm(value.At(frame, i, j), n, v),
              to,
              out.row,
              GemmType::kF32,
              GemmType::kF32});
    for (int64_t r = 0; r < count; ++r) loops->scale(to + r * out.row, 1 / sums[r], v);
  }

  void AddMask(const float* from, float* scores, int64_t count) const {
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t k = 0; k < n; ++k) scores[r * n + k] += from[r * mask.row + k * mask.column];
    }
  }

  void Multiply(const Gemm& gemm) const {
    if (multiply(gemm)) return;
    Fail(tensor::kRuntimeFailure, "matmul-backend", "{} refused a product of {} x {} x {}", BestGemm().name,
         gemm.m, gemm.k, gemm.n);
  }

  // Blocks whose scores stay in the cache, of enough rows for fast products, and enough of them for the
  // cores.
  void Divide(Plan& plan) {
    constexpr int64_t kScores = 32 * 1024, kLeastRows = 32;
    const int64_t width = ParallelWidth(), each = (width + batches - 1) / batches;
    rows = std::min(m, std::max({kLeastRows, kScores / n}));
    if (m / each >= kLeastRows) rows = std::min(rows, (m + each - 1) / each);
    blocks = (m + rows - 1) / rows;
    constexpr int64_t kWorthSplitting = 2'000'000;  // multiplications
    const int64_t grain = std::max<int64_t>(1, kWorthSplitting / (rows * n * (d + v)));
    parts = {plan, batches * blocks, grain, rows * (d + n + 1)};
  }
};

}  // namespace

void PlanAttention(Plan& plan, const AttentionArgs& args) {
  if (args.out.tensor->empty()) return;
  if (args.value.shape()[2] == 0)  // rows that see nothing
    return kernels::Zero(plan, args.out.dtype(), args.out);
  AttentionBody body{};
  body.query = Matrices(args.query), body.key = Matrices(args.key), body.value = Matrices(args.value);
  body.out = Matrices(args.out);
  if (args.mask.present()) body.mask = Matrices(args.mask);
  const Shape &q = args.query.shape(), &v = args.value.shape();
  body.batches = q[0] * q[1], body.inner = q[1];
  body.m = q[2], body.d = q[3], body.n = v[2], body.v = v[3];
  body.scale = args.scale;
  body.multiply = BestGemm().run;
  body.loops = &BestSoftmaxLoopsF32();
  body.Divide(plan);
  const int64_t products = body.batches * body.m * body.n * (body.d + body.v);
  plan.SetProducts(products);
  plan.SetCost(1000 + static_cast<uint64_t>(products) / 64);
  plan.SetBody(body);
}

}  // namespace belay::ops
