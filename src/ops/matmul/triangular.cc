// Triangular systems of equations, by substitution in f64.
#include "base/error.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/loop_nest.h"
#include "ops/scratch.h"
#include "ops/sequence.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

struct MatrixAt {
  int64_t row, column;  // bytes

  double Get(const char* at, int64_t i, int64_t j, DType type) const {
    const char* from = at + i * row + j * column;
    return type == DType::kF64 ? *reinterpret_cast<const double*>(from)
                               : *reinterpret_cast<const float*>(from);
  }
  void Set(char* at, int64_t i, int64_t j, DType type, double value) const {
    char* to = at + i * row + j * column;
    if (type == DType::kF64) {
      *reinterpret_cast<double*>(to) = value;
    } else {
      *reinterpret_cast<float*>(to) = static_cast<float>(value);
    }
  }
};

struct SolveBody {
  enum { kX, kB, kA, kOperands };

  LoopNest batches;
  int bindings[kOperands];
  MatrixAt matrices[kOperands];
  int64_t n, columns;
  PieceScratch<double> column;  // of the solution
  DType type;
  bool lower, transpose, unit;  // lower: of the matrix that counts, which may be the transpose

  void operator()(const Frame& frame) const {
    char* base[kOperands];
    for (int k = 0; k < kOperands; ++k) base[k] = frame.at[bindings[k]] + batches.offset(k);
    column.For(frame, [&](int64_t begin, int64_t end, double* x) {
      batches.Walk(base, begin, end, [&](char** at, int64_t count) {
        for (int64_t i = 0; i < count; ++i) {
          Solve(at[0] + i * batches.step(0), at[1] + i * batches.step(1), at[2] + i * batches.step(2), x);
        }
      });
    });
  }

  double Factor(const char* a, int64_t i, int64_t j) const {
    return transpose ? matrices[kA].Get(a, j, i, type) : matrices[kA].Get(a, i, j, type);
  }

  void Solve(char* to, const char* b, const char* a, double* x) const {
    for (int64_t c = 0; c < columns; ++c) {
      for (int64_t step = 0; step < n; ++step) {
        const int64_t i = lower ? step : n - 1 - step;
        double rest = matrices[kB].Get(b, i, c, type);
        for (int64_t k = 0; k < step; ++k) {
          const int64_t j = lower ? k : n - 1 - k;
          rest -= Factor(a, i, j) * x[j];
        }
        x[i] = unit ? rest : rest / Factor(a, i, i);
      }
      for (int64_t i = 0; i < n; ++i) matrices[kX].Set(to, i, c, type, x[i]);
    }
  }
};

// The shape of the solution: the batches of both broadcast.
Shape SolutionShape(const Operand& b, const Operand& a) {
  const Shape &x = b.shape(), &m = a.shape();
  if (x.rank() < 2 || m.rank() < 2 || m.back(0) != m.back(1) || m.back(0) != x.back(1)) {
    Fail(tensor::kInvalidArgument, "op-matrix-shape",
         "{} has shape {} and {} has {}; A needs as many rows and columns as self has rows", b.name,
         x.ToString(), a.name, m.ToString());
  }
  std::optional<Shape> batch =
      BroadcastShapes(Shape::Of(x.data(), x.rank() - 2), Shape::Of(m.data(), m.rank() - 2));
  if (!batch) {
    Fail(tensor::kInvalidArgument, "op-matrix-shape", "the batches of {} {} and {} {} do not broadcast",
         b.name, x.ToString(), a.name, m.ToString());
  }
  batch->push_back(x.back(1));
  batch->push_back(x.back(0));
  return *batch;
}

void PlanSolve(Plan& plan, const Operand& b, const Operand& a, bool lower, bool transpose, bool unit,
               const Operand& x) {
  SolveBody body{};
  const Operand* operands[] = {&x, &b, &a};
  Tensor heads[SolveBody::kOperands];
  for (int k = 0; k < SolveBody::kOperands; ++k) {
    const Tensor& t = *operands[k]->tensor;
    const int rank = t.shape.rank();
    heads[k] = tensor::WithoutDim(tensor::WithoutDim(t, rank - 1), rank - 2);
    body.bindings[k] = operands[k]->binding;
    body.matrices[k] = {tensor::StepOf(t, rank - 2), tensor::StepOf(t, rank - 1)};
  }
  body.batches = LoopNest(heads[0].shape, {Operand{&heads[0]}, Operand{&heads[1]}, Operand{&heads[2]}});
  body.n = a.shape().back(0), body.columns = b.shape().back(0);
  body.column = {plan, body.batches.count(), LoopNest::kGrain, body.n};
  body.type = x.dtype();
  body.lower = lower != transpose, body.transpose = transpose, body.unit = unit;
  plan.SetCost(100 + static_cast<uint64_t>(x.tensor->count() * body.n));
  plan.SetBody(body);
}

}  // namespace

namespace kernels {

void TriangularSolve(Plan& plan, DType, const Operand& self, const Operand& a, bool upper, bool transpose,
                     bool unit, const Operand& x, const Operand& m) {
  for (const Operand* operand : {&a, &x, &m}) CheckSameType(self, *operand);
  CheckShape(x, SolutionShape(self, a));
  if (!BroadcastsTo(a.shape(), m.shape())) CheckShape(m, a.shape());
  Sequence parts(plan);
  if (!x.tensor->empty())
    parts.Add([&](Plan& part) { PlanSolve(part, self, a, !upper, transpose, unit, x); });
  if (!m.tensor->empty()) parts.Add([&](Plan& part) { Copy(part, a.dtype(), a, m); });
  parts.Finish();
}

}  // namespace kernels
}  // namespace belay::ops
