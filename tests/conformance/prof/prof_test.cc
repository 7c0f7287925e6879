// aclprof*: from when to when is profiled, of which devices, and what the tables have.
#include <aclnnop/aclnn_add.h>
#include <driver/ascend_hal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iterator>

#include "profiles.h"

namespace conformance {
namespace {

std::vector<std::string> Column(const std::vector<Row>& rows, const std::string& name) {
  std::vector<std::string> cells;
  for (const Row& row : rows) cells.push_back(row.at(name));
  return cells;
}

// --- from when to when

TEST_F(ProfTest, TasksBetweenStartAndStopAreInTheTables) {
  aclrtStream stream = NewStream();  // before anybody watches
  ASSERT_EQ(Init(), ACL_SUCCESS);
  aclprofConfig* config = Config(ACL_PROF_TASK_TIME);
  ASSERT_NE(config, nullptr);
  Work(stream, 2);
  ASSERT_EQ(aclprofStart(config), ACL_SUCCESS);
  Work(stream, 3);
  ASSERT_EQ(aclprofStop(config), ACL_SUCCESS);
  Work(stream, 5);
  ASSERT_EQ(Profiles().size(), 1U);
  const std::vector<Row> tasks = Table("task_time");
  EXPECT_EQ(tasks.size(), 3U);
  for (const Row& task : tasks) {
    EXPECT_EQ(task.at("Device_id"), "0");
    EXPECT_EQ(task.at("kernel_type"), "MEMSET");
    EXPECT_LE(std::stod(task.at("task_start(us)")), std::stod(task.at("task_stop(us)")));
  }
  EXPECT_TRUE(FileOf(Profiles()[0], "op_summary") != "");
  // What readers find it by.
  EXPECT_THAT(Profiles()[0].filename(), testing::ContainsRegex("^PROF_[0-9]+_[0-9]+_[0-9]+$"));
  EXPECT_TRUE(std::filesystem::is_directory(Profiles()[0] / "device_0/data"));
  for (const char* kept : {"op_summary", "task_time", "msprof"}) {
    const std::filesystem::path file = FileOf(Profiles()[0], kept);
    EXPECT_TRUE(std::filesystem::exists(Profiles()[0] / "host/data" / file.filename())) << kept;
  }
  EXPECT_EQ(aclprofDestroyConfig(config), ACL_SUCCESS);
  EXPECT_EQ(aclprofFinalize(), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(ProfTest, EachStartAfterAStopHasAFolderOfItsOwn) {
  ASSERT_EQ(Init(), ACL_SUCCESS);
  aclprofConfig* config = Config(ACL_PROF_TASK_TIME_L0);
  for (int times = 1; times <= 2; ++times) {
    ASSERT_EQ(aclprofWarmup(config), ACL_SUCCESS);
    ASSERT_EQ(aclprofStart(config), ACL_SUCCESS);
    Work(nullptr, times);
    ASSERT_EQ(aclprofStop(config), ACL_SUCCESS);
  }
  const std::vector<std::filesystem::path> profiles = Profiles();
  ASSERT_EQ(profiles.size(), 2U);
  EXPECT_EQ(Table(profiles[0], "task_time").size(), 1U);
  EXPECT_EQ(Table(profiles[1], "task_time").size(), 2U);
  EXPECT_EQ(aclprofDestroyConfig(config), ACL_SUCCESS);
}

TEST_F(ProfTest, OnlyTheDevicesOfTheConfigurationAreProfiled) {
  aclrtStream first = NewStream();
  ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  aclrtStream second = NewStream();
  ASSERT_EQ(Init(), ACL_SUCCESS);
  aclprofConfig *one = Config(ACL_PROF_TASK_TIME, {1}), *zero = Config(ACL_PROF_TASK_TIME, {0});
  ASSERT_EQ(aclprofStart(one), ACL_SUCCESS);
  Work(second);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  Work(first);
  ASSERT_EQ(aclprofStart(zero), ACL_SUCCESS);  // in the same folder
  Work(first);
  ASSERT_EQ(aclprofStop(one), ACL_SUCCESS);
  Work(first);
  ASSERT_EQ(aclprofStop(zero), ACL_SUCCESS);
  ASSERT_EQ(Profiles().size(), 1U);
  EXPECT_EQ(Column(Table("task_time"), "Device_id"), (std::vector<std::string>{"1", "0", "0"}));
  EXPECT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(second), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
}

TEST_F(ProfTest, WhatIsNotAskedForIsNotWritten) {
  ASSERT_EQ(Init(), ACL_SUCCESS);
  aclprofConfig* config = Config(ACL_PROF_MSPROFTX);
  ASSERT_EQ(aclprofStart(config), ACL_SUCCESS);
  Work(nullptr);
  ASSERT_EQ(aclprofStop(config), ACL_SUCCESS);
  for (const char* table : {"task_time", "op_summary", "op_statistic", "api_statistic"})
    EXPECT_EQ(FileOf(Profiles().at(0), table), "") << table;
}

// A sum of two tensors of these sizes.
void Add(aclrtStream stream, int64_t rows, int64_t columns) {
  const int64_t shape[] = {rows, columns}, strides[] = {columns, 1};
  void* block = nullptr;
  ASSERT_EQ(aclrtMalloc(&block, static_cast<size_t>(rows * columns) * 4, ACL_MEM_MALLOC_HUGE_FIRST),
            ACL_SUCCESS);
  aclTensor* tensor = aclCreateTensor(shape, 2, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, shape, 2, block);
  float one = 1;
  aclScalar* alpha = aclCreateScalar(&one, ACL_FLOAT);
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(aclnnAddGetWorkspaceSize(tensor, tensor, alpha, tensor, &bytes, &executor), ACL_SUCCESS);
  ASSERT_EQ(aclnnAdd(nullptr, 0, executor, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  aclDestroyScalar(alpha);
  aclDestroyTensor(tensor);
  ASSERT_EQ(aclrtFree(block), ACL_SUCCESS);
}

TEST_F(ProfTest, OperatorsHaveTheirOperandsAndCallsAreCounted) {
  aclrtStream stream = NewStream();
  Add(stream, 7, 7);
  ASSERT_EQ(Init(), ACL_SUCCESS);
  for (int round = 0; round < 2; ++round) {
    aclprofConfig* config = Config(ACL_PROF_TASK_TIME | ACL_PROF_ACL_API);
    ASSERT_EQ(aclprofStart(config), ACL_SUCCESS);
    Add(stream, 2, 3);
    Add(stream, 4, 5);
    ASSERT_EQ(aclprofStop(config), ACL_SUCCESS);
    Add(stream, 7, 7);
    const std::filesystem::path profile = Profiles().at(static_cast<size_t>(round));
    const std::vector<Row> operators = Table(profile, "op_summary");
    EXPECT_EQ(Column(operators, "Input Shapes"), (std::vector<std::string>{"2,3;2,3", "4,5;4,5"}));
    EXPECT_EQ(Column(operators, "Output Data Types"), (std::vector<std::string>{"FLOAT", "FLOAT"}));
    EXPECT_EQ(Column(operators, "OP Type"), (std::vector<std::string>{"Add", "Add"}));
    std::map<std::string, std::string> counts;
    for (const Row& call : Table(profile, "api_statistic")) counts[call.at("API Name")] = call.at("Count");
    EXPECT_EQ(counts["aclnnAdd"], "2");
    EXPECT_EQ(counts["aclrtSynchronizeStream"], "2");
    EXPECT_EQ(counts["aclrtMalloc"], "2");
  }
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(ProfTest, EachRunOfAModelIsAnIteration) {
  aclrtStream stream = NewStream();
  void* block = nullptr;
  ASSERT_EQ(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  aclmdlRI models[2] = {};
  for (aclmdlRI& model : models) {
    ASSERT_EQ(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL), ACL_SUCCESS);
    ASSERT_EQ(aclrtMemsetAsync(block, 4096, 1, 4096, stream), ACL_SUCCESS);
    ASSERT_EQ(aclmdlRICaptureEnd(stream, &model), ACL_SUCCESS);
  }
  ASSERT_EQ(Init(), ACL_SUCCESS);
  aclprofConfig* config = Config(ACL_PROF_TRAINING_TRACE);
  ASSERT_EQ(aclprofStart(config), ACL_SUCCESS);
  for (const int which : {0, 1, 0, 0}) {
    ASSERT_EQ(aclmdlRIExecuteAsync(models[which], stream), ACL_SUCCESS);
  }
  Work(stream, 2);
  ASSERT_EQ(aclprofStop(config), ACL_SUCCESS);
  const std::vector<Row> steps = Table("step_trace");
  EXPECT_THAT(Column(steps, "Iteration ID"), testing::ElementsAre("1", "1", "2", "3"));
  const std::vector<std::string> ids = Column(steps, "Model ID");
  ASSERT_EQ(ids.size(), 4U);
  EXPECT_NE(ids[0], ids[1]);
  EXPECT_THAT(ids, testing::ElementsAre(ids[0], ids[1], ids[0], ids[0]));
  double before = 0;
  for (const Row& step : steps) {
    EXPECT_EQ(step.at("Device_id"), "0");
    for (const char* unknown :
         {"FP Start", "BP End", "FP to BP Time(us)", "Iteration Refresh(us)", "Data Aug Bound(us)"})
      EXPECT_EQ(step.at(unknown), "N/A");
    const double end = std::stod(step.at("Iteration End")), took = std::stod(step.at("Iteration Time(us)"));
    EXPECT_LE(before, end - took + 0.01);  // times have three digits behind the point
    before = end;
  }
  EXPECT_TRUE(FileOf(Profiles()[0], "task_time").empty()) << "it was not asked for";
  EXPECT_EQ(aclprofDestroyConfig(config), ACL_SUCCESS);
  for (aclmdlRI model : models) EXPECT_EQ(aclmdlRIDestroy(model), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(ProfTest, TheShortestKindOfTaskTimeHasNoOperands) {
  ASSERT_EQ(Init(), ACL_SUCCESS);
  aclprofConfig* config = Config(ACL_PROF_TASK_TIME_L0);
  ASSERT_EQ(aclprofStart(config), ACL_SUCCESS);
  Add(nullptr, 2, 3);
  ASSERT_EQ(aclprofStop(config), ACL_SUCCESS);
  EXPECT_EQ(Column(Table("op_summary"), "Input Shapes"), (std::vector<std::string>{"N/A"}));
  EXPECT_EQ(FileOf(Profiles().at(0), "api_statistic"), "");
}

TEST_F(ProfTest, TheEndOfUseEndsProfiling) {
  ASSERT_EQ(Init(), ACL_SUCCESS);
  aclprofConfig* config = Config(ACL_PROF_TASK_TIME);
  ASSERT_EQ(aclprofStart(config), ACL_SUCCESS);
  Work(nullptr);
  ASSERT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclFinalize(), ACL_SUCCESS);
  EXPECT_EQ(Table("task_time").size(), 1U);
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclprofStop(config), ACL_ERROR_PROF_NOT_RUN);
  EXPECT_EQ(Init(), ACL_SUCCESS);
  EXPECT_EQ(aclprofFinalize(), ACL_SUCCESS);
}

TEST_F(ProfTest, AChildOfForkWritesNothingAndMayProfileItself) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP()
      << "a lock of the sanitizer's allocator may be held by a worker at the fork, and stays so in the child";
#endif
  ASSERT_EQ(Init(), ACL_SUCCESS);
  aclprofConfig* config = Config(ACL_PROF_TASK_TIME | ACL_PROF_ACL_API);
  ASSERT_EQ(aclprofStart(config), ACL_SUCCESS);
  Work(nullptr);
  const std::string own = folder_ + "/child";
  const pid_t child = fork();
  if (child == 0) {
    bool right = aclInit(nullptr) == 0 && aclrtSetDevice(0) == 0;
    for (int i = 0; i < 1000; ++i) Work(nullptr);  // more than is kept in memory
    right = right && aclprofStart(config) != 0 && aclprofInit(own.c_str(), own.size()) == 0;
    aclprofConfig* fresh = Config(ACL_PROF_TASK_TIME);
    aclrtStream stream = nullptr;  // the other one's runner may not have seen yet that it has no more work
    right = right && aclprofStart(fresh) == 0 && aclrtCreateStream(&stream) == 0;
    Work(stream, 2);
    right = right && aclprofStop(fresh) == 0;
    _exit(right && !HasFailure() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  Work(nullptr);
  ASSERT_EQ(aclprofStop(config), ACL_SUCCESS);
  std::filesystem::path mine;
  for (const auto& profile : Profiles()) {
    if (profile.filename() != "child") mine = profile;
  }
  EXPECT_EQ(Table(mine, "task_time").size(), 2U);
  std::ifstream timeline(FileOf(mine, "msprof"));
  const std::string text((std::istreambuf_iterator<char>(timeline)), {});
  EXPECT_THAT(text, testing::EndsWith("}}\n]\n"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("\"Thread " + std::to_string(child) + "\"")));
  const auto childs = std::filesystem::directory_iterator(own)->path();
  EXPECT_EQ(Table(childs, "task_time").size(), 2U);
}

// --- in the wrong order

TEST_F(ProfTest, NothingWorksBeforeInitAndAfterFinalize) {
  aclprofConfig* config = Config(ACL_PROF_TASK_TIME);
  ASSERT_NE(config, nullptr);
  for (const bool ended : {false, true}) {
    if (ended) {
      ASSERT_EQ(Init(), ACL_SUCCESS);
      ASSERT_EQ(aclprofFinalize(), ACL_SUCCESS);
    }
    EXPECT_EQ(aclprofStart(config), ACL_ERROR_PROF_NOT_RUN);
    EXPECT_EQ(aclprofWarmup(config), ACL_ERROR_PROF_NOT_RUN);
    EXPECT_EQ(aclprofStop(config), ACL_ERROR_PROF_NOT_RUN);
    EXPECT_EQ(aclprofRegisterDeviceCallback(), ACL_ERROR_PROF_NOT_RUN);
    EXPECT_EQ(aclprofFinalize(), ACL_ERROR_PROF_NOT_RUN);
    EXPECT_THAT(LastMessage(), testing::HasSubstr("call aclprofInit first"));
  }
}

TEST_F(ProfTest, ADeviceIsProfiledOnceAtATime) {
  ASSERT_EQ(Init(), ACL_SUCCESS);
  aclprofConfig *config = Config(ACL_PROF_TASK_TIME), *other = Config(ACL_PROF_ACL_API);
  EXPECT_EQ(aclprofStop(config), ACL_ERROR_PROF_NOT_RUN);
  ASSERT_EQ(aclprofStart(config), ACL_SUCCESS);
  EXPECT_EQ(aclprofRegisterDeviceCallback(), ACL_SUCCESS);
  EXPECT_EQ(aclprofStart(config), ACL_ERROR_PROF_ALREADY_RUN);
  EXPECT_EQ(aclprofStart(other), ACL_ERROR_PROF_ALREADY_RUN);
  EXPECT_EQ(aclprofStop(other), ACL_ERROR_PROF_NOT_RUN);
  EXPECT_EQ(aclprofStop(config), ACL_SUCCESS);
  EXPECT_EQ(aclprofStop(config), ACL_ERROR_PROF_NOT_RUN);
}

TEST_F(ProfTest, InitIsCalledOnceAndWithAFolderThatCanBeWritten) {
  EXPECT_EQ(aclprofInit(nullptr, 3), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclprofInit(folder_.c_str(), 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclprofInit(folder_.c_str(), folder_.size() + 1), ACL_ERROR_INVALID_PARAM);
  const std::string long_path(4097, 'a');
  EXPECT_EQ(aclprofInit(long_path.c_str(), long_path.size()), ACL_ERROR_INVALID_PARAM);
  const std::string file = folder_ + "/file";
  std::ofstream(file) << "no folder";
  EXPECT_EQ(aclprofInit(file.c_str(), file.size()), ACL_ERROR_WRITE_FILE);
  const std::string fresh = folder_ + "/a/b";
  EXPECT_EQ(aclprofInit(fresh.c_str(), fresh.size()), ACL_SUCCESS);
  EXPECT_TRUE(std::filesystem::is_directory(fresh));
  EXPECT_EQ(Init(), ACL_ERROR_REPEAT_INITIALIZE);
  EXPECT_EQ(aclprofFinalize(), ACL_SUCCESS);
  // A part of a longer text.
  const std::string longer = folder_ + "/cut";
  EXPECT_EQ(aclprofInit(longer.c_str(), folder_.size() + 2), ACL_SUCCESS);
  EXPECT_TRUE(std::filesystem::is_directory(folder_ + "/c"));
}

// --- configurations

TEST_F(ProfTest, AConfigurationNamesDevicesThatExistEachOnce) {
  EXPECT_EQ(Config(ACL_PROF_TASK_TIME, {}), nullptr);
  EXPECT_EQ(Config(ACL_PROF_TASK_TIME, {77}), nullptr);
  EXPECT_EQ(Config(ACL_PROF_TASK_TIME, {0, 0}), nullptr);
  EXPECT_EQ(aclprofCreateConfig(nullptr, 1, ACL_AICORE_NONE, nullptr, ACL_PROF_TASK_TIME), nullptr);
  LastMessage();
  EXPECT_EQ(Config(0), nullptr);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("give an or of ACL_PROF_*"));
  EXPECT_EQ(Config(uint64_t{1} << 60), nullptr);
  uint32_t device = 0;
  const auto metrics = [&](int value) {
    return aclprofCreateConfig(&device, 1, static_cast<aclprofAicoreMetrics>(value), nullptr,
                               ACL_PROF_ACL_API);
  };
  EXPECT_EQ(metrics(8), nullptr);
  EXPECT_EQ(metrics(-1), nullptr);
  aclprofConfig* config = metrics(ACL_AICORE_PIPE_EXECUTE_UTILIZATION);
  ASSERT_NE(config, nullptr);
  const auto* events = reinterpret_cast<const aclprofAicoreEvents*>(&device);
  EXPECT_EQ(aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, events, ACL_PROF_ACL_API), nullptr);
  EXPECT_EQ(aclprofDestroyConfig(config), ACL_SUCCESS);
}

TEST_F(ProfTest, StaleAndForeignConfigurationsAreRefused) {
  ASSERT_EQ(Init(), ACL_SUCCESS);
  aclprofConfig* config = Config(ACL_PROF_TASK_TIME);
  ASSERT_EQ(aclprofDestroyConfig(config), ACL_SUCCESS);
  void* stamp = aclprofCreateStamp();
  for (const aclprofConfig* bad :
       {static_cast<const aclprofConfig*>(config), static_cast<const aclprofConfig*>(stamp),
        reinterpret_cast<const aclprofConfig*>(this)}) {
    EXPECT_EQ(aclprofStart(bad), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclprofStop(bad), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclprofWarmup(bad), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclprofDestroyConfig(bad), ACL_ERROR_RT_INVALID_HANDLE);
  }
  EXPECT_EQ(aclprofStart(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclprofStop(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclprofDestroyConfig(nullptr), ACL_ERROR_INVALID_PARAM);
  aclprofDestroyStamp(stamp);
}

TEST_F(ProfTest, AConfigurationThatIsFreedCanStillBeStopped) {
  ASSERT_EQ(Init(), ACL_SUCCESS);
  aclprofConfig* config = Config(ACL_PROF_TASK_TIME);
  ASSERT_EQ(aclprofStart(config), ACL_SUCCESS);
  ASSERT_EQ(aclprofDestroyConfig(config), ACL_SUCCESS);
  EXPECT_EQ(aclprofStop(config), ACL_SUCCESS);
}

TEST_F(ProfTest, SettingsAreCheckedAndComeBeforeStart) {
  const auto set = [](aclprofConfigType type, const std::string& value) {
    return aclprofSetConfig(type, value.c_str(), value.size());
  };
  for (const char* right : {"200", "4294967295", "500MB"}) EXPECT_EQ(set(ACL_PROF_STORAGE_LIMIT, right), 0);
  for (const char* wrong : {"199", "4294967296", "MB", "-1", "many"})
    EXPECT_EQ(set(ACL_PROF_STORAGE_LIMIT, wrong), ACL_ERROR_INVALID_PROFILING_CONFIG) << wrong;
  EXPECT_EQ(set(ACL_PROF_SYS_IO_FREQ, "100"), ACL_SUCCESS);
  EXPECT_EQ(set(ACL_PROF_SYS_IO_FREQ, "101"), ACL_ERROR_INVALID_PROFILING_CONFIG);
  EXPECT_EQ(set(ACL_PROF_HOST_SYS_USAGE_FREQ, "51"), ACL_ERROR_INVALID_PROFILING_CONFIG);
  EXPECT_EQ(set(ACL_PROF_LLC_MODE, "write"), ACL_SUCCESS);
  EXPECT_EQ(set(ACL_PROF_LLC_MODE, "both"), ACL_ERROR_INVALID_PROFILING_CONFIG);
  EXPECT_EQ(set(ACL_PROF_HOST_SYS, "cpu,mem"), ACL_SUCCESS);
  EXPECT_EQ(set(ACL_PROF_HOST_SYS, "cpu,gpu"), ACL_ERROR_INVALID_PROFILING_CONFIG);
  EXPECT_EQ(set(ACL_PROF_SYS_MEM_SERVICEFLOW, "st_a"), ACL_SUCCESS);
  EXPECT_EQ(set(ACL_PROF_SYS_CPU_FREQ, "50"), ACL_SUCCESS);
  EXPECT_EQ(set(ACL_PROF_SCALE, "opType:Add"), ACL_SUCCESS);
  EXPECT_EQ(set(ACL_PROF_ARGS_MIN, "1"), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(set(ACL_PROF_ARGS_MAX, "1"), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(set(ACL_PROF_LLC_MODE, std::string(257, 'a')), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclprofSetConfig(ACL_PROF_LLC_MODE, nullptr, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclprofSetConfig(ACL_PROF_LLC_MODE, "read", 0), ACL_ERROR_INVALID_PARAM);
  ASSERT_EQ(Init(), ACL_SUCCESS);
  aclprofConfig* config = Config(ACL_PROF_TASK_TIME);
  ASSERT_EQ(aclprofStart(config), ACL_SUCCESS);
  EXPECT_EQ(set(ACL_PROF_LLC_MODE, "read"), ACL_ERROR_PROF_ALREADY_RUN);
}

// --- what is not there

TEST(Driver, IsOfVersionZeroForThereIsNone) {
  int32_t version = 7;
  EXPECT_EQ(halGetAPIVersion(&version), 0);
  EXPECT_EQ(version, 0);
  EXPECT_EQ(halGetAPIVersion(nullptr), -1);
}

TEST_F(ProfTest, WhatNoPageTellsIsRefusedByName) {
  const size_t record = 0;
  EXPECT_EQ(aclprofGetOpFlag(&record, 8, 0), ACL_SUBSCRIBE_NONE);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("aclprofGetOpFlag is not implemented"));
  EXPECT_EQ(aclprofGetOpAttriValue(&record, 8, 0, ACL_SUBSCRIBE_ATTRI_THREADID), nullptr);
}

}  // namespace
}  // namespace conformance
