// The functions that gates of recurrent networks go through.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>
#include <utility>

#include "ops/rnn/rnn.h"

namespace belay::ops {

RnnFunction FindRnnFunction(std::string_view name) {
  static const std::pair<std::string_view, RnnFunction> kFunctions[] = {
      {"sigmoid", {[](float x, float, float) { return 1 / (1 + std::exp(-x)); }, 0, 0}},
      {"tanh", {[](float x, float, float) { return std::tanh(x); }, 0, 0}},
      {"relu", {[](float x, float, float) { return x < 0 ? 0 : x; }, 0, 0}},
      {"affine", {[](float x, float a, float b) { return a * x + b; }, 1, 0}},
      {"leakyrelu", {[](float x, float a, float) { return x < 0 ? a * x : x; }, 0.01f, 0}},
      {"thresholdedrelu", {[](float x, float a, float) { return x > a ? x : 0; }, 1, 0}},
      {"scaledtanh", {[](float x, float a, float b) { return a * std::tanh(b * x); }, 1, 1}},
      {"hardsigmoid",
       {[](float x, float a, float b) { return std::clamp(a * x + b, 0.0f, 1.0f); }, 0.2f, 0.5f}},
      {"elu", {[](float x, float a, float) { return x < 0 ? a * std::expm1(x) : x; }, 1, 0}},
      {"softsign", {[](float x, float, float) { return x / (1 + std::abs(x)); }, 0, 0}},
      {"softplus",
       {[](float x, float, float) { return std::max(x, 0.0f) + std::log1p(std::exp(-std::abs(x))); }, 0, 0}},
  };
  std::string lower;
  for (char c : name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& [known, function] : kFunctions) {
    if (known == lower) return function;
  }
  return {nullptr, 0, 0};
}

}  // namespace belay::ops
