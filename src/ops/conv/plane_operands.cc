#include "ops/conv/plane_operands.h"

namespace belay::ops {

bool LieAsPlanes(const ConvArgs& args) {
  float low, high;
  const Tensor& x = *args.input.tensor;
  return !args.residual.present() && args.packed_weight == nullptr &&
         FindClip(args.activation, &low, &high) && ComputeType(x.dtype) == DType::kF32 &&
         SameLayout(x.shape, x.strides, PackedStrides(x.shape));
}

PlaneOperands::PlaneOperands(Plan& plan, const ConvArgs& args) {
  const auto place = [&](const Operand& operand, bool loading) {
    return PackedOperand(plan, operand, DType::kF32, false, loading);
  };
  input_ = place(args.input, true), out_ = place(args.out, false);
  if (args.constant_weight != nullptr) {
    constant_weights_ = PackedConstant(args.weight, args.constant_weight, DType::kF32);
  } else {
    weight_ = place(args.weight, true);
  }
  if (!args.bias.present()) return;
  if (args.constant_bias != nullptr) {
    constant_bias_ = PackedConstant(args.bias, args.constant_bias, DType::kF32);
  } else {
    bias_ = place(args.bias, true);
  }
}

}  // namespace belay::ops
