// Nodes and values for the tests of operators.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/interpreter.h"
#include "tensor/convert.h"

namespace belay::graph::samples {

// 0, 1, 2, ...
inline Constant Counting(const Shape& shape, DType dtype = DType::kF32) {
  HostTensor numbers(DType::kI64, shape);
  for (int64_t i = 0; i < numbers.count(); ++i) numbers.as<int64_t>()[i] = i;
  auto tensor = std::make_shared<HostTensor>(dtype, shape);
  tensor::Convert(dtype, tensor->mutable_data(), DType::kI64, numbers.data(), numbers.count());
  return tensor;
}

inline Constant Reals(const Shape& shape, std::initializer_list<double> values, DType dtype = DType::kF32) {
  auto tensor = std::make_shared<HostTensor>(dtype, shape);
  tensor::Convert(dtype, tensor->mutable_data(), DType::kF64, values.begin(),
                  static_cast<int64_t>(values.size()));
  return tensor;
}

inline Constant Ints(std::initializer_list<int64_t> values) {
  return IntsConstant({values.begin(), values.size()});
}

inline Constant Ints(const Shape& shape, std::initializer_list<int64_t> values) {
  auto tensor = std::make_shared<HostTensor>(DType::kI64, shape);
  std::copy(values.begin(), values.end(), tensor->as<int64_t>());
  return tensor;
}

inline Constant Doubles(const Shape& shape, const std::vector<double>& values) {
  auto tensor = std::make_shared<HostTensor>(DType::kF64, shape);
  std::copy(values.begin(), values.end(), tensor->as<double>());
  return tensor;
}
inline Constant Row(const std::vector<double>& values) {
  return Doubles({static_cast<int64_t>(values.size())}, values);
}

// The results of one node.
inline std::vector<Constant> Apply(const std::string& type, const std::vector<Constant>& inputs,
                                   Attributes attributes = {}, int outputs = 1) {
  Node node{.name = "n", .type = type, .outputs = outputs};
  node.attributes = std::move(attributes);
  return EvaluateNode(node, inputs);
}

// The values of the first of them.
inline std::vector<double> Results(const std::string& type, const std::vector<Constant>& inputs,
                                   Attributes attributes = {}) {
  return Apply(type, inputs, std::move(attributes)).at(0)->Reals();
}

}  // namespace belay::graph::samples
