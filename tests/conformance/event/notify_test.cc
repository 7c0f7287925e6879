// Notifies: one stream sets, another waits and clears.
#include <vector>

#include "runtime_fixture.h"

namespace conformance {
namespace {

class Notify : public RuntimeTest {
 protected:
  static aclrtNotify New() {
    aclrtNotify notify = nullptr;
    EXPECT_EQ(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT), ACL_SUCCESS);
    return notify;
  }
};

TEST_F(Notify, OrdersTwoStreams) {
  aclrtStream first = NewStream(), second = NewStream();
  aclrtNotify notify = New();
  uint64_t* word = NewWord();
  for (uint64_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(aclrtWaitAndResetNotify(notify, second, 0), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpyAsync(word + 1, 8, word, 8, ACL_MEMCPY_DEVICE_TO_DEVICE, second), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(second, 1), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT)
        << "it was cleared by the wait before";
    EXPECT_EQ(aclrtValueWrite(word, i, 0, first), ACL_SUCCESS);
    EXPECT_EQ(aclrtRecordNotify(notify, first), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(second), ACL_SUCCESS);
    EXPECT_EQ(word[1], i);
  }
  EXPECT_EQ(aclrtDestroyNotify(notify), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyNotify(notify), ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(Notify, ALimitIsTold) {
  aclrtStream stream = NewStream();
  aclrtNotify notify = New();
  EXPECT_EQ(aclrtWaitAndResetNotify(notify, stream, 1), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyNotify(notify), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), 107020);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("notify"));
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
}

TEST_F(Notify, MayBeDestroyedWhileInUse) {
  aclrtStream first = NewStream(), second = NewStream();
  aclrtNotify notify = New();
  Gate gate;
  gate.Close(first);
  EXPECT_EQ(aclrtRecordNotify(notify, first), ACL_SUCCESS);
  EXPECT_EQ(aclrtWaitAndResetNotify(notify, second, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyNotify(notify), ACL_SUCCESS);
  gate.Open();
  EXPECT_EQ(aclrtSynchronizeStream(second), ACL_SUCCESS);
}

TEST_F(Notify, NumbersFlagsAndResets) {
  aclrtNotify two[] = {New(), New()};
  aclrtNotify wrong = nullptr;
  uint32_t first = 0, second = 0;
  EXPECT_EQ(aclrtGetNotifyId(two[0], &first), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetNotifyId(two[1], &second), ACL_SUCCESS);
  EXPECT_NE(first, second);
  EXPECT_EQ(aclrtCreateNotify(&wrong, 0x80), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtRecordNotify(two[0], nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtNotifyBatchReset(two, 2), ACL_SUCCESS);
  EXPECT_EQ(aclrtWaitAndResetNotify(two[0], nullptr, 1), ACL_SUCCESS);
  EXPECT_NE(aclrtSynchronizeStream(nullptr), ACL_SUCCESS) << "it was reset";
  EXPECT_EQ(aclrtDestroyNotify(two[1]), ACL_SUCCESS);
  EXPECT_EQ(aclrtNotifyBatchReset(two, 2), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtDestroyNotify(two[0]), ACL_SUCCESS);
}

TEST_F(Notify, ADeviceHasOnlySoMany) {
  std::vector<aclrtNotify> all(8192);
  aclrtNotify more = nullptr;
  for (aclrtNotify& notify : all) notify = New();
  EXPECT_EQ(aclrtCreateNotify(&more, 0), ACL_ERROR_RT_NO_NOTIFY_RESOURCE);
  for (aclrtNotify notify : all) EXPECT_EQ(aclrtDestroyNotify(notify), ACL_SUCCESS);
}

TEST_F(Notify, EndsWithItsDevice) {
  EXPECT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  aclrtNotify there = New();
  EXPECT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyNotify(there), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  aclrtNotify kept = New();
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyNotify(kept), ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(Notify, InACapture) {
  aclrtStream main = NewStream(), side = NewStream();
  aclrtNotify notify = New();
  aclrtEvent event = NewEvent(ACL_EVENT_SYNC), back = NewEvent(ACL_EVENT_SYNC);
  uint64_t* word = NewWord();
  aclmdlRI model = nullptr;
  ASSERT_EQ(aclmdlRICaptureBegin(main, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(event, main), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(side, event), ACL_SUCCESS);
  EXPECT_EQ(aclrtWaitAndResetNotify(notify, side, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpyAsync(word + 1, 8, word, 8, ACL_MEMCPY_DEVICE_TO_DEVICE, side), ACL_SUCCESS);
  EXPECT_EQ(aclrtValueWrite(word, 9, 0, main), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordNotify(notify, main), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(back, side), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(main, back), ACL_SUCCESS);
  ASSERT_EQ(aclmdlRICaptureEnd(main, &model), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRIExecuteAsync(model, main), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(main), ACL_SUCCESS);
  EXPECT_EQ(word[1], 9u);
  EXPECT_EQ(aclmdlRIDestroy(model), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyNotify(notify), ACL_SUCCESS);
}

}  // namespace
}  // namespace conformance
