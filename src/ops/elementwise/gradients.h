// Gradients of pointwise functions, losses of one element, and what other operators are put together from.
// Each is the loops of a pointwise operator over its operands a, b, c with the attributes p, q, r, all
// floats.
#pragma once

#include "ops/elementwise/pointwise.h"

namespace belay::ops {

// --- of one operand ---
PointwiseLoops ShorteningLoops();        // what takes a length a that exceeds p to p, 1 for shorter ones
PointwiseLoops InverseDeviationLoops();  // 1 / sqrt(a + p)

// --- gradients: a is of the result, b is the operand unless said otherwise ---
PointwiseLoops SigmoidGradLoops();  // a: the result, b: its gradient
PointwiseLoops TanhGradLoops();     // likewise
PointwiseLoops HardSwishGradLoops();
PointwiseLoops HardSigmoidGradLoops();  // of p * b + q between 0 and 1
PointwiseLoops HardtanhGradLoops();     // a: the result, between p and q; b: its gradient
PointwiseLoops SwishGradLoops();        // of b * sigmoid(p * b)
PointwiseLoops LeakyReluGradLoops();    // p: the slope
PointwiseLoops EluGradLoops();          // p: alpha, q: scale, r: input scale
PointwiseLoops EluGradOfResultLoops();  // the same with b the result
PointwiseLoops MishGradLoops();
PointwiseLoops ShrinkGradLoops();  // of what is 0 for sizes up to p
PointwiseLoops LogSigmoidGradLoops();
PointwiseLoops LogitGradLoops();       // of b between p and 1 - p; NaN beyond 0 and 1 where p is negative
PointwiseLoops SoftplusGradLoops();    // p: beta, q: the threshold
PointwiseLoops GatedGradLoops();       // of b * sigmoid(c) by c
PointwiseLoops DivergenceGradLoops();  // of Divergence by its first operand; b: the target, p: a factor
PointwiseLoops LogDivergenceGradLoops();

// --- losses: a is the prediction, b the target ---
PointwiseLoops SquaredErrorLoops();
PointwiseLoops AbsoluteErrorLoops();
PointwiseLoops SmoothErrorLoops();    // p: where the square ends
PointwiseLoops DivergenceLoops();     // of probabilities, a is a logarithm
PointwiseLoops LogDivergenceLoops();  // of logarithms of probabilities
PointwiseLoops SoftMarginLoops();
PointwiseLoops CrossEntropyLoops();        // of a probability
PointwiseLoops LogitsCrossEntropyLoops();  // of a logit; c: the weight of what is true

// --- their gradients: c is of the loss, times p ---
PointwiseLoops SquaredErrorGradLoops();
PointwiseLoops AbsoluteErrorGradLoops();
PointwiseLoops SmoothErrorGradLoops();  // q: where the square ends
PointwiseLoops CrossEntropyGradLoops();
PointwiseLoops SoftMarginGradLoops();

// --- others ---
PointwiseLoops GatedLoops();         // a * sigmoid(b)
PointwiseLoops PlusProductLoops();   // a + b * c, also of integers
PointwiseLoops MinusProductLoops();  // a - b * c, also of integers
PointwiseLoops PlusQuotientLoops();  // a + b / c

}  // namespace belay::ops
