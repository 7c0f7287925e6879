// Products of matrices.
#include "graph/ops/integers.h"
#include "graph/ops/window.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/conv/activation.h"
#include "ops/kernels.h"
#include "ops/matmul/exact.h"
#include "ops/matmul/integer.h"
#include "ops/matmul/linear.h"

namespace belay::graph {

// As numpy.matmul: vectors, and batches that broadcast.
Shape ProductShape(const Translation& node, const Shape& a, const Shape& b) {
  int ra = a.rank(), rb = b.rank();
  if (ra == 0 || rb == 0) node.Refuse("scalars cannot be multiplied as matrices");
  int64_t inner_a = a.back(0), inner_b = rb == 1 ? b[0] : b.back(1);
  auto batch = tensor::BroadcastShapes(Shape::Of(a.data(), ra < 2 ? 0 : ra - 2),
                                       Shape::Of(b.data(), rb < 2 ? 0 : rb - 2));
  if (inner_a != inner_b || !batch) {
    node.Refuse("matrices of " + a.ToString() + " and " + b.ToString() + " cannot be multiplied");
  }
  Shape shape = *batch;
  if (ra > 1) shape.push_back(a.back(1));
  if (rb > 1) shape.push_back(b.back(0));
  return shape;
}

void ExactProduct(Translation& node, const Tensor& a, const Tensor& b, const Tensor& sums) {
  node.Step("ExactProduct", [&](ops::Plan& plan) {
    Binder bind(plan);
    ops::Operand x = bind.Read(a, "x1"), y = bind.Read(b, "x2");
    ops::PlanExactProduct(plan, x, y, bind.Write(sums, "y"));
  });
}

namespace {

// Whether the product of bytes takes it: one matrix for all rows of the left factor, which have one zero
// point.
bool TakesBytes(const Integers& left, const Integers& right) {
  const Shape& b = right.values.shape;
  const int64_t zeros = right.zero == nullptr ? 1 : right.zero->count();
  return IsByte(left.values.dtype) && IsByte(right.values.dtype) && left.values.shape.rank() >= 1 &&
         b.rank() == 2 && (left.zero == nullptr || left.zero->count() == 1) &&
         (zeros == 1 || (zeros == b[1] && right.zero->shape.back(0) == zeros));
}

}  // namespace

void IntegerProduct(Translation& node, const Integers& left, const Integers& right, const Tensor& sums) {
  if (!TakesBytes(left, right)) {
    Tensor a = WithoutZero(node, left.values, left.zero, -2);  // a zero point for each row stands in a vector
    return ExactProduct(node, a, WithoutZero(node, right.values, right.zero, -1), sums);
  }
  Tensor x = node.Packed(left.values), w = node.Packed(right.values);
  Tensor zeros = right.zero == nullptr ? Tensor{} : node.Packed(*right.zero);
  node.Step("IntegerProduct", [&](ops::Plan& plan) {
    Binder bind(plan);
    ops::IntegerProductArgs args{bind.Read(x, "x1"), bind.Read(w, "x2"), {}, {}, {}};
    if (left.zero != nullptr) args.a_zero = bind.Read(*left.zero, "x1_zero");
    if (right.zero != nullptr) args.b_zero = bind.Read(zeros, "x2_zero");
    args.out = bind.Write(sums, "y");
    ops::PlanIntegerProduct(plan, args);
  });
}

namespace translate {
namespace {

Tensor LastTwoSwapped(const Tensor& tensor) {
  Tensor view = tensor;
  std::swap(view.shape.back(0), view.shape.back(1));
  std::swap(view.strides.back(0), view.strides.back(1));
  return view;
}

Tensor Side(const Translation& node, int input, bool swap) {
  const Tensor& tensor = node.in(input);
  if (!swap) return tensor;
  if (tensor.shape.rank() < 2) node.Refuse("a vector cannot be transposed");
  return LastTwoSwapped(tensor);
}

// What is computed with weights that never change, packed ahead.
struct Linear {
  Tensor x, weight;  // [..., k], [n, k]
  int weight_input = 1, bias = -1, residual = -1;
  ops::Activation activation = {};
  std::optional<ops::PackedWeights> packed = {};  // instead of the weight's elements
  bool bf16 = false;
};

void AddLinear(Translation& node, const char* name, const Linear& linear) {
  Shape shape = linear.x.shape;
  shape.back(0) = linear.weight.shape[0];
  if (linear.residual >= 0 && node.shape(linear.residual) != shape) {
    node.Refuse("what is added has the shape " + node.shape(linear.residual).ToString() + ", the product " +
                shape.ToString());
  }
  Tensor out = node.Out(0, linear.x.dtype, shape);
  Constant weight = node.constant(linear.weight_input);
  Constant bias = linear.bias < 0 ? nullptr : node.constant(linear.bias);
  node.Step(name, [&](ops::Plan& plan) {
    Binder bind(plan);
    ops::LinearArgs args{.x = bind.Read(linear.x, "x1"),
                         .weight = {&linear.weight, nullptr, -1, "x2"},
                         .bias = {},
                         .residual = {},
                         .out = {},
                         .activation = linear.activation};
    args.packed_weight = linear.packed ? &*linear.packed : nullptr;
    args.constant_weight = weight == nullptr || linear.packed ? nullptr : weight->data();
    if (weight == nullptr && !linear.packed) args.weight = bind.Read(linear.weight, "x2");
    if (linear.bias >= 0) {
      const Tensor& b = node.in(linear.bias);
      args.bias = bias == nullptr ? bind.Read(b, "bias") : ops::Operand{&b, nullptr, -1, "bias"};
      args.constant_bias = bias == nullptr ? nullptr : bias->data();
    }
    if (linear.residual >= 0) args.residual = bind.Read(node.in(linear.residual), "residual");
    args.out = bind.Write(out, "y");
    args.bf16 = linear.bf16;
    if (node.packs()) return node.SetPacked(ops::PackLinearWeights(args));
    ops::PlanLinear(plan, args);
  });
}

bool IsRowOf(const Shape& bias, int64_t n) {
  return CountOf(bias) == n && (bias.rank() <= 1 || bias.back(0) == n);
}

// Weights that can be packed ahead, under a batch of rows.
bool CanBeLinear(const Translation& node, const Tensor& x, const Tensor& weight, int input) {
  return node.constant(input) != nullptr && weight.shape.rank() == 2 && x.shape.rank() >= 2 && !x.empty() &&
         !weight.empty() && x.shape.back(0) == weight.shape[0] && tensor::IsFloat(x.dtype) &&
         x.dtype != DType::kF64;
}

// Rows that lie otherwise are laid out first, which is little beside their product.
Linear LinearOf(Translation& node, const Tensor& x, const Tensor& weight, int bias) {
  return {node.Packed(x), LastTwoSwapped(weight), 1, bias};
}

void AddProduct(Translation& node, const char* name, const Tensor& a, const Tensor& b, const Tensor* c,
                double alpha, double beta) {
  Tensor out = node.Out(0, a.dtype, ProductShape(node, a.shape, b.shape));
  node.Step(name, [&](ops::Plan& plan) {
    Binder bind(plan);
    ops::AddProductArgs args;
    args.mat1 = bind.Read(a, "x1"), args.mat2 = bind.Read(b, "x2");
    if (c != nullptr) args.self = bind.Read(*c, "bias");
    args.out = bind.Write(out, "y");
    args.alpha = alpha, args.beta = beta;
    ops::PlanAddProduct(plan, args);
  });
}

// The type in which the plain loops multiply; kUndefined: the libraries take it.
DType ExactType(DType type) {
  if (type == DType::kF64 || type == DType::kI64 || type == DType::kU64 || type == DType::kU32) {
    return type == DType::kF64 ? type : DType::kI64;
  }
  return tensor::IsInt(type) ? DType::kI32 : DType::kUndefined;
}

// alpha * (a x b) + beta * c.
void Exactly(Translation& node, const Tensor& a, const Tensor& b, const Tensor* c, double alpha,
             double beta) {
  DType type = ExactType(a.dtype);
  Shape shape = ProductShape(node, a.shape, b.shape);
  Tensor out = node.Out(0, a.dtype, shape);
  Tensor sums = node.Temporary(type, shape);
  ExactProduct(node, node.Cast(node.Packed(a), type), node.Cast(node.Packed(b), type), sums);
  Scalar first(&alpha, DType::kF64), second(&beta, DType::kF64);
  if (alpha != 1) {
    Tensor scaled = node.Temporary(type, shape);
    node.Run(ops::forms::Muls, {Arg(&sums), Arg(&first), Arg(&scaled)});
    sums = scaled;
  }
  if (c != nullptr) {
    Tensor other = node.Cast(*c, type), added = node.Temporary(type, shape);
    node.Run(ops::forms::Add, {Arg(&sums), Arg(&other), Arg(&second), Arg(&added)});
    sums = added;
  }
  node.Copy(sums, out);
}

void Product(Translation& node, bool swap_1, bool swap_2, int bias) {
  Tensor a = Side(node, 0, swap_1), b = Side(node, 1, swap_2);
  bool has_bias = bias >= 0 && node.has(bias);
  if (ExactType(a.dtype) != DType::kUndefined)
    return Exactly(node, a, b, has_bias ? &node.in(bias) : nullptr, 1, 1);
  if (CanBeLinear(node, a, b, 1) && (!has_bias || IsRowOf(node.shape(bias), b.shape[1]))) {
    return AddLinear(node, "MatMul", LinearOf(node, a, b, has_bias ? bias : -1));
  }
  if (has_bias) return AddProduct(node, "MatMul", a, b, &node.in(bias), 1, 1);
  Tensor out = node.Out(0, node.dtype(0), ProductShape(node, a.shape, b.shape));
  node.Run(ops::forms::Matmul, {Arg(&a), Arg(&b), Arg(&out), Arg(int64_t{0})});
}

}  // namespace

void BatchMatMul(Translation& node) { Product(node, node.Bool("adj_x1"), node.Bool("adj_x2"), -1); }
void BatchMatMulV2(Translation& node) { Product(node, node.Bool("adj_x1"), node.Bool("adj_x2"), 2); }
void MatMulV2(Translation& node) { Product(node, node.Bool("transpose_x1"), node.Bool("transpose_x2"), 2); }

void FusedMatMul(Translation& node) {
  auto packed = node.PackedInput(1);
  Tensor weight = packed ? node.PackedShape() : node.Bool("transpose_x2") ? node.in(1) : Side(node, 1, true);
  if (weight.shape.rank() != 2 || node.shape(0).rank() < 2 || node.shape(0).back(0) != weight.shape[1]) {
    node.Refuse("x1 " + node.shape(0).ToString() + " is not multiplied by a matrix of fitting size");
  }
  if (node.has(2) && !IsRowOf(node.shape(2), weight.shape[0])) {
    node.Refuse("the bias has the shape " + node.shape(2).ToString() + ", the product " +
                std::to_string(weight.shape[0]) + " columns");
  }
  Linear linear{node.in(0), weight, 1, node.has(2) ? 2 : -1, node.has(3) ? 3 : -1};
  std::string activation = node.String("activation");
  if (!ops::FindActivation(activation, &linear.activation.kind))
    node.Refuse("there is no activation '" + activation + "'");
  linear.activation.alpha = static_cast<float>(node.Float("alpha"));
  linear.activation.beta = static_cast<float>(node.Float("beta"));
  linear.packed = std::move(packed);
  linear.bf16 = node.String("compute") == "bf16";
  AddLinear(node, "FusedMatMul", linear);
}

namespace {

void GemmWith(Translation& node, double alpha, double beta) {
  Tensor a = Side(node, 0, node.Bool("transpose_a")), b = Side(node, 1, node.Bool("transpose_b"));
  bool has_c = node.has(2) && beta != 0;
  if (ExactType(a.dtype) != DType::kUndefined)
    return Exactly(node, a, b, has_c ? &node.in(2) : nullptr, alpha, beta);
  if (alpha == 1 && beta == 1 && CanBeLinear(node, a, b, 1) &&
      (!has_c || IsRowOf(node.shape(2), b.shape[1]))) {
    return AddLinear(node, "Gemm", LinearOf(node, a, b, has_c ? 2 : -1));
  }
  AddProduct(node, "Gemm", a, b, has_c ? &node.in(2) : nullptr, alpha, beta);
}

// alpha * (a x b) + beta * c with factors that only the execution knows. The result has the type of c, which
// may be wider than that of a and b.
void GemmOfTensors(Translation& node) {
  Tensor a = Side(node, 0, node.Bool("transpose_a")), b = Side(node, 1, node.Bool("transpose_b"));
  const Tensor& c = node.in(2);
  Shape shape = ProductShape(node, a.shape, b.shape);
  Tensor out = node.Out(0, c.dtype, shape);
  DType exact = ExactType(a.dtype);
  DType type = tensor::IsInt(c.dtype) || exact == DType::kF64 ? exact : DType::kF32;
  if (type == DType::kUndefined)
    node.Refuse(std::string("a product of ") + NameOf(a.dtype) + " cannot be added to " + NameOf(c.dtype));
  Tensor sums = node.Temporary(exact == DType::kUndefined ? type : exact, shape);
  if (exact == DType::kUndefined) {
    Tensor left = node.Cast(a, type), right = node.Cast(b, type);
    node.Run(ops::forms::Matmul, {Arg(&left), Arg(&right), Arg(&sums), Arg(int64_t{0})});
  } else {
    ExactProduct(node, node.Cast(node.Packed(a), exact), node.Cast(node.Packed(b), exact), sums);
    sums = node.Cast(sums, type);
  }
  auto times = [&](const Tensor& x, int factor) {
    Tensor scale = node.Cast(node.in(factor), type), value = node.Cast(x, type),
           product = node.Temporary(type, shape);
    node.Run(ops::forms::Mul, {Arg(&value), Arg(&scale), Arg(&product)});
    return product;
  };
  Tensor first = times(sums, 3), second = times(c, 4),
         total = type == c.dtype ? out : node.Temporary(type, shape);
  static const int64_t one = 1;
  Scalar unit(&one, DType::kI64);
  node.Run(ops::forms::Add, {Arg(&first), Arg(&second), Arg(&unit), Arg(&total)});
  if (type != c.dtype) node.Copy(total, out);
}

}  // namespace

void GEMM(Translation& node) {
  Constant alpha = node.constant(3), beta = node.constant(4);
  bool fixed = alpha != nullptr && beta != nullptr && node.dtype(0) == node.dtype(2);
  return fixed ? GemmWith(node, alpha->Reals().at(0), beta->Reals().at(0)) : GemmOfTensors(node);
}
void Gemm(Translation& node) { GemmWith(node, node.Float("alpha"), node.Float("beta")); }

// The dimensions from `axis` on are one row.
void FullyConnection(Translation& node) {
  const Tensor& x = node.in(0);
  int axis = node.Axis(node.Int("axis"), x.shape.rank());
  Shape rows;
  int64_t k = 1;
  for (int d = 0; d < x.shape.rank(); ++d) {
    if (d < axis) rows.push_back(x.shape[d]);
    if (d >= axis) k *= x.shape[d];
  }
  rows.push_back(k);
  const Tensor& w = node.in(1);
  bool swap = node.Bool("transpose");
  int64_t n = node.Int("num_output");
  if (w.count() != n * k) node.Refuse("the weights have another size than num_output times a row");
  Tensor weight = swap ? LastTwoSwapped(Translation::Reshaped(w, {k, n})) : Translation::Reshaped(w, {n, k});
  AddLinear(node, "FullyConnection", {Translation::Reshaped(x, rows), weight, 1, node.has(2) ? 2 : -1});
}

void MatMulInteger(Translation& node) {
  IntegerProduct(node, {node.in(0), node.has(2) ? &node.in(2) : nullptr},
                 {node.in(1), node.has(3) ? &node.in(3) : nullptr},
                 node.Out(0, DType::kI32, ProductShape(node, node.shape(0), node.shape(1))));
}

}  // namespace translate
}  // namespace belay::graph
