// Convolutions work on images (rows, planes or volumes) whose channels come last. Models have them first, so
// images are turned where a run of such operators begins and back where it ends, and what lies between works
// on turned images as well. Pooling and depthwise convolutions do so too within a run, and do not begin one.
#include <algorithm>
#include <map>
#include <set>

#include "graph/op_schema.h"
#include "graph/passes/passes.h"
#include "ops/conv/activation.h"
#include "ops/conv/plane_conv.h"
#include "ops/conv/plane_product.h"
#include "ops/pool/pool.h"

namespace belay::graph {
namespace {

using Order = std::vector<int64_t>;

Order ToLast(int rank) {
  Order order{0};
  for (int64_t axis = 2; axis < rank; ++axis) order.push_back(axis);
  order.push_back(1);
  return order;
}

Order ToFirst(int rank) {
  Order order{0, rank - 1};
  for (int64_t axis = 1; axis < rank - 1; ++axis) order.push_back(axis);
  return order;
}

// A PRelu whose slopes broadcast is.
bool IsPointwise(const Node& node) {
  const OpSchema* schema = FindOp(node.type);
  const auto* broadcast = FindAttribute<bool>(node, "broadcast");
  return (schema != nullptr && schema->Is(kTraitPointwise)) ||
         (node.type == "PRelu" && broadcast != nullptr && *broadcast);
}

// Have a data_format of their own. Sets are never destroyed: compiling may still be under way when the
// process exits.
bool IsImageOperator(const Node& node) {
  static const auto& types = *new std::set<std::string, std::less<>>{
      "FusedConv2D", "Conv2D", "ConvTranspose", "QLinearConv", "MaxPoolV3", "AvgPoolV2"};
  return types.count(node.type) != 0;
}

// Have one scale for all elements, or one for each along an axis.
bool IsQuantisation(const Node& node) {
  static const auto& types =
      *new std::set<std::string, std::less<>>{"QuantizeLinear", "DequantizeLinear", "Requantize"};
  const auto* block = FindAttribute<int64_t>(node, "block_size");
  return types.count(node.type) != 0 && (block == nullptr || *block == 0);
}

// A batch of channels of rows, planes or volumes.
bool IsImage(const ValueType& type) {
  return type.concrete() && type.shape.rank() >= 3 && type.shape.rank() <= 5;
}
bool IsPlane(const ValueType& type) { return IsImage(type) && type.shape.rank() == 4; }

Shape Turned(const Shape& shape, const Order& order) {
  Shape turned;
  for (int64_t axis : order) turned.push_back(shape[static_cast<int>(axis)]);
  return turned;
}

// Builds the graph anew; each value may exist in both layouts.
class LayoutChooser {
 public:
  explicit LayoutChooser(const Graph& from) : from_(from), users_(from.nodes.size()) {
    to_.name = from.name;
    for (size_t n = 0; n < from.nodes.size(); ++n) {
      for (const Port& port : from.nodes[n].inputs) {
        if (port.present()) users_[static_cast<size_t>(port.node)].push_back(static_cast<int>(n));
      }
    }
  }

  Graph Run() {
    for (int input : from_.inputs) {
      const Node& node = from_.nodes[static_cast<size_t>(input)];
      first_[{input, 0}] = {to_.AddInput(node.name, node.types[0]), 0};
    }
    for (size_t n = 0; n < from_.nodes.size(); ++n) {
      if (from_.nodes[n].type != kDataType) Visit(static_cast<int>(n));
    }
    for (const GraphOutput& output : from_.outputs)
      to_.outputs.push_back({First(output.port), output.name, output.declared});
    return std::move(to_);
  }

 private:
  const ValueType& TypeOf(const Port& port) const {
    return from_.nodes[static_cast<size_t>(port.node)].types[static_cast<size_t>(port.output)];
  }

  void Visit(int n) {
    const Node& node = from_.nodes[static_cast<size_t>(n)];
    if (IsImageOperator(node) && WantsLast(node) && !WorksAsItLies(n, node)) return AddImageOperator(n, node);
    if (IsPointwise(node) && AnyLastOnly(node) && AllTurnable(node)) return AddElementwise(n, node);
    if (IsQuantisation(node) && IsPlane(node.types[0]) &&
        (last_.count(node.inputs[0]) != 0 || IsQuantisedFor(n, node)))
      return AddQuantisation(n, node);
    if (node.type == "QLinearAdd" && AnyLastOnly(node) && SumsImages(node)) return AddSum(n, node);
    if (node.type == "Resize" && AnyLastOnly(node) && IsPlane(node.types[0])) return AddResize(n, node);
    if (node.type == "TransposeD" && IsAnotherName(n, node)) return;
    if (!node.inputs.empty() && IsLastOnly(node.inputs[0]) && WorksAlongAxes(n, node)) return;
    if ((node.type == "ConcatV2D" || node.type == "ConcatD") && AnyLastOnly(node)) {
      if (const auto* axis = FindAttribute<int64_t>(node, "concat_dim"); axis != nullptr && AllImages(node)) {
        return AddConcat(n, node, *axis);
      }
    }
    Node copy = node;
    for (Port& port : copy.inputs) port = First(port);
    AddWith(first_, n, std::move(copy));
  }

  bool WantsLast(const Node& node) const {
    const auto* format = FindAttribute<std::string>(node, "data_format");
    const auto* filter = FindAttribute<std::string>(node, "filter_format");
    bool plain = filter == nullptr || filter->empty() || *filter == "NCHW";
    bool first = format == nullptr ? node.type != "Conv2D" : *format == "NCHW";  // their defaults
    const bool plane = IsPlane(node.types[0]) || (node.type == "FusedConv2D" && IsImage(node.types[0]));
    return first && plain && plane && node.outputs == 1 &&
           (node.types[0].dtype == DType::kF32 || IsHalf(node.types[0].dtype) || node.type == "QLinearConv" ||
            PoolsBytes(node)) &&
           IsImage(TypeOf(node.inputs[0]));
  }

  static bool PoolsBytes(const Node& node) {
    const DType type = node.types[0].dtype;
    return node.type == "MaxPoolV3" && (type == DType::kI8 || type == DType::kU8);
  }

  // Planes are pooled, and convolved by a filter each, where they lie, which is quicker than turning them.
  // Rows that fill no vector are not pooled so. A product of the channels that stands alone is taken so, too.
  bool WorksAsItLies(int n, const Node& node) const {
    if (IsDepthwiseVolume(node)) return ClipsAtMost(node);  // turning costs less than what others take
    if (last_.count(node.inputs[0]) != 0) return false;
    return TakesPlanes(node) || (ClipsAtMost(node) && (IsPlaneProduct(node) || SeesFew(node)) &&
                                 !LeadsToImages(n, kFar, SeesNeighbours(node)));
  }

  bool SeesNeighbours(const Node& node) const {
    const Shape& filter = TypeOf(node.inputs[1]).shape;
    return CountOf(filter) > filter[0] * filter[1];
  }

  bool TakesPlanes(const Node& node) const {
    if (node.type == "MaxPoolV3" || node.type == "AvgPoolV2")
      return TypeOf(node.inputs[0]).shape.back(0) >= ops::kShortestPooledRow;
    return ClipsAtMost(node) && IsDepthwise(node);
  }

  bool IsPlaneProduct(const Node& node) const {
    if (node.type != "FusedConv2D" && node.type != "Conv2D") return false;
    const Shape &filter = TypeOf(node.inputs[1]).shape, &in = TypeOf(node.inputs[0]).shape,
                &out = node.types[0].shape;
    int64_t pixels = 1, depth = filter[1];
    bool itself = true, patches = true;  // what each place sees, as the sizes tell nearly
    for (int d = 2; d < in.rank(); ++d) {
      const int64_t step = in[d] / std::max<int64_t>(out[d], 1);
      itself = itself && filter[d] == 1 && out[d] == in[d];
      patches = patches && filter[d] <= step && (out[d] - 1) * step + filter[d] <= in[d];
      pixels *= out[d], depth *= filter[d];
    }
    const int64_t filters = out[1] / (in[1] / filter[1]);
    return itself ? ops::PaysAsPlanes(depth, filters, pixels)
                  : patches && ops::PaysAsPatches(depth, filters, pixels);
  }

  // How far apart what a transposed one spreads is, its sizes tell nearly.
  bool SeesFew(const Node& node) const {
    const bool transposed = node.type == "ConvTranspose";
    if (node.type != "FusedConv2D" && node.type != "Conv2D" && !transposed) return false;
    const Shape &filter = TypeOf(node.inputs[1]).shape, &in = TypeOf(node.inputs[0]).shape,
                &out = node.types[0].shape;
    const int64_t groups = transposed ? out[1] / filter[1] : in[1] / filter[1];
    ops::SeenByAPlace seen{groups, in[1] / groups, 1, out[1] / groups, 1, transposed};
    for (int d = 2; d < filter.rank(); ++d) {
      const int64_t step = transposed ? std::max<int64_t>(out[d] / in[d], 1) : 1;
      seen.taps *= (filter[d] + step - 1) / step;
      if (d + 2 >= filter.rank()) seen.places *= out[d] / step;
    }
    return ops::FewAreSeen(seen);
  }

  bool IsDepthwise(const Node& node) const {
    if (node.type != "FusedConv2D" && node.type != "Conv2D" && node.type != "ConvTranspose") return false;
    const Shape &filter = TypeOf(node.inputs[1]).shape, &in = TypeOf(node.inputs[0]).shape;
    if (!IsImage(TypeOf(node.inputs[1])) || in[1] < 2) return false;
    const auto* groups = FindAttribute<int64_t>(node, "groups");
    return node.type == "ConvTranspose" ? groups != nullptr && *groups == in[1] : filter[1] == 1;
  }

  // Whose filters reach along all three dimensions: others become images.
  bool IsDepthwiseVolume(const Node& node) const {
    if (!IsDepthwise(node) || node.type == "ConvTranspose") return false;
    const Shape& filter = TypeOf(node.inputs[1]).shape;
    return filter.rank() == 5 && filter[2] > 1 && filter[3] > 1 && filter[4] > 1;
  }

  static bool ClipsAtMost(const Node& node) {
    if (node.type != "FusedConv2D") return true;
    if (node.inputs.size() > 3 && node.inputs[3].present()) return false;
    auto number = [&](const char* name, double missing) {
      const auto* value = FindAttribute<double>(node, name);
      return static_cast<float>(value == nullptr ? missing : *value);
    };
    ops::Activation activation{ops::ActivationKind::kNone, number("alpha", 0), number("beta", 0),
                               number("scale", 1), number("shift", 0)};
    const auto* name = FindAttribute<std::string>(node, "activation");
    if (name != nullptr && !ops::FindActivation(*name, &activation.kind)) return false;
    float low, high;
    return ops::FindClip(activation, &low, &high);
  }

  // What convolutions of bytes read: floats are turned faster than bytes are.
  bool IsQuantisedFor(int n, const Node& node) const {
    const std::vector<int>& users = users_[static_cast<size_t>(n)];
    return node.type == "QuantizeLinear" && IsImage(TypeOf(node.inputs[0])) &&
           std::any_of(users.begin(), users.end(), [&](int u) {
             const Node& user = from_.nodes[static_cast<size_t>(u)];
             return user.type == "QLinearConv" && user.inputs[0] == Port{n, 0};
           });
  }

  bool IsLastOnly(const Port& port) const {
    return port.present() && last_.count(port) != 0 && first_.count(port) == 0;
  }
  bool AnyLastOnly(const Node& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](const Port& port) { return IsLastOnly(port); });
  }
  static bool IsImageOf(const ValueType& type, int rank) {
    return IsImage(type) && type.shape.rank() == rank;
  }
  bool AllImages(const Node& node) const {
    return std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](const Port& port) { return port.present() && IsImage(TypeOf(port)); });
  }
  // Images, scalars, and constants that can be turned.
  bool AllTurnable(const Node& node) const {
    return IsImage(node.types[0]) &&
           std::all_of(node.inputs.begin(), node.inputs.end(), [&](const Port& port) {
             if (!port.present()) return true;
             const ValueType& type = TypeOf(port);
             return IsImageOf(type, node.types[0].shape.rank()) ||
                    (type.concrete() && CountOf(type.shape) == 1) ||
                    ConstantOf(from_.nodes[static_cast<size_t>(port.node)]) != nullptr;
           });
  }

  void AddImageOperator(int n, const Node& node) {
    Node copy = node;
    for (size_t i = 0; i < copy.inputs.size(); ++i) {
      bool image = i == 0 || (i == 3 && node.type == "FusedConv2D");  // x and the residual
      copy.inputs[i] = image ? Last(node.inputs[i]) : First(node.inputs[i]);
    }
    copy.attributes["data_format"] = std::string("NHWC");
    if (node.type == "FusedConv2D" || node.type == "Conv2D") {
      copy.attributes["filter_format"] = std::string("NCHW");
    }
    for (const char* name : {"ksize", "strides", "dilations"}) TurnList(copy, name);
    AddLast(n, std::move(copy));
  }

  // Lists with one number for each dimension.
  static void TurnList(Node& node, const char* name) {
    auto it = node.attributes.find(name);
    auto* list = it == node.attributes.end() ? nullptr : std::get_if<std::vector<int64_t>>(&it->second);
    const int rank = node.types[0].shape.rank();
    if (list == nullptr || static_cast<int>(list->size()) != rank) return;
    std::vector<int64_t> turned;
    for (int64_t axis : ToLast(rank)) turned.push_back((*list)[static_cast<size_t>(axis)]);
    *list = turned;
  }

  void AddElementwise(int n, const Node& node) {
    Node copy = node;
    for (Port& port : copy.inputs) port = TurnedOperand(port, node.types[0].shape.rank());
    AddLast(n, std::move(copy));
  }

  Port TurnedOperand(const Port& port, int rank) {
    if (!port.present()) return {};
    const ValueType& type = TypeOf(port);
    if (IsImageOf(type, rank)) return Last(port);
    Constant constant = ConstantOf(from_.nodes[static_cast<size_t>(port.node)]);
    if (constant == nullptr || constant->count() == 1) return First(port);
    Shape shape = constant->shape();
    Shape full = Shape::Filled(rank, 1);
    for (int i = 0; i < shape.rank(); ++i) full.back(i) = shape.back(i);
    Port same =
        to_.AddConstant(from_.nodes[static_cast<size_t>(port.node)].name,
                        std::make_shared<HostTensor>(constant->dtype(), full, constant->data(), constant));
    return AddTurn(same, {type.dtype, Format::kND, true, full}, ToLast(rank));
  }

  bool SumsImages(const Node& node) const {
    const ValueType &a = TypeOf(node.inputs[0]), &b = TypeOf(node.inputs[3]);
    return IsImage(a) && IsImage(b) && a.shape == b.shape;
  }

  void AddSum(int n, const Node& node) {
    Node copy = node;
    for (size_t i = 0; i < copy.inputs.size(); ++i)
      copy.inputs[i] = i == 0 || i == 3 ? Last(node.inputs[i]) : First(node.inputs[i]);
    AddLast(n, std::move(copy));
  }

  // Scales and sizes stay as they are: `axes` says to which dimension each belongs.
  void AddResize(int n, const Node& node) {
    Node copy = node;
    for (size_t i = 0; i < copy.inputs.size(); ++i)
      copy.inputs[i] = i == 0 ? Last(node.inputs[0]) : First(node.inputs[i]);
    const auto* given = FindAttribute<std::vector<int64_t>>(node, "axes");
    std::vector<int64_t> axes =
        given == nullptr || given->empty() ? std::vector<int64_t>{0, 1, 2, 3} : *given;
    for (int64_t& axis : axes) axis = PlaceInLast(axis, 4);
    copy.attributes["axes"] = std::move(axes);
    AddLast(n, std::move(copy));
  }

  void AddQuantisation(int n, const Node& node) {
    Node copy = node;
    for (size_t i = 0; i < copy.inputs.size(); ++i)
      copy.inputs[i] = i == 0 ? Last(node.inputs[0]) : First(node.inputs[i]);
    const auto* axis = FindAttribute<int64_t>(node, "axis");
    copy.attributes["axis"] = PlaceInLast(axis == nullptr ? 1 : *axis, 4);
    AddLast(n, std::move(copy));
  }

  static int64_t PlaceInLast(int64_t axis, int rank) {
    const int64_t wrapped = axis < 0 ? axis + rank : axis;
    return wrapped == 0 ? 0 : wrapped == 1 ? rank - 1 : wrapped - 1;
  }

  void AddConcat(int n, const Node& node, int64_t axis) {
    Node copy = node;
    for (Port& port : copy.inputs) port = Last(port);
    copy.attributes["concat_dim"] = PlaceInLast(axis, node.types[0].shape.rank());
    AddLast(n, std::move(copy));
  }

  // Turning what exists turned already, or what is wanted turned: nothing is moved.
  bool IsAnotherName(int n, const Node& node) {
    const auto* perm = FindAttribute<std::vector<int64_t>>(node, "perm");
    if (perm == nullptr || !IsImage(node.types[0])) return false;
    const int rank = node.types[0].shape.rank();
    const auto last = last_.find(node.inputs[0]);
    if (*perm == ToLast(rank) && last != last_.end()) {
      first_[{n, 0}] = last->second;
      return true;
    }
    const auto first = first_.find(node.inputs[0]);
    if (*perm != ToFirst(rank) || first == first_.end() || !LeadsToImages(n, kFar)) return false;
    last_[{n, 0}] = first->second;
    return true;
  }

  // Whether a convolution reads the value, or what meets images, perhaps behind some pointwise operators; and
  // with `past_planes` behind what takes planes as well.
  static constexpr int kFar = 4;
  bool LeadsToImages(int n, int far, bool past_planes = false) const {
    const std::vector<int>& users = users_[static_cast<size_t>(n)];
    return far > 0 && std::any_of(users.begin(), users.end(), [&](int u) {
             const Node& user = from_.nodes[static_cast<size_t>(u)];
             const bool passes = IsImageOperator(user) ? past_planes && TakesPlanes(user) : IsPointwise(user);
             if (!passes) return IsImageOperator(user);
             return (IsPointwise(user) && AnyLastOnly(user)) || LeadsToImages(u, far - 1, past_planes);
           });
  }

  // Operators that name axes, on an image that exists only with its channels last. False: not on this one.
  bool WorksAlongAxes(int n, const Node& node) {
    if (node.type == "SplitD" || node.type == "SplitVD") return AddSplit(n, node, "split_dim");
    if (node.type == "SplitV") return AddAlong(n, node, 2);
    if (node.type == "StridedSliceV2") return AddAlong(n, node, 3);
    if (node.type == "PadAxes") return AddPad(n, node);
    if (node.type == "BatchNorm") return AddNorm(n, node);
    if (node.type == "GatherV2D") return AddPick(n, node);
    static const auto& reductions = *new std::set<std::string, std::less<>>{
        "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"};
    return reductions.count(node.type) != 0 && AddReduce(n, node);
  }

  bool AddSplit(int n, const Node& node, const char* name) {
    const auto* axis = FindAttribute<int64_t>(node, name);
    if (axis == nullptr || !AllResultsAreImages(node)) return false;
    Node copy = WithFirstTurned(node);
    copy.attributes[name] = PlaceInLast(*axis, node.types[0].shape.rank());
    AddLast(n, std::move(copy));
    return true;
  }

  // Constant axes at one of the inputs.
  bool AddAlong(int n, const Node& node, size_t at) {
    const std::vector<int64_t> axes = AxesAt(node, at);
    if (axes.empty() || !AllResultsAreImages(node)) return false;
    Node copy = WithFirstTurned(node);
    copy.inputs[at] = AxesInLast(node, axes, ConstantAt(node, at));
    AddLast(n, std::move(copy));
    return true;
  }

  bool AddPad(int n, const Node& node) {
    if (node.inputs.size() > 3 && node.inputs[3].present()) return AddAlong(n, node, 3);
    if (!AllResultsAreImages(node)) return false;
    Node copy = WithFirstTurned(node);
    copy.inputs.resize(4);
    std::vector<int64_t> all;
    for (int axis = 0; axis < node.types[0].shape.rank(); ++axis) all.push_back(axis);
    copy.inputs[3] = AxesInLast(node, all, nullptr);
    AddLast(n, std::move(copy));
    return true;
  }

  // What is left of the dimensions keeps its order, or all stay as ones.
  bool AddReduce(int n, const Node& node) {
    const std::vector<int64_t> axes = AxesAt(node, 1);
    if (axes.empty()) return false;
    const auto* keeps = FindAttribute<bool>(node, "keep_dims");
    const bool kept = keeps != nullptr && *keeps;
    const int rank = TypeOf(node.inputs[0]).shape.rank();
    std::vector<bool> left(static_cast<size_t>(rank), true);
    for (int64_t axis : axes) left[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = kept;
    if (!kept && left[1] && std::count(left.begin() + 2, left.end(), true) > 0) return false;
    Node copy = WithFirstTurned(node);
    copy.inputs[1] = AxesInLast(node, axes, ConstantAt(node, 1));
    if (kept) {
      AddLast(n, std::move(copy));
    } else {
      AddWith(first_, n, std::move(copy));
    }
    return true;
  }

  // Some places along a dimension, or one, which leaves the dimension out.
  bool AddPick(int n, const Node& node) {
    const ValueType& index = TypeOf(node.inputs[1]);
    const auto *named = FindAttribute<int64_t>(node, "axis"),
               *batches = FindAttribute<int64_t>(node, "batch_dims");
    if (!index.concrete() || index.shape.rank() > 1 || (batches != nullptr && *batches != 0)) return false;
    const int rank = TypeOf(node.inputs[0]).shape.rank();
    const int64_t axis = named == nullptr ? 0 : *named, place = PlaceInLast(axis, rank);
    Node copy = WithFirstTurned(node);
    copy.attributes["axis"] = place;
    const bool one = index.shape.rank() == 0, channels = place == rank - 1;
    if (one && (place == 0 || (!channels && rank > 3 && !IsImage(node.types[0])))) return false;
    if (one && (channels || rank == 3)) {
      AddWith(first_, n, std::move(copy));  // what is left keeps its order
    } else {
      AddLast(n, std::move(copy));
    }
    return true;
  }

  bool AddNorm(int n, const Node& node) {
    const auto* format = FindAttribute<std::string>(node, "data_format");
    if (format == nullptr || *format != "NCHW" || node.outputs != 1) return false;
    Node copy = WithFirstTurned(node);
    copy.attributes["data_format"] = std::string("NHWC");
    AddLast(n, std::move(copy));
    return true;
  }

  bool AllResultsAreImages(const Node& node) const {
    return std::all_of(node.types.begin(), node.types.end(),
                       [](const ValueType& type) { return IsImage(type); });
  }

  Node WithFirstTurned(const Node& node) {
    Node copy = node;
    for (size_t i = 0; i < copy.inputs.size(); ++i)
      copy.inputs[i] = i == 0 ? Last(node.inputs[0]) : First(node.inputs[i]);
    return copy;
  }

  Constant ConstantAt(const Node& node, size_t at) const {
    if (node.inputs.size() <= at || !node.inputs[at].present()) return nullptr;
    return ConstantOf(from_.nodes[static_cast<size_t>(node.inputs[at].node)]);
  }

  // Nothing where they are no constants of dimensions that there are.
  std::vector<int64_t> AxesAt(const Node& node, size_t at) const {
    const Constant constant = ConstantAt(node, at);
    if (constant == nullptr) return {};
    std::vector<int64_t> axes = constant->Ints();
    const int rank = TypeOf(node.inputs[0]).shape.rank();
    const bool fit =
        std::all_of(axes.begin(), axes.end(), [=](int64_t axis) { return -rank <= axis && axis < rank; });
    return fit ? axes : std::vector<int64_t>();
  }

  // Of the type and shape that they have.
  Port AxesInLast(const Node& node, const std::vector<int64_t>& axes, const Constant& like) {
    std::vector<int64_t> places;
    for (int64_t axis : axes) places.push_back(PlaceInLast(axis, TypeOf(node.inputs[0]).shape.rank()));
    const std::string name = node.name + "_axes";
    if (like != nullptr && like->shape().rank() == 0)
      return to_.AddConstant(name, IntConstant(places[0], like->dtype()));
    return to_.AddConstant(name, IntsConstant(places));
  }

  void AddLast(int n, Node copy) {
    for (ValueType& type : copy.types) type.shape = Turned(type.shape, ToLast(type.shape.rank()));
    AddWith(last_, n, std::move(copy));
  }

  void AddWith(std::map<Port, Port>& where, int n, Node copy) {
    for (int& before : copy.after) before = -1;
    std::erase(copy.after, -1);
    int outputs = copy.outputs;
    int added = to_.Add(std::move(copy));
    for (int i = 0; i < outputs; ++i) where[{n, i}] = {added, i};
  }

  Port First(const Port& port) {
    if (!port.present()) return {};
    auto it = first_.find(port);
    if (it != first_.end()) return it->second;
    return first_[port] = AddTurn(last_.at(port), TypeOf(port), ToFirst(TypeOf(port).shape.rank()), true);
  }

  Port Last(const Port& port) {
    if (!port.present()) return {};
    auto it = last_.find(port);
    if (it != last_.end()) return it->second;
    return last_[port] = AddTurn(first_.at(port), TypeOf(port), ToLast(TypeOf(port).shape.rank()));
  }

  // `type` is that with the channels first.
  Port AddTurn(const Port& port, const ValueType& type, const Order& order, bool back = false) {
    Node turn{.name = to_.nodes[static_cast<size_t>(port.node)].name + (back ? "_first" : "_last"),
              .type = "TransposeD",
              .inputs = {port}};
    turn.attributes["perm"] = std::vector<int64_t>(order.begin(), order.end());
    turn.types = {type};
    if (!back) turn.types[0].shape = Turned(type.shape, order);
    return {to_.Add(std::move(turn)), 0};
  }

  const Graph& from_;
  std::vector<std::vector<int>> users_;  // of each node
  Graph to_;
  std::map<Port, Port> first_, last_;  // by old port
};

}  // namespace

void ChooseLayouts(Graph& graph) {
  bool any = std::any_of(graph.nodes.begin(), graph.nodes.end(), IsImageOperator);
  if (any) graph = LayoutChooser(graph).Run();
}

}  // namespace belay::graph
