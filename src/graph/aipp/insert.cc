#include "graph/aipp/insert.h"

#include <algorithm>

#include "base/error.h"
#include "graph/codes.h"
#include "graph/size_range.h"

namespace belay::graph {
namespace {

[[noreturn]] void Refuse(const Node& input, const std::string& reason) {
  Fail(kGraphInvalid, "aipp-input", "AIPP for input '{}': {}", input.name, reason);
}

size_t InputFor(const Graph& graph, const AippConfig& config) {
  const int named = config.related_name.empty() ? -1 : graph.FindInput(config.related_name);
  if (named >= 0) return static_cast<size_t>(named);
  auto index = static_cast<size_t>(config.related_input);
  if (config.related_name.empty() && index < graph.inputs.size()) return index;
  Fail(kGraphInvalid, "aipp-input-rank", "AIPP is configured for input {}{}, but the network has {} inputs",
       index, config.related_name.empty() ? "" : " '" + config.related_name + "'", graph.inputs.size());
}

// [n, c, h, w] of what the network takes.
struct Features {
  int64_t n, c, h, w;
  bool channels_last;
};

Features FeaturesOf(const Node& input) {
  const ValueType& type = input.types[0];
  if (!type.rank_known || type.shape.rank() != 4)
    Refuse(input, "it is " + type.ToString() + ", and images need four dimensions");
  const Shape& s = type.shape;
  bool last = type.format == Format::kNHWC;
  return last ? Features{s[0], s[3], s[1], s[2], true} : Features{s[0], s[1], s[2], s[3], false};
}

// Sizes that the configuration leaves out are those that lead to what the network takes.
void FillSizes(AippConfig& config, const Features& f) {
  ops::ImageRegion& region = config.region;
  auto inner_w = static_cast<int32_t>(f.w - (region.padding ? region.left + region.right : 0));
  auto inner_h = static_cast<int32_t>(f.h - (region.padding ? region.top + region.bottom : 0));
  if (region.crop && region.crop_w == 0) region.crop_w = inner_w;
  if (region.crop && region.crop_h == 0) region.crop_h = inner_h;
  if (config.source.w == 0) config.source.w = region.crop ? region.crop_x + region.crop_w : inner_w;
  if (config.source.h == 0) config.source.h = region.crop ? region.crop_y + region.crop_h : inner_h;
}

// The type of the images that the program passes.
ValueType StaticImages(const Node& input, AippConfig& config, const Features& f) {
  if (f.c < 0) Refuse(input, "the number of channels must be known");
  bool open = f.h < 0 || f.w < 0;
  if (open) {
    // The sizes of the gear are those of the image; so there is nothing that may change them.
    bool plain =
        !config.region.crop && !config.region.padding && config.source.w == 0 && config.source.h == 0;
    if (!plain)
      Refuse(input, "with open height and width, crop and padding must be off and src_image_size_w and _h 0");
    if (config.source.format == ops::ImageFormat::kYuv420sp)
      Refuse(input, "YUV420SP_U8 needs a fixed height and width");
  } else {
    FillSizes(config, f);
    if (auto reason = ops::WhyNot(config.source, config.region, f.c, f.h, f.w)) Refuse(input, *reason);
  }
  Shape image =
      ops::ImageShape(config.source.format, open ? f.h : config.source.h, open ? f.w : config.source.w);
  return {DType::kU8, Format::kNHWC, true, {f.n, image[0], image[1], image[2]}};
}

// Open sizes of images are those of what the network takes, in another order.
void KeepRanges(const Node& before, const Features& f, Node& images) {
  const SizeRanges had = SizeRangesOf(before);
  SizeRanges ranges = SizeRangesOf(images);
  for (size_t i = 0; i < 3; ++i) {
    if (!ranges[i].fixed()) ranges[i] = f.channels_last || i == 0 ? had[i] : had[i + 1];
  }
  SetSizeRanges(images, ranges);
}

int AddParams(Graph& graph, const Features& f) {
  std::string name = kDynamicAippName;
  auto taken = [&](int input) { return graph.nodes[static_cast<size_t>(input)].name == name; };
  for (int i = 1; std::any_of(graph.inputs.begin(), graph.inputs.end(), taken); ++i) {
    name = std::string(kDynamicAippName) + "_" + std::to_string(i);
  }
  auto bytes = static_cast<int64_t>(ops::ImageBatchBytes(static_cast<uint64_t>(f.n)));
  return graph.AddInput(name, {DType::kU8, Format::kND, true, {bytes}});
}

void InsertOne(Graph& graph, AippConfig config, size_t at) {
  int input = graph.inputs[at];
  const Node before = graph.nodes[static_cast<size_t>(input)];
  Features f = FeaturesOf(before);
  config.related_input = static_cast<int32_t>(at);
  Node node{.name = before.name + "_aipp", .type = kAippType};
  node.inputs = {{input, 0}};
  ValueType images;
  if (config.dynamic) {
    if (f.n < 1 || f.c < 1 || f.h < 1 || f.w < 1)
      Refuse(before, "dynamic AIPP needs an input of fixed sizes");
    images = {DType::kU8, Format::kND, true, {config.max_image_bytes}};
    node.inputs.push_back({AddParams(graph, f), 0});
  } else {
    images = StaticImages(before, config, f);
  }
  node.attributes = {{"aipp_config", AippText(config)},
                     {"features", std::vector<int64_t>{f.n, f.c, f.h, f.w}},
                     {"data_format", std::string(f.channels_last ? "NHWC" : "NCHW")},
                     {"output_type", before.types[0].dtype}};
  node.types = {before.types[0]};
  for (Node& other : graph.nodes) {
    std::replace(other.inputs.begin(), other.inputs.end(), Port{input, 0},
                 Port{static_cast<int>(graph.nodes.size()), 0});
  }
  for (GraphOutput& output : graph.outputs) {
    if (output.port == Port{input, 0}) output.port.node = static_cast<int>(graph.nodes.size());
  }
  graph.nodes[static_cast<size_t>(input)].types[0] = images;
  if (!config.dynamic) KeepRanges(before, f, graph.nodes[static_cast<size_t>(input)]);
  graph.Add(std::move(node));
}

const Node* AippReading(const Graph& graph, size_t port, size_t input) {
  for (const Node& node : graph.nodes) {
    bool reads =
        node.type == kAippType && port < node.inputs.size() && node.inputs[port].node == graph.inputs[input];
    if (reads) return &node;
  }
  return nullptr;
}

size_t PlaceOf(const Graph& graph, int node) {
  return static_cast<size_t>(std::find(graph.inputs.begin(), graph.inputs.end(), node) -
                             graph.inputs.begin());
}

}  // namespace

void InsertAipp(Graph& graph, const std::vector<AippConfig>& configs, Gears::Kind gears) {
  if (gears == Gears::kDims)
    Fail(kGraphInvalid, "aipp-gears", "E10047: insert_op_conf and dynamic_dims exclude each other");
  std::vector<size_t> done;
  for (const AippConfig& config : configs) {
    size_t at = InputFor(graph, config);
    if (config.dynamic != configs[0].dynamic)
      Fail(kGraphInvalid, "aipp-mixed", "static and dynamic AIPP cannot be mixed in one network");
    if (std::find(done.begin(), done.end(), at) != done.end()) {
      Fail(kGraphInvalid, "aipp-twice", "AIPP is configured twice for input {}", at);
    }
    done.push_back(at);
    InsertOne(graph, config, at);
  }
  SortNodes(graph);
}

std::optional<AippInput> AippAt(const Graph& graph, size_t input) {
  const Node* node = AippReading(graph, 0, input);
  if (node == nullptr) return std::nullopt;
  const auto* text = FindAttribute<std::string>(*node, "aipp_config");
  const auto* features = FindAttribute<std::vector<int64_t>>(*node, "features");
  const auto* order = FindAttribute<std::string>(*node, "data_format");
  const auto* type = FindAttribute<DType>(*node, "output_type");
  if (text == nullptr || features == nullptr || features->size() != 4) return std::nullopt;
  const Shape& images = graph.nodes[static_cast<size_t>(graph.inputs[input])].types[0].shape;
  AippInput found{ParseAipp(*text, node->name)[0], *features, Format::kNCHW,
                  type == nullptr ? DType::kF32 : *type, -1};
  if (!found.config.dynamic && images.rank() != 4) return std::nullopt;  // a file that nobody compiled
  if (order != nullptr && *order == "NHWC") found.format = Format::kNHWC;
  if (node->inputs.size() > 1 && node->inputs[1].present())
    found.params = static_cast<int>(PlaceOf(graph, node->inputs[1].node));
  return found;
}

std::optional<size_t> ImagesFor(const Graph& graph, size_t input) {
  const Node* node = AippReading(graph, 1, input);
  if (node == nullptr) return std::nullopt;
  return PlaceOf(graph, node->inputs[0].node);
}

}  // namespace belay::graph
