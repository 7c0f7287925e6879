// The program's own marks: stamps, spans and steps.
#include <thread>

#include "profiles.h"

namespace conformance {
namespace {

class Marks : public ProfTest {
 protected:
  void SetUp() override {
    ProfTest::SetUp();
    stamp_ = Stamp("forward");
  }
  void TearDown() override {
    aclprofDestroyStamp(stamp_);
    ProfTest::TearDown();
  }
  static void* Stamp(const std::string& text) {
    void* stamp = aclprofCreateStamp();
    EXPECT_NE(stamp, nullptr);
    EXPECT_EQ(aclprofSetStampTraceMessage(stamp, text.c_str(), static_cast<uint32_t>(text.size())),
              ACL_SUCCESS);
    return stamp;
  }
  void Start(uint64_t data = ACL_PROF_MSPROFTX | ACL_PROF_TASK_TIME) {
    ASSERT_EQ(Init(), ACL_SUCCESS);
    config_ = Config(data);
    ASSERT_EQ(aclprofStart(config_), ACL_SUCCESS);
  }
  std::vector<Row> Stop() {
    EXPECT_EQ(aclprofStop(config_), ACL_SUCCESS);
    return Table("msprof_tx");
  }
  static double Us(const Row& row, const char* column) { return std::stod(row.at(column)); }

  void* stamp_ = nullptr;
  aclprofConfig* config_ = nullptr;
};

TEST_F(Marks, MomentsAndSpansOfAThreadAreInTheTable) {
  Start();
  void* inner = Stamp("a \"part\", of it");
  EXPECT_EQ(aclprofPush(stamp_), ACL_SUCCESS);
  EXPECT_EQ(aclprofMark(inner), ACL_SUCCESS);
  EXPECT_EQ(aclprofPush(inner), ACL_SUCCESS);
  aclprofDestroyStamp(inner);  // the span goes on
  EXPECT_EQ(aclprofPop(), ACL_SUCCESS);
  EXPECT_EQ(aclprofPop(), ACL_SUCCESS);
  const std::vector<Row> rows = Stop();
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].at("event_type"), "Mark");
  EXPECT_EQ(rows[1].at("event_type"), "Push/Pop");
  EXPECT_EQ(rows[1].at("message"), "a part, of it");  // as this test's reader has it
  EXPECT_EQ(rows[2].at("message"), "forward");
  EXPECT_EQ(rows[0].at("pid"), std::to_string(getpid()));
  EXPECT_LE(Us(rows[2], "Start_time(us)"), Us(rows[1], "Start_time(us)"));
  EXPECT_GE(Us(rows[2], "End_time(us)"), Us(rows[1], "End_time(us)"));
}

TEST_F(Marks, AnyThreadEndsARange) {
  Start();
  uint32_t first = 0, second = 0;
  ASSERT_EQ(aclprofRangeStart(stamp_, &first), ACL_SUCCESS);
  ASSERT_EQ(aclprofRangeStart(stamp_, &second), ACL_SUCCESS);
  EXPECT_NE(first, second);
  std::thread([&] { EXPECT_EQ(aclprofRangeStop(first), ACL_SUCCESS); }).join();
  EXPECT_EQ(aclprofRangeStop(first), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclprofRangeStop(second), ACL_SUCCESS);
  EXPECT_EQ(aclprofRangeStart(stamp_, nullptr), ACL_ERROR_INVALID_PARAM);
  const std::vector<Row> rows = Stop();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].at("event_type"), "Start/Stop");
}

TEST_F(Marks, APopEndsWhatTheSameThreadPushed) {
  EXPECT_EQ(aclprofPop(), ACL_ERROR_INVALID_PARAM);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("this thread is in no span"));
  EXPECT_EQ(aclprofPush(stamp_), ACL_SUCCESS);
  std::thread([] { EXPECT_EQ(aclprofPop(), ACL_ERROR_INVALID_PARAM); }).join();
  EXPECT_EQ(aclprofPop(), ACL_SUCCESS);
}

TEST_F(Marks, WorkWithoutProfiling) {
  aclrtStream stream = NewStream();
  uint32_t range = 0;
  EXPECT_EQ(aclprofMark(stamp_), ACL_SUCCESS);
  EXPECT_EQ(aclprofRangeStart(stamp_, &range), ACL_SUCCESS);
  EXPECT_EQ(aclprofRangeStop(range), ACL_SUCCESS);
  EXPECT_EQ(aclprofMarkEx("here", 4, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(Marks, AMarkOfAStreamIsOneOfItsTasks) {
  aclrtStream stream = NewStream();
  Start();
  const std::string text = "half of it, and more";
  Work(stream);
  EXPECT_EQ(aclprofMarkEx(text.c_str(), 10, stream), ACL_SUCCESS);
  Work(stream);
  const std::vector<Row> rows = Stop();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].at("message"), "half of it");
  const std::vector<Row> tasks = Table("task_time");
  ASSERT_EQ(tasks.size(), 3U);
  EXPECT_EQ(tasks[1].at("kernel_name"), "half of it");
  EXPECT_EQ(tasks[1].at("kernel_type"), "MARK");
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(Marks, AMarkInACaptureIsInEachReplay) {
  aclrtStream stream = NewStream();
  Start();
  aclmdlRI model = nullptr;
  ASSERT_EQ(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_SUCCESS);
  EXPECT_EQ(aclprofMarkEx("here", 4, stream), ACL_SUCCESS);
  ASSERT_EQ(aclmdlRICaptureEnd(stream, &model), ACL_SUCCESS);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(aclmdlRIExecuteAsync(model, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  Stop();
  int marks = 0;
  for (const Row& task : Table("task_time")) marks += task.at("kernel_type") == "MARK";
  EXPECT_EQ(marks, 2);
  EXPECT_EQ(aclmdlRIDestroy(model), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(Marks, LengthsAndStreamsOfMarksAreChecked) {
  const std::string text(128, 'a');
  aclrtStream stream = NewStream();
  EXPECT_EQ(aclprofMarkEx(text.c_str(), 0, stream), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclprofMarkEx(text.c_str(), 127, stream), ACL_SUCCESS);
  EXPECT_EQ(aclprofMarkEx(text.c_str(), 128, stream), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclprofMarkEx(nullptr, 1, stream), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclprofMarkEx("a", 1, stream), ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(Marks, StaleAndForeignStampsAreRefused) {
  void* stale = aclprofCreateStamp();
  aclprofDestroyStamp(stale);
  uint32_t range = 0;
  for (void* bad : {stale, static_cast<void*>(this)}) {
    EXPECT_EQ(aclprofMark(bad), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclprofPush(bad), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclprofRangeStart(bad, &range), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclprofSetStampTraceMessage(bad, "a", 1), ACL_ERROR_RT_INVALID_HANDLE);
    LastMessage();
    aclprofDestroyStamp(bad);
    EXPECT_THAT(LastMessage(), testing::HasSubstr("aclprofDestroyStamp"));
  }
  EXPECT_EQ(aclprofMark(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclprofSetStampTraceMessage(stamp_, nullptr, 1), ACL_ERROR_INVALID_PARAM);
}

TEST_F(Marks, AStepHasAStartAndAnEndOnAStream) {
  aclrtStream stream = NewStream();
  Start();
  aclprofStepInfo* step = aclprofCreateStepInfo();
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(aclprofGetStepTimestamp(step, ACL_STEP_START, stream), ACL_SUCCESS);
  Work(stream);
  EXPECT_EQ(aclprofGetStepTimestamp(step, ACL_STEP_END, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclprofGetStepTimestamp(step, ACL_STEP_START, stream), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclprofGetStepTimestamp(step, static_cast<aclprofStepTag>(2), stream), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclprofGetStepTimestamp(nullptr, ACL_STEP_START, stream), ACL_ERROR_INVALID_PARAM);
  aclprofDestroyStepInfo(step);
  EXPECT_EQ(aclprofGetStepTimestamp(step, ACL_STEP_END, stream), ACL_ERROR_RT_INVALID_HANDLE);
  Stop();
  const std::vector<Row> tasks = Table("task_time");
  ASSERT_EQ(tasks.size(), 3U);
  EXPECT_THAT(tasks[0].at("kernel_name"), testing::EndsWith(" starts"));
  EXPECT_THAT(tasks[2].at("kernel_name"), testing::EndsWith(" ends"));
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

}  // namespace
}  // namespace conformance
