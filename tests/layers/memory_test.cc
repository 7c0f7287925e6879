// Programs that misuse memory, each with its mended twin. The first must be told of, with the places that
// matter; the second must not.
#include <atomic>
#include <cstdlib>
#include <regex>
#include <string>
#include <vector>

#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_sort.h"
#include "fixture.h"
#include "gmock/gmock.h"

namespace {

using conformance::Started;
using testing::HasSubstr;

constexpr size_t kBlockBytes = 4096;

class Misuse : public Started, public testing::WithParamInterface<bool> {
 protected:
  static void SetUpTestSuite() { setenv("BELAY_LAYERS", "race,memory", 1); }
  void SetUp() override {
    Started::SetUp();
    if (HasFatalFailure()) return;
    stream_ = NewStream();
    for (void** block : {&x_, &y_}) EXPECT_OK(aclrtMalloc(block, kBlockBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    testing::internal::CaptureStderr();
  }
  void TearDown() override {
    EXPECT_OK(aclrtSynchronizeDevice());
    if (HasFatalFailure()) return;
    const std::string told = testing::internal::GetCapturedStderr();
    if (right()) {
      EXPECT_EQ(told, "");
    } else {
      EXPECT_THAT(told, HasSubstr("belay check: " + kind_ + "  ")) << told;
      std::string rest = told;
      std::smatch line;
      int lines = 0;
      for (; std::regex_search(rest, line, std::regex("memory_test\\.cc:[0-9]+")); rest = line.suffix())
        ++lines;
      EXPECT_GE(lines, places_) << told;
      EXPECT_THAT(told, HasSubstr("mend: "));
      for (const std::string& what : says_) EXPECT_THAT(told, HasSubstr(what));
    }
    Started::TearDown();
  }
  // What the wrong twin is told, at how many places of this file.
  void Expect(const char* kind, int places, std::vector<std::string> says = {}) {
    kind_ = kind;
    places_ = places;
    says_ = std::move(says);
  }

  static bool right() { return GetParam(); }
  // The call that only the wrong twin is refused.
  static void Twin(aclError code) {
    EXPECT_EQ(code == ACL_SUCCESS, right());
    conformance::TakeMessage();
  }
  aclError Copy(void* to, const void* from, size_t bytes = kBlockBytes) {
    return aclrtMemcpyAsync(to, bytes, from, bytes, ACL_MEMCPY_DEFAULT, stream_);
  }
  static aclTensor* Vector(void* block, int64_t size) {
    const int64_t one = 1;
    return aclCreateTensor(&size, 1, ACL_FLOAT, &one, 0, ACL_FORMAT_ND, &size, 1, block);
  }
  // z = x + y; the code of the second stage.
  aclError Add(void* x, void* y, void* z, int64_t size) {
    aclTensor* tensors[] = {Vector(x, size), Vector(y, size), Vector(z, size)};
    float one = 1;
    aclScalar* alpha = aclCreateScalar(&one, ACL_FLOAT);
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    EXPECT_OK(aclnnAddGetWorkspaceSize(tensors[0], tensors[1], alpha, tensors[2], &bytes, &executor));
    const aclError code = aclnnAdd(nullptr, 0, executor, stream_);
    aclDestroyScalar(alpha);
    for (aclTensor* tensor : tensors) aclDestroyTensor(tensor);
    return code;
  }
  // Sorts x_ into y_; the first stage.
  aclOpExecutor* PrepareSort(uint64_t* workspace) {
    const int64_t size = 256, one = 1;
    aclTensor* x = Vector(x_, size);
    aclTensor* y = Vector(y_, size);
    aclTensor* places =
        aclCreateTensor(&size, 1, ACL_INT64, &one, 0, ACL_FORMAT_ND, &size, 1, static_cast<char*>(y_) + 2048);
    aclOpExecutor* executor = nullptr;
    EXPECT_OK(aclnnSortGetWorkspaceSize(x, true, 0, false, y, places, workspace, &executor));
    for (aclTensor* tensor : {x, y, places}) aclDestroyTensor(tensor);
    return executor;
  }
  void* NewBlock() {
    void* block = nullptr;
    EXPECT_OK(aclrtMalloc(&block, kBlockBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    return block;
  }

  aclrtStream stream_ = nullptr;
  void *x_ = nullptr, *y_ = nullptr;

 private:
  std::string kind_;
  int places_ = 0;
  std::vector<std::string> says_;
};

INSTANTIATE_TEST_SUITE_P(, Misuse, testing::Bool(),
                         [](const auto& info) { return info.param ? "right" : "wrong"; });

TEST_P(Misuse, ACopyOfWhatWasFreed) {
  Expect("USE AFTER FREE", 3, {"freed by aclrtFree\n", "allocated by aclrtMalloc\n"});
  void* block = NewBlock();
  if (right()) {
    EXPECT_OK(Copy(x_, block));
    EXPECT_OK(aclrtSynchronizeStream(stream_));
    EXPECT_OK(aclrtFree(block));
  } else {
    EXPECT_OK(aclrtFree(block));
    Twin(Copy(x_, block));
  }
}

TEST_P(Misuse, TheHostFillsWhatWasFreed) {
  Expect("USE AFTER FREE", 3, {"in aclrtMemset\n"});
  void* block = NewBlock();
  if (right()) {
    EXPECT_OK(aclrtMemset(block, kBlockBytes, 0, kBlockBytes));
    EXPECT_OK(aclrtFree(block));
  } else {
    EXPECT_OK(aclrtFree(block));
    Twin(aclrtMemset(block, kBlockBytes, 0, kBlockBytes));
  }
}

TEST_P(Misuse, AnOperatorOnWhatWasFreed) {
  Expect("USE AFTER FREE", 3, {"in aclnnAdd\n"});
  void* block = NewBlock();
  if (!right()) {
    EXPECT_OK(aclrtFree(block));
  }
  Twin(Add(x_, y_, block, 8));
  EXPECT_OK(aclrtSynchronizeStream(stream_));
  if (right()) {
    EXPECT_OK(aclrtFree(block));
  }
}

TEST_P(Misuse, PinnedMemoryThatWasFreed) {
  Expect("USE AFTER FREE", 3, {"freed by aclrtFreeHost\n", "allocated by aclrtMallocHost\n"});
  void* block = nullptr;
  EXPECT_OK(aclrtMallocHost(&block, kBlockBytes));
  if (!right()) {
    EXPECT_OK(aclrtFreeHost(block));
  }
  Twin(Copy(x_, block));
  EXPECT_OK(aclrtSynchronizeStream(stream_));
  if (right()) {
    EXPECT_OK(aclrtFreeHost(block));
  }
}

TEST_P(Misuse, AModelWhoseMemoryWasFreed) {
  Expect("USE AFTER FREE", 3, {"in aclmdlRIExecuteAsync\n"});
  void* block = NewBlock();
  EXPECT_OK(aclmdlRICaptureBegin(stream_, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  EXPECT_OK(Copy(x_, block));
  aclmdlRI model = nullptr;
  EXPECT_OK(aclmdlRICaptureEnd(stream_, &model));
  if (!right()) {
    EXPECT_OK(aclrtFree(block));
  }
  Twin(aclmdlRIExecuteAsync(model, stream_));
  EXPECT_OK(aclrtSynchronizeStream(stream_));
  if (right()) {
    EXPECT_OK(aclrtFree(block));
  }
  EXPECT_OK(aclmdlRIDestroy(model));
}

TEST_P(Misuse, UnmappedMemory) {
  Expect("USE AFTER FREE", 3, {"freed by aclrtUnmapMem\n", "allocated by aclrtMapMem\n"});
  constexpr size_t kPage = size_t{2} << 20;
  void* range = nullptr;
  EXPECT_OK(aclrtReserveMemAddress(&range, kPage, 0, nullptr, 1));
  aclrtPhysicalMemProp prop{};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  aclrtDrvMemHandle physical = nullptr;
  EXPECT_OK(aclrtMallocPhysical(&physical, kPage, &prop, 0));
  EXPECT_OK(aclrtMapMem(range, kPage, 0, physical, 0));
  if (!right()) {
    EXPECT_OK(aclrtUnmapMem(range));
  }
  Twin(Copy(range, x_));
  EXPECT_OK(aclrtSynchronizeStream(stream_));
  if (right()) {
    EXPECT_OK(aclrtUnmapMem(range));
  }
  EXPECT_OK(aclrtFreePhysical(physical));
  EXPECT_OK(aclrtReleaseMemAddress(range));
}

// A free waits for nothing.
TEST_P(Misuse, FreedWhileACopyReadsIt) {
  Expect("FREE WHILE USED", 2, {"freed by aclrtFree\n", "used by  memcpy, stream "});
  void* block = NewBlock();
  EXPECT_OK(Copy(x_, block));
  if (right()) {
    EXPECT_OK(aclrtSynchronizeStream(stream_));
  }
  EXPECT_OK(aclrtFree(block));
}

TEST_P(Misuse, FreedAndWaitedForInOneCall) {
  Expect("FREE WHILE USED", 2);
  void* block = NewBlock();
  EXPECT_OK(Copy(x_, block));
  EXPECT_OK(right() ? aclrtFreeWithDevSync(block) : aclrtFree(block));
}

TEST_P(Misuse, AWorkspaceIsFreedTooEarly) {
  Expect("FREE WHILE USED", 2, {"by aclnnSort"});
  uint64_t bytes = 0;
  aclOpExecutor* executor = PrepareSort(&bytes);
  void* workspace = nullptr;
  ASSERT_NE(bytes, 0);
  EXPECT_OK(aclrtMalloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_OK(aclnnSort(workspace, bytes, executor, stream_));
  aclrtEvent event = NewEvent();
  EXPECT_OK(aclrtRecordEvent(event, stream_));
  if (right()) {
    EXPECT_OK(aclrtSynchronizeEvent(event));
  }
  EXPECT_OK(aclrtFree(workspace));
}

TEST_P(Misuse, TheStreamIsDestroyedFirst) {
  Expect("FREE WHILE USED", 2);
  void* block = NewBlock();
  aclrtStream stream = nullptr;
  EXPECT_OK(aclrtCreateStream(&stream));
  EXPECT_OK(aclrtMemcpyAsync(x_, kBlockBytes, block, kBlockBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
  if (right()) {
    EXPECT_OK(aclrtDestroyStream(stream));
  }
  EXPECT_OK(aclrtFree(block));
  if (!right()) {
    EXPECT_OK(aclrtDestroyStream(stream));
  }
}

TEST_P(Misuse, ACopyBeyondTheEnd) {
  Expect("BEYOND END", 2, {"allocated by aclrtMalloc\n"});
  Twin(Copy(x_, static_cast<char*>(y_) + 64, right() ? kBlockBytes - 64 : kBlockBytes));
}

TEST_P(Misuse, AnOperatorBeyondTheEnd) {
  Expect("BEYOND END", 2, {"in aclnnAdd\n"});
  Twin(Add(x_, y_, x_, right() ? kBlockBytes / 4 : kBlockBytes / 4 + 16));
}

TEST_P(Misuse, AnOperatorOnHostMemory) {
  Expect("HOST MEMORY ON DEVICE", 1);
  std::vector<float> host(8);
  Twin(Add(right() ? x_ : host.data(), y_, y_, 8));
}

TEST_P(Misuse, FreedTwice) {
  Expect("DOUBLE FREE", 3, {"freed by aclrtFree\n"});
  void* block = NewBlock();
  EXPECT_OK(aclrtFree(block));
  if (!right()) {
    Twin(aclrtFree(block));
  }
}

TEST_P(Misuse, AFreeOfTheMiddle) {
  Expect("BAD FREE", 2);
  void* block = NewBlock();
  if (!right()) {
    Twin(aclrtFree(static_cast<char*>(block) + 64));
  }
  EXPECT_OK(aclrtFree(block));
}

TEST_P(Misuse, AFreeWithTheWrongFunction) {
  Expect("BAD FREE", 2, {"allocated by aclrtMallocHost\n"});
  void* block = nullptr;
  EXPECT_OK(aclrtMallocHost(&block, kBlockBytes));
  if (!right()) {
    Twin(aclrtFree(block));
  }
  EXPECT_OK(aclrtFreeHost(block));
}

TEST_P(Misuse, AWorkspaceThatIsTooShort) {
  Expect("SHORT WORKSPACE", 1);
  uint64_t bytes = 0;
  aclOpExecutor* executor = PrepareSort(&bytes);
  ASSERT_NE(bytes, 0);
  void* workspace = nullptr;
  EXPECT_OK(aclrtMalloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  Twin(aclnnSort(workspace, right() ? bytes : bytes - 1, executor, stream_));
  EXPECT_OK(aclrtSynchronizeStream(stream_));
  EXPECT_OK(aclrtFree(workspace));
}

TEST_P(Misuse, AStreamThatWasDestroyed) {
  Expect("USE AFTER DESTROY", 2);
  aclrtStream stream = nullptr;
  EXPECT_OK(aclrtCreateStream(&stream));
  if (!right()) {
    EXPECT_OK(aclrtDestroyStream(stream));
  }
  Twin(aclrtSynchronizeStream(stream));
  if (right()) {
    EXPECT_OK(aclrtDestroyStream(stream));
  }
}

TEST_P(Misuse, AnEventThatWasDestroyed) {
  Expect("USE AFTER DESTROY", 2);
  aclrtEvent event = nullptr;
  EXPECT_OK(aclrtCreateEvent(&event));
  EXPECT_OK(aclrtRecordEvent(event, stream_));
  if (!right()) {
    EXPECT_OK(aclrtDestroyEvent(event));
  }
  Twin(aclrtStreamWaitEvent(stream_, event));
  if (right()) {
    EXPECT_OK(aclrtDestroyEvent(event));
  }
}

// --- what nobody may accuse

class RightUse : public Misuse {};
INSTANTIATE_TEST_SUITE_P(, RightUse, testing::Values(true), [](const auto&) { return "right"; });

TEST_P(RightUse, AddressesThatComeBack) {
  for (int i = 0; i < 8; ++i) {
    void* block = NewBlock();
    EXPECT_OK(Copy(block, x_));
    EXPECT_OK(aclrtSynchronizeStream(stream_));
    EXPECT_OK(aclrtFree(block));
  }
}

// Where its memory has been handed out again a replay uses what is there now.
TEST_P(RightUse, AModelWhoseAddressesAreInUseAgain) {
  void* block = NewBlock();
  EXPECT_OK(aclmdlRICaptureBegin(stream_, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  EXPECT_OK(Copy(x_, block));
  aclmdlRI model = nullptr;
  EXPECT_OK(aclmdlRICaptureEnd(stream_, &model));
  EXPECT_OK(aclrtFree(block));
  EXPECT_EQ(NewBlock(), block);
  EXPECT_OK(aclmdlRIExecuteAsync(model, stream_));
  EXPECT_OK(aclrtSynchronizeStream(stream_));
  EXPECT_OK(aclrtFree(block));
  EXPECT_OK(aclmdlRIDestroy(model));
}

// A callback is called when what comes before it is over.
TEST_P(RightUse, FreedWhenACallbackHasCome) {
  void* block = NewBlock();
  EXPECT_OK(Copy(x_, block));
  std::atomic<bool> called{false};
  conformance::Call(stream_, [&] { called = true; });
  EXPECT_OK(aclrtSynchronizeStream(stream_));
  EXPECT_TRUE(called);
  EXPECT_OK(aclrtFree(block));
}

}  // namespace
