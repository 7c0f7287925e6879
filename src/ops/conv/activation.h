// Functions of one number that are fused to the end of a convolution or a matrix product.
#pragma once

#include <cstdint>
#include <string_view>

namespace belay::ops {

enum class ActivationKind : int32_t {
  kNone,
  kRelu,  // alpha: the slope below zero
  kClip,  // alpha, beta: the bounds
  kSigmoid,
  kTanh,
  kHardSwish,    // x * clip(x / 6 + 1/2, 0, 1)
  kHardSigmoid,  // clip(alpha * x + beta, 0, 1)
  kSwish,        // x * sigmoid(alpha * x)
  kGelu,
  kGeluTanh,
  kElu,  // alpha
  kMish,
  kSoftplus,
};

struct Activation {
  ActivationKind kind = ActivationKind::kNone;
  float alpha = 0, beta = 0;
  float scale = 1, shift = 0;  // of its result

  bool scaled() const { return scale != 1 || shift != 0; }
  bool operator==(const Activation&) const = default;
};

// By the name that graphs use ("relu", "clip", "swish", ...; "": none). False: no such name.
bool FindActivation(std::string_view name, ActivationKind* kind);

// The bounds of a clip, which are infinite where it is nothing at all. False: it is another function.
bool FindClip(const Activation& activation, float* low, float* high);

double Activate(const Activation& activation, double x);

}  // namespace belay::ops
