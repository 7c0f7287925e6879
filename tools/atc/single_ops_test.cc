#include "atc/single_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "graph/single_op_model.h"

namespace atc {
namespace {

using belay::tensor::DType;
using belay::tensor::Format;
using testing::HasSubstr;
namespace graph = belay::graph;

constexpr const char* kAdd = R"([{"op": "Add", "name": "add",
  "input_desc": [{"format": "ND", "shape": [3, 3], "type": "int32"}, {"format": "ND", "shape": [3, 3], "type": "int32"}],
  "output_desc": [{"format": "ND", "shape": [3, 3], "type": "int32"}]}])";

std::string ErrorOf(const std::string& json) {
  try {
    ReadSingleOps(json);
  } catch (const belay::Error& error) {
    return error.sentence();
  }
  return "";
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(SingleOps, AreReadAsDescribed) {
  std::vector<DescribedOp> ops = ReadSingleOps(R"([{"op": "Conv2D", "name": "conv",
    "input_desc": [{"format": "NCHW", "shape": [1, -1, 16, 16], "type": "float16"}, {"format": "NCHW", "shape": [-2], "type": "float16"},
                   {"format": "RESERVED", "type": "UNDEFINED"},
                   {"format": "ND", "shape": [2], "type": "int64", "is_const": true, "const_value": [4, 5]}],
    "output_desc": [{"format": "NCHW", "shape": [1, 3, 16, 16], "type": "float16"}],
    "attr": [{"name": "strides", "type": "list_int", "value": [1, 1, 1, 1]}, {"name": "flag", "type": "bool", "value": true},
             {"name": "alpha", "type": "float", "value": 0.5}, {"name": "to", "type": "data_type", "value": "float"},
             {"name": "flags", "type": "list_bool", "value": [true, false]}, {"name": "mode", "type": "string", "value": "same"}]}])");
  ASSERT_EQ(ops.size(), 1u);
  EXPECT_EQ(ops[0].name, "conv");
  const graph::SingleOp& op = ops[0].op;
  EXPECT_EQ(op.type, "Conv2D");
  ASSERT_EQ(op.inputs.size(), 4u);
  EXPECT_EQ(op.inputs[0].type.dtype, DType::kF16);
  EXPECT_EQ(op.inputs[0].type.format, Format::kNCHW);
  EXPECT_EQ(op.inputs[0].type.shape, (belay::tensor::Shape{1, -1, 16, 16}));
  EXPECT_FALSE(op.inputs[1].type.rank_known);
  EXPECT_FALSE(op.inputs[2].present);
  ASSERT_NE(op.inputs[3].value, nullptr);
  EXPECT_THAT(op.inputs[3].value->Ints(), testing::ElementsAre(4, 5));
  EXPECT_EQ(op.outputs, 1);
  EXPECT_EQ(std::get<std::vector<int64_t>>(op.attributes.at("strides")), (std::vector<int64_t>{1, 1, 1, 1}));
  EXPECT_EQ(std::get<bool>(op.attributes.at("flag")), true);
  EXPECT_EQ(std::get<double>(op.attributes.at("alpha")), 0.5);
  EXPECT_EQ(std::get<DType>(op.attributes.at("to")), DType::kF32);
  EXPECT_EQ(std::get<std::vector<int64_t>>(op.attributes.at("flags")), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(std::get<std::string>(op.attributes.at("mode")), "same");
}

TEST(SingleOps, WithoutANameHaveTheDocumentedOne) {
  EXPECT_EQ(ReadSingleOps(Replaced(kAdd, R"("name": "add",)", ""))[0].name, "0_Add_3_2_3_3_3_2_3_3_3_2_3_3");
}

TEST(SingleOps, ErrorsSayWhere) {
  EXPECT_THAT(ErrorOf("{"), HasSubstr("is no JSON"));
  EXPECT_THAT(ErrorOf("{}"), HasSubstr("is no array"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("is no array with at least one"));
  EXPECT_THAT(ErrorOf("[7]"), HasSubstr("[0] is not an object"));
  EXPECT_THAT(ErrorOf(Replaced(kAdd, R"("op": "Add",)", "")), HasSubstr("[0].op is missing"));
  EXPECT_THAT(ErrorOf(Replaced(kAdd, "int32", "int33")),
              HasSubstr("[0].input_desc[0].type is 'int33', which is no type"));
  EXPECT_THAT(ErrorOf(Replaced(kAdd, "ND", "NC1HWC0")), HasSubstr("[0].input_desc[0].format is 'NC1HWC0'"));
  EXPECT_THAT(ErrorOf(Replaced(kAdd, "[3, 3]", "[3, -3]")),
              HasSubstr("[0].input_desc[0].shape has the size -3"));
  EXPECT_THAT(ErrorOf(Replaced(kAdd, "[3, 3]", "\"3\"")), HasSubstr("shape is not an array of numbers"));
  EXPECT_THAT(ErrorOf(Replaced(kAdd, "\"add\"", "\"a/b\"")),
              HasSubstr("[0].name cannot be the name of a file"));
}

TEST(SingleOps, FilesServeTheCallsTheyDescribe) {
  namespace fs = std::filesystem;
  char scratch[] = "/tmp/belay_singleop_XXXXXX";
  ASSERT_NE(mkdtemp(scratch), nullptr);
  fs::path folder = fs::path(scratch) / "op_models";
  std::ofstream(fs::path(scratch) / "ops.json") << kAdd;
  CompileSingleOps((fs::path(scratch) / "ops.json").string(), folder.string());
  graph::SingleOp built = graph::SingleOpOf(graph::ReadModelFile((folder / "add.om").string()));
  EXPECT_TRUE(graph::Serves(built, ReadSingleOps(kAdd)[0].op));
  EXPECT_FALSE(graph::Serves(built, ReadSingleOps(Replaced(kAdd, "[3, 3]", "[1, 3]"))[0].op));

  std::ofstream(fs::path(scratch) / "ops.json") << Replaced(kAdd, "Add", "Frobnicate");
  EXPECT_THROW(CompileSingleOps((fs::path(scratch) / "ops.json").string(), folder.string()), belay::Error);
  EXPECT_THROW(CompileSingleOps((fs::path(scratch) / "none.json").string(), folder.string()), belay::Error);
  fs::remove_all(scratch);
}

}  // namespace
}  // namespace atc
