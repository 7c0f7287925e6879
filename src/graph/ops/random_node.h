// Nodes of any operator with inputs and attributes of any kind, for tests.
#pragma once

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/sanitizer.h"
#include "graph/interpreter.h"
#include "graph/op_schema.h"
#include "tensor/convert.h"

namespace belay::graph::samples {

class RandomNode {
 public:
  // `large`: with tensors that several cores share.
  RandomNode(const OpSchema& schema, uint32_t seed, bool large = false) : random_(seed), large_(large) {
    node_.name = "n";
    node_.type = schema.type;
    node_.outputs = static_cast<int>(schema.outputs.size());
    for (int64_t rank = Below(5); rank > 0; --rank) common_.push_back(Size());
    for (const PortSchema& port : schema.inputs) AddInputs(port.kind);
    for (const AttributeSchema& attribute : schema.attributes) {
      if (attribute.required || OneIn(2)) node_.attributes[attribute.name] = Value(attribute.kind);
    }
  }
  const Node& node() const { return node_; }
  const std::vector<Constant>& inputs() const { return inputs_; }
  std::vector<Constant> Evaluate() const { return EvaluateNode(node_, inputs_); }

 private:
  static constexpr int64_t kSizes[] = {0, 1, 1, 2, 2, 3, 4};
  static constexpr int64_t kLargeSizes[] = {3, 30, 40, 50};
#ifdef BELAY_ASAN
  // UBSan reports what sums and products of the largest numbers do, which wrap around elsewhere.
  static constexpr int64_t kWhole[] = {-2, -1, 0, 0, 1, 1, 2, 3, 4, 1000};
#else
  static constexpr int64_t kWhole[] = {INT64_MIN, -1'000'000'000,   -2,       -1, 0, 0, 1, 1, 2, 3,
                                       4,         int64_t{1} << 40, INT64_MAX};
#endif
  static constexpr double kReal[] = {0,
                                     1,
                                     -1,
                                     0.5,
                                     2.5,
                                     1e30,
                                     std::numeric_limits<double>::infinity(),
                                     std::numeric_limits<double>::quiet_NaN()};
  static constexpr const char* kText[] = {"",     "NHWC", "NCHW", "SAME",   "VALID",  "CALCULATED", "mean",
                                          "none", "sum",  "add",  "update", "linear", "bogus"};
  static constexpr DType kTypes[] = {DType::kF32,  DType::kF32, DType::kF32,  DType::kF16,
                                     DType::kBF16, DType::kF64, DType::kBool, DType::kI8,
                                     DType::kU8,   DType::kI32, DType::kI64};

  int64_t Below(int64_t most) { return std::uniform_int_distribution<int64_t>(0, most - 1)(random_); }
  bool OneIn(int64_t chances) { return Below(chances) == 0; }
  template <class T, size_t kCount>
  T Pick(const T (&from)[kCount]) {
    return from[Below(kCount)];
  }

  int64_t Size() { return large_ ? Pick(kLargeSizes) : Pick(kSizes); }

  void AddInputs(PortKind kind) {
    if (kind == PortKind::kOptional && OneIn(3)) return inputs_.push_back(nullptr);
    for (int64_t count = kind == PortKind::kDynamic ? Below(4) : 1; count > 0; --count)
      inputs_.push_back(Tensor());
  }

  Constant Tensor() {
    Shape shape = common_;
    if (OneIn(2)) {
      shape = {};
      for (int64_t rank = Below(5); rank > 0; --rank) shape.push_back(Size());
    }
    const DType dtype = Pick(kTypes);
    auto tensor = std::make_shared<HostTensor>(dtype, shape);
    for (int64_t i = 0; i < tensor->count(); ++i) {
      const bool odd = OneIn(12);
      const double value = odd && IsFloat(dtype) ? Pick(kReal) : static_cast<double>(Below(7) - 2);
      auto* to = tensor->mutable_data() + i * static_cast<int64_t>(BytesOf(dtype));
      tensor::Convert(dtype, to, DType::kF64, &value, 1);
      if (odd && dtype == DType::kI64) tensor->as<int64_t>()[i] = Pick(kWhole);
    }
    return tensor;
  }

  template <class Make>
  auto List(Make&& make) {
    std::vector<decltype(make())> list;
    for (int64_t count = Below(6); count > 0; --count) list.push_back(make());
    return list;
  }

  Attribute Value(AttributeKind kind) {
    switch (kind) {
      case AttributeKind::kInt:
        return Pick(kWhole);
      case AttributeKind::kFloat:
        return Pick(kReal);
      case AttributeKind::kBool:
        return OneIn(2);
      case AttributeKind::kString:
        return std::string(Pick(kText));
      case AttributeKind::kType:
        return Pick(kTypes);
      case AttributeKind::kInts:
        return List([&] { return Pick(kWhole); });
      case AttributeKind::kFloats:
        return List([&] { return Pick(kReal); });
      case AttributeKind::kStrings:
        return List([&] { return std::string(Pick(kText)); });
      case AttributeKind::kTensor:
        return Tensor();
      case AttributeKind::kGraph:
        return std::make_shared<Graph>();
    }
    return int64_t{0};
  }

  std::mt19937 random_;
  bool large_;
  Shape common_;
  Node node_;
  std::vector<Constant> inputs_;
};

}  // namespace belay::graph::samples
