// Sessions: graphs that are added, compiled and run in every way.
#include "ge/session_fixture.h"
#include "support/small_stack.h"
#include "support/temp_folder.h"

#include <ge/ge_ir_build.h>
#include <pthread.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <set>

namespace conformance {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Session : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    ASSERT_EQ(ge::GEInitialize(GeOptions{{"ge.exec.deviceId", "0"}, {"ge.graphRunMode", "0"}}), ge::SUCCESS)
        << GeError();
    session_ = std::make_unique<ge::Session>(GeOptions());
  }
  void TearDown() override {
    session_.reset();
    EXPECT_EQ(ge::GEFinalize(), ge::SUCCESS);
    RuntimeTest::TearDown();
  }
  void Add(uint32_t id, const ge::Graph& graph) {
    ASSERT_EQ(session_->AddGraph(id, graph), ge::SUCCESS) << GeError();
  }
  std::vector<float> Run(uint32_t id, const ge::Tensor& input) {
    std::vector<ge::Tensor> outputs;
    EXPECT_EQ(session_->RunGraph(id, {input}, outputs), ge::SUCCESS) << GeError();
    return outputs.empty() ? std::vector<float>() : ValuesOf(outputs[0]);
  }
  std::unique_ptr<ge::Session> session_;
};

// Device memory as a tensor.
ge::Tensor OnDevice(const std::vector<int64_t>& dims, const std::vector<float>& values) {
  void* data = nullptr;
  size_t bytes = values.size() * sizeof(float);
  EXPECT_EQ(aclrtMalloc(&data, bytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpy(data, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  ge::TensorDesc desc = FloatDesc(dims);
  desc.SetPlacement(ge::kPlacementDevice);
  ge::Tensor tensor(desc);
  tensor.SetData(static_cast<uint8_t*>(data), bytes, [](uint8_t* at) { aclrtFree(at); });
  return tensor;
}

std::vector<float> FromDevice(const ge::Tensor& tensor) {
  std::vector<float> values(tensor.GetSize() / sizeof(float));
  EXPECT_EQ(aclrtMemcpy(values.data(), tensor.GetSize(), tensor.GetData(), tensor.GetSize(),
                        ACL_MEMCPY_DEVICE_TO_HOST),
            ACL_SUCCESS);
  return values;
}

// Built, saved, compiled, run, drawn and ended: nothing calls itself once for each node.
TEST_F(Session, ChainsMayBeLong) {
  const auto work = [this] {
    auto x = Input("x", {1});
    ge::Operator last = x;
    for (int i = 0; i < kManyNodes; ++i) {
      const std::string name = "n" + std::to_string(i);
      last = ge::op::Abs(name.c_str()).SetInput("x", last);
      last.AddControlInput(x);
    }
    ge::Graph graph("chain");
    graph.SetInputs({x}).SetOutputs({last});
    Add(1, graph);
    EXPECT_THAT(Run(1, Floats({1}, {-3})), ElementsAre(3));
  };
  EXPECT_TRUE(OnSmallStack(work));
}

TEST_F(Session, RunsAGraphWithHostTensors) {
  Add(1, AddAndRelu({3}, 1));
  EXPECT_TRUE(session_->IsGraphNeedRebuild(1));
  EXPECT_THAT(Run(1, Floats({3}, {1, -5, 0})), ElementsAre(2, 0, 1));
  EXPECT_FALSE(session_->IsGraphNeedRebuild(1));
  EXPECT_THAT(Run(1, Floats({3}, {2, 2, 2})), ElementsAre(3, 3, 3));
}

TEST_F(Session, RunsAGraphOnAStreamWithDeviceTensors) {
  Add(1, AddAndRelu({3}, 1));
  aclrtStream stream = NewStream();
  std::vector<ge::Tensor> outputs = {OnDevice({3}, {0, 0, 0})};
  ge::Tensor input = OnDevice({3}, {1, -5, 0});
  const uint8_t* given = outputs[0].GetData();
  ASSERT_EQ(session_->RunGraphWithStreamAsync(1, stream, {input}, outputs), ge::SUCCESS) << GeError();
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(outputs[0].GetData(), given);
  EXPECT_THAT(FromDevice(outputs[0]), ElementsAre(2, 0, 1));
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(Session, ARunOnAStreamComesInItsTurn) {
  Add(1, AddAndRelu({1}, 1));
  Gate gate;
  aclrtStream stream = NewStream();
  gate.Close(stream);
  std::vector<ge::Tensor> outputs = {OnDevice({1}, {-1})};
  ge::Tensor input = OnDevice({1}, {41});
  ASSERT_EQ(session_->RunGraphWithStreamAsync(1, stream, {input}, outputs), ge::SUCCESS) << GeError();
  EXPECT_THAT(FromDevice(outputs[0]), ElementsAre(-1));
  gate.Open();
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_THAT(FromDevice(outputs[0]), ElementsAre(42));
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

// What torch_npu keeps in the tiles of a card, and torchair passes on.
TEST_F(Session, TensorsInTilesAreRefused) {
  Add(1, AddAndRelu({16, 16}, 1));
  ge::Tensor input = Floats({16, 16}, std::vector<float>(256, 2));
  EXPECT_EQ(Run(1, input), std::vector<float>(256, 3));
  ge::TensorDesc desc = FloatDesc({1, 1, 16, 16});
  desc.SetFormat(ge::FORMAT_FRACTAL_NZ);
  EXPECT_EQ(input.SetTensorDesc(desc), ge::GRAPH_SUCCESS);
  std::vector<ge::Tensor> outputs;
  EXPECT_NE(session_->RunGraph(1, {input}, outputs), ge::SUCCESS);
  EXPECT_THAT(GeError(), HasSubstr("FORMAT_FRACTAL_NZ"));
}

TEST_F(Session, OutputsWithoutMemoryGetSome) {
  Add(1, AddAndRelu({2}, 1));
  aclrtStream stream = NewStream();
  std::vector<ge::Tensor> outputs;
  ge::Tensor input = OnDevice({2}, {1, 2});
  ASSERT_EQ(session_->RunGraphWithStreamAsync(1, stream, {input}, outputs), ge::SUCCESS) << GeError();
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].GetPlacement(), ge::kPlacementDevice);
  EXPECT_THAT(outputs[0].GetTensorDesc().GetShape().GetDims(), ElementsAre(2));
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

class CountingAllocator : public ge::Allocator {
 public:
  ge::MemBlock* Malloc(size_t size) override {
    ++blocks;
    void* data = nullptr;
    aclrtMalloc(&data, size, ACL_MEM_MALLOC_HUGE_FIRST);
    return new ge::MemBlock(*this, data, size);
  }
  void Free(ge::MemBlock* block) override {
    --blocks;
    aclrtFree(block->GetAddr());
    delete block;
  }
  int blocks = 0;
};

TEST_F(Session, TheAllocatorOfAStreamGivesMemoryForOutputs) {
  Add(1, AddAndRelu({2}, 1));
  aclrtStream stream = NewStream();
  auto allocator = std::make_shared<CountingAllocator>();
  EXPECT_NE(session_->RegisterExternalAllocator(stream, nullptr), ge::SUCCESS);
  EXPECT_EQ(session_->UnregisterExternalAllocator(stream), ge::SUCCESS) << "there was none";
  ASSERT_EQ(session_->RegisterExternalAllocator(stream, allocator), ge::SUCCESS);
  {
    ge::Tensor input = OnDevice({2}, {1, 2});
    std::vector<ge::Tensor> outputs;
    ASSERT_EQ(session_->RunGraphWithStreamAsync(1, stream, {input}, outputs), ge::SUCCESS) << GeError();
    EXPECT_EQ(allocator->blocks, 1);
    ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  }
  EXPECT_EQ(allocator->blocks, 0);
  EXPECT_EQ(session_->UnregisterExternalAllocator(stream), ge::SUCCESS);
  EXPECT_EQ(session_->UnregisterExternalAllocator(stream), ge::SUCCESS) << "again";
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(Session, LaterRunsTellTheirCallbacksInOrder) {
  Add(1, AddAndRelu({1}, 1));
  std::vector<float> seen;
  std::promise<void> done;
  for (int i = 0; i < 3; ++i) {
    auto callback = [&, i](ge::Status status, std::vector<ge::Tensor>& outputs) {
      EXPECT_EQ(status, ge::SUCCESS);
      seen.push_back(ValuesOf(outputs.at(0))[0]);
      if (i == 2) done.set_value();
    };
    ASSERT_EQ(session_->RunGraphAsync(1, {Floats({1}, {static_cast<float>(i)})}, callback), ge::SUCCESS);
  }
  done.get_future().wait();
  EXPECT_THAT(seen, ElementsAre(1, 2, 3));
}

// The names of the process's threads that block SIGINT, as ours do.
std::multiset<std::string> QuietThreads() {
  std::multiset<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream comm(entry.path() / "comm");
    std::ifstream status(entry.path() / "status");
    std::string name;
    std::getline(comm, name);
    for (std::string line; std::getline(status, line);) {
      if (line.rfind("SigBlk:", 0) == 0 && (std::stoull(line.substr(7), nullptr, 16) & 2) != 0)
        names.insert(name);
    }
  }
  return names;
}

TEST_F(Session, LaterRunsHaveAThreadAsAllOthers) {
  Add(1, AddAndRelu({1}, 1));
  std::promise<std::multiset<std::string>> names;
  auto callback = [&](ge::Status, std::vector<ge::Tensor>&) { names.set_value(QuietThreads()); };
  ASSERT_EQ(session_->RunGraphAsync(1, {Floats({1}, {1})}, callback), ge::SUCCESS);
  EXPECT_EQ(names.get_future().get().count("belay-ge"), 1u);
}

TEST_F(Session, LaterRunsWithoutAThreadAreRefused) {
  Add(1, AddAndRelu({1}, 1));
  pthread_attr_t before;
  pthread_attr_t huge;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  pthread_attr_init(&huge);
  pthread_attr_setstacksize(&huge, size_t{1} << 60);  // nobody gets such a stack
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  int called = 0;
  auto callback = [&](ge::Status, std::vector<ge::Tensor>&) { ++called; };
  ge::Status status = session_->RunGraphAsync(1, {Floats({1}, {1})}, callback);
  pthread_setattr_default_np(&before);
  pthread_attr_destroy(&huge);
  EXPECT_NE(status, ge::SUCCESS);
  EXPECT_THAT(GeError(), HasSubstr("no thread"));
  session_.reset();
  EXPECT_EQ(called, 0);
}

TEST_F(Session, OpenSizesAreCompiledWhenTheyComeUp) {
  Add(1, AddAndRelu({-1, 2}, 1));
  EXPECT_THAT(Run(1, Floats({1, 2}, {1, 2})), ElementsAre(2, 3));
  EXPECT_THAT(Run(1, Floats({2, 2}, {1, 2, 3, 4})), ElementsAre(2, 3, 4, 5));
  std::vector<ge::Tensor> outputs;
  EXPECT_NE(session_->RunGraph(1, {Floats({1, 3}, {1, 2, 3})}, outputs), ge::SUCCESS);
  EXPECT_THAT(GeError(), HasSubstr("input 0"));
}

// Rows from 2 to 3: [1, 2] and [4, 2] are refused.
void ExpectTwoOrThreeRows(ge::Session& session, uint32_t graph) {
  for (int64_t rows = 1; rows <= 4; ++rows) {
    std::vector<ge::Tensor> outputs;
    const std::vector<float> values(static_cast<size_t>(rows) * 2, 1);
    const bool runs = session.RunGraph(graph, {Floats({rows, 2}, values)}, outputs) == ge::SUCCESS;
    EXPECT_EQ(runs, rows == 2 || rows == 3) << rows;
    if (runs) continue;
    EXPECT_THAT(GeError(), HasSubstr("2~3 in dimension 0"));
  }
}

TEST_F(Session, RunsTheSizesOfItsRanges) {
  uint32_t id = 0;
  for (const char* shape : {"x:2~3,2", "2~3,2"}) {
    const GeOptions options{{"ge.inputShape", shape}};
    ASSERT_EQ(session_->AddGraph(++id, AddAndRelu({-1, 2}, 1), options), ge::SUCCESS) << GeError();
    ExpectTwoOrThreeRows(*session_, id);
  }
}

// A graph whose input says which sizes it may have.
ge::Graph ReluOfRanges(const std::vector<std::pair<int64_t, int64_t>>& ranges) {
  ge::Graph graph("ranges");
  ge::op::Data x("x");
  ge::TensorDesc desc(ge::Shape({-1, 2}), ge::FORMAT_ND, ge::DT_FLOAT);
  desc.SetShapeRange(ranges);
  x.update_input_desc_x(desc);
  x.update_output_desc_y(desc);
  graph.SetInputs({x}).SetOutputs({ge::op::Relu("relu").set_input_x(x)});
  return graph;
}

TEST_F(Session, RunsTheSizesThatADescriptionSays) {
  Add(1, ReluOfRanges({{2, 3}, {2, 2}}));
  ExpectTwoOrThreeRows(*session_, 1);
  for (const auto& bad : std::vector<std::vector<std::pair<int64_t, int64_t>>>{{{2, 3}}, {{3, 2}, {2, 2}}}) {
    std::vector<ge::Tensor> outputs;
    const bool runs = session_->AddGraph(2, ReluOfRanges(bad)) == ge::SUCCESS &&
                      session_->RunGraph(2, {Floats({2, 2}, {1, 2, 3, 4})}, outputs) == ge::SUCCESS;
    EXPECT_FALSE(runs);
    EXPECT_THAT(GeError(), HasSubstr("SetShapeRange"));
    session_->RemoveGraph(2);
  }
}

// The elements of the second input are the sizes of the output.
ge::Graph ReshapeByData() {
  ge::Graph graph("reshape");
  auto x = Input("x", {4});
  ge::op::Data shape("shape");
  ge::TensorDesc desc(ge::Shape({2}), ge::FORMAT_ND, ge::DT_INT64);
  shape.set_attr_index(1).update_input_desc_x(desc);
  shape.update_output_desc_y(desc);
  auto relu =
      ge::op::Relu("relu").set_input_x(ge::op::Reshape("reshape").set_input_x(x).set_input_shape(shape));
  graph.SetInputs({x, shape}).SetOutputs({relu});
  return graph;
}

ge::Tensor Sizes(int64_t rows, int64_t columns) {
  int64_t sizes[] = {rows, columns};
  return ge::Tensor(ge::TensorDesc(ge::Shape({2}), ge::FORMAT_ND, ge::DT_INT64),
                    reinterpret_cast<const uint8_t*>(sizes), sizeof sizes);
}

TEST_F(Session, SizesThatOnlyTheDataDecides) {
  Add(1, ReshapeByData());
  std::vector<ge::Tensor> outputs;
  ASSERT_EQ(session_->RunGraph(1, {Floats({4}, {1, 2, 3, -4}), Sizes(2, 2)}, outputs), ge::SUCCESS)
      << GeError();
  EXPECT_THAT(ValuesOf(outputs.at(0)), ElementsAre(1, 2, 3, 0));
  EXPECT_THAT(outputs[0].GetTensorDesc().GetShape().GetDims(), ElementsAre(2, 2));
  ASSERT_EQ(session_->RunGraph(1, {Floats({4}, {1, 2, 3, -4}), Sizes(1, 4)}, outputs), ge::SUCCESS)
      << GeError();
  EXPECT_THAT(outputs[0].GetTensorDesc().GetShape().GetDims(), ElementsAre(1, 4));
  EXPECT_FALSE(session_->GetCompiledGraphSummary(1)->IsStatic());
}

TEST_F(Session, GearsAreTheSizesThatRun) {
  GeOptions options = {{"ge.inputShape", "x:-1"}, {"ge.dynamicDims", "2;3"}, {"ge.dynamicNodeType", "1"}};
  ASSERT_EQ(session_->AddGraph(1, AddAndRelu({-1}, 1), options), ge::SUCCESS) << GeError();
  EXPECT_THAT(Run(1, Floats({2}, {1, -5})), ElementsAre(2, 0));
  EXPECT_THAT(Run(1, Floats({3}, {1, -5, 2})), ElementsAre(2, 0, 3));
  std::vector<ge::Tensor> outputs;
  EXPECT_NE(session_->RunGraph(1, {Floats({4}, {1, 2, 3, 4})}, outputs), ge::SUCCESS);
  EXPECT_THAT(GeError(), HasSubstr("none of the gears"));
}

TEST_F(Session, SizesThatOnlyTheDataDecidesOnAStream) {
  Add(1, ReshapeByData());
  aclrtStream stream = NewStream();
  int64_t sizes[] = {4, 1};
  void* data = nullptr;
  ASSERT_EQ(aclrtMalloc(&data, sizeof sizes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpy(data, sizeof sizes, sizes, sizeof sizes, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  ge::Tensor shape = Sizes(0, 0);
  shape.ResetData(static_cast<uint8_t*>(data), sizeof sizes, [](uint8_t* at) { aclrtFree(at); });
  ge::Tensor x = OnDevice({4}, {1, 2, 3, 4});
  std::vector<ge::Tensor> outputs;
  ASSERT_EQ(session_->RunGraphWithStreamAsync(1, stream, {x, shape}, outputs), ge::SUCCESS) << GeError();
  EXPECT_THAT(outputs.at(0).GetTensorDesc().GetShape().GetDims(), ElementsAre(4, 1));
  EXPECT_THAT(FromDevice(outputs[0]), ElementsAre(1, 2, 3, 4));
  outputs = {OnDevice({1}, {0})};  // too small
  EXPECT_NE(session_->RunGraphWithStreamAsync(1, stream, {x, shape}, outputs), ge::SUCCESS);
  EXPECT_THAT(GeError(), HasSubstr("output 0"));
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(Session, InputsThatDoNotFitAreRefused) {
  Add(1, AddAndRelu({3}, 1));
  std::vector<ge::Tensor> outputs;
  aclrtStream stream = NewStream();
  EXPECT_NE(session_->RunGraphWithStreamAsync(1, stream, {Floats({3}, {1, 2, 3})}, outputs), ge::SUCCESS);
  EXPECT_THAT(GeError(), HasSubstr("copy to memory from aclrtMalloc first"));
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_NE(session_->RunGraph(1, {}, outputs), ge::SUCCESS);
  EXPECT_NE(session_->RunGraph(1, {Floats({2}, {1, 2})}, outputs), ge::SUCCESS);
  EXPECT_NE(session_->RunGraph(1, {Floats({4}, {1, 2, 3, 4})}, outputs), ge::SUCCESS);
  EXPECT_THAT(GeError(), HasSubstr("is given as ACL_FLOAT [4]"));
  EXPECT_EQ(session_->RunGraph(1, {Floats({1, 3}, {1, 2, 3})}, outputs), ge::SUCCESS) << GeError();
  EXPECT_NE(session_->RunGraph(2, {Floats({3}, {1, 2, 3})}, outputs), ge::SUCCESS);
  EXPECT_THAT(GeError(), HasSubstr("no graph 2"));
  ge::Tensor integers = Floats({3}, {1, 2, 3});
  integers.SetDataType(ge::DT_INT32);
  EXPECT_NE(session_->RunGraph(1, {integers}, outputs), ge::SUCCESS);
  EXPECT_THAT(GeError(), HasSubstr("ACL_INT32"));
  ge::Tensor undescribed;
  undescribed.SetData(integers.GetData(), integers.GetSize());
  EXPECT_EQ(session_->RunGraph(1, {undescribed}, outputs), ge::SUCCESS) << GeError();
  EXPECT_NE(
      session_->RunGraphWithStreamAsync(1, reinterpret_cast<void*>(1), {OnDevice({3}, {1, 2, 3})}, outputs),
      ge::SUCCESS);
}

TEST_F(Session, GraphsHaveNumbersOfTheirOwn) {
  Add(1, AddAndRelu({1}, 1));
  EXPECT_NE(session_->AddGraph(1, AddAndRelu({1}, 2)), ge::SUCCESS);
  Add(2, AddAndRelu({1}, 2));
  EXPECT_THAT(Run(2, Floats({1}, {1})), ElementsAre(3));
  EXPECT_EQ(session_->RemoveGraph(1), ge::SUCCESS);
  EXPECT_NE(session_->RemoveGraph(1), ge::SUCCESS);
  Add(1, AddAndRelu({1}, 4));
  EXPECT_THAT(Run(1, Floats({1}, {1})), ElementsAre(5));
  EXPECT_NE(session_->AddGraph(9, ge::Graph()), ge::SUCCESS);
  EXPECT_NE(session_->AddGraph(9, ge::Graph("empty")), ge::SUCCESS);
}

TEST_F(Session, ASummaryTellsSizesAndOutputs) {
  Add(1, AddAndRelu({3}, 1));
  EXPECT_EQ(session_->GetCompiledGraphSummary(1), nullptr);
  ASSERT_EQ(session_->CompileGraph(1), ge::SUCCESS) << GeError();
  auto summary = session_->GetCompiledGraphSummary(1);
  ASSERT_NE(summary, nullptr);
  EXPECT_TRUE(summary->IsStatic());
  std::vector<ge::Shape> shapes;
  std::vector<ge::DataType> types;
  size_t bytes = 0, count = 0;
  bool refreshable = false;
  ASSERT_EQ(summary->GetOutputShapes(shapes), ge::SUCCESS);
  ASSERT_EQ(summary->GetOutputDtypes(types), ge::SUCCESS);
  EXPECT_THAT(shapes.at(0).GetDims(), ElementsAre(3));
  EXPECT_THAT(types, ElementsAre(ge::DT_FLOAT));
  EXPECT_EQ(summary->GetFeatureMemorySize(bytes), ge::SUCCESS);
  EXPECT_EQ(summary->GetConstMemorySize(bytes), ge::SUCCESS);
  EXPECT_EQ(bytes, sizeof(float));
  EXPECT_EQ(summary->GetFixedFeatureMemorySize(bytes), ge::SUCCESS);
  EXPECT_EQ(bytes, 0u);
  EXPECT_EQ(summary->GetStreamNum(count), ge::SUCCESS);
  EXPECT_EQ(summary->GetFeatureMemoryBaseRefreshable(refreshable), ge::SUCCESS);
  EXPECT_TRUE(refreshable);
  auto memories = summary->GetAllFeatureMemoryTypeSize();
  ASSERT_EQ(memories.size(), 1u);
  EXPECT_FALSE(memories[0]->IsFixed());
  EXPECT_EQ(memories[0]->GetType(), ge::MemoryType::MEMORY_TYPE_DEFAULT);
}

TEST_F(Session, ASummaryOfOpenSizesKnowsNone) {
  Add(1, AddAndRelu({-1}, 1));
  ASSERT_EQ(session_->CompileGraph(1), ge::SUCCESS) << GeError();
  auto summary = session_->GetCompiledGraphSummary(1);
  ASSERT_NE(summary, nullptr);
  EXPECT_FALSE(summary->IsStatic());
  std::vector<ge::Shape> shapes;
  EXPECT_NE(summary->GetOutputShapes(shapes), ge::SUCCESS);
}

TEST_F(Session, MemoryOfTheProgramIsUsed) {
  Add(1, AddAndRelu({3}, 1));
  void* memory = nullptr;
  ASSERT_EQ(aclrtMalloc(&memory, 1 << 16, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(session_->CompileGraph(1), ge::SUCCESS);
  EXPECT_EQ(session_->SetGraphConstMemoryBase(1, memory, 1 << 15), ge::SUCCESS) << GeError();
  EXPECT_NE(session_->SetGraphConstMemoryBase(1, memory, 1 << 15), ge::SUCCESS);
  EXPECT_EQ(session_->UpdateGraphFeatureMemoryBase(1, memory, 1 << 15), ge::SUCCESS) << GeError();
  EXPECT_EQ(session_->UpdateGraphFeatureMemoryBase(1, memory, 1 << 15), ge::SUCCESS) << "it may be moved";
  EXPECT_EQ(session_->UpdateGraphRefreshableFeatureMemoryBase(1, memory, 1 << 15), ge::FAILED);
  EXPECT_THAT(GeError(), HasSubstr("exclude one another"));
  EXPECT_EQ(session_->UpdateGraphFeatureMemoryBase(1, nullptr, 0), ge::FAILED);
  EXPECT_THAT(Run(1, Floats({3}, {1, 2, 3})), ElementsAre(2, 3, 4));
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
}

TEST_F(Session, MemoryIsGivenToCompiledGraphsWhoseSizesAreKnown) {
  Add(1, AddAndRelu({3}, 1));
  Add(2, AddAndRelu({-1}, 1));
  void* memory = nullptr;
  ASSERT_EQ(aclrtMalloc(&memory, 1 << 15, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(session_->CompileGraph(2), ge::SUCCESS) << GeError();
  for (uint32_t graph : {1, 2}) {
    EXPECT_EQ(session_->SetGraphConstMemoryBase(graph, memory, 1 << 15), ge::FAILED);
    EXPECT_EQ(session_->UpdateGraphFeatureMemoryBase(graph, memory, 1 << 15), ge::FAILED);
    EXPECT_EQ(session_->UpdateGraphRefreshableFeatureMemoryBase(graph, memory, 1 << 15), ge::FAILED);
    EXPECT_THAT(GeError(), HasSubstr(graph == 1 ? "CompileGraph" : "IsStatic"));
  }
  EXPECT_EQ(session_->SetGraphFixedFeatureMemoryBase(1, memory, 1 << 15), ge::FAILED);
  EXPECT_EQ(
      session_->SetGraphFixedFeatureMemoryBaseWithType(1, ge::MemoryType::MEMORY_TYPE_P2P, memory, 1 << 15),
      ge::FAILED);
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
}

// Graphs have no fixed memory, for which the pages have a warning.
TEST_F(Session, FixedMemoryIsNotUsedWhichAWarningSays) {
  Add(1, AddAndRelu({3}, 1));
  ASSERT_EQ(session_->CompileGraph(1), ge::SUCCESS) << GeError();
  EXPECT_EQ(session_->SetGraphFixedFeatureMemoryBase(1, nullptr, 0), ge::SUCCESS);
  for (ge::MemoryType type : {ge::MemoryType::MEMORY_TYPE_DEFAULT, ge::MemoryType::MEMORY_TYPE_P2P})
    EXPECT_EQ(session_->SetGraphFixedFeatureMemoryBaseWithType(1, type, nullptr, 0), ge::SUCCESS);
  EXPECT_THAT(ge::GEGetWarningMsg(), HasSubstr("no fixed memory"));
  void* memory = nullptr;
  ASSERT_EQ(aclrtMalloc(&memory, 1 << 15, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  EXPECT_EQ(session_->UpdateGraphRefreshableFeatureMemoryBase(1, memory, 1 << 15), ge::SUCCESS) << GeError();
  EXPECT_THAT(Run(1, Floats({3}, {1, 2, 3})), ElementsAre(2, 3, 4));
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
}

// The statuses that the pages name.
TEST_F(Session, StatusesOfWhatIsRefused) {
  Add(1, AddAndRelu({3}, 1));
  EXPECT_EQ(session_->AddGraph(1, AddAndRelu({3}, 5)), ge::FAILED) << "the first one stays";
  EXPECT_THAT(Run(1, Floats({3}, {1, 2, 3})), ElementsAre(2, 3, 4));
  EXPECT_EQ(session_->AddGraph(2, ge::Graph()), ge::FAILED);
  EXPECT_EQ(session_->AddGraphWithCopy(2, ge::Graph()), ge::FAILED);
  EXPECT_EQ(session_->RemoveGraph(9), ge::FAILED);
  EXPECT_EQ(session_->BuildGraph(9, std::vector<ge::Tensor>{}), ge::FAILED);
  std::vector<ge::Tensor> outputs;
  EXPECT_EQ(session_->RunGraph(1, {}, outputs), ge::FAILED);
  ge::Graph graph("loose");
  auto x = Input("x", {3});
  graph.SetInputs({x}).SetOutputs({ge::op::Add("add").set_input_x1(x)});
  Add(3, graph);
  EXPECT_EQ(session_->CompileGraph(3), ge::PARAM_INVALID);
  EXPECT_EQ(session_->BuildGraph(3, std::vector<ge::Tensor>{}), ge::FAILED);
}

TEST_F(Session, NoMemoryIsNeededWhereNoneIsUsed) {
  ge::Graph graph("relu");
  auto x = Input("x", {3});
  graph.SetInputs({x}).SetOutputs({ge::op::Relu("relu").set_input_x(x)});
  Add(1, graph);
  ASSERT_EQ(session_->CompileGraph(1), ge::SUCCESS) << GeError();
  size_t constants = 1, between = 1;
  auto summary = session_->GetCompiledGraphSummary(1);
  ASSERT_EQ(summary->GetConstMemorySize(constants), ge::SUCCESS);
  ASSERT_EQ(summary->GetFeatureMemorySize(between), ge::SUCCESS);
  EXPECT_EQ(constants, 0u);
  EXPECT_EQ(between, 0u);
  EXPECT_EQ(session_->SetGraphConstMemoryBase(1, nullptr, 0), ge::SUCCESS) << GeError();
  EXPECT_EQ(session_->UpdateGraphFeatureMemoryBase(1, nullptr, 0), ge::SUCCESS) << GeError();
  EXPECT_THAT(Run(1, Floats({3}, {1, -2, 3})), ElementsAre(1, 0, 3));
}

TEST_F(Session, BuildGraphTakesTheSizesOfTheInputs) {
  Add(1, AddAndRelu({-1}, 1));
  ASSERT_EQ(session_->BuildGraph(1, std::vector<ge::Tensor>{Floats({2}, {0, 0})}), ge::SUCCESS) << GeError();
  EXPECT_TRUE(session_->GetCompiledGraphSummary(1)->IsStatic());
  Add(2, AddAndRelu({-1}, 1));
  EXPECT_EQ(session_->BuildGraph(2, std::vector<ge::InputTensorInfo>{{ge::DT_FLOAT, {4}, nullptr, 0}}),
            ge::SUCCESS);
  Add(3, AddAndRelu({-1}, 1));
  EXPECT_NE(session_->BuildGraph(3, std::vector<ge::Tensor>{}), ge::FAILED);  // the graph's own sizes
  EXPECT_NE(session_->BuildGraph(4, std::vector<ge::Tensor>{}), ge::SUCCESS);
}

TEST_F(Session, ASavedModelIsLoaded) {
  ge::ModelBufferData model;
  ASSERT_EQ(ge::aclgrphBuildModel(AddAndRelu({2}, 1), GeOptions(), model), ge::GRAPH_SUCCESS)
      << LastMessage();
  TempFolder folder;
  std::string base = folder / "m";
  ASSERT_EQ(ge::aclgrphSaveModel(base.c_str(), model), ge::GRAPH_SUCCESS);
  ASSERT_EQ(session_->LoadGraph(5, {}, base + ".om"), ge::SUCCESS) << GeError();
  EXPECT_THAT(Run(5, Floats({2}, {1, 2})), ElementsAre(2, 3));
  EXPECT_NE(session_->LoadGraph(6, {}, "/no/such.om"), ge::SUCCESS);
}

TEST_F(Session, ACopyDoesNotFollowItsGraph) {
  ge::Graph graph = AddAndRelu({1}, 1);
  ASSERT_EQ(session_->AddGraphWithCopy(1, graph), ge::SUCCESS) << GeError();
  ge::Operator add;
  ASSERT_EQ(graph.FindOpByName("add", add), ge::GRAPH_SUCCESS);
  add.SetInput("x2", Constant("d", {1}, {100}));
  Add(2, graph);
  EXPECT_THAT(Run(1, Floats({1}, {1})), ElementsAre(2));
  EXPECT_THAT(Run(2, Floats({1}, {1})), ElementsAre(101));
}

TEST_F(Session, WhatIsNotSupportedSaysSo) {
  std::vector<ge::Tensor> values;
  std::map<int32_t, std::vector<ge::Tensor>> spread;
  Add(1, AddAndRelu({1}, 1));
  EXPECT_NE(session_->GetVariables(std::vector<ge::AscendString>{"v"}, values), ge::SUCCESS);
  EXPECT_THAT(GeError(), HasSubstr("GetVariables"));
  EXPECT_NE(session_->GetVariables(std::vector<std::string>{"v"}, values), ge::SUCCESS);
  EXPECT_NE(session_->RegisterCallBackFunc("Save", ge::session::pCallBackFunc()), ge::SUCCESS);
  EXPECT_NE(session_->RegisterCallBackFunc(std::string("Save"), ge::pCallBackFunc()), ge::SUCCESS);
  EXPECT_NE(session_->RunGraphDistribute(1, spread, spread), ge::SUCCESS);
  EXPECT_NE(session_->ShardGraphsToFile(), ge::SUCCESS);
  EXPECT_NE(session_->SaveGraphsToPb("x"), ge::SUCCESS);
}

TEST_F(Session, SeveralThreadsAndSessionsRunAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      ge::Session session{GeOptions()};
      ASSERT_EQ(session.AddGraph(1, AddAndRelu({1}, static_cast<float>(t))), ge::SUCCESS);
      for (int i = 0; i < 10; ++i) {
        std::vector<ge::Tensor> outputs;
        ASSERT_EQ(session.RunGraph(1, {Floats({1}, {static_cast<float>(i)})}, outputs), ge::SUCCESS);
        EXPECT_THAT(ValuesOf(outputs[0]), ElementsAre(static_cast<float>(i + t)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace conformance
