// Convolutions take over what follows them: the scale and shift of a batch normalisation go into the
// weights; a bias, a residual and an activation are applied while the result is in the registers.
#include <cmath>
#include <map>
#include <optional>

#include "graph/op_schema.h"
#include "graph/passes/editor.h"
#include "graph/passes/passes.h"

namespace belay::graph {
namespace {

bool IsConvolution(const Node& node) {
  return node.type == "Conv2D" || node.type == "Conv3D" || node.type == "FusedConv2D";
}

// An attribute with its default from the table.
Attribute Get(const Node& node, std::string_view name) {
  for (const AttributeSchema& schema : FindOp(node.type)->attributes) {
    if (name == schema.name) return AttributeOf(node, schema);
  }
  return int64_t{0};
}
double Real(const Node& node, std::string_view name) {
  Attribute value = Get(node, name);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  const auto* whole = std::get_if<int64_t>(&value);
  return whole == nullptr ? 0 : static_cast<double>(*whole);
}

class ConvFuser {
 public:
  explicit ConvFuser(Graph& graph) : edit_(graph) {}

  void Run() {
    for (size_t n = 0; n < edit_.graph().nodes.size(); ++n) {
      int node = static_cast<int>(n);
      bool transposed = edit_.at(node).type == "ConvTranspose";
      if ((!transposed && !IsConvolution(edit_.at(node))) || !IsPlain(node)) continue;
      if (edit_.at(node).types[0].dtype != DType::kF32) {
        if (!transposed) TakeClip(node);
        continue;
      }
      while (FoldFollower(node)) {
      }
      if (transposed) continue;
      TakeResidual(node);
      TakeActivation(node);
      while (TakeScale(node)) {
      }
      if (edit_.ConstantAt(edit_.at(node).inputs[1]) != nullptr) static_cast<void>(MakeFused(node));
    }
  }

 private:
  struct PerChannel {
    std::vector<double> scale, shift;
  };

  bool IsPlain(int n) {
    const Node& node = edit_.at(n);
    const ValueType& type = node.types[0];
    auto format = std::get<std::string>(Get(node, "data_format"));
    auto filter_format = std::get<std::string>(Get(node, "filter_format"));
    const int rank = type.concrete() ? type.shape.rank() : 0;
    const bool images = rank == 4 || (IsConvolution(node) && (rank == 3 || rank == 5));
    return images && (type.dtype == DType::kF32 || IsHalf(type.dtype)) && format == "NCHW" &&
           (filter_format.empty() || filter_format == "NCHW") &&
           std::get<std::string>(Get(node, "auto_pad")) != "";
  }

  int64_t Channels(int n) { return edit_.at(n).types[0].shape[1]; }

  // The elements of a constant with one for each channel; also a single one for all.
  std::vector<double> ChannelValues(const Port& port, int64_t channels, int rank, bool vector_only) {
    Constant constant = edit_.ConstantAt(port);
    if (constant == nullptr || !IsFloat(constant->dtype())) return {};
    const Shape& shape = constant->shape();
    std::vector<double> values = constant->Reals();
    if (values.size() == 1) return std::vector<double>(static_cast<size_t>(channels), values[0]);
    bool fits = static_cast<int64_t>(values.size()) == channels;
    if (!vector_only)
      fits = fits && shape.rank() >= rank - 1 && shape.rank() <= rank && shape.back(rank - 2) == channels;
    return fits ? values : std::vector<double>();
  }

  bool FoldFollower(int n) {
    int user = edit_.OnlyUser({n, 0});
    if (user < 0) return false;
    PerChannel change = ChangeOf(n, user);
    return !change.scale.empty() && Apply(n, user, change);
  }

  // y = scale * x + shift for each channel, when that is all the node does.
  PerChannel ChangeOf(int n, int user) {
    const Node& node = edit_.at(user);
    auto channels = static_cast<size_t>(Channels(n));
    if ((node.type == "BNInfer" || node.type == "BatchNorm") && node.inputs[0] == Port{n, 0})
      return BatchNorm(node, channels);
    if (node.inputs.size() != 2 || (node.type != "Add" && node.type != "Mul" && node.type != "Sub"))
      return {};
    bool first = node.inputs[0] == Port{n, 0};
    if (node.type == "Sub" && !first) return {};
    if (node.types[0].shape != edit_.at(n).types[0].shape) return {};
    std::vector<double> values =
        ChannelValues(node.inputs[first ? 1 : 0], Channels(n), edit_.at(n).types[0].shape.rank(), false);
    if (values.empty()) return {};
    if (node.type == "Mul") return {values, std::vector<double>(channels, 0)};
    if (node.type == "Sub") {
      for (double& value : values) value = -value;
    }
    return {std::vector<double>(channels, 1), values};
  }

  PerChannel BatchNorm(const Node& node, size_t channels) {
    // Its other results are statistics that are computed in training only.
    const Attribute training = Get(node, "is_training");
    if (const auto* trains = std::get_if<bool>(&training); trains != nullptr && *trains) return {};
    if (node.inputs.size() < 5) return {};
    std::vector<double> values[4];
    for (size_t i = 0; i < 4; ++i) {
      values[i] = ChannelValues(node.inputs[i + 1], static_cast<int64_t>(channels), 0, true);
      if (values[i].empty()) return {};
    }
    double epsilon = Real(node, "epsilon");
    PerChannel change;
    for (size_t c = 0; c < channels; ++c) {
      double scale = values[0][c] / std::sqrt(values[3][c] + epsilon);
      change.scale.push_back(scale);
      change.shift.push_back(values[1][c] - values[2][c] * scale);
    }
    return change;
  }

  // False: the weights are no constants, or something else follows already.
  bool Apply(int n, int user, const PerChannel& change) {
    const Node node = edit_.at(n);
    Constant weight = edit_.ConstantAt(node.inputs[1]);
    bool has_bias = node.inputs.size() > 2 && node.inputs[2].present();
    Constant bias = has_bias ? edit_.ConstantAt(node.inputs[2]) : nullptr;
    if (weight == nullptr || weight->dtype() != DType::kF32 || (has_bias && bias == nullptr) ||
        node.inputs.size() > 3)
      return false;
    auto channels = static_cast<size_t>(Channels(n));
    Constant scaled = Scaled(node, *weight, change.scale);
    auto shifted = std::make_shared<HostTensor>(DType::kF32, Shape{static_cast<int64_t>(channels)});
    std::vector<double> old = bias == nullptr ? std::vector<double>(channels, 0) : bias->Reals();
    for (size_t c = 0; c < channels; ++c) {
      shifted->as<float>()[c] = static_cast<float>(old[c] * change.scale[c] + change.shift[c]);
    }
    Port w = edit_.AddConstant(node.name + "_weight", std::move(scaled));
    Port b = edit_.AddConstant(node.name + "_bias", std::move(shifted));
    bool transposed = node.type == "ConvTranspose";
    return edit_.TakeOver(n, user, transposed ? node.type : "FusedConv2D", {node.inputs[0], w, b},
                          transposed ? node.attributes : FusedAttributes(node));
  }

  // Weights are [out, in / groups, kernel...]; of a transposed convolution [in, out / groups, kernel...].
  Constant Scaled(const Node& node, const HostTensor& weight, const std::vector<double>& scale) {
    auto scaled = std::make_shared<HostTensor>(DType::kF32, weight.shape());
    const Shape& shape = weight.shape();
    bool transposed = node.type == "ConvTranspose";
    int64_t groups = transposed ? std::get<int64_t>(Get(node, "groups")) : 1, taps = 1;
    for (int d = 2; d < shape.rank(); ++d) taps *= shape[d];
    for (int64_t i = 0; i < weight.count(); ++i) {
      int64_t first = i / taps / shape[1];
      int64_t channel = transposed ? first / (shape[0] / groups) * shape[1] + i / taps % shape[1] : first;
      scaled->as<float>()[i] =
          static_cast<float>(weight.as<float>()[i] * scale[static_cast<size_t>(channel)]);
    }
    return scaled;
  }

  static Attributes FusedAttributes(const Node& node) {
    Attributes attributes;
    for (const char* name : {"strides", "pads", "dilations", "groups", "data_format", "filter_format",
                             "auto_pad", "activation", "alpha", "beta", "scale", "shift"}) {
      auto it = node.attributes.find(name);
      if (it != node.attributes.end()) attributes[name] = it->second;
    }
    attributes["data_format"] = std::get<std::string>(Get(node, "data_format"));
    OrderPads(node, attributes);
    auto groups = std::get<int64_t>(Get(node, "groups"));
    if (node.type != "FusedConv2D" && groups == 0) groups = std::get<int64_t>(Get(node, "group"));
    attributes["groups"] = groups;
    return attributes;
  }

  // A node that says `group` has them in ONNX's order.
  static void OrderPads(const Node& node, Attributes& attributes) {
    auto it = attributes.find("pads");
    auto* pads = it == attributes.end() ? nullptr : std::get_if<std::vector<int64_t>>(&it->second);
    if (pads == nullptr || pads->size() % 2 != 0 || node.attributes.count("group") == 0) return;
    const std::vector<int64_t> given = *pads;
    const size_t half = given.size() / 2;
    for (size_t i = 0; i < half; ++i) (*pads)[2 * i] = given[i], (*pads)[2 * i + 1] = given[half + i];
  }

  bool MakeFused(int n) {
    const Node node = edit_.at(n);
    if (node.type == "FusedConv2D") return true;
    std::vector<Port> inputs(
        node.inputs.begin(),
        node.inputs.begin() + static_cast<ptrdiff_t>(std::min<size_t>(node.inputs.size(), 3)));
    return edit_.Rewrite(n, "FusedConv2D", std::move(inputs), FusedAttributes(node));
  }

  void TakeResidual(int n) {
    int user = edit_.OnlyUser({n, 0});
    if (user < 0 || edit_.at(user).type != "Add") return;
    const Node add = edit_.at(user);
    Port other = add.inputs[0] == Port{n, 0} ? add.inputs[1] : add.inputs[0];
    const ValueType& type = edit_.TypeOf(other);
    if (other == Port{n, 0} || type.shape != edit_.at(n).types[0].shape || type.dtype != DType::kF32) return;
    if (!MakeFused(n)) return;
    std::vector<Port> inputs = edit_.at(n).inputs;
    inputs.resize(3);
    inputs.push_back(other);
    static_cast<void>(edit_.TakeOver(n, user, "FusedConv2D", std::move(inputs), edit_.at(n).attributes));
  }

  struct Activation {
    std::string name;
    double alpha = 0, beta = 0;
  };

  // Not tanh, which costs oneDNN more than a pass of its own over the result.
  Activation ActivationOf(const Node& node) {
    static const auto& plain = *new std::map<std::string, std::string>{
        {"Relu", "relu"}, {"Sigmoid", "sigmoid"}, {"HardSwish", "hardswish"}, {"Mish", "mish"}};
    if (auto it = plain.find(node.type); it != plain.end()) return {it->second};
    if (node.type == "LeakyRelu") return {"relu", Real(node, "negative_slope")};
    if (node.type == "Relu6") return {"clip", 0, 6};
    if (node.type == "HardSigmoid") return {"hardsigmoid", Real(node, "alpha"), Real(node, "beta")};
    if (node.type == "Swish") return {"swish", Real(node, "scale")};
    if (node.type == "ClipByValueV2" && node.inputs.size() == 3) {
      Constant low = edit_.ConstantAt(node.inputs[1]), high = edit_.ConstantAt(node.inputs[2]);
      if (low != nullptr && high != nullptr && low->count() == 1 && high->count() == 1) {
        return {"clip", low->Reals()[0], high->Reals()[0]};
      }
    }
    return {};
  }

  // Only planes as they lie are convolved quickly by a filter each through a volume, with a clip at most
  // behind.
  bool IsDepthwiseVolume(int n) {
    const Shape& filter = edit_.TypeOf(edit_.at(n).inputs[1]).shape;
    return filter.rank() == 5 && filter[0] > 1 && filter[1] == 1 && filter[2] > 1 && filter[3] > 1 &&
           filter[4] > 1;
  }

  static bool IsClip(const Activation& activation) {
    return activation.name == "clip" || (activation.name == "relu" && activation.alpha == 0);
  }

  // Each operator rounds to FLOAT16 or BFLOAT16. A clip of what is rounded is what is clipped, rounded; with
  // anything else behind a convolution, a rounding would be left out.
  void TakeClip(int n) {
    TakeActivation(n, true);
    if (edit_.ConstantAt(edit_.at(n).inputs[1]) != nullptr) static_cast<void>(MakeFused(n));
  }

  void TakeActivation(int n, bool only_clips = false) {
    int user = edit_.OnlyUser({n, 0});
    if (user < 0 || edit_.at(user).inputs[0] != Port{n, 0}) return;
    Activation activation = ActivationOf(edit_.at(user));
    if (only_clips && !IsClip(activation)) return;
    if (activation.name.empty() || (IsDepthwiseVolume(n) && !IsClip(activation)) || !MakeFused(n)) return;
    Attributes attributes = edit_.at(n).attributes;
    attributes["activation"] = activation.name;
    attributes["alpha"] = activation.alpha;
    attributes["beta"] = activation.beta;
    static_cast<void>(edit_.TakeOver(n, user, "FusedConv2D", edit_.at(n).inputs, std::move(attributes)));
  }

  // One number for all elements; nothing when it is none.
  std::optional<double> SingleValue(const Port& port) {
    auto number = edit_.NumberAt(port);
    return number && edit_.ConstantAt(port)->dtype() == DType::kF32 ? number : std::nullopt;
  }

  // A factor or a summand behind the activation.
  bool TakeScale(int n) {
    int user = edit_.OnlyUser({n, 0});
    if (user < 0 || edit_.at(user).inputs.size() != 2 || edit_.at(n).type != "FusedConv2D") return false;
    const Node& node = edit_.at(user);
    if (node.types[0].shape != edit_.at(n).types[0].shape) return false;
    bool first = node.inputs[0] == Port{n, 0};
    std::optional<double> value = SingleValue(node.inputs[first ? 1 : 0]);
    if (!value) return false;
    double scale = Real(edit_.at(n), "scale"), shift = Real(edit_.at(n), "shift");
    if (node.type == "Mul") {
      scale *= *value, shift *= *value;
    } else if (first && IsDivision(node)) {
      scale /= *value, shift /= *value;
    } else if (node.type == "Add") {
      shift += *value;
    } else {
      return false;
    }
    Attributes attributes = edit_.at(n).attributes;
    attributes["scale"] = scale;
    attributes["shift"] = shift;
    return edit_.TakeOver(n, user, "FusedConv2D", edit_.at(n).inputs, std::move(attributes));
  }

  Editor edit_;
};

}  // namespace

void FuseConvolutions(Graph& graph) {
  ConvFuser(graph).Run();
  SortNodes(graph);
  RemoveDeadNodes(graph);
}

}  // namespace belay::graph
