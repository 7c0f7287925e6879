// Sums of products over named dimensions. Operands are contracted in pairs, the cheapest first, each a
// product of matrices; what is none is added up term by term.
#include "ops/einsum/einsum.h"

#include <algorithm>
#include <map>
#include <utility>

#include "graph/ops/bind.h"
#include "graph/ops/integers.h"
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
  Tensor whole;  // the packed tensor that it is a view of

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
  Term term{"", tensor, tensor};
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
    if (in_a < 0 && in_b < 0) continue;  // it was summed before
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

int64_t SizeProduct(const Equation& equation, const std::string& labels) {
  int64_t product = 1;
  for (char label : labels) product *= equation.sizes.at(label);
  return product;
}

Tensor Ordered(Translation& node, const Term& term, const std::string& labels, const Shape& shape) {
  std::vector<int64_t> order;
  for (char label : labels) order.push_back(term.Find(label));
  return Translation::Reshaped(node.Packed(Translation::Transposed(term.view, order)), shape);
}

Shape ShapeOfLabels(const Equation& equation, const std::string& labels) {
  Shape shape;
  for (char label : labels) shape.push_back(equation.sizes.at(label));
  return shape;
}

// Types of which the backend has no products, but loops of ours.
bool IsExact(DType dtype) {
  return dtype == DType::kF64 || dtype == DType::kI32 || dtype == DType::kI64 || dtype == DType::kU32 ||
         dtype == DType::kU64;
}

void AsMatrices(Translation& node, const Equation& equation, const Roles& roles, const Tensor& out) {
  int64_t batch = SizeProduct(equation, roles.batch), rows = SizeProduct(equation, roles.first);
  int64_t columns = SizeProduct(equation, roles.second), depth = SizeProduct(equation, roles.summed);
  Tensor a = Ordered(node, equation.terms[0], roles.batch + roles.first + roles.summed, {batch, rows, depth});
  Tensor b =
      Ordered(node, equation.terms[1], roles.batch + roles.summed + roles.second, {batch, depth, columns});
  Tensor product = node.Temporary(out.dtype, {batch, rows, columns});
  if (IsExact(out.dtype)) {
    ExactProduct(node, a, b, product);
  } else {
    node.Run(ops::forms::Matmul, {Arg(&a), Arg(&b), Arg(&product), Arg(int64_t{0})});
  }
  std::string labels = roles.batch + roles.first + roles.second;
  std::vector<int64_t> order;
  for (char label : equation.result) order.push_back(static_cast<int64_t>(labels.find(label)));
  const Tensor named = Translation::Reshaped(product, ShapeOfLabels(equation, labels));
  node.Copy(Translation::Transposed(named, order), out);
}

void TermByTerm(Translation& node, const Equation& equation, const Tensor& out) {
  std::string labels = equation.result;
  for (const Term& term : equation.terms) {
    for (char label : term.labels) {
      if (labels.find(label) == std::string::npos) labels += label;
    }
  }
  ops::LabelledSum sum;
  sum.result_labels = static_cast<int>(equation.result.size());
  for (char label : labels) sum.sizes.push_back(equation.sizes.at(label));
  for (const Term& term : equation.terms) {
    std::vector<int64_t> strides;
    for (char label : labels) {
      int d = term.Find(label);
      strides.push_back(d < 0 || term.view.shape[d] == 1 ? 0 : term.view.strides[d]);
    }
    sum.strides.push_back(std::move(strides));
  }
  node.Step("Einsum", [&](ops::Plan& plan) {
    ops::OperandList operands;
    for (const Term& term : equation.terms) operands.push_back(ReadFrom(plan, term.whole, "x"));
    ops::PlanLabelledSum(plan, operands, sum, WrittenTo(plan, out, "y"));
  });
}

// A size of 1 that is repeated says nothing of its label.
void DropRepeated(const Equation& equation, Term& term) {
  Term kept{"", term.view, term.whole};
  kept.view.shape = kept.view.strides = {};
  for (size_t i = 0; i < term.labels.size(); ++i) {
    auto d = static_cast<int>(i);
    if (term.view.shape[d] != equation.sizes.at(term.labels[i])) continue;
    kept.labels += term.labels[i];
    kept.view.shape.push_back(term.view.shape[d]);
    kept.view.strides.push_back(term.view.strides[d]);
  }
  term = std::move(kept);
}

// The terms of an equation, contracted until two are left or none can be.
class Contraction {
 public:
  Contraction(Translation& node, Equation& equation) : node_(node), all_(equation) {}

  void Run(const Tensor& out) {
    for (Term& term : all_.terms) DropRepeated(all_, term);
    for (size_t i = 0; i < all_.terms.size(); ++i) SumLone(i);
    while (all_.terms.size() > 2) {
      const Pair pair = Cheapest();
      if (pair.second == 0) break;
      Equation two = Of({pair.first, pair.second});
      Term product = NewTerm(two.result, out.dtype);
      Compute(two, product.whole);
      all_.terms.erase(all_.terms.begin() + static_cast<std::ptrdiff_t>(pair.second));
      all_.terms[pair.first] = std::move(product);
    }
    Compute(all_, out);
  }

 private:
  struct Pair {
    size_t first = 0, second = 0;  // 0 and 0: none
  };

  bool Kept(char label, std::initializer_list<size_t> but) const {
    if (all_.result.find(label) != std::string::npos) return true;
    for (size_t i = 0; i < all_.terms.size(); ++i) {
      if (std::find(but.begin(), but.end(), i) == but.end() && all_.terms[i].Find(label) >= 0) return true;
    }
    return false;
  }

  // These terms alone, with what the others need of them as the result.
  Equation Of(std::initializer_list<size_t> terms) const {
    Equation part;
    for (size_t i : terms) {
      part.terms.push_back(all_.terms[i]);
      for (char label : all_.terms[i].labels) {
        const bool is_new = part.sizes.emplace(label, all_.sizes.at(label)).second;
        if (is_new && Kept(label, terms)) part.result += label;
      }
    }
    return part;
  }

  Term NewTerm(const std::string& labels, DType dtype) {
    const Tensor whole = node_.Temporary(dtype, ShapeOfLabels(all_, labels));
    return {labels, whole, whole};
  }

  // What is summed and stands in one term only is summed there.
  void SumLone(size_t i) {
    Term& term = all_.terms[i];
    Equation one = Of({i});
    if (one.result.size() == term.labels.size() || all_.terms.size() == 1) return;
    Term sum = NewTerm(one.result, term.view.dtype);
    TermByTerm(node_, one, sum.whole);
    term = std::move(sum);
  }

  // By its number of products, then by the size of its result. Of very many terms simply the first two.
  Pair Cheapest() const {
    constexpr size_t kMostSearched = 24;
    if (all_.terms.size() > kMostSearched && Of({0, 1}).result.size() <= tensor::kMaxRank) return {0, 1};
    Pair best;
    double least = 0, least_result = 0;
    const size_t count = std::min(all_.terms.size(), kMostSearched);
    for (size_t a = 0; a < count; ++a) {
      for (size_t b = a + 1; b < count; ++b) {
        const Equation pair = Of({a, b});
        if (pair.result.size() > tensor::kMaxRank) continue;
        double products = 1, result = 1;
        for (auto [label, size] : pair.sizes) products *= static_cast<double>(size);
        for (char label : pair.result) result *= static_cast<double>(all_.sizes.at(label));
        if (best.second != 0 && std::pair(products, result) >= std::pair(least, least_result)) continue;
        best = {a, b};
        least = products, least_result = result;
      }
    }
    return best;
  }

  void Compute(const Equation& equation, const Tensor& out) {
    Roles roles;
    const bool cube = out.dtype == DType::kF32 || IsHalf(out.dtype);
    if ((cube || IsExact(out.dtype)) && equation.terms.size() == 2 && RolesOf(equation, &roles))
      return AsMatrices(node_, equation, roles, out);
    TermByTerm(node_, equation, out);
  }

  Translation& node_;
  Equation& all_;
};

// Products of several halves are rounded once, at the end.
void WidenHalves(Translation& node, Equation& equation) {
  for (int i = 0; i < node.input_count(); ++i) {
    Term& term = equation.terms[static_cast<size_t>(i)];
    term.whole = node.Cast(node.in(i), DType::kF32);
    const Tensor old = std::exchange(term.view, term.whole);
    term.view.shape = old.shape, term.view.strides = old.strides;
  }
}

}  // namespace

void Einsum(Translation& node) {
  Equation equation = EquationOf(node);
  for (int i = 1; i < node.input_count(); ++i) {
    if (node.dtype(i) != node.dtype(0)) node.Refuse("its inputs have different types");
  }
  const DType dtype = node.dtype(0);
  const bool widens = equation.terms.size() > 2 && (dtype == DType::kF16 || dtype == DType::kBF16);
  const Tensor out = node.Out(0, dtype, ShapeOfLabels(equation, equation.result));
  if (!widens) return Contraction(node, equation).Run(out);
  WidenHalves(node, equation);
  const Tensor wide = node.Temporary(DType::kF32, out.shape);
  Contraction(node, equation).Run(wide);
  node.Copy(wide, out);
}

}  // namespace belay::graph::translate
