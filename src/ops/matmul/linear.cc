#include "ops/matmul/linear.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/conv/channels_last.h"
#include "ops/conv/conv.h"
#include "ops/matmul/gemv.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

// [..., k] as one row of pixels with k channels.
Tensor AsPixels(const Tensor& t) {
  const int64_t k = t.shape.back(0), rows = k == 0 ? 0 : t.count() / k;
  Tensor view = t;
  view.shape = {1, k, 1, rows};
  view.strides = {rows * k, 1, rows * k, k};
  return view;
}

Tensor AsKernels(const Tensor& t) {
  Tensor view = t;
  view.shape = {t.shape[0], t.shape[1], 1, 1};
  view.strides = {t.strides[0], t.strides[1], 1, 1};
  return view;
}

// One row of x: nothing to reuse, so the weights go by once, each core's rows of them.
struct VectorBody {
  std::shared_ptr<const float[]> weight, bias;  // bias null: bound, or there is none
  int x, bound_bias, residual, out;
  int64_t n, k;
  Activation activation;
  GemvLoop loop;

  void operator()(const Frame& frame) const {
    const auto* from = reinterpret_cast<const float*>(frame.at[x]);
    auto* to = reinterpret_cast<float*>(frame.at[out]);
    auto bound = [&](int binding) {
      return binding < 0 ? nullptr : reinterpret_cast<const float*>(frame.at[binding]);
    };
    const float* added = bias != nullptr ? bias.get() : bound(bound_bias);
    const float* rest = bound(residual);
    ParallelFor(n, std::max<int64_t>(16, 64 * 1024 / k), [&](int64_t begin, int64_t end) {
      constexpr int64_t kTogether = 512;
      float sums[kTogether];
      for (int64_t first = begin; first < end; first += kTogether) {
        const int64_t count = std::min(kTogether, end - first);
        loop(weight.get() + first * k, k, from, k, count, sums);
        for (int64_t i = 0; i < count; ++i) {
          double sum = sums[i];
          if (added != nullptr) sum += added[first + i];
          if (rest != nullptr) sum += rest[first + i];
          to[first + i] = static_cast<float>(Activate(activation, sum));
        }
      }
    });
  }
};

std::shared_ptr<const float[]> ConstantFloats(const Operand& operand, const void* elements) {
  const std::shared_ptr<const char[]> bytes = PackedConstant(operand, elements, DType::kF32);
  return {bytes, reinterpret_cast<const float*>(bytes.get())};
}

bool IsVectorCase(const LinearArgs& args) {
  if ((args.constant_weight == nullptr && args.packed_weight == nullptr) || args.x.dtype() != DType::kF32)
    return false;
  if (args.bias.present() && args.constant_bias == nullptr && args.bias.dtype() != DType::kF32) return false;
  return args.x.tensor->count() == args.x.shape().back(0) && args.x.tensor->offset == 0 &&
         args.weight.shape()[1] == args.x.shape().back(0) && !args.weight.tensor->empty();
}

// [n, k], as they go by.
WeightLayout RowsOf(const LinearArgs& args) {
  const int64_t sizes[] = {1, args.weight.shape()[0], args.weight.shape()[1], 1, 1, 1};
  return PlainWeightLayout(sizes);
}

std::shared_ptr<const float[]> LinearRows(const LinearArgs& args) {
  if (args.packed_weight == nullptr) return ConstantFloats(args.weight, args.constant_weight);
  if (!ParseWeightLayout(args.packed_weight->layout).HasSizes(RowsOf(args).sizes)) {
    Fail(tensor::kInvalidArgument, "conv-shape", "the packed weights do not have the shape {}",
         args.weight.shape().ToString());
  }
  const std::shared_ptr<const char[]> bytes = Unpacked(*args.packed_weight);
  return {bytes, reinterpret_cast<const float*>(bytes.get())};
}

void PlanVector(Plan& plan, const LinearArgs& args) {
  VectorBody body{LinearRows(args),
                  args.constant_bias == nullptr ? nullptr : ConstantFloats(args.bias, args.constant_bias),
                  args.x.binding,
                  args.bias.present() ? args.bias.binding : -1,
                  args.residual.present() ? args.residual.binding : -1,
                  args.out.binding,
                  args.weight.shape()[0],
                  args.weight.shape()[1],
                  args.activation,
                  BestGemv()};
  plan.SetProducts(body.n * body.k);
  plan.SetCost(200 + static_cast<uint64_t>(body.n * body.k) / 8);
  plan.SetBody(body);
}

// The same as a convolution. It refers to its own tensors and to the arguments.
class AsConv {
 public:
  explicit AsConv(const LinearArgs& args)
      : x_(AsPixels(*args.x.tensor)),
        out_(AsPixels(*args.out.tensor)),
        weight_(AsKernels(*args.weight.tensor)) {
    static constexpr int64_t kOne[] = {1, 1}, kNone[] = {0, 0};
    conv_ = {.input = args.x,
             .weight = args.weight,
             .bias = args.bias,
             .residual = args.residual,
             .out = args.out,
             .strides = kOne,
             .dilations = kOne,
             .before = kNone,
             .after = kNone,
             .activation = args.activation,
             .constant_weight = args.constant_weight,
             .constant_bias = args.constant_bias,
             .packed_weight = args.packed_weight,
             .bf16 = args.bf16};
    conv_.input.tensor = &x_, conv_.weight.tensor = &weight_, conv_.out.tensor = &out_;
    if (!args.residual.present()) return;
    residual_ = AsPixels(*args.residual.tensor);
    conv_.residual.tensor = &residual_;
  }
  AsConv(const AsConv&) = delete;

  const ConvArgs& args() const { return conv_; }

 private:
  Tensor x_, out_, weight_, residual_;
  ConvArgs conv_;
};

}  // namespace

void PlanLinear(Plan& plan, const LinearArgs& args) {
  if (IsVectorCase(args)) return PlanVector(plan, args);
  PlanConv(plan, AsConv(args).args());
}

std::optional<PackedWeights> PackLinearWeights(const LinearArgs& args) {
  if (!IsVectorCase(args)) return PackConvWeights(AsConv(args).args());
  const std::shared_ptr<const float[]> rows = LinearRows(args);
  const WeightLayout layout = RowsOf(args);
  return PackedWeights{
      TextOf(layout), "any", {rows, reinterpret_cast<const char*>(rows.get())}, layout.count() * 4};
}

}  // namespace belay::ops
