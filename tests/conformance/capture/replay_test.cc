// Model instances: running them, in what order, their names and pictures, their end.
#include <vector>

#include "capture_fixture.h"
#include "temp_file.h"

namespace conformance {
namespace {

class Replays : public CaptureTest {
 protected:
  // words[1] = words[0]; words[0] = words[2]; words[2] = words[1]: 10 and 20 change places.
  aclmdlRI SwappingModel() {
    Begin();
    Copy(1, 0, main_);
    Copy(0, 2, main_);
    Copy(2, 1, main_);
    words_[0] = 10;
    words_[2] = 20;
    return End();
  }
};

TEST_F(Replays, InTheOrderOfTheStream) {
  aclmdlRI model = SimpleModel();
  aclrtStream stream = NewStream();
  words_[0] = 1;
  EXPECT_EQ(aclrtValueWrite(words_, 2, 0, stream), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRIExecuteAsync(model, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtValueWrite(words_, 3, 0, stream), ACL_SUCCESS);
  Copy(2, 1, stream);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(words_[1], 2u) << "after the first write, before the second";
  EXPECT_EQ(words_[2], 2u);
}

TEST_F(Replays, ManyTimesInARow) {
  aclmdlRI model = SwappingModel();
  for (int i = 0; i < 1001; ++i) EXPECT_EQ(aclmdlRIExecuteAsync(model, main_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(main_), ACL_SUCCESS);
  EXPECT_EQ(words_[0], 20u);
  EXPECT_EQ(words_[2], 10u);
}

TEST_F(Replays, OfOneInstanceNeverOverlap) {
  aclmdlRI model = SwappingModel();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      aclrtStream stream = NewStream();
      for (int i = 0; i < 100; ++i) EXPECT_EQ(aclmdlRIExecuteAsync(model, stream), ACL_SUCCESS);
      EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(words_[0] + words_[2], 30u) << "each replay swaps whole";
  EXPECT_EQ(words_[0], 10u) << "400 swaps";
}

TEST_F(Replays, ExecuteWaits) {
  aclmdlRI model = SimpleModel();
  words_[0] = 4;
  EXPECT_EQ(aclmdlRIExecute(model, -1), ACL_SUCCESS);
  EXPECT_EQ(words_[1], 4u);
  EXPECT_NE(aclmdlRIExecute(model, -7), ACL_SUCCESS);
  Gate gate;
  gate.Close(nullptr);
  EXPECT_NE(aclmdlRIExecute(model, 1), ACL_SUCCESS) << "the default stream stands still";
  gate.Open();
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
}

TEST_F(Replays, QueuedOnesOutliveTheInstance) {
  aclmdlRI model = SimpleModel();
  Gate gate;
  words_[0] = 6;
  gate.Close(main_);
  EXPECT_EQ(aclmdlRIExecuteAsync(model, main_), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRIDestroy(model), ACL_SUCCESS);
  gate.Open();
  EXPECT_EQ(aclrtSynchronizeStream(main_), ACL_SUCCESS);
  EXPECT_EQ(words_[1], 6u);
}

TEST_F(Replays, NeedsItsMemory) {
  void* block = nullptr;
  ASSERT_EQ(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  Begin();
  EXPECT_EQ(aclrtMemsetAsync(block, 64, 1, 64, main_), ACL_SUCCESS);
  aclmdlRI model = End();
  EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
  EXPECT_NE(aclmdlRIExecuteAsync(model, main_), ACL_SUCCESS);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("freed"));
}

TEST_F(Replays, NamesAndNumbers) {
  aclmdlRI first = SimpleModel(), second = SimpleModel();
  uint32_t first_id = 0, second_id = 0;
  char name[600];
  EXPECT_EQ(aclmdlRIGetId(first, &first_id), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRIGetId(second, &second_id), ACL_SUCCESS);
  EXPECT_NE(first_id, second_id);
  EXPECT_EQ(aclmdlRIGetName(first, sizeof name, name), ACL_SUCCESS);
  EXPECT_STREQ(name, "");
  EXPECT_EQ(aclmdlRISetName(first, "one"), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRISetName(first, "two"), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRIGetName(first, sizeof name, name), ACL_SUCCESS);
  EXPECT_STREQ(name, "two");
  EXPECT_EQ(aclmdlRIGetName(first, 3, name), ACL_SUCCESS);
  EXPECT_STREQ(name, "tw");
  EXPECT_NE(aclmdlRIGetName(first, 0, name), ACL_SUCCESS);
}

TEST_F(Replays, Pictures) {
  aclmdlRI model = SimpleModel();
  TempFile file;
  testing::internal::CaptureStdout();
  EXPECT_EQ(aclmdlRIDebugPrint(model), ACL_SUCCESS);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), testing::HasSubstr("memcpy"));
  EXPECT_EQ(aclmdlRIDebugJsonPrint(model, file.path(), ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE), ACL_SUCCESS);
  EXPECT_THAT(file.Read(), testing::HasSubstr("\"name\""));
  EXPECT_NE(aclmdlRIDebugJsonPrint(model, "/nowhere/at/all.json", 0), ACL_SUCCESS);
  EXPECT_NE(aclmdlRIDebugJsonPrint(model, file.path(), 7), ACL_SUCCESS);
}

TEST_F(Replays, TheEndIsReported) {
  static int calls;
  calls = 0;
  auto count = [](void* user) { calls += *static_cast<int*>(user); };
  int one = 1;
  aclmdlRI model = SimpleModel();
  EXPECT_EQ(aclmdlRIDestroyRegisterCallback(model, count, &one), ACL_SUCCESS);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(aclmdlRIDestroy(model), ACL_SUCCESS);
  EXPECT_EQ(calls, 1);
  model = SimpleModel();
  EXPECT_EQ(aclmdlRIDestroyRegisterCallback(model, count, &one), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRIDestroyUnregisterCallback(model, count), ACL_SUCCESS);
  EXPECT_NE(aclmdlRIDestroyUnregisterCallback(model, count), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRIDestroy(model), ACL_SUCCESS);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace conformance
