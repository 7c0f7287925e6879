// Operators, graphs and nodes.
#include <ge/ge_ir_build.h>
#include <graph/operator_factory.h>

#include <fstream>
#include <sstream>

#include "ge/session_fixture.h"
#include "support/temp_folder.h"

namespace conformance {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::string NameOf(const ge::GNode& node) {
  ge::AscendString name;
  node.GetName(name);
  return name.GetString();
}

ge::GNode NodeNamed(const ge::Graph& graph, const std::string& name) {
  for (const ge::GNode& node : graph.GetDirectNode()) {
    if (NameOf(node) == name) return node;
  }
  return {};
}

std::vector<std::string> NamesOf(const ge::Graph& graph) {
  std::vector<std::string> names;
  graph.GetAllOpName(names);
  return names;
}

TEST(GeOperator, AnEmptyOneKnowsNothing) {
  ge::Operator none;
  ge::AscendString text;
  int64_t number = 0;
  EXPECT_TRUE(none.IsEmpty());
  EXPECT_NE(none.GetName(text), ge::GRAPH_SUCCESS);
  EXPECT_NE(none.GetOpType(text), ge::GRAPH_SUCCESS);
  EXPECT_NE(none.SetAttr("a", int64_t{1}).GetAttr("a", number), ge::GRAPH_SUCCESS);
  EXPECT_NE(none.InferShapeAndType(), ge::GRAPH_SUCCESS);
  EXPECT_NE(none.VerifyAllAttr(), ge::GRAPH_SUCCESS);
  EXPECT_EQ(none.GetInputsSize(), 0u);
  none.BreakConnect();
}

TEST(GeOperator, TheFactoryKnowsTypes) {
  ge::Operator relu = ge::OperatorFactory::CreateOperator("r", "Relu");
  EXPECT_EQ(relu.GetName(), "r");
  EXPECT_EQ(relu.GetOpType(), "Relu");
  EXPECT_EQ(relu.GetInputsSize(), 1u);
  EXPECT_EQ(relu.GetOutputsSize(), 1u);
  EXPECT_TRUE(ge::OperatorFactory::CreateOperator("r", "Frobnicate").IsEmpty());
  EXPECT_TRUE(ge::OperatorFactory::IsExistOp("Relu"));
  EXPECT_FALSE(ge::OperatorFactory::IsExistOp("Frobnicate"));
  std::vector<ge::AscendString> types;
  EXPECT_EQ(ge::OperatorFactory::GetOpsTypeList(types), ge::GRAPH_SUCCESS);
  EXPECT_THAT(types, testing::Contains(ge::AscendString("Relu")));
}

TEST(GeOperator, AttributesAreOfTheirTypes) {
  ge::Operator op("o", "Relu");
  op.SetAttr("i", int64_t{5})
      .SetAttr("f", 2.5f)
      .SetAttr("b", true)
      .SetAttr("s", "text")
      .SetAttr("list", {1, 2});
  op.SetAttr("types", std::vector<ge::DataType>{ge::DT_INT8}).SetAttr("big", int64_t{1} << 40);
  int64_t wide = 0;
  int32_t narrow = 0;
  float real = 0;
  bool flag = false;
  std::string text;
  std::vector<int32_t> list;
  EXPECT_EQ(op.GetAttr("i", wide), ge::GRAPH_SUCCESS);
  EXPECT_EQ(op.GetAttr("i", narrow), ge::GRAPH_SUCCESS);
  EXPECT_EQ(op.GetAttr("f", real), ge::GRAPH_SUCCESS);
  EXPECT_EQ(op.GetAttr("b", flag), ge::GRAPH_SUCCESS);
  EXPECT_EQ(op.GetAttr(std::string("s"), text), ge::GRAPH_SUCCESS);
  EXPECT_EQ(op.GetAttr("list", list), ge::GRAPH_SUCCESS);
  EXPECT_EQ(wide, 5);
  EXPECT_EQ(narrow, 5);
  EXPECT_EQ(real, 2.5f);
  EXPECT_TRUE(flag);
  EXPECT_EQ(text, "text");
  EXPECT_THAT(list, ElementsAre(1, 2));
  EXPECT_NE(op.GetAttr("f", wide), ge::GRAPH_SUCCESS);
  EXPECT_NE(op.GetAttr("big", narrow), ge::GRAPH_SUCCESS);
  EXPECT_NE(op.GetAttr("none", wide), ge::GRAPH_SUCCESS);
  auto types = op.GetAllAttrNamesAndTypes();
  EXPECT_EQ(types["list"], "VT_LIST_INT");
  EXPECT_EQ(types["s"], "VT_STRING");
}

TEST(GeOperator, ValuesOfAnyType) {
  ge::AttrValue value;
  int64_t number = 0;
  EXPECT_NE(value.GetAttrValue(number), ge::GRAPH_SUCCESS);
  EXPECT_EQ(value.SetAttrValue(int64_t{4}), ge::GRAPH_SUCCESS);
  EXPECT_EQ(value.GetAttrValue(number), ge::GRAPH_SUCCESS);
  EXPECT_EQ(number, 4);
  int32_t narrow = 0;
  EXPECT_EQ(value.GetValue<ge::AttrValue::INT>(narrow), ge::GRAPH_SUCCESS);
  EXPECT_EQ(narrow, 4);
  ge::Operator op("o", "Relu");
  op.SetAttr("a", std::move(value));
  EXPECT_EQ(op.GetAttr("a", number), ge::GRAPH_SUCCESS);
  ge::AttrValue text;
  op.SetAttr("s", "words");
  EXPECT_EQ(op.GetAttr("s", text), ge::GRAPH_SUCCESS);
  std::string words;
  EXPECT_EQ(text.GetValue<ge::AttrValue::STR>(words), ge::GRAPH_SUCCESS);
  EXPECT_EQ(words, "words");
}

TEST(GeOperator, AttributesOfPortsAndDefaults) {
  ge::op::Reshape op("o");
  op.SetInputAttr(0, "a", int64_t{3}).SetOutputAttr("y", "b", "text");
  int64_t number = 0;
  ge::AscendString text;
  EXPECT_EQ(op.GetInputAttr("x", "a", number), ge::GRAPH_SUCCESS);
  EXPECT_EQ(number, 3);
  EXPECT_EQ(op.GetOutputAttr(0, "b", text), ge::GRAPH_SUCCESS);
  EXPECT_NE(op.GetInputAttr(7, "a", number), ge::GRAPH_SUCCESS);
  EXPECT_EQ(op.get_attr_num_axes(), -1);  // the type's default
  std::map<ge::AscendString, ge::AscendString> all;
  EXPECT_EQ(op.GetAllIrAttrNamesAndTypes(all), ge::GRAPH_SUCCESS);
  EXPECT_EQ(all["axis"], ge::AscendString("VT_INT"));
  EXPECT_NE(ge::op::Cast("c").VerifyAllAttr(), ge::GRAPH_SUCCESS);
  EXPECT_EQ(ge::op::Cast("c").set_attr_dst_type(ge::DT_FLOAT16).VerifyAllAttr(), ge::GRAPH_SUCCESS);
}

TEST(GeOperator, DescriptionsAreFoundByNameAndNumber) {
  ge::op::Add add("a");
  EXPECT_EQ(add.update_input_desc_x1(FloatDesc({2, 3})), ge::GRAPH_SUCCESS);
  EXPECT_THAT(add.GetInputDesc(0).GetShape().GetDims(), ElementsAre(2, 3));
  EXPECT_THAT(add.GetInputDesc("x1").GetShape().GetDims(), ElementsAre(2, 3));
  ge::TensorDesc desc;
  EXPECT_NE(add.TryGetInputDesc("none", desc), ge::GRAPH_SUCCESS);
  EXPECT_NE(add.UpdateOutputDesc("none", desc), ge::GRAPH_SUCCESS);
}

TEST(GeOperator, InfersShapesOfItsOutputs) {
  auto add = ge::op::Add("a").set_input_x1(Input("x", {2, 1})).set_input_x2(Input("z", {3}));
  ASSERT_EQ(add.InferShapeAndType(), ge::GRAPH_SUCCESS) << LastMessage();
  EXPECT_THAT(add.get_output_desc_y().GetShape().GetDims(), ElementsAre(2, 3));
  auto open = ge::op::Relu("r").set_input_x(Input("x", {-1}));
  ASSERT_EQ(open.InferShapeAndType(), ge::GRAPH_SUCCESS);
  EXPECT_THAT(open.get_output_desc_y().GetShape().GetDims(), ElementsAre(-2));
  auto wrong = ge::op::Add("a").set_input_x1(Input("x", {2})).set_input_x2(Input("z", {3}));
  EXPECT_NE(wrong.InferShapeAndType(), ge::GRAPH_SUCCESS);
}

TEST(GeOperator, ReadsConstants) {
  auto add = ge::op::Add("a").set_input_x1(Input("x", {2})).set_input_x2(Constant("c", {2}, {1, 2}));
  ge::Tensor value;
  ASSERT_EQ(add.GetInputConstData("x2", value), ge::GRAPH_SUCCESS);
  EXPECT_THAT(ValuesOf(value), ElementsAre(1, 2));
  EXPECT_NE(add.GetInputConstData("x1", value), ge::GRAPH_SUCCESS);
}

TEST(GeOperator, ListsOfInputs) {
  ge::op::ShapeN op("s");
  op.create_dynamic_input_x(2).create_dynamic_output_y(2);
  op.set_dynamic_input_x(0, Input("a", {2})).set_dynamic_input_x(1, Input("b", {3, 4}));
  EXPECT_EQ(op.GetDynamicInputNum("x"), 2);
  EXPECT_EQ(op.GetDynamicOutputNum("y"), 2);
  EXPECT_EQ(op.GetDynamicOutputNum("none"), 0);
  EXPECT_EQ(op.update_dynamic_input_desc_x(1, FloatDesc({3, 4})), ge::GRAPH_SUCCESS);
  EXPECT_THAT(op.get_dynamic_input_desc_x(1).GetShape().GetDims(), ElementsAre(3, 4));
}

TEST(GeGraph, IsFilledFromItsInputs) {
  ge::Graph graph = AddAndRelu({3}, 1);
  EXPECT_TRUE(graph.IsValid());
  EXPECT_FALSE(ge::Graph("g").IsValid());
  EXPECT_FALSE(ge::Graph().IsValid());
  EXPECT_EQ(graph.GetName(), "add_and_relu");
  EXPECT_THAT(NamesOf(graph), UnorderedElementsAre("x", "add", "c", "relu"));
  ge::Operator found;
  EXPECT_EQ(graph.FindOpByName("relu", found), ge::GRAPH_SUCCESS);
  EXPECT_NE(graph.FindOpByName("none", found), ge::GRAPH_SUCCESS);
  std::vector<ge::Operator> constants;
  EXPECT_EQ(graph.FindOpByType("Const", constants), ge::GRAPH_SUCCESS);
  EXPECT_EQ(constants.size(), 1u);
}

TEST(GeGraph, OperatorsAreAddedOnce) {
  ge::Graph graph("g");
  EXPECT_EQ(graph.AddOp(Input("x", {1})), ge::GRAPH_SUCCESS);
  EXPECT_EQ(graph.AddOp(Input("x", {1})), ge::GRAPH_FAILED);
  EXPECT_EQ(graph.AddOp(ge::Operator()), ge::GRAPH_FAILED);
}

TEST(GeGraph, NodesCanBeLookedAt) {
  ge::Graph graph = AddAndRelu({3}, 1);
  ge::GNode add = NodeNamed(graph, "add"), relu = NodeNamed(graph, "relu");
  ge::AscendString type;
  EXPECT_EQ(add.GetType(type), ge::GRAPH_SUCCESS);
  EXPECT_STREQ(type.GetString(), "Add");
  EXPECT_EQ(NameOf(*relu.GetInDataNodesAndPortIndexs(0).first), "add");
  EXPECT_EQ(relu.GetInDataNodesAndPortIndexs(1).first, nullptr);
  auto readers = add.GetOutDataNodesAndPortIndexs(0);
  ASSERT_EQ(readers.size(), 1u);
  EXPECT_EQ(NameOf(*readers[0].first), "relu");
  ge::Tensor value;
  EXPECT_EQ(add.GetInputConstData(1, value), ge::GRAPH_SUCCESS);
  EXPECT_EQ(add.GetInputConstData(0, value), ge::GRAPH_NODE_WITHOUT_CONST_INPUT);
  EXPECT_EQ(add.GetInputConstData(9, value), ge::GRAPH_FAILED);
  int32_t index = -1;
  EXPECT_EQ(add.GetInputIndexByName("x2", index), ge::GRAPH_SUCCESS);
  EXPECT_EQ(index, 1);
  EXPECT_NE(add.GetOutputIndexByName("none", index), ge::GRAPH_SUCCESS);
  int64_t mark = 7, read = 0;
  EXPECT_EQ(add.SetAttr("mark", mark), ge::GRAPH_SUCCESS);
  EXPECT_EQ(add.GetAttr("mark", read), ge::GRAPH_SUCCESS);
  EXPECT_EQ(read, 7);
  EXPECT_TRUE(add.HasAttr("mark"));
  EXPECT_FALSE(add.HasAttr("none"));
  EXPECT_NE(ge::GNode().GetType(type), ge::GRAPH_SUCCESS);
}

TEST(GeGraph, EdgesAreCutAndLaid) {
  ge::Graph graph = AddAndRelu({3}, 1);
  ge::GNode x = NodeNamed(graph, "x"), add = NodeNamed(graph, "add"), relu = NodeNamed(graph, "relu");
  EXPECT_NE(graph.AddDataEdge(x, 0, relu, 0), ge::GRAPH_SUCCESS);  // it is connected
  EXPECT_EQ(graph.RemoveEdge(add, 0, relu, 0), ge::GRAPH_SUCCESS);
  EXPECT_NE(graph.RemoveEdge(add, 0, relu, 0), ge::GRAPH_SUCCESS);
  EXPECT_EQ(graph.AddDataEdge(x, 0, relu, 0), ge::GRAPH_SUCCESS);
  EXPECT_EQ(graph.AddControlEdge(add, relu), ge::GRAPH_SUCCESS);
  EXPECT_EQ(relu.GetInControlNodes().size(), 1u);
  EXPECT_EQ(add.GetOutControlNodes().size(), 1u);
  EXPECT_EQ(graph.RemoveEdge(add, -1, relu, -1), ge::GRAPH_SUCCESS);
  EXPECT_EQ(graph.RemoveNode(add), ge::GRAPH_SUCCESS);
  EXPECT_THAT(NamesOf(graph), testing::Not(testing::Contains("add")));
  ge::GNode abs = graph.AddNodeByOp(ge::op::Abs("abs"));
  EXPECT_EQ(NameOf(abs), "abs");
}

TEST(GeGraph, WrongConnectionsAreToldWhenItIsBuilt) {
  ge::Graph graph("g");
  auto x = Input("x", {1});
  ge::Operator relu("relu", "Relu");
  relu.SetInput("frob", x);
  relu.SetInput("x", x);
  graph.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{relu});
  ge::ModelBufferData model;
  EXPECT_NE(ge::aclgrphBuildModel(graph, GeOptions(), model), ge::GRAPH_SUCCESS);
  EXPECT_THAT(LastMessage(), testing::AllOf(HasSubstr("relu"), HasSubstr("frob")));
}

TEST(GeGraph, AnInputWithoutATypeIsNamed) {
  ge::op::Data x("x");
  ge::Graph graph("g");
  graph.SetInputs({x}).SetOutputs({ge::op::Relu("r").set_input_x(x)});
  ge::ModelBufferData model;
  EXPECT_NE(ge::aclgrphBuildModel(graph, GeOptions(), model), ge::GRAPH_SUCCESS);
  EXPECT_THAT(LastMessage(), HasSubstr("update_input_desc_x"));
}

TEST(GeGraph, AnUnknownOperatorIsNamed) {
  auto x = Input("x", {1});
  ge::Operator frob("f", "Frobnicate");
  frob.SetInput("x", x);
  ge::Graph graph("g");
  graph.SetInputs({x}).SetOutputs({frob});
  ge::ModelBufferData model;
  EXPECT_NE(ge::aclgrphBuildModel(graph, GeOptions(), model), ge::GRAPH_SUCCESS);
  EXPECT_THAT(LastMessage(), HasSubstr("Frobnicate"));
}

// Empty when it is built.
std::string BuildError(const ge::Graph& graph) {
  ge::ModelBufferData model;
  return ge::aclgrphBuildModel(graph, GeOptions(), model) == ge::GRAPH_SUCCESS ? "" : LastMessage();
}

TEST(GeGraph, AnUnknownAttributeIsNamed) {
  auto x = Input("x", {2});
  auto relu = ge::op::Relu("relu").set_input_x(x);
  ge::Graph graph("g");
  graph.SetInputs({x}).SetOutputs({relu});
  relu.SetAttr("_note", static_cast<int64_t>(1));
  EXPECT_EQ(BuildError(graph), "") << "for a compiler";
  relu.SetAttr("bogus", static_cast<int64_t>(1));
  EXPECT_THAT(BuildError(graph), HasSubstr("node 'relu' (Relu) has an attribute 'bogus'"));
}

TEST(GeGraph, OutputsThatThereAreNotAreToldWhenItIsBuilt) {
  auto x = Input("x", {2});
  auto relu = ge::op::Relu("relu").set_input_x(x);
  ge::Graph graph("few_outputs");
  using Picks = std::vector<std::pair<ge::Operator, std::vector<size_t>>>;
  graph.SetInputs({x}).SetOutputs(Picks{{relu, {0, 5}}});
  EXPECT_THAT(BuildError(graph), HasSubstr("SetOutputs of graph 'few_outputs' failed"));
  graph.SetOutputs(Picks{{relu, {0}}});
  EXPECT_EQ(BuildError(graph), "");
}

TEST(GeGraph, AConstantWithoutAValueIsNamed) {
  auto x = Input("x", {2});
  ge::Graph graph("no_value");
  graph.SetInputs({x}).SetOutputs(
      {ge::op::Add("add").set_input_x1(x).set_input_x2(ge::op::Const("nothing"))});
  EXPECT_THAT(BuildError(graph), HasSubstr("'nothing' is a constant without a value"));
}

TEST(GeGraph, AConstantNeedsItsShapeAndAllItsBytes) {
  const std::vector<std::pair<std::vector<int64_t>, const char*>> cases = {
      {{-1, 2}, "a constant must have a known type and shape"},
      {{-2}, "a constant must have a known type and shape"},
      {{3}, "has 12 bytes, but 8 were given"},
      {{1}, "has 4 bytes, but 8 were given"}};
  for (const auto& [dims, words] : cases) {
    auto x = Input("x", {2});
    ge::Graph graph("odd_constant");
    graph.SetInputs({x}).SetOutputs(
        {ge::op::Add("add").set_input_x1(x).set_input_x2(Constant("odd", dims, {1, 2}))});
    const std::string message = BuildError(graph);
    EXPECT_THAT(message, HasSubstr(words));
    EXPECT_THAT(message, HasSubstr("odd"));
  }
}

TEST(GeGraph, IsWrittenAndReadBack) {
  TempFolder folder;
  std::string path = folder / "graph";
  ge::Graph graph = AddAndRelu({3}, 1), read;
  ASSERT_EQ(graph.SaveToFile(path.c_str()), ge::GRAPH_SUCCESS) << LastMessage();
  ASSERT_EQ(read.LoadFromFile(path.c_str()), ge::GRAPH_SUCCESS) << LastMessage();
  EXPECT_THAT(NamesOf(read), UnorderedElementsAre("x", "add", "c", "relu"));
  EXPECT_NE(read.LoadFromFile("/no/such/file"), ge::GRAPH_SUCCESS);
  EXPECT_NE(read.LoadFromSerializedModelArray("abc", 3), ge::GRAPH_SUCCESS);
  EXPECT_THAT(LastMessage(), HasSubstr("protobuf"));
  EXPECT_NE(read.LoadFromSerializedModelArray(nullptr, 0), ge::GRAPH_SUCCESS);
  EXPECT_NE(ge::Graph().SaveToFile(path.c_str()), ge::GRAPH_SUCCESS);
}

// Expanding what was read makes operators of its nodes.
TEST(GeGraph, RangesOfInputsAreReadBack) {
  TempFolder folder;
  std::string path = folder / "graph";
  ge::op::Data x("x");
  ge::TensorDesc desc(ge::Shape({-1, 2}), ge::FORMAT_ND, ge::DT_FLOAT);
  const std::vector<std::pair<int64_t, int64_t>> ranges{{2, 3}, {2, 2}};
  desc.SetShapeRange(ranges);
  x.update_output_desc_y(desc);
  auto relu = ge::op::Relu("relu").set_input_x(x);
  relu.SetAttr("shape_range", std::vector<int64_t>{1, 2, 3});  // of its own, and no range of an input
  ge::Graph graph("ranges"), read;
  graph.SetInputs({x}).SetOutputs({relu});
  ASSERT_EQ(graph.SaveToFile(path.c_str()), ge::GRAPH_SUCCESS) << LastMessage();
  ASSERT_EQ(read.LoadFromFile(path.c_str()), ge::GRAPH_SUCCESS) << LastMessage();
  std::vector<std::pair<int64_t, int64_t>> got;
  for (const ge::GNode& node : read.GetDirectNode()) {
    ge::AscendString type;
    node.GetType(type);
    if (type == "Data" && node.GetOutputDesc(0, desc) == ge::GRAPH_SUCCESS) desc.GetShapeRange(got);
  }
  EXPECT_EQ(got, ranges);
}

TEST(GeGraph, IsConstructedFromInputs) {
  auto x = Input("x", {1});
  auto relu = ge::op::Relu("relu").set_input_x(x);
  ge::GraphPtr graph = ge::Graph::ConstructFromInputs({x}, "g");
  ASSERT_NE(graph, nullptr);
  EXPECT_THAT(NamesOf(*graph), UnorderedElementsAre("x", "relu"));
  EXPECT_EQ(ge::Graph::ConstructFromInputs({}, "g"), nullptr);
}

TEST(GeGraph, IsDumpedAsText) {
  TempFolder folder;
  std::string path = folder / "dump";
  ASSERT_EQ(ge::aclgrphDumpGraph(AddAndRelu({3}, 1), path.c_str(), path.size()), ge::GRAPH_SUCCESS);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("relu = Relu(add:0)"));
  EXPECT_NE(ge::aclgrphDumpGraph(ge::Graph("g"), path.c_str(), path.size()), ge::GRAPH_SUCCESS);
  EXPECT_NE(ge::aclgrphDumpGraph(AddAndRelu({3}, 1), nullptr, 0), ge::GRAPH_SUCCESS);
}

TEST(GeGraph, OperatorsOfAListKeepTheirType) {
  TempFolder folder;
  std::string path = folder / "list.cfg";
  auto write = [&](const char* text) { std::ofstream(path) << text; };
  auto keeps = [](const ge::Graph& graph, const char* name) {
    bool value = false;
    return NodeNamed(graph, name).GetAttr("keep_dtype", value) == ge::GRAPH_SUCCESS && value;
  };
  ge::Graph graph = AddAndRelu({3}, 1);
  write("# not this: relu\nadd\r\n");
  ASSERT_EQ(ge::aclgrphSetOpAttr(graph, ge::ATTR_TYPE_KEEP_DTYPE, path.c_str()), ge::GRAPH_SUCCESS);
  EXPECT_TRUE(keeps(graph, "add"));
  EXPECT_FALSE(keeps(graph, "relu"));
  write("add; relu\n");
  graph = AddAndRelu({3}, 1);
  ASSERT_EQ(ge::aclgrphSetOpAttr(graph, ge::ATTR_TYPE_WEIGHT_COMPRESS, path.c_str()), ge::GRAPH_SUCCESS);
  EXPECT_FALSE(keeps(graph, "add"));
  write("OpType::Relu\n");
  ASSERT_EQ(ge::aclgrphSetOpAttr(graph, ge::ATTR_TYPE_KEEP_DTYPE, path.c_str()), ge::GRAPH_SUCCESS);
  EXPECT_TRUE(keeps(graph, "relu"));
  EXPECT_FALSE(keeps(graph, "add"));
  ge::ModelBufferData model;
  EXPECT_EQ(ge::aclgrphBuildModel(graph, std::map<ge::AscendString, ge::AscendString>(), model),
            ge::GRAPH_SUCCESS);
}

TEST(GeGraph, AListOfOperatorsMustFit) {
  TempFolder folder;
  std::string path = folder / "list.cfg";
  ge::Graph graph = AddAndRelu({3}, 1);
  EXPECT_NE(ge::aclgrphSetOpAttr(graph, ge::ATTR_TYPE_KEEP_DTYPE, path.c_str()), ge::GRAPH_SUCCESS);
  EXPECT_THAT(LastMessage(), HasSubstr("cannot be read"));
  std::ofstream(path) << "add\nmul\n";
  EXPECT_NE(ge::aclgrphSetOpAttr(graph, ge::ATTR_TYPE_KEEP_DTYPE, path.c_str()), ge::GRAPH_SUCCESS);
  EXPECT_THAT(LastMessage(), HasSubstr("'mul'"));
  EXPECT_NE(ge::aclgrphSetOpAttr(graph, ge::ATTR_TYPE_KEEP_DTYPE, nullptr), ge::GRAPH_SUCCESS);
  EXPECT_NE(ge::aclgrphSetOpAttr(graph, static_cast<ge::aclgrphAttrType>(2), path.c_str()),
            ge::GRAPH_SUCCESS);
}

TEST(GeGraph, IsMadeOfOneOperator) {
  ge::Graph graph;
  ASSERT_EQ(ge::aclgrphGenerateForOp("Add", {FloatDesc({2}), FloatDesc({2})}, {FloatDesc({2})}, graph),
            ge::GRAPH_SUCCESS);
  EXPECT_THAT(NamesOf(graph), UnorderedElementsAre("x0", "x1", "Add"));
  ge::ModelBufferData model;
  EXPECT_EQ(ge::aclgrphBuildModel(graph, GeOptions(), model), ge::GRAPH_SUCCESS) << LastMessage();
  EXPECT_NE(ge::aclgrphGenerateForOp("Frobnicate", {}, {}, graph), ge::GRAPH_SUCCESS);
  EXPECT_NE(ge::aclgrphGenerateForOp("Relu", {FloatDesc({2}), FloatDesc({2})}, {}, graph), ge::GRAPH_SUCCESS);
}

TEST(GeGraph, TheVersionOfTheInterface) {
  int32_t major = 0, minor = -1, patch = -1;
  EXPECT_EQ(ge::aclgrphGetIRVersion(&major, &minor, &patch), ge::GRAPH_SUCCESS);
  EXPECT_EQ(major, 1);
  EXPECT_NE(ge::aclgrphGetIRVersion(nullptr, &minor, &patch), ge::GRAPH_SUCCESS);
}

}  // namespace
}  // namespace conformance
