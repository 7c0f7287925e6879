// Work goes on while the host never waits: it only looks.
#include <atomic>
#include <vector>

#include "runtime_fixture.h"

namespace conformance {
namespace {

class Progress : public RuntimeTest {
 protected:
  static void PollUntilRecorded(aclrtEvent event) {
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    while (status != ACL_EVENT_RECORDED_STATUS_COMPLETE) {
      ASSERT_EQ(aclrtQueryEventStatus(event, &status), ACL_SUCCESS);
    }
  }
};

TEST_F(Progress, APolledEventCompletes) {
  aclrtStream stream = NewStream();
  aclrtEvent event = NewEvent();
  uint64_t* word = NewWord();
  for (int i = 1; i <= 50; ++i) {
    ASSERT_EQ(aclrtMemsetAsync(word, 8, i, 8, stream), ACL_SUCCESS);
    ASSERT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
    PollUntilRecorded(event);
    EXPECT_EQ(*word & 0xff, static_cast<uint64_t>(i));
  }
}

TEST_F(Progress, AHostFunctionRunsWhileTheHostComputes) {
  aclrtStream stream = NewStream();
  std::atomic<bool> ran{false};
  auto function = [](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); };
  ASSERT_EQ(aclrtLaunchHostFunc(stream, function, &ran), ACL_SUCCESS);
  volatile uint64_t sum = 0;
  for (uint64_t i = 0; !ran.load(); ++i) sum = sum + i;
  EXPECT_TRUE(ran.load());
}

// More waiting streams than workers, the waits before the record and after it: nobody is held up.
TEST_F(Progress, WaitingStreamsHoldNobodyUpInEitherOrder) {
  constexpr int kWaiting = 32;
  aclrtStream source = NewStream();
  std::vector<aclrtStream> waiting;
  for (int i = 0; i < kWaiting; ++i) waiting.push_back(NewStream());
  for (bool waits_first : {true, false}) {
    aclrtEvent event = nullptr;
    ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
    std::vector<aclrtEvent> done;
    auto record = [&] { ASSERT_EQ(aclrtRecordEvent(event, source), ACL_SUCCESS); };
    if (!waits_first) record();
    for (aclrtStream stream : waiting) {
      ASSERT_EQ(aclrtStreamWaitEvent(stream, event), ACL_SUCCESS);
      done.push_back(NewEvent());
      ASSERT_EQ(aclrtRecordEvent(done.back(), stream), ACL_SUCCESS);
    }
    if (waits_first) record();
    for (aclrtEvent e : done) PollUntilRecorded(e);
    for (aclrtEvent e : done) ASSERT_EQ(aclrtDestroyEvent(e), ACL_SUCCESS);
    ASSERT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  }
}

}  // namespace
}  // namespace conformance
