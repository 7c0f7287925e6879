#include "graph/ops/chain.h"

#include <algorithm>

#include "graph/ops/bind.h"
#include "graph/translations.h"
#include "ops/elementwise/chain.h"
#include "ops/elementwise/unlisted.h"

namespace belay::graph::translate {
namespace {

namespace kernels = ops::kernels;

constexpr ChainOperator kOperators[] = {
    {"Abs", kernels::Abs},
    {"Ceil", kernels::Ceil},
    {"Erf", kernels::Erf},
    {"Floor", kernels::Floor},
    {"Gelu", kernels::Gelu},
    {"GeluTanh", kernels::GeluTanh},
    {"HardSwish", kernels::HardSwish},
    {"Neg", kernels::Neg},
    {"Reciprocal", kernels::Reciprocal},
    {"Relu", kernels::Relu},
    {"Rsqrt", kernels::Rsqrt},
    {"Sigmoid", kernels::Sigmoid},
    {"Sqrt", kernels::Sqrt},
    {"Square", kernels::Square},
    {"Tanh", kernels::Tanh},
    {"Add", nullptr, kernels::Plus},
    {"Div", nullptr, kernels::RealDiv},
    {"Maximum", nullptr, kernels::Maximum},
    {"Minimum", nullptr, kernels::Minimum},
    {"Mul", nullptr, kernels::Mul},
    {"RealDiv", nullptr, kernels::RealDiv},
    {"Sub", nullptr, kernels::Minus},
};

struct Link {
  const ChainOperator* what;
  bool value_second;
  int operand;  // the input beside the value; 0: none
};

std::vector<Link> StepsOf(const Translation& node) {
  std::vector<Link> steps;
  const std::string text = node.String("steps");
  int operand = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    std::string_view name(text.data() + at, end - at);
    const bool second = name.ends_with('\'');
    if (second) name.remove_suffix(1);
    const ChainOperator* what = FindChainOperator(name);
    if (what == nullptr) node.Refuse("there is no step '" + std::string(name) + "'");
    const bool beside = what->binary != nullptr;
    if (beside && !node.has(++operand)) node.Refuse("step '" + std::string(name) + "' has no operand");
    steps.push_back({what, second, beside ? operand : 0});
    at = end + 1;
  }
  if (steps.empty()) node.Refuse("it has no steps");
  return steps;
}

// The longest row that an operand repeats itself in; 1: none does.
int64_t CommonRow(const Translation& node, const std::vector<Link>& steps) {
  int64_t common = 1;
  for (const Link& step : steps) {
    if (step.operand == 0) continue;
    const int64_t row = RowOf(node.shape(step.operand), node.shape(0));
    const bool fits =
        row >= 0 && (row <= 1 || common == 1 || row == common) && node.dtype(step.operand) == DType::kF32;
    if (!fits) node.Refuse("an operand does not fit the rows of x");
    common = std::max(common, row);
  }
  return common;
}

ops::PlanRef PlanStep(const Translation& node, const Link& step, int64_t rows, int64_t row) {
  ops::PlanRef plan = ops::NewPlan("FusedPointwise");
  Tensor block = node.in(0);
  block.shape = {rows, row}, block.strides = {row, 1};
  Tensor beside = block;
  Operand x = Read(*plan, block, "x"), other;
  if (step.operand > 0) {
    const int64_t size = RowOf(node.shape(step.operand), node.shape(0));
    if (size > 0) beside.shape = {size}, beside.strides = {1};
    other = Read(*plan, beside, "operand");
  }
  const Operand y = Write(*plan, block, "y");
  if (step.what->unary != nullptr) {
    step.what->unary(*plan, DType::kF32, x, y);
  } else {
    step.what->binary(*plan, DType::kF32, step.value_second ? other : x, step.value_second ? x : other, y);
  }
  return plan;
}

std::vector<ops::PlanRef> PlanSteps(const Translation& node, const std::vector<Link>& steps, int64_t rows,
                                    int64_t row) {
  std::vector<ops::PlanRef> plans;
  for (const Link& step : steps) {
    if (rows > 0) plans.push_back(PlanStep(node, step, rows, row));
  }
  return plans;
}

}  // namespace

const ChainOperator* FindChainOperator(const Node& node) {
  if (node.type != "GeluV2") return FindChainOperator(node.type);
  const auto* approximate = FindAttribute<std::string>(node, "approximate");
  return FindChainOperator(approximate != nullptr && *approximate == "tanh" ? "GeluTanh" : "Gelu");
}

const ChainOperator* FindChainOperator(std::string_view type) {
  const auto* found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                   [&](const auto& o) { return o.type == type; });
  return found == std::end(kOperators) ? nullptr : found;
}

int64_t RowOf(const Shape& value, const Shape& shape) {
  if (value == shape) return 0;
  int64_t row = 1;
  bool whole = true;  // so far from the end
  if (value.rank() > shape.rank()) return -1;
  for (int i = 0; i < value.rank(); ++i) {
    if (whole && value.back(i) == shape.back(i)) {
      row *= value.back(i);
    } else if (value.back(i) == 1) {
      whole = false;
    } else {
      return -1;
    }
  }
  return row;
}

void FusedPointwise(Translation& node) {
  if (node.dtype(0) != DType::kF32) node.Refuse("x must be float");
  const std::vector<Link> steps = StepsOf(node);
  const int64_t row = CommonRow(node, steps);
  const Tensor out = node.Out(0, DType::kF32, node.shape(0));
  if (out.count() == 0) return;
  node.Step("FusedPointwise", [&](ops::Plan& plan) {
    ops::ChainArgs args{ReadFrom(plan, node.in(0), "x"), {}, out.count() / row, row, {}};
    for (const Link& step : steps) {
      ops::ChainStep& made = args.steps.emplace_back();
      if (step.operand == 0) continue;
      const bool whole = RowOf(node.shape(step.operand), node.shape(0)) == 0;
      made = {whole ? ops::Spread::kWhole : ops::Spread::kRows,
              ReadFrom(plan, node.in(step.operand), "operand")};
    }
    args.out = WrittenTo(plan, out, "y");
    const int64_t block = ops::ChainBlockRows(args.rows, row);
    ops::PlanChain(plan, args, PlanSteps(node, steps, block, row),
                   PlanSteps(node, steps, args.rows % block, row));
  });
}

}  // namespace belay::graph::translate
