#include "ops/conv/activation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace belay::ops {

bool FindActivation(std::string_view name, ActivationKind* kind) {
  using enum ActivationKind;
  static constexpr std::pair<std::string_view, ActivationKind> kNames[] = {{"", kNone},
                                                                           {"relu", kRelu},
                                                                           {"clip", kClip},
                                                                           {"sigmoid", kSigmoid},
                                                                           {"tanh", kTanh},
                                                                           {"hardswish", kHardSwish},
                                                                           {"hardsigmoid", kHardSigmoid},
                                                                           {"swish", kSwish},
                                                                           {"gelu", kGelu},
                                                                           {"gelu_tanh", kGeluTanh},
                                                                           {"elu", kElu},
                                                                           {"mish", kMish},
                                                                           {"softplus", kSoftplus}};
  for (const auto& [known, value] : kNames) {
    if (known != name) continue;
    *kind = value;
    return true;
  }
  return false;
}

bool FindClip(const Activation& activation, float* low, float* high) {
  *low = -std::numeric_limits<float>::infinity(), *high = std::numeric_limits<float>::infinity();
  if (activation.scaled()) return false;
  switch (activation.kind) {
    using enum ActivationKind;
    case kNone:
      return true;
    case kRelu:
      *low = 0;
      return activation.alpha == 0;
    case kClip:
      *low = activation.alpha, *high = activation.beta;
      return activation.alpha <= activation.beta;
    default:
      return false;
  }
}

namespace {

double Unscaled(const Activation& activation, double x) {
  const double a = activation.alpha, b = activation.beta;
  auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  auto softplus = [](double v) { return std::max(v, 0.0) + std::log1p(std::exp(-std::abs(v))); };
  switch (activation.kind) {
    using enum ActivationKind;
    case kNone:
      return x;
    case kRelu:
      return x < 0 ? a * x + 0.0 : x;  // and no -0
    case kClip:
      return std::min(std::max(x, a), b);
    case kSigmoid:
      return sigmoid(x);
    case kTanh:
      return std::tanh(x);
    case kHardSwish:
      return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
    case kHardSigmoid:
      return std::clamp(a * x + b, 0.0, 1.0);
    case kSwish:
      return x * sigmoid(a * x);
    case kGelu:
      return 0.5 * x * (1 + std::erf(x * 0.70710678118654752));
    case kGeluTanh:
      return 0.5 * x * (1 + std::tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
    case kElu:
      return x < 0 ? a * std::expm1(x) : x;
    case kMish:
      return x * std::tanh(softplus(x));
    case kSoftplus:
      return softplus(x);
  }
  return x;
}

}  // namespace

double Activate(const Activation& activation, double x) {
  const double y = Unscaled(activation, x);
  return activation.scaled() ? activation.scale * y + activation.shift : y;
}

}  // namespace belay::ops
