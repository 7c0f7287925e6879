// The configuration file of AIPP, and the nodes that it puts into a graph.
#include "graph/aipp/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/aipp/insert.h"

namespace belay::graph {
namespace {

using ops::ImageFormat;

std::string ReasonFor(const std::string& text) {
  try {
    ParseAipp(text, "conf");
  } catch (const Error& error) {
    return error.sentence();
  }
  return "";
}

TEST(AippConfig, ReadsWhatIsGivenAndKeepsTheDefaults) {
  AippConfig config = ParseAipp(R"(
# a comment
aipp_op {
  aipp_mode : static
  input_format: YUV420SP_U8, src_image_size_w: 320; src_image_size_h: 240
  crop: true  load_start_pos_w: 10 load_start_pos_h: 20 crop_size_w: 50 crop_size_h: 60
  padding: 1 left_padding_size: 20 padding_value: -0.5
  csc_switch: true rbuv_swap_switch: false
  matrix_r1c1: -88 input_bias_0: 0 mean_chn_2: 123 min_chn_1: 0.25 var_reci_chn_0: 0.0039
})",
                                "conf")[0];
  EXPECT_FALSE(config.dynamic);
  EXPECT_EQ(config.source.format, ImageFormat::kYuv420sp);
  EXPECT_EQ(config.source.w, 320);
  EXPECT_EQ(config.source.h, 240);
  EXPECT_TRUE(config.source.convert);
  EXPECT_THAT(config.source.matrix, testing::ElementsAre(298, 516, 0, 298, -88, -208, 298, 0, 409));
  EXPECT_THAT(config.source.input_bias, testing::ElementsAre(0, 128, 128));
  EXPECT_TRUE(config.region.crop && config.region.padding);
  EXPECT_EQ(config.region.crop_y, 20);
  EXPECT_EQ(config.region.crop_h, 60);
  EXPECT_EQ(config.region.left, 20);
  EXPECT_EQ(config.region.padding_value, -0.5f);
  EXPECT_THAT(config.region.mean, testing::ElementsAre(0, 0, 123, 0));
  EXPECT_THAT(config.region.least, testing::ElementsAre(0, 0.25f, 0, 0));
  EXPECT_THAT(config.region.factor, testing::ElementsAre(0.0039f, 1, 1, 1));
  EXPECT_EQ(AippText(ParseAipp(AippText(config), "again")[0]), AippText(config));
}

TEST(AippConfig, SeveralBlocks) {
  auto configs = ParseAipp(
      "aipp_op{aipp_mode:dynamic related_input_rank:1 max_src_image_size:600}"
      "aipp_op{aipp_mode:dynamic related_input_name:\"b\" max_src_image_size:700}",
      "conf");
  ASSERT_EQ(configs.size(), 2u);
  EXPECT_TRUE(configs[0].dynamic);
  EXPECT_EQ(configs[0].related_input, 1);
  EXPECT_EQ(configs[1].max_image_bytes, 700);
  EXPECT_EQ(configs[1].related_name, "b");
}

TEST(AippConfig, SaysWhereAndWhy) {
  using testing::HasSubstr;
  EXPECT_THAT(ReasonFor(""), HasSubstr("no block"));
  EXPECT_THAT(ReasonFor("op {}"), HasSubstr("'op'"));
  EXPECT_THAT(ReasonFor("aipp_op {\n aipp_mode: static\n input_format: RGB888_U8\n colour: 3 }"),
              HasSubstr("conf:4: there is no key 'colour'"));
  EXPECT_THAT(ReasonFor("aipp_op { aipp_mode: sometimes }"), HasSubstr("static or dynamic"));
  EXPECT_THAT(ReasonFor("aipp_op { input_format: RGB888_U8 }"), HasSubstr("aipp_mode"));
  EXPECT_THAT(ReasonFor("aipp_op { aipp_mode: static }"), HasSubstr("input_format"));
  EXPECT_THAT(ReasonFor("aipp_op { aipp_mode: dynamic }"), HasSubstr("max_src_image_size"));
  EXPECT_THAT(ReasonFor("aipp_op { aipp_mode: static input_format: RAW10 }"), HasSubstr("RAW10"));
  EXPECT_THAT(ReasonFor("aipp_op { aipp_mode: static input_format: RGB888_U8 resize: true }"),
              HasSubstr("resize"));
  EXPECT_THAT(ReasonFor("aipp_op { mean_chn_0: 300 }"), HasSubstr("from 0 to 255"));
  EXPECT_THAT(ReasonFor("aipp_op { mean_chn_0: 1.5 }"), HasSubstr("whole number"));
  EXPECT_THAT(ReasonFor("aipp_op { crop: maybe }"), HasSubstr("no number"));
  EXPECT_THAT(ReasonFor("aipp_op { crop true }"), HasSubstr("':'"));
  EXPECT_THAT(ReasonFor("aipp_op { crop: true"), HasSubstr("'}'"));
  EXPECT_THAT(ReasonFor("aipp_op { related_input_name: \"b }"), HasSubstr("quotation"));
  EXPECT_THAT(ReasonFor("aipp_op { : }"), HasSubstr("a word"));
}

// y = relu(x), x as it is given.
Graph Relu(const ValueType& type) {
  Graph graph;
  int x = graph.AddInput("x", type);
  graph.outputs.push_back({{graph.Add({.name = "relu", .type = "Relu", .inputs = {{x, 0}}}), 0}, "y"});
  return graph;
}

const std::string kStatic = "aipp_op { aipp_mode: static input_format: YUV420SP_U8 }";

TEST(AippInsert, TheInputBecomesTheImage) {
  Graph graph = Relu({DType::kF16, Format::kNCHW, true, {2, 3, 6, 8}});
  InsertAipp(graph, ParseAipp(kStatic, "conf"), Gears::kNone);
  ASSERT_EQ(graph.nodes.size(), 3u);
  const Node& input = graph.nodes[static_cast<size_t>(graph.inputs[0])];
  EXPECT_EQ(input.types[0].dtype, DType::kU8);
  EXPECT_EQ(input.types[0].shape, (Shape{2, 9, 8, 1}));
  auto aipp = AippAt(graph, 0);
  ASSERT_TRUE(aipp);
  EXPECT_EQ(aipp->config.source.w, 8) << "the network's size where none is given";
  EXPECT_EQ(aipp->params, -1);
  EXPECT_EQ(aipp->dtype, DType::kF16);
  EXPECT_EQ(graph.nodes.back().type, "Relu");
  EXPECT_EQ(graph.nodes[static_cast<size_t>(graph.nodes.back().inputs[0].node)].type, "Aipp");
}

TEST(AippInsert, ADynamicOneHasAnInputMore) {
  Graph graph = Relu({DType::kF32, Format::kNHWC, true, {2, 6, 8, 3}});
  InsertAipp(graph, ParseAipp("aipp_op { aipp_mode: dynamic max_src_image_size: 600 }", "conf"),
             Gears::kNone);
  ASSERT_EQ(graph.inputs.size(), 2u);
  EXPECT_EQ(graph.nodes[static_cast<size_t>(graph.inputs[0])].types[0].shape, (Shape{600}));
  EXPECT_EQ(graph.nodes[static_cast<size_t>(graph.inputs[1])].name, "ascend_dynamic_aipp_data");
  auto aipp = AippAt(graph, 0);
  ASSERT_TRUE(aipp);
  EXPECT_EQ(aipp->params, 1);
  EXPECT_EQ(aipp->format, Format::kNHWC);
  EXPECT_THAT(aipp->features, testing::ElementsAre(2, 3, 6, 8));
  EXPECT_EQ(ImagesFor(graph, 1), 0u);
  EXPECT_EQ(ImagesFor(graph, 0), std::nullopt);
  EXPECT_FALSE(AippAt(graph, 1));
}

TEST(AippInsert, RefusesWhatDoesNotFit) {
  auto refuses = [](const ValueType& type, const std::string& text, Gears::Kind gears = Gears::kNone) {
    Graph graph = Relu(type);
    try {
      InsertAipp(graph, ParseAipp(text, "conf"), gears);
    } catch (const Error&) {
      return true;
    }
    return false;
  };
  ValueType images{DType::kF32, Format::kNCHW, true, {1, 3, 6, 8}};
  std::string rgb = "aipp_op { aipp_mode: static input_format: RGB888_U8 ";
  EXPECT_FALSE(refuses(images, rgb + "}"));
  EXPECT_TRUE(refuses({DType::kF32, Format::kND, true, {3, 6, 8}}, rgb + "}")) << "three dimensions";
  EXPECT_TRUE(refuses(images, rgb + "src_image_size_w: 10 }")) << "another width";
  EXPECT_TRUE(refuses(images, rgb + "related_input_rank: 1 }"));
  EXPECT_TRUE(refuses(images, rgb + "related_input_name: \"z\" }"));
  EXPECT_TRUE(refuses(images, rgb + "}" + rgb + "}")) << "twice";
  EXPECT_TRUE(refuses(images, rgb + "}", Gears::kDims));
  ValueType open{DType::kF32, Format::kNCHW, true, {1, 3, -1, -1}};
  EXPECT_FALSE(refuses(open, rgb + "}", Gears::kImage));
  EXPECT_TRUE(refuses(open, rgb + "padding: true }", Gears::kImage));
  EXPECT_TRUE(refuses(open, kStatic, Gears::kImage));
  EXPECT_TRUE(refuses(open, "aipp_op { aipp_mode: dynamic max_src_image_size: 600 }"));
}

}  // namespace
}  // namespace belay::graph
