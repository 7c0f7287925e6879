// Turning one node into plans. The function of an operator's type gets a Translation: it reads the
// types of the inputs and the attributes, declares the outputs, and adds the steps that compute them.
// The same function serves compiling (inputs are known by type) and interpreting (by value too).
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "graph/ir.h"
#include "graph/op_schema.h"
#include "ops/conv/weight_layout.h"
#include "ops/forms.h"
#include "ops/schema.h"

namespace belay::graph {

using ops::Arg;
using tensor::Scalar;
using tensor::Tensor;

// An input of a node: what is known about it.
struct KnownInput {
  bool present = false;
  DType dtype = DType::kUndefined;
  Shape shape;
  Constant value;         // the elements, where they are known
  bool constant = false;  // and the same at every run: work on it may be done ahead
};

// A value inside one node: an input, an output, or an intermediate.
struct LocalValue {
  DType dtype = DType::kUndefined;
  Shape shape;
  int same_memory_as = -1;  // an earlier value whose bytes it is
  Constant given;           // an output whose elements are already known
};

// One plan, and which value stands behind each of its bindings (-1: none).
struct Step {
  ops::PlanRef plan;
  std::vector<int> values;
};

// What a translation is wanted for.
enum class Purpose : uint8_t {
  kPlans,
  kTypes,    // of the outputs: plans are not made, because that may take long
  kPacking,  // weights that never change, packed as a plan would
};

// Values are numbered: inputs, then outputs, then intermediates.
struct Translated {
  std::vector<LocalValue> values;
  int inputs = 0;
  int outputs = 0;
  std::vector<Step> steps;
  std::optional<ops::PackedWeights> packed;
  std::vector<bool> looked_at;  // the inputs whose elements decided
};

// Thrown where the elements of an input decide and are not known yet: the node can only be translated
// when it runs.
struct NeedsValue {
  int input;
};

class Translation {
 public:
  Translation(const Node& node, const OpSchema& schema, std::span<const KnownInput> inputs, Purpose purpose);

  // --- inputs
  int input_count() const { return static_cast<int>(inputs_.size()); }
  bool has(int i) const { return i >= 0 && i < input_count() && inputs_[static_cast<size_t>(i)].present; }
  // Packed; throws Error that names the input when it is missing.
  const Tensor& in(int i) const;
  const Shape& shape(int i) const { return in(i).shape; }
  DType dtype(int i) const { return in(i).dtype; }
  // The elements. NeedsValue when they are not known.
  const HostTensor& value(int i) const;
  std::vector<int64_t> ints(int i) const { return value(i).Ints(); }
  // The elements of an input that never changes; null for others.
  Constant constant(int i) const;

  // An input that holds weights as the compiler has packed them; the attributes packed_layout and
  // packed_shape tell.
  std::optional<ops::PackedWeights> PackedInput(int i) const;
  // What stands for their elements: floats of the shape that they had.
  Tensor PackedShape() const;

  // --- attributes, with the defaults of the row
  int64_t Int(std::string_view name) const { return Get<int64_t>(name); }
  double Float(std::string_view name) const { return Get<double>(name); }
  bool Bool(std::string_view name) const { return Get<bool>(name); }
  DType Type(std::string_view name) const { return Get<DType>(name); }
  std::string String(std::string_view name) const { return Get<std::string>(name); }
  std::vector<int64_t> Ints(std::string_view name) const { return Get<std::vector<int64_t>>(name); }
  std::vector<double> Floats(std::string_view name) const { return Get<std::vector<double>>(name); }
  Constant Value(std::string_view name) const { return Get<Constant>(name); }
  bool HasAttribute(std::string_view name) const {
    return node_.attributes.find(name) != node_.attributes.end();
  }

  // What a node draws its random numbers from.
  std::shared_ptr<ops::RandomSequence> Sequence() const;

  // --- results
  int output_count() const { return result_.outputs; }
  // Declares output i and gives the tensor to compute it into.
  Tensor Out(int i, DType dtype, const Shape& shape);
  Tensor Temporary(DType dtype, const Shape& shape);
  // Output i is the bytes of a packed tensor under another shape; nothing runs.
  void OutSame(int i, const Tensor& source, const Shape& shape);
  // Output i is known already.
  void OutValue(int i, Constant value);

  // Adds a step: a form of spec/ops with its arguments in the order of the call.
  void Run(const ops::Form& form, std::vector<Arg> args);
  // A step that is made by hand: `make` binds tensors and sets the body.
  template <class Make>
  void Step(const char* name, const Make& make) {
    if (purpose_ == Purpose::kTypes) return;
    ops::PlanRef plan = NewPlan(name);
    make(*plan);
    AddStep(std::move(plan));
  }

  // In place of a plan, where weights are to be packed.
  bool packs() const { return purpose_ == Purpose::kPacking; }
  void SetPacked(std::optional<ops::PackedWeights> weights) { result_.packed = std::move(weights); }

  // --- helpers
  // Views of the same memory.
  static Tensor View(const Tensor& tensor, const Shape& shape, const tensor::Strides& strides,
                     int64_t offset = 0);
  static Tensor Reshaped(const Tensor& packed, const Shape& shape);
  static Tensor Transposed(const Tensor& tensor, std::span<const int64_t> order);
  // The tensor converted, by a step where that is needed.
  Tensor Cast(const Tensor& tensor, DType dtype);
  // A packed copy where the view is not packed already.
  Tensor Packed(const Tensor& tensor);
  void Copy(const Tensor& source, const Tensor& destination);

  // An axis that may count from the end. Throws Error when it is beyond the rank.
  int Axis(int64_t axis, int rank) const;
  const Node& node() const { return node_; }
  const OpSchema& schema() const { return schema_; }
  [[noreturn]] void Refuse(const std::string& sentence) const;

  Translated Finish();

 private:
  template <class T>
  T Get(std::string_view name) const;
  const AttributeSchema& Schema(std::string_view name) const;
  Tensor NewTensor(int number) const;
  LocalValue& Output(int i);
  void CheckShape(const Shape& shape) const;
  static ops::PlanRef NewPlan(const char* name);
  void AddStep(ops::PlanRef plan);

  const Node& node_;
  const OpSchema& schema_;
  const Purpose purpose_;
  std::vector<KnownInput> inputs_;
  std::vector<Tensor> tensors_;  // of the inputs
  mutable Translated result_;    // reading notes what was looked at
};

// Translates a node with inputs of these types. Errors name the node.
Translated TranslateNode(const Node& node, std::span<const KnownInput> inputs,
                         Purpose purpose = Purpose::kPlans);

template <class T>
T Translation::Get(std::string_view name) const {
  const Attribute value = AttributeOf(node_, Schema(name));
  if constexpr (std::is_same_v<T, double>) {
    if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  }
  if constexpr (std::is_same_v<T, DType>) {  // callers also give the number of the type
    const auto* number = std::get_if<int64_t>(&value);
    if (number != nullptr && *number >= 0 && *number < tensor::kDTypeCount)
      return static_cast<DType>(*number);
  }
  if (const T* found = std::get_if<T>(&value)) return *found;
  Refuse("attribute '" + std::string(name) + "' has the wrong type");
}

}  // namespace belay::graph
