// Normalising slices of a tensor: y = (x - shift) * factor * weight + bias, where shift and factor come
// from all elements of a slice. What layer, group, instance, RMS and batch normalisation and others have
// in common.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

enum class Statistic : uint8_t {
  kMoments,     // shift: the mean; factor: 1 / sqrt(variance + epsilon)
  kMeanSquare,  // factor: 1 / sqrt(mean of squares + epsilon)
  kSizes,       // factor: 1 / sum of sizes
  kLength,      // factor: 1 / sqrt(sum of squares)
};

struct Normalisation {
  Statistic statistic = Statistic::kMoments;
  double epsilon = 0;
  bool epsilon_outside = false;  // added to the root
  bool kept = false;             // SliceMoments of each slice go to the workspace
};

struct SliceMoments {
  double mean, variance;
};

struct NormOperands {
  Operand x, out;
  Operand weight, bias;  // may be absent; views with x's shape that repeat as they must
  Operand shift;         // may be absent; where the statistics go: views with x's shape,
  Operand factor;        // repeated over a slice
};

// Bit i of the mask: dimension i belongs to a slice.
void PlanNormalise(Plan& plan, const Normalisation& how, DType compute, const NormOperands& operands,
                   uint32_t mask);

// The same of slices that lie side by side, without weights and statistics. False: it is of others, and
// nothing is planned.
bool PlanAcross(Plan& plan, const Normalisation& how, DType compute, const NormOperands& operands,
                uint32_t mask);

// Groups of channels, which are dimension 1. The weights have one dimension, with an element for each
// channel, or for each group; the statistics have one for each group of each batch member.
void PlanGroupNorm(Plan& plan, double epsilon, DType compute, const NormOperands& operands, int64_t groups,
                   bool per_group);

// y = (x - mean) / sqrt(variance + epsilon) * weight + bias for each index of dimension `channel`; the
// four have one dimension, weight and bias may be absent. `inverse`: the variance's place has 1 / that root.
struct ChannelOperands {
  Operand x, out, weight, bias, mean, variance;
  bool inverse = false;
};
void PlanChannelNorm(Plan& plan, double epsilon, DType compute, const ChannelOperands& operands, int channel);

// y = x / (bias + alpha / size * sum of squares over `size` neighbouring channels) ^ beta; x is packed and
// channels are dimension 1.
struct LocalResponse {
  double alpha, beta, bias;
  int64_t size;
};
void PlanLocalResponse(Plan& plan, const LocalResponse& how, const Operand& x, const Operand& out);

// A view of a packed or strided tensor with `like`'s shape that repeats where it lacks a dimension:
// dimension `first + i` of the view is dimension i of the tensor.
Tensor Spread(const Tensor& tensor, const Shape& like, int first);

}  // namespace belay::ops
