// Softmax and its distance from given distributions, a row at a time.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/kernels.h"
#include "ops/loop_nest.h"
#include "ops/pipeline.h"
#include "ops/reduce/fold_loops.h"
#include "ops/scratch.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

struct ClassRows {
  int binding = -1;
  DType type = DType::kUndefined;
  int64_t offset = 0, row_step = 0, step = 0;  // bytes

  ClassRows() = default;
  explicit ClassRows(const Operand& operand) : binding(operand.binding), type(operand.dtype()) {
    auto size = static_cast<int64_t>(BytesOf(type));
    const Tensor& t = *operand.tensor;
    offset = t.offset * size;
    row_step = t.strides[0] * size;
    step = t.shape.rank() > 1 ? t.strides[1] * size : 0;
  }
  char* At(const Frame& frame, int64_t row) const { return frame.at[binding] + offset + row * row_step; }

  void Load(const Frame& frame, int64_t row, float* to, int64_t n) const {
    Lane lane(type, type, step);
    for (int64_t i = 0; i < n; i += kBlock) {
      int64_t m = std::min(kBlock, n - i);
      const void* block = lane.Load(to + i, At(frame, row) + i * step, m);
      if (block != to + i) std::copy_n(static_cast<const float*>(block), m, to + i);
    }
  }
};

struct CrossEntropyBody {
  ClassRows features, labels, loss, backprop;
  int64_t classes;
  PieceScratch<float> rows;  // of the features and the labels

  void operator()(const Frame& frame) const {
    rows.For(frame, [&](int64_t begin, int64_t end, float* x) {
      for (int64_t r = begin; r < end; ++r) Row(frame, r, x, x + classes);
    });
  }

  // In pieces, whose sums are added in f64.
  double SumOfExps(const float* x, float most) const {
    constexpr int64_t kPiece = 4096;
    double sum = 0;
    for (int64_t i = 0; i < classes; i += kPiece) {
      sum += static_cast<double>(
          BestFoldLoops<float>(Fold::kSumOfExps).fold(x + i, std::min(kPiece, classes - i), most));
    }
    return sum;
  }

  void Row(const Frame& frame, int64_t r, float* x, float* y) const {
    features.Load(frame, r, x, classes);
    labels.Load(frame, r, y, classes);
    float most = BestFoldLoops<float>(Fold::kMax).fold(x, classes, 0);
    const double level = std::log(SumOfExps(x, most));
    double total = 0;
    for (int64_t i = 0; i < classes; ++i) {
      const double below = static_cast<double>(x[i] - most) - level;  // what all have in common goes first
      total += y[i] == 0 ? 0.0 : static_cast<double>(y[i]) * -below;
      x[i] = std::exp(static_cast<float>(below)) - y[i];
    }
    Convert(loss.type, loss.At(frame, r), DType::kF64, &total, 1);
    Lane lane(backprop.type, backprop.type, backprop.step);
    for (int64_t i = 0; i < classes; i += kBlock) {
      lane.Store(backprop.At(frame, r) + i * backprop.step, x + i, std::min(kBlock, classes - i), false);
    }
  }
};

}  // namespace

namespace kernels {

void SoftmaxCrossEntropy(Plan& plan, DType, const Operand& features, const Operand& labels,
                         const Operand& loss, const Operand& backprop) {
  const Shape& shape = features.shape();
  bool fits = shape.rank() == 2 && labels.shape() == shape && backprop.shape() == shape &&
              loss.shape() == Shape{shape[0]};
  if (!fits) {
    Fail(tensor::kInvalidArgument, "op-loss-shape",
         "features {}, labels {}, loss {} and backprop {} do not fit together", shape.ToString(),
         labels.shape().ToString(), loss.shape().ToString(), backprop.shape().ToString());
  }
  if (features.tensor->empty()) return;
  plan.SetCost(100 + static_cast<uint64_t>(features.tensor->count()) * 2);
  const int64_t grain = std::max<int64_t>(1, 16 * 1024 / shape[1]);
  plan.SetBody(CrossEntropyBody{ClassRows(features),
                                ClassRows(labels),
                                ClassRows(loss),
                                ClassRows(backprop),
                                shape[1],
                                {plan, shape[0], grain, 2 * shape[1]}});
}

}  // namespace kernels
}  // namespace belay::ops
