// aclprofModelSubscribe: a record of each operator of a model that runs, through a pipe.
#include <acl/acl_prof.h>
#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "model_fixture.h"

namespace conformance {
namespace {

struct Seen {
  std::string name, type;
  uint64_t begin, end, duration;
  size_t model;
  bool operator==(const Seen& other) const { return name == other.name && type == other.type; }
};

class Subscribe : public ModelTest {
 protected:
  void SetUp() override {
    ModelTest::SetUp();
    ASSERT_EQ(pipe(ends_), 0);
    config_ = aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, &ends_[1]);
    ASSERT_NE(config_, nullptr) << aclGetRecentErrMsg();
    x_ = std::make_unique<DeviceBuffer>(24);
    y_ = std::make_unique<DeviceBuffer>(24);
  }
  void TearDown() override {
    x_ = nullptr;
    y_ = nullptr;
    close(ends_[0]);
    if (!taken_) close(ends_[1]);
    EXPECT_EQ(aclprofDestroySubscribeConfig(config_), ACL_SUCCESS);
    ModelTest::TearDown();
  }

  void Run(uint32_t model) {
    Dataset in(x_->buffer()), out(y_->buffer());
    ASSERT_EQ(aclmdlExecute(model, in.get(), out.get()), ACL_SUCCESS) << aclGetRecentErrMsg();
  }
  // All that comes until the pipe is closed.
  std::string Bytes() {
    std::string bytes;
    char room[1000];
    for (ssize_t n; (n = read(ends_[0], room, sizeof room)) > 0;) bytes.append(room, static_cast<size_t>(n));
    return bytes;
  }
  static std::vector<Seen> RecordsOf(const std::string& bytes) {
    std::vector<Seen> all;
    uint32_t count = 0;
    EXPECT_EQ(aclprofGetOpNum(bytes.data(), bytes.size(), &count), ACL_SUCCESS) << aclGetRecentErrMsg();
    for (uint32_t i = 0; i < count; ++i) {
      size_t name = 0, type = 0;
      EXPECT_EQ(aclprofGetOpNameLen(bytes.data(), bytes.size(), i, &name), ACL_SUCCESS);
      EXPECT_EQ(aclprofGetOpTypeLen(bytes.data(), bytes.size(), i, &type), ACL_SUCCESS);
      std::vector<char> name_text(name, 'x'), type_text(type, 'x');
      EXPECT_EQ(aclprofGetOpName(bytes.data(), bytes.size(), i, name_text.data(), name), ACL_SUCCESS);
      EXPECT_EQ(aclprofGetOpType(bytes.data(), bytes.size(), i, type_text.data(), type), ACL_SUCCESS);
      all.push_back({name_text.data(), type_text.data(), aclprofGetOpStart(bytes.data(), bytes.size(), i),
                     aclprofGetOpEnd(bytes.data(), bytes.size(), i),
                     aclprofGetOpDuration(bytes.data(), bytes.size(), i),
                     aclprofGetModelId(bytes.data(), bytes.size(), i)});
    }
    return all;
  }

  int ends_[2] = {-1, -1};
  bool taken_ = false;  // the end to write to: it has been closed
  aclprofSubscribeConfig* config_ = nullptr;
  std::unique_ptr<DeviceBuffer> x_, y_;
};

TEST_F(Subscribe, SendsEachOperatorThatRunsInBetween) {
  const uint32_t id = Load(Compile(onnx_builder::SixTimes({2, 3})));
  Run(id);
  ASSERT_EQ(aclprofModelSubscribe(id, config_), ACL_SUCCESS) << aclGetRecentErrMsg();
  taken_ = true;
  Run(id);
  Run(id);
  ASSERT_EQ(aclprofModelUnSubscribe(id), ACL_SUCCESS);
  Run(id);
  const std::string bytes = Bytes();  // comes to an end, for the pipe is closed
  size_t size = 0;
  ASSERT_EQ(aclprofGetOpDescSize(&size), ACL_SUCCESS);
  const std::vector<Seen> seen = RecordsOf(bytes);
  ASSERT_EQ(seen.size() * size, bytes.size());
  ASSERT_GE(seen.size(), 2u);
  ASSERT_EQ(seen.size() % 2, 0u);
  for (size_t i = 0; i < seen.size(); ++i) {
    EXPECT_NE(seen[i].name, "");
    EXPECT_NE(seen[i].type, "");
    EXPECT_EQ(seen[i].model, id);
    EXPECT_GT(seen[i].begin, 0u);
    EXPECT_EQ(seen[i].end - seen[i].begin, seen[i].duration);
    EXPECT_EQ(seen[i], seen[i % (seen.size() / 2)]) << "both times the same";
    if (i > 0) EXPECT_GE(seen[i].begin, seen[i - 1].end) << "one needs the other's result";
  }
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
}

TEST_F(Subscribe, SendsTheOperatorsOfGraphsWhoseShapesComeWithTheData) {
  onnx_builder::Model model;
  model.inputs = {onnx_builder::Value("x", {6})};
  model.outputs = {onnx_builder::Value("y", {1, -1}, onnx_builder::kInt64)};
  model.nodes = {onnx_builder::Node("NonZero", {"x"}, {"y"})};
  const uint32_t id = Load(Compile(model.Bytes()));
  ASSERT_EQ(aclprofModelSubscribe(id, config_), ACL_SUCCESS) << aclGetRecentErrMsg();
  taken_ = true;
  y_ = std::make_unique<DeviceBuffer>(48);
  Run(id);
  ASSERT_EQ(aclprofModelUnSubscribe(id), ACL_SUCCESS);
  const std::vector<Seen> seen = RecordsOf(Bytes());
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].type, "NonZero");
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
}

TEST_F(Subscribe, TwoModelsMayShareAPipeWhichTheLastOneCloses) {
  const std::string om = Compile(onnx_builder::SixTimes({2, 3}));
  const uint32_t first = Load(om), second = Load(om);
  ASSERT_EQ(aclprofModelSubscribe(first, config_), ACL_SUCCESS);
  taken_ = true;
  ASSERT_EQ(aclprofModelSubscribe(second, config_), ACL_SUCCESS);
  Run(first);
  ASSERT_EQ(aclprofModelUnSubscribe(first), ACL_SUCCESS);
  Run(second);
  ASSERT_EQ(aclmdlUnload(second), ACL_SUCCESS);
  ASSERT_EQ(aclprofModelUnSubscribe(second), ACL_SUCCESS) << "also of a model that is gone";
  const std::vector<Seen> seen = RecordsOf(Bytes());
  EXPECT_EQ(seen.front().model, first);
  EXPECT_EQ(seen.back().model, second);
  EXPECT_EQ(aclmdlUnload(first), ACL_SUCCESS);
}

TEST_F(Subscribe, NothingWaitsForWhoReads) {
  const uint32_t id = Load(Compile(onnx_builder::SixTimes({2, 3})));
  const int room = fcntl(ends_[1], F_SETPIPE_SZ, 4096);
  ASSERT_GE(room, 4096);
  ASSERT_EQ(aclprofModelSubscribe(id, config_), ACL_SUCCESS);
  taken_ = true;
  const int runs = room / 16;  // more than the pipe has room for
  for (int i = 0; i < runs; ++i) Run(id);
  ASSERT_EQ(aclprofModelUnSubscribe(id), ACL_SUCCESS);
  EXPECT_GE(RecordsOf(Bytes()).size(), static_cast<size_t>(runs));
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
}

TEST_F(Subscribe, AReaderThatGoesEndsNothing) {
  const uint32_t id = Load(Compile(onnx_builder::SixTimes({2, 3})));
  ASSERT_EQ(aclprofModelSubscribe(id, config_), ACL_SUCCESS);
  taken_ = true;
  close(ends_[0]);
  ends_[0] = -1;
  Run(id);
  Run(id);
  EXPECT_EQ(y_->floats()[5], 6 * x_->floats()[5]);
  EXPECT_EQ(aclprofModelUnSubscribe(id), ACL_SUCCESS);
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
}

TEST_F(Subscribe, ZeroSendsNothing) {
  const uint32_t id = Load(Compile(onnx_builder::SixTimes({2, 3})));
  aclprofSubscribeConfig* none = aclprofCreateSubscribeConfig(0, ACL_AICORE_NONE, &ends_[1]);
  ASSERT_NE(none, nullptr);
  ASSERT_EQ(aclprofModelSubscribe(id, none), ACL_SUCCESS);
  taken_ = true;
  EXPECT_EQ(aclprofDestroySubscribeConfig(none), ACL_SUCCESS);
  EXPECT_NE(aclprofDestroySubscribeConfig(none), ACL_SUCCESS);
  Run(id);
  ASSERT_EQ(aclprofModelUnSubscribe(id), ACL_SUCCESS);
  EXPECT_EQ(Bytes(), "");
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
}

TEST_F(Subscribe, RefusesWhatItDoesNotKnow) {
  const uint32_t id = Load(Compile(onnx_builder::SixTimes({2, 3})));
  EXPECT_EQ(aclprofCreateSubscribeConfig(2, ACL_AICORE_NONE, &ends_[1]), nullptr);
  EXPECT_EQ(aclprofCreateSubscribeConfig(1, static_cast<aclprofAicoreMetrics>(77), &ends_[1]), nullptr);
  EXPECT_EQ(aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, &ends_[0]), nullptr) << "the end that is read";
  EXPECT_EQ(aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, nullptr), nullptr);
  void* block = nullptr;
  ASSERT_EQ(aclrtMalloc(&block, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  EXPECT_EQ(aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, block), nullptr);
  EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
  EXPECT_EQ(aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, block), nullptr) << "freed";
  EXPECT_EQ(aclprofModelSubscribe(id + 100, config_), kModelIdInvalid);
  EXPECT_EQ(aclprofModelUnSubscribe(id), ACL_ERROR_INVALID_PARAM);
  ASSERT_EQ(aclprofModelSubscribe(id, config_), ACL_SUCCESS);
  taken_ = true;
  EXPECT_EQ(aclprofModelSubscribe(id, config_), ACL_ERROR_PROF_REPEAT_SUBSCRIBE);
  const std::string folder = NewFolder();
  EXPECT_EQ(aclprofInit(folder.c_str(), folder.size()), ACL_ERROR_PROF_API_CONFLICT);
  Run(id);
  EXPECT_EQ(aclprofModelUnSubscribe(id), ACL_SUCCESS);
  std::string bytes = Bytes();
  uint32_t count = 0;
  ASSERT_EQ(aclprofGetOpNum(bytes.data(), bytes.size(), &count), ACL_SUCCESS);
  for (size_t part : {bytes.size() - 1, bytes.size() / count - 1, size_t{1}})
    EXPECT_EQ(aclprofGetOpNum(bytes.data(), part, &count), ACL_ERROR_INVALID_PARAM);
  uint32_t none = 1;
  EXPECT_EQ(aclprofGetOpNum(bytes.data(), 0, &none), ACL_SUCCESS);
  EXPECT_EQ(none, 0u);
  char name[1];
  EXPECT_EQ(aclprofGetOpName(bytes.data(), bytes.size(), 0, name, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclprofGetOpName(bytes.data(), bytes.size(), count, name, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclprofGetOpStart(bytes.data(), bytes.size(), count), 0u);
  bytes[0] ^= 1;
  EXPECT_EQ(aclprofGetOpDuration(bytes.data(), bytes.size(), 0), 0u) << "no record of this process";

  ASSERT_EQ(aclprofInit(folder.c_str(), folder.size()), ACL_SUCCESS);
  EXPECT_EQ(aclprofModelSubscribe(id, config_), ACL_ERROR_PROF_API_CONFLICT);
  EXPECT_EQ(aclprofFinalize(), ACL_SUCCESS);
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
}

}  // namespace
}  // namespace conformance
