// Sums of products over named dimensions. Two operands become one product of matrices; anything else is
// added up term by term.
#include "ops/einsum/einsum.h"

#include <algorithm>
#include <map>

#include "graph/ops/bind.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/forms.h"

namespace belay::graph::translate {
namespace {

// A view with a name for each dimension. The dimensions behind "..." are called '0', '1', ... from the last
// one on.
struct Term {
  std::string labels;
  Tensor view;

  int Find(char label) const {
    size_t at = labels.find(label);
    return at == std::string::npos ? -1 : static_cast<int>(at);
  }
};

std::string WithEllipsis(const Translation& node, const std::string& text, int rank) {
  size_t dots = text.find("...");
  if (dots == std::string::npos) return text;
  int hidden = rank - static_cast<int>(text.size() - 3);
  if (hidden < 0) node.Refuse("the equation names more dimensions than input '" + text + "' has");
  std::string labels;
  for (int d = hidden - 1; d >= 0; --d) labels += static_cast<char>('0' + d);
  return text.substr(0, dots) + labels + text.substr(dots + 3);
}

// A label that stands twice means the diagonal.
Term TermOf(Translation& node, const std::string& text, const Tensor& tensor) {
  std::string labels = WithEllipsis(node, text, tensor.shape.rank());
  if (static_cast<int>(labels.size()) != tensor.shape.rank()) {
    node.Refuse("the equation has '" + text + "' for an input of shape " + tensor.shape.ToString());
  }
  Term term{"", tensor};
  term.view.shape = term.view.strides = {};
  for (size_t i = 0; i < labels.size(); ++i) {
    auto d = static_cast<int>(i);
    int known = term.Find(labels[i]);
    if (known < 0) {
      term.labels += labels[i];
      term.view.shape.push_back(tensor.shape[d]);
      term.view.strides.push_back(tensor.strides[d]);
    } else {
      if (term.view.shape[known] != tensor.shape[d]) node.Refuse("a diagonal needs two equal sizes");
      term.view.strides[known] += tensor.strides[d];
    }
  }
  return term;
}

struct Equation {
  std::vector<Term> terms;
  std::string result;
  std::map<char, int64_t> sizes;
};

// Without an arrow the result has the hidden dimensions, then what stands in one place only, by alphabet.
std::string ImpliedResult(const std::vector<Term>& terms) {
  std::map<char, int> uses;
  int hidden = 0;
  for (const Term& term : terms) {
    for (char label : term.labels) {
      ++uses[label];
      if (label <= '9') hidden = std::max(hidden, label - '0' + 1);
    }
  }
  std::string result;
  for (int d = hidden - 1; d >= 0; --d) result += static_cast<char>('0' + d);
  for (auto [label, count] : uses) {
    if (label > '9' && count == 1) result += label;
  }
  return result;
}

int HiddenRank(const std::vector<Term>& terms) {
  int hidden = 0;
  for (const Term& term : terms) {
    for (char label : term.labels) hidden = std::max(hidden, label <= '9' ? label - '0' + 1 : 0);
  }
  return hidden;
}

Equation EquationOf(Translation& node) {
  std::string text = node.String("equation");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  size_t arrow = text.find("->");
  std::string inputs = text.substr(0, arrow) + ",";
  Equation equation;
  for (int i = 0; i < node.input_count(); ++i) {
    size_t comma = inputs.find(',');
    if (comma == std::string::npos) node.Refuse("the equation has fewer terms than there are inputs");
    Term term = TermOf(node, inputs.substr(0, comma), node.in(i));
    inputs.erase(0, comma + 1);
    for (size_t k = 0; k < term.labels.size(); ++k) {
      int64_t& size = equation.sizes.emplace(term.labels[k], 1).first->second;
      int64_t other = term.view.shape[static_cast<int>(k)];
      if (size != 1 && other != 1 && size != other)
        node.Refuse("the sizes of '" + term.labels.substr(k, 1) + "' differ");
      size = size == 1 ? other : size;
    }
    equation.terms.push_back(std::move(term));
  }
  if (!inputs.empty()) node.Refuse("the equation has more terms than there are inputs");
  equation.result = ImpliedResult(equation.terms);
  if (arrow != std::string::npos) {
    std::string wanted = text.substr(arrow + 2);
    int rank = HiddenRank(equation.terms) + static_cast<int>(wanted.size()) - 3;
    equation.result = WithEllipsis(node, wanted, rank);
  }
  if (equation.result.size() > tensor::kMaxRank) node.Refuse("more than eight dimensions are not supported");
  for (char label : equation.result) {
    if (equation.sizes.count(label) == 0) node.Refuse(std::string("no input has '") + label + "'");
    if (std::count(equation.result.begin(), equation.result.end(), label) != 1)
      node.Refuse("the result has a label twice");
  }
  return equation;
}

// The labels of a product of two: in both and kept, of the first only, of the second only, summed.
struct Roles {
  std::string batch, first, second, summed;
};

// False where the product is not one of matrices: a size that repeats, or a label to sum of one input only.
bool RolesOf(const Equation& equation, Roles* roles) {
  const Term& a = equation.terms[0];
  const Term& b = equation.terms[1];
  for (auto [label, size] : equation.sizes) {
    int in_a = a.Find(label), in_b = b.Find(label);
    bool kept = equation.result.find(label) != std::string::npos;
    if ((in_a >= 0 && a.view.shape[in_a] != size) || (in_b >= 0 && b.view.shape[in_b] != size)) return false;
    if (in_a >= 0 && in_b >= 0) {
      (kept ? roles->batch : roles->summed) += label;
    } else if (!kept) {
      return false;
    } else {
      (in_a >= 0 ? roles->first : roles->second) += label;
    }
  }
  return roles->batch.size() + roles->first.size() + roles->second.size() <= tensor::kMaxRank;
}

int64_t Product(const Equation& equation, const std::string& labels) {
  int64_t product = 1;
  for (char label : labels) product *= equation.sizes.at(label);
  return product;
}

Tensor Ordered(Translation& node, const Term& term, const std::string& labels, const Shape& shape) {
  std::vector<int64_t> order;
  for (char label : labels) order.push_back(term.Find(label));
  return Translation::Reshaped(node.Packed(Translation::Transposed(term.view, order)), shape);
}

void AsMatrices(Translation& node, const Equation& equation, const Roles& roles) {
  int64_t batch = Product(equation, roles.batch), rows = Product(equation, roles.first);
  int64_t columns = Product(equation, roles.second), depth = Product(equation, roles.summed);
  Tensor a = Ordered(node, equation.terms[0], roles.batch + roles.first + roles.summed, {batch, rows, depth});
  Tensor b =
      Ordered(node, equation.terms[1], roles.batch + roles.summed + roles.second, {batch, depth, columns});
  Tensor product = node.Temporary(node.dtype(0), {batch, rows, columns});
  node.Run(ops::forms::Matmul, {Arg(&a), Arg(&b), Arg(&product), Arg(int64_t{0})});
  std::string labels = roles.batch + roles.first + roles.second;
  Shape shape, result;
  std::vector<int64_t> order;
  for (char label : labels) shape.push_back(equation.sizes.at(label));
  for (char label : equation.result) {
    order.push_back(static_cast<int64_t>(labels.find(label)));
    result.push_back(equation.sizes.at(label));
  }
  Tensor out = node.Out(0, node.dtype(0), result);
  node.Copy(Translation::Transposed(Translation::Reshaped(product, shape), order), out);
}

void TermByTerm(Translation& node, const Equation& equation) {
  std::string labels = equation.result;
  for (auto [label, size] : equation.sizes) {
    if (labels.find(label) == std::string::npos) labels += label;
  }
  ops::LabelledSum sum;
  sum.result_labels = static_cast<int>(equation.result.size());
  Shape shape;
  for (char label : equation.result) shape.push_back(equation.sizes.at(label));
  for (char label : labels) sum.sizes.push_back(equation.sizes.at(label));
  for (const Term& term : equation.terms) {
    std::vector<int64_t> strides;
    for (char label : labels) {
      int d = term.Find(label);
      strides.push_back(d < 0 || term.view.shape[d] == 1 ? 0 : term.view.strides[d]);
    }
    sum.strides.push_back(std::move(strides));
  }
  Tensor out = node.Out(0, node.dtype(0), shape);
  node.Step("Einsum", [&](ops::Plan& plan) {
    ops::OperandList operands;
    for (int i = 0; i < node.input_count(); ++i) operands.push_back(ReadFrom(plan, node.in(i), "x"));
    ops::PlanLabelledSum(plan, operands, sum, WrittenTo(plan, out, "y"));
  });
}

}  // namespace

void Einsum(Translation& node) {
  Equation equation = EquationOf(node);
  for (int i = 1; i < node.input_count(); ++i) {
    if (node.dtype(i) != node.dtype(0)) node.Refuse("its inputs have different types");
  }
  DType dtype = node.dtype(0);
  Roles roles;
  bool cube = dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
  if (cube && equation.terms.size() == 2 && RolesOf(equation, &roles))
    return AsMatrices(node, equation, roles);
  TermByTerm(node, equation);
}

}  // namespace belay::graph::translate
