// Preprocessing of images.
#include "graph/aipp/config.h"
#include "graph/ops/bind.h"
#include "graph/ops/window.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/image/aipp.h"

namespace belay::graph::translate {
namespace {

// What the network takes, where sizes that were open follow from the images.
Shape FeaturesOf(const Translation& node, AippConfig& config) {
  std::vector<int64_t> features = node.Ints("features");
  if (features.size() != 4) node.Refuse("features needs four sizes");
  if (config.dynamic) return Shape::Of(features.data(), 4);
  const Shape& images = node.shape(0);
  if (images.rank() != 4) node.Refuse("images need four dimensions");
  features[0] = images[0];
  if (features[2] < 0 || features[3] < 0) {
    features[2] = images[1], features[3] = images[2];
    config.source.h = static_cast<int32_t>(images[1]), config.source.w = static_cast<int32_t>(images[2]);
  }
  if (auto reason = ops::WhyNot(config.source, config.region, features[1], features[2], features[3]))
    node.Refuse(*reason);
  if (node.in(0).count() !=
      images[0] * ops::ImageBytes(config.source.format, config.source.h, config.source.w)) {
    node.Refuse("the images are " + images.ToString() + ", which is not what the configuration says");
  }
  return Shape::Of(features.data(), 4);
}

}  // namespace

void Aipp(Translation& node) {
  AippConfig config = ParseAipp(node.String("aipp_config"), "aipp_config")[0];
  if (node.dtype(0) != DType::kU8) node.Refuse("images are of type uint8");
  if (config.dynamic != node.has(1))
    node.Refuse("dynamic AIPP needs parameters, and only dynamic AIPP has them");
  Shape features = FeaturesOf(node, config);
  bool channels_last = ChannelsLast(node.String("data_format"));
  DType dtype = node.Type("output_type");
  Tensor out = node.Out(0, dtype, WithLayout(features, channels_last));
  Tensor values = dtype == DType::kF32 ? out : node.Temporary(DType::kF32, out.shape);
  Tensor ordered = ChannelsFirst(values, channels_last);
  node.Step("Aipp", [&](ops::Plan& plan) {
    ops::ImageArgs args{.images = ReadFrom(plan, node.in(0), "images"),
                        .params = {},
                        .out = {},
                        .source = config.source,
                        .region = config.region};
    if (config.dynamic) args.params = ReadFrom(plan, node.in(1), "params");
    args.out = WrittenTo(plan, ordered, "features");
    ops::PlanPreprocess(plan, args);
  });
  if (dtype != DType::kF32) node.Copy(values, out);
}

}  // namespace belay::graph::translate
