// Reductions, positions of extremes, and running sums.
#include "graph/ops/reduce.h"

#include "graph/ops/pointwise.h"
#include "graph/translations.h"

namespace belay::graph::translate {

uint32_t MaskOf(const Translation& node, const std::vector<int64_t>& axes, bool none_is_all) {
  int rank = node.shape(0).rank();
  if (axes.empty()) return none_is_all ? (1u << rank) - 1 : 0;
  uint32_t mask = 0;
  for (int64_t axis : axes) {
    int at = node.Axis(axis, std::max(rank, 1));
    if (rank > 0) mask |= 1u << at;
  }
  return mask;
}

Shape Left(const Shape& shape, uint32_t mask, bool keep) {
  Shape left;
  for (int i = 0; i < shape.rank(); ++i) {
    if (mask >> i & 1) {
      if (keep) left.push_back(1);
    } else {
      left.push_back(shape[i]);
    }
  }
  return left;
}

void RunReduce(Translation& node, const ops::Reduction& how, DType compute, uint32_t mask, const Tensor& x,
               const Tensor& out) {
  CommonType(node, x.dtype, x.dtype);
  node.Step("Reduce", [&](ops::Plan& plan) {
    Operand operand = Read(plan, x, "x");
    ops::PlanReduce(plan, how, compute, operand, mask, Write(plan, out, "y"));
  });
}

namespace {

using ops::Finish;
using ops::Fold;
using ops::Reduction;

constexpr Reduction kSum{};
constexpr Reduction kMean{.finish = Finish::kDivide};
constexpr Reduction kMax{.fold = Fold::kMax};
constexpr Reduction kMin{.fold = Fold::kMin};
constexpr Reduction kProd{.fold = Fold::kProduct};
constexpr Reduction kL1{.fold = Fold::kSumOfSizes};
constexpr Reduction kL2{.fold = Fold::kSumOfSquares, .finish = Finish::kRoot};
constexpr Reduction kLogSum{.finish = Finish::kLog};
constexpr Reduction kLogSumExp{.fold = Fold::kSumOfExps, .finish = Finish::kLog, .around_max = true};
constexpr Reduction kSumSquare{.fold = Fold::kSumOfSquares};

void Reduce(Translation& node, const Reduction& how, uint32_t mask, bool truth) {
  DType type = truth ? DType::kBool : node.dtype(0);
  Tensor out = node.Out(0, type, Left(node.shape(0), mask, node.Bool("keep_dims")));
  RunReduce(node, how, type, mask, node.in(0), out);
}

void ByInput(Translation& node, const Reduction& how, bool truth = false) {
  std::vector<int64_t> axes;
  if (node.has(1)) axes = node.ints(1);
  Reduce(node, how, MaskOf(node, axes, !node.Bool("noop_with_empty_axes")), truth);
}

void ByAttribute(Translation& node, const Reduction& how, bool truth = false) {
  Reduce(node, how, MaskOf(node, node.Ints("axes"), true), truth);
}

void ArgExtreme(Translation& node, bool largest, int64_t dimension, bool last) {
  int axis = node.Axis(dimension, std::max(node.shape(0).rank(), 1));
  uint32_t mask = node.shape(0).rank() == 0 ? 0 : 1u << axis;
  Tensor out = node.Out(0, node.Type("dtype"), Left(node.shape(0), mask, node.Bool("keep_dims")));
  CommonType(node, node.dtype(0), node.dtype(0));
  node.Step("Arg", [&](ops::Plan& plan) {
    Operand x = Read(plan, node.in(0), "x");
    ops::PlanArg(plan, {largest, last}, x, axis, {}, Write(plan, out, "y"));
  });
}

int64_t OneInt(const Translation& node, int input) {
  std::vector<int64_t> values = node.ints(input);
  if (values.size() != 1) node.Refuse("an axis is one number");
  return values[0];
}

void Running(Translation& node, bool product, int64_t dimension) {
  int axis = node.Axis(dimension, std::max(node.shape(0).rank(), 1));
  Tensor out = node.Out(0, node.dtype(0), node.shape(0));
  CommonType(node, node.dtype(0), node.dtype(0));
  ops::Scan scan{product, node.Bool("exclusive"), node.Bool("reverse")};
  node.Step("Scan", [&](ops::Plan& plan) {
    Operand x = Read(plan, node.in(0), "x");
    ops::PlanScan(plan, scan, node.dtype(0), x, axis, Write(plan, out, "y"));
  });
}

}  // namespace

void ReduceSum(Translation& node) { ByInput(node, kSum); }
void ReduceMean(Translation& node) { ByInput(node, kMean); }
void ReduceMax(Translation& node) { ByInput(node, kMax); }
void ReduceMin(Translation& node) { ByInput(node, kMin); }
void ReduceProd(Translation& node) { ByInput(node, kProd); }
void ReduceAll(Translation& node) { ByInput(node, kMin, true); }
void ReduceAny(Translation& node) { ByInput(node, kMax, true); }
void ReduceL1(Translation& node) { ByInput(node, kL1); }
void ReduceL2(Translation& node) { ByInput(node, kL2); }
void ReduceLogSum(Translation& node) { ByInput(node, kLogSum); }
void ReduceLogSumExp(Translation& node) { ByInput(node, kLogSumExp); }
void ReduceSumSquare(Translation& node) { ByInput(node, kSumSquare); }

void ReduceSumD(Translation& node) { ByAttribute(node, kSum); }
void ReduceMeanD(Translation& node) { ByAttribute(node, kMean); }
void ReduceMaxD(Translation& node) { ByAttribute(node, kMax); }
void ReduceMinD(Translation& node) { ByAttribute(node, kMin); }
void ReduceProdD(Translation& node) { ByAttribute(node, kProd); }
void ReduceAllD(Translation& node) { ByAttribute(node, kMin, true); }
void ReduceAnyD(Translation& node) { ByAttribute(node, kMax, true); }
void ReduceL1D(Translation& node) { ByAttribute(node, kL1); }
void ReduceL2D(Translation& node) { ByAttribute(node, kL2); }
void ReduceLogSumD(Translation& node) { ByAttribute(node, kLogSum); }
void ReduceLogSumExpD(Translation& node) { ByAttribute(node, kLogSumExp); }
void ReduceSumSquareD(Translation& node) { ByAttribute(node, kSumSquare); }

// y1 is the deviation, y2 the mean.
void ReduceStd(Translation& node) {
  uint32_t mask = MaskOf(node, node.Ints("dim"), true);
  Shape shape = Left(node.shape(0), mask, node.Bool("keepdim"));
  Reduction spread{.fold = Fold::kSumOfSquares,
                   .finish = Finish::kDivide,
                   .divisor = node.Bool("unbiased") ? -1.0 : 0.0,
                   .around_mean = true,
                   .root_of_quotient = true};
  RunReduce(node, spread, node.dtype(0), mask, node.in(0), node.Out(0, node.dtype(0), shape));
  if (node.output_count() > 1)
    RunReduce(node, kMean, node.dtype(0), mask, node.in(0), node.Out(1, node.dtype(0), shape));
}

void ArgMax(Translation& node) { ArgExtreme(node, true, OneInt(node, 1), node.Bool("select_last_index")); }
void ArgMin(Translation& node) { ArgExtreme(node, false, OneInt(node, 1), node.Bool("select_last_index")); }
void ArgMaxD(Translation& node) { ArgExtreme(node, true, node.Int("dimension"), false); }
void ArgMinD(Translation& node) { ArgExtreme(node, false, node.Int("dimension"), false); }

void Cumsum(Translation& node) { Running(node, false, OneInt(node, 1)); }
void CumsumD(Translation& node) { Running(node, false, node.Int("axis")); }
void Cumprod(Translation& node) { Running(node, true, OneInt(node, 1)); }

}  // namespace belay::graph::translate
