// Failures that the user asks for: each kind by the environment, which belay run sets, and by the file of
// aclInit.
#include <algorithm>
#include <cstdlib>
#include <future>
#include <string>

#include "aclnnop/aclnn_softmax.h"
#include "fixture.h"
#include "temp_file.h"

namespace {

using namespace conformance;
using testing::HasSubstr;

constexpr size_t kBytes = 64;

enum class Door { kEnvironment, kFile };

class Faults : public ::testing::TestWithParam<Door> {
 protected:
  void TearDown() override {
    unsetenv("BELAY_FAULTS");
    aclFinalize();
    TakeMessage();
  }
  // The file that aclInit is to be given for these faults; null: none.
  const char* Ask(const std::string& faults) {
    if (GetParam() == Door::kFile) return file_.Write("{\"faults\": \"" + faults + "\"}");
    setenv("BELAY_FAULTS", faults.c_str(), 1);
    return nullptr;
  }
  void Start(const char* faults) {
    const char* file = Ask(faults);
    testing::internal::CaptureStderr();
    ASSERT_OK(aclInit(file));
    told = testing::internal::GetCapturedStderr();
  }
  void Refuse(const std::string& faults, const std::string& words) {
    SCOPED_TRACE(faults);
    const char* file = Ask(faults);
    testing::internal::CaptureStderr();
    EXPECT_REFUSED(ACL_ERROR_INVALID_PARAM, aclInit(file), words.c_str());
    EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::ContainsRegex(words));
  }
  static void UseDevice(aclrtStream* stream, void** block) {
    ASSERT_OK(aclrtSetDevice(0));
    ASSERT_OK(aclrtCreateStream(stream));
    ASSERT_OK(Malloc(block));
  }
  static aclError Malloc(void** block) { return aclrtMalloc(block, kBytes, ACL_MEM_MALLOC_HUGE_FIRST); }
  static void Injected(aclError code, const std::string& fault) {
    EXPECT_THAT(TakeMessage(), testing::AllOf(HasSubstr("injected, as '" + fault + "' asks for"),
                                              HasSubstr(std::to_string(code))));
  }
  // A softmax of four numbers on a stream, behind them.
  static void Softmax(void* block, aclrtStream stream) {
    int64_t shape[] = {4}, strides[] = {1}, storage[] = {8};
    aclTensor* x = aclCreateTensor(shape, 1, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, storage, 1, block);
    aclTensor* y = aclCreateTensor(shape, 1, ACL_FLOAT, strides, 4, ACL_FORMAT_ND, storage, 1, block);
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    EXPECT_OK(aclnnSoftmaxGetWorkspaceSize(x, 0, y, &bytes, &executor));
    EXPECT_OK(aclnnSoftmax(nullptr, 0, executor, stream));
    aclDestroyTensor(x);
    aclDestroyTensor(y);
  }

  std::string told;

 private:
  TempFile file_;
};
INSTANTIATE_TEST_SUITE_P(Doors, Faults, testing::Values(Door::kEnvironment, Door::kFile),
                         [](const auto& door) { return door.param == Door::kFile ? "File" : "Environment"; });

TEST_P(Faults, TheThirdAllocationFailsAndNoOther) {
  Start("malloc:3");
  EXPECT_EQ(told, "belay: injects faults: malloc:3\n");
  ASSERT_OK(aclrtSetDevice(0));
  void* block = nullptr;
  for (int i = 1; i <= 5; ++i) {
    if (i == 3) {
      block = nullptr;
      EXPECT_EQ(Malloc(&block), ACL_ERROR_RT_MEMORY_ALLOCATION);
      EXPECT_EQ(block, nullptr);
      Injected(ACL_ERROR_RT_MEMORY_ALLOCATION, "malloc:3");
    } else {
      EXPECT_OK(Malloc(&block));
    }
    void* host = nullptr;
    EXPECT_OK(aclrtMallocHost(&host, kBytes));  // is not counted
  }
}

TEST_P(Faults, FromOneOnWithACodeOfOnesOwn) {
  Start("aclrtCreateStream:2+:507018, malloc-host:1");
  ASSERT_OK(aclrtSetDevice(0));
  aclrtStream stream = nullptr;
  EXPECT_OK(aclrtCreateStream(&stream));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(aclrtCreateStream(&stream), 507018);
  void* host = nullptr;
  EXPECT_EQ(aclrtMallocHost(&host, kBytes), ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_EQ(aclrtMallocHost(&host, kBytes), ACL_SUCCESS);
}

TEST_P(Faults, ASeedRepeatsWhatChanceDoes) {
  auto failures = [&](const char* faults) {
    Start(faults);
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    char from[8] = {}, to[8];
    std::string which;
    for (int i = 0; i < 200; ++i) {
      which += aclrtMemcpy(to, 8, from, 8, ACL_MEMCPY_HOST_TO_HOST) == ACL_SUCCESS ? '.' : 'F';
    }
    EXPECT_OK((TakeMessage(), aclFinalize()));
    return which;
  };
  const std::string first = failures("memcpy:p=0.1,seed=5");
  EXPECT_EQ(told, "belay: injects faults: memcpy:p=0.1,seed=5\n");
  EXPECT_EQ(failures("memcpy:p=0.1,seed=5"), first);
  EXPECT_NE(failures("memcpy:p=0.1,seed=6"), first);
  const auto count = std::ranges::count(first, 'F');
  EXPECT_TRUE(count > 5 && count < 45) << first;
  EXPECT_EQ(failures("memcpy:p=0"), std::string(200, '.'));
  EXPECT_EQ(failures("memcpy:p=1"), std::string(200, 'F'));
  EXPECT_THAT(told, testing::ContainsRegex("memcpy:p=1,seed=[0-9]+\n"));
}

TEST_P(Faults, ATaskFailsOnItsStreamWhereItRuns) {
  Start("task:SoftMax:507015:2");
  aclrtStream stream = nullptr;
  void* block = nullptr;
  ASSERT_NO_FATAL_FAILURE(UseDevice(&stream, &block));
  for (int i = 1; i <= 3; ++i) {
    Softmax(block, stream);
    if (i == 2) {
      EXPECT_EQ(aclrtSynchronizeStream(stream), 507015);
      const std::string message = TakeMessage();
      EXPECT_THAT(message, HasSubstr("injected, as 'task:SoftMax:507015:2' asks for"));
      EXPECT_THAT(message, HasSubstr("aclnnSoftmax"));
    } else {
      EXPECT_OK(aclrtSynchronizeStream(stream));
    }
  }
}

TEST_P(Faults, ANodeOfAModelFailsInTheReplayThatItsNumberSays) {
  Start("task:softmax:507015:3");
  aclrtStream stream = nullptr;
  void* block = nullptr;
  ASSERT_NO_FATAL_FAILURE(UseDevice(&stream, &block));
  ASSERT_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  ASSERT_OK(aclrtMemsetAsync(block, kBytes, 0, kBytes, stream));
  Softmax(block, stream);
  aclmdlRI model = nullptr;
  ASSERT_OK(aclmdlRICaptureEnd(stream, &model));
  for (int i = 1; i <= 4; ++i) {
    EXPECT_OK(aclmdlRIExecuteAsync(model, stream));
    if (i == 3) {
      EXPECT_EQ(aclrtSynchronizeStream(stream), 507015);
      EXPECT_THAT(TakeMessage(), HasSubstr("node 1"));
    } else {
      EXPECT_OK(aclrtSynchronizeStream(stream));
    }
  }
  EXPECT_OK(aclmdlRIDestroy(model));
}

TEST_P(Faults, ALostDeviceRefusesWorkAndLetsAProgramCleanUp) {
  Start("device-lost:4");
  aclrtStream stream = nullptr;
  void* block = nullptr;
  ASSERT_NO_FATAL_FAILURE(UseDevice(&stream, &block));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(aclrtMemsetAsync(block, kBytes, 0, kBytes, stream), ACL_ERROR_RT_LOST_HEARTBEAT);
    Injected(ACL_ERROR_RT_LOST_HEARTBEAT, "device-lost:4");
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_LOST_HEARTBEAT);
  }
  TakeMessage();
  EXPECT_OK(aclrtFree(block));
  EXPECT_OK(aclrtDestroyStream(stream));
  EXPECT_OK(aclrtResetDevice(0));
  EXPECT_OK(aclFinalize());
}

TEST_P(Faults, ADeviceThatIsLostLaterIsThereYet) {
  Start("device-lost:after=100h");
  ASSERT_OK(aclrtSetDevice(0));
  void* block = nullptr;
  EXPECT_OK(Malloc(&block));
  EXPECT_OK(aclFinalize());
  Start("device-lost:after=0s:507899");
  EXPECT_EQ(aclrtSetDevice(0), 507899);
}

// A task that was submitted before fails when its turn comes, and whoever waits is told.
TEST_P(Faults, WhatALostDeviceHasNotBegunFails) {
  Start("device-lost:20");
  aclrtStream stream = nullptr;
  void* block = nullptr;
  ASSERT_NO_FATAL_FAILURE(UseDevice(&stream, &block));
  Hold hold(stream);
  hold.AwaitReached();
  ASSERT_OK(aclrtMemsetAsync(block, kBytes, 0, kBytes, stream));
  auto waiter = std::async(std::launch::async, [&] {
    aclrtSetDevice(0);  // it may be lost by now
    return aclrtSynchronizeStream(stream);
  });
  aclError code = ACL_SUCCESS;
  while (code == ACL_SUCCESS) code = aclrtMemsetAsync(block, kBytes, 0, kBytes, stream);
  EXPECT_EQ(code, ACL_ERROR_RT_LOST_HEARTBEAT);
  hold.LetGo();
  EXPECT_EQ(waiter.get(), ACL_ERROR_RT_LOST_HEARTBEAT);
}

TEST_P(Faults, MemoryRunsOutWhereTheUserSaysSo) {
  Start("oom:1M");
  ASSERT_OK(aclrtSetDevice(0));
  void *most = nullptr, *more = nullptr;
  EXPECT_OK(aclrtMalloc(&most, 900 << 10, ACL_MEM_MALLOC_NORMAL_ONLY));
  EXPECT_EQ(aclrtMalloc(&more, 200 << 10, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_ERROR_RT_MEMORY_ALLOCATION);
  Injected(ACL_ERROR_RT_MEMORY_ALLOCATION, "oom:1M");
  EXPECT_OK(aclrtFree(most));
  EXPECT_OK(aclrtMalloc(&more, 200 << 10, ACL_MEM_MALLOC_NORMAL_ONLY));
  void* host = nullptr;
  EXPECT_OK(aclrtMallocHost(&host, 4 << 20));
}

TEST_P(Faults, SlowTasksBringTheSame) {
  Start("slow:x2");
  aclrtStream stream = nullptr;
  void* block = nullptr;
  ASSERT_NO_FATAL_FAILURE(UseDevice(&stream, &block));
  ASSERT_OK(aclrtMemsetAsync(block, kBytes, 0, kBytes, stream));
  Softmax(block, stream);
  ASSERT_OK(aclrtSynchronizeStream(stream));
  float quarter = 0;
  ASSERT_OK(aclrtMemcpy(&quarter, 4, static_cast<char*>(block) + 16, 4, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(quarter, 0.25f);
}

TEST(FaultsOfAFile, TheEnvironmentComesFirst) {
  const auto start = [](const char* faults, const char* file) {
    setenv("BELAY_FAULTS", faults, 1);
    testing::internal::CaptureStderr();
    EXPECT_OK(aclInit(file));
    return testing::internal::GetCapturedStderr();
  };
  const auto malloc = [](void** block) { return aclrtMalloc(block, kBytes, ACL_MEM_MALLOC_HUGE_FIRST); };
  TempFile file;
  const char* path = file.Write("{\"faults\": \"malloc:1\"}");
  void* block = nullptr;
  start("", path);
  ASSERT_OK(aclrtSetDevice(0));
  EXPECT_EQ(malloc(&block), ACL_ERROR_RT_MEMORY_ALLOCATION);
  ASSERT_OK((TakeMessage(), aclFinalize()));
  start("malloc:2", path);
  ASSERT_OK(aclrtSetDevice(0));
  EXPECT_OK(malloc(&block));
  EXPECT_EQ(malloc(&block), ACL_ERROR_RT_MEMORY_ALLOCATION);
  ASSERT_OK((TakeMessage(), aclFinalize()));
  EXPECT_EQ(start("", nullptr), "");
  ASSERT_OK(aclrtSetDevice(0));
  for (int i = 0; i < 3; ++i) EXPECT_OK(malloc(&block));
  ASSERT_OK(aclFinalize());
  EXPECT_REFUSED(ACL_ERROR_FILE_ATTR_INVALID, aclInit(file.Write("{\"faults\": 3}")),
                 "key faults is 3.*a string");
  unsetenv("BELAY_FAULTS");
}

TEST_P(Faults, WhatCannotBeUnderstoodIsNamed) {
  Refuse("mallok:3", "'mallok' is none of malloc");
  Refuse("malloc:3,aclrtMakeCoffee:1", "fault 'aclrtMakeCoffee:1': 'aclrtMakeCoffee' is none of");
  Refuse("malloc", "after 'malloc:' goes a number");
  Refuse("malloc:0", "after 'malloc:' goes a number");
  Refuse("malloc:x", "after 'malloc:' goes a number");
  Refuse("memcpy:p=1.5", "p=0.01");
  Refuse("memcpy:p=nan", "p=0.01");
  Refuse("malloc:3:", "'' is not an error code");
  Refuse("malloc:3:1:2", "'2' is too much");
  Refuse("task:softmax", "a task has a name and a code");
  Refuse("task:softmax:crash", "'crash' is not an error code");
  Refuse("task:softmax:507015:never", "'never' is not a number");
  Refuse("device-lost:after=200", "'after=200' is not a number");
  Refuse("device-lost:p=0.5", "at a call or a time");
  Refuse("oom:4GB", "a number of bytes");
  Refuse("oom:0", "a number of bytes");
  Refuse("slow:10", "how many times as long");
  Refuse("slow:x0.5", "how many times as long");
  Refuse("seed=x", "'x' is no seed");
  Refuse("malloc:1,,malloc:2", "between two commas stands nothing");
}

}  // namespace
