#include "ops/matmul/general_product.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/layout/checks.h"
#include "ops/matmul/matrix_view.h"
#include "ops/rules.h"
#include "ops/scratch.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// Not std::complex, whose product looks for infinite factors.
struct Complex {
  float re, im;

  Complex operator*(Complex b) const { return {re * b.re - im * b.im, re * b.im + im * b.re}; }
  Complex& operator+=(Complex b) {
    re += b.re, im += b.im;
    return *this;
  }
};

template <class T>
T NumberFor(const Scalar* scalar) {
  if constexpr (std::is_same_v<T, Complex>) {
    if (scalar == nullptr) return {1, 0};
    return {static_cast<float>(scalar->ToDouble()), static_cast<float>(scalar->Imaginary())};
  } else {
    return scalar == nullptr ? T{1} : static_cast<T>(scalar->ToInt());
  }
}

void CheckFactor(const Scalar* factor, DType type) {
  if (factor == nullptr || IsComplex(type) || factor->IsWhole()) return;
  Fail(tensor::kInvalidArgument, "op-alpha", "a factor is {}, which cannot be converted to {}",
       factor->ToString(), NameOf(type));
}

template <class T>
bool IsZero(T value) {
  if constexpr (std::is_same_v<T, Complex>) {
    return value.re == 0 && value.im == 0;
  } else {
    return value == 0;
  }
}

// One operand: steps in elements; those of the batches innermost first.
struct Strided {
  int binding = -1;
  int64_t offset = 0, row = 0, column = 0;
  int64_t batch[tensor::kMaxRank] = {};

  Strided() = default;
  Strided(const Operand& operand, const MatrixView& view)
      : binding(operand.binding),
        offset(operand.tensor->offset),
        row(view.row_stride),
        column(view.column_stride) {
    for (int d = 0; d < view.batch.rank(); ++d)
      batch[d] = view.batch.back(d) == 1 ? 0 : view.batch_strides.back(d);
  }
};

template <class T>
struct ProductBody {
  Strided a, b, self, out;
  int64_t m, n, k, batch_rank;
  int64_t sizes[tensor::kMaxRank];  // innermost first
  T beta, alpha;
  PieceScratch<T> sums;  // of a row

  void operator()(const Frame& frame) const {
    sums.For(frame, [&](int64_t begin, int64_t end, T* row) {
      for (int64_t i = begin; i < end; ++i) Row(frame, i, row);
    });
  }

  T* At(const Frame& frame, const Strided& side, int64_t batch, int64_t row) const {
    int64_t at = side.offset + row * side.row;
    for (int d = 0; d < batch_rank; ++d) {
      at += batch % sizes[d] * side.batch[d];
      batch /= sizes[d];
    }
    return reinterpret_cast<T*>(frame.at[side.binding]) + at;
  }

  void Row(const Frame& frame, int64_t index, T* sum) const {
    const int64_t batch = index / m, row = index % m;
    const T *x = At(frame, a, batch, row), *y = At(frame, b, batch, 0);
    std::fill_n(sum, n, T{});
    for (int64_t i = 0; i < k; ++i) {
      const T factor = x[i * a.column], *from = y + i * b.row;
      for (int64_t j = 0; j < n; ++j) sum[j] += factor * from[j * b.column];
    }
    T* to = At(frame, out, batch, row);
    const T* added = self.binding < 0 ? nullptr : At(frame, self, batch, row);
    for (int64_t j = 0; j < n; ++j) {
      T value = alpha * sum[j];
      if (added != nullptr) value += beta * added[j * self.column];
      to[j * out.column] = value;
    }
  }
};

// `self` in the shape of `shape`, to which it broadcasts.
tensor::Tensor Expanded(const Operand& self, const Shape& shape) {
  tensor::Tensor view = *self.tensor;
  view.strides = Shape::Of(shape.data(), shape.rank());
  for (int d = 0; d < shape.rank(); ++d) {
    const bool repeats = d >= self.shape().rank() || self.shape().back(d) == 1;
    view.strides.back(d) = repeats ? 0 : self.tensor->strides.back(d);
  }
  view.shape = shape;
  return view;
}

template <class T>
void PlanGeneral(Plan& plan, const GeneralProductArgs& args) {
  const bool row_missing = args.mat1.shape().rank() == 1, column_missing = args.mat2.shape().rank() == 1;
  const MatrixView left = ViewOf(*args.mat1.tensor, VectorIs::kRow),
                   right = ViewOf(*args.mat2.tensor, VectorIs::kColumn),
                   result = ResultView(*args.out.tensor, row_missing, column_missing);
  ProductBody<T> body{};
  body.a = Strided(args.mat1, left), body.b = Strided(args.mat2, right), body.out = Strided(args.out, result);
  body.m = result.rows, body.n = result.columns, body.k = left.columns;
  body.batch_rank = result.batch.rank();
  for (int d = 0; d < body.batch_rank; ++d) body.sizes[d] = result.batch.back(d);
  body.alpha = NumberFor<T>(args.alpha), body.beta = NumberFor<T>(args.beta);
  if (args.self.present() && !IsZero(body.beta)) {
    const tensor::Tensor view = Expanded(args.self, args.out.shape());
    body.self = Strided(args.self, ResultView(view, row_missing, column_missing));
  }
  const int64_t rows = CountOf(result.batch) * body.m, work = std::max<int64_t>(1, body.n * body.k);
  body.sums = PieceScratch<T>(plan, rows, std::max<int64_t>(1, 64 * 1024 / work), body.n);
  plan.SetProducts(rows * work);
  plan.SetCost(500 + static_cast<uint64_t>(rows * work));
  plan.SetBody(body);
}

}  // namespace

bool IsGeneralProduct(DType type) {
  return type == DType::kC64 || type == DType::kI32 || type == DType::kI64;
}

void PlanGeneralProduct(Plan& plan, const GeneralProductArgs& args) {
  const Shape shape = rules::AnyMatrix(args.mat1, args.mat2);
  if (shape != args.out.shape() || (args.self.present() && !BroadcastsTo(args.self.shape(), shape))) {
    Fail(tensor::kInvalidArgument, "op-matrix-shape",
         "the product has the shape {}; {} has {}, and what is added must broadcast to it", shape.ToString(),
         args.out.name, args.out.shape().ToString());
  }
  CheckSameType(args.mat1, args.mat2);
  CheckSameType(args.mat1, args.out);
  if (args.self.present()) CheckSameType(args.self, args.out);
  for (const Scalar* factor : {args.alpha, args.beta}) CheckFactor(factor, args.out.dtype());
  if (args.out.tensor->empty()) return;
  // Unsigned, so that sums wrap.
  if (args.out.dtype() == DType::kC64) return PlanGeneral<Complex>(plan, args);
  if (args.out.dtype() == DType::kI64) return PlanGeneral<uint64_t>(plan, args);
  PlanGeneral<uint32_t>(plan, args);
}

}  // namespace belay::ops
