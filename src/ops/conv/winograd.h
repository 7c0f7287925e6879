// Convolutions with a kernel of 3 x 3, or up to three planes of that, by Winograd's F(2 x 2, 3 x 3): for each
// two by two pixels of the result, four by four of the input and the kernels are mixed so that sixteen
// products of matrices give what takes thirty-six otherwise. It only adds, subtracts and halves, so that it
// is about as exact as the definition.
#pragma once

#include "ops/conv/conv_backend.h"

namespace belay::ops {

// On every processor; it takes what WinogradFits says.
const ConvBackend& WinogradConv();

// Whether it can compute this.
bool WinogradFits(const ConvSpec& spec);
// ... and there are channels and pixels enough that it is faster than oneDNN.
bool WinogradPays(const ConvSpec& spec);

// Whether weights can be told from what they are mixed to: all are finite and none is huge.
bool WinogradMixes(const float* weights, int64_t count);

// The sixteen mixed elements of the nine of a kernel, and back again.
void MixKernel(const float* kernel, float* mixed);
void UnmixKernel(const float* mixed, float* kernel);

}  // namespace belay::ops
