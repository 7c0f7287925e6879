// Replays that wait for the host: callbacks of subscribed threads, and waits with a time limit.
#include <pthread.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "captures.h"

namespace {

using namespace conformance;

class CapturedWaits : public Captures {
 protected:
  static uint64_t Self() { return static_cast<uint64_t>(pthread_self()); }
  void Launch(std::function<void()> function, aclrtCallbackBlockType type) {
    EXPECT_OK(aclrtLaunchCallback([](void *f) { (*static_cast<std::function<void()> *>(f))(); },
                                  Keep(std::move(function)), type, main_));
  }
  // Makes a replay stand at a callback that nobody runs.
  void StartReplayOfACallback() {
    EXPECT_OK(aclrtSubscribeReport(Self(), main_));
    EXPECT_OK(Begin());
    Launch([this] { ++calls_; }, ACL_CALLBACK_BLOCK);
    EXPECT_OK(aclmdlRIExecuteAsync(End(), side_));
    EXPECT_REFUSED(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclrtSynchronizeStreamWithTimeout(side_, 5),
                   "unfinished");
  }
  std::atomic<int> calls_{0};
};

TEST_F(CapturedWaits, ASubscribedThreadRunsTheCallbacksOfEachReplay) {
  int32_t *a = NewDevice(), *b = NewDevice();
  std::vector<int> seen;
  EXPECT_OK(aclrtSubscribeReport(Self(), main_));
  EXPECT_OK(Begin());
  EXPECT_OK(Copy(b, a, main_));
  Launch([&, b] { seen.push_back(*b); }, ACL_CALLBACK_BLOCK);
  EXPECT_OK(aclrtMemsetAsync(b, 4, 0, 4, main_));
  Launch([this] { ++calls_; }, ACL_CALLBACK_NO_BLOCK);
  aclmdlRI model = End();
  EXPECT_EQ(seen.size(), 0u) << "a capture runs nothing";
  for (int i = 1; i <= 3; ++i) {
    *a = i;
    EXPECT_OK(aclmdlRIExecuteAsync(model, side_));
    while (calls_ < i) EXPECT_OK(aclrtProcessReport(60'000));
    EXPECT_OK(aclrtSynchronizeStream(side_));
    EXPECT_EQ(*b, 0);
  }
  EXPECT_THAT(seen, testing::ElementsAre(1, 2, 3));
}

TEST_F(CapturedWaits, AReplayWithoutASubscribedThreadFails) {
  EXPECT_OK(aclrtSubscribeReport(Self(), main_));
  EXPECT_OK(Begin());
  Launch([this] { ++calls_; }, ACL_CALLBACK_BLOCK);
  aclmdlRI model = End();
  EXPECT_OK(aclrtUnSubscribeReport(Self(), main_));
  EXPECT_OK(aclmdlRIExecuteAsync(model, side_));
  EXPECT_REFUSED(107015, aclrtSynchronizeStream(side_), "no thread is subscribed");
  EXPECT_EQ(calls_, 0);
}

TEST_F(CapturedWaits, UnsubscribingLetsAReplayGoOn) {
  StartReplayOfACallback();
  EXPECT_OK(aclrtUnSubscribeReport(Self(), main_));
  EXPECT_THAT(aclrtSynchronizeStream(side_), testing::AnyOf(ACL_SUCCESS, 107015))
      << "the latter if it came late";
  EXPECT_EQ(calls_, 0);
}

TEST_F(CapturedWaits, AnAbortDoesNotWaitForACallbackThatNobodyRuns) {
  StartReplayOfACallback();
  EXPECT_OK(aclrtStreamAbort(side_));
  EXPECT_OK(aclrtSynchronizeStream(side_));
  ExpectWorks({main_, side_});
  EXPECT_REFUSED(107019, aclrtProcessReport(1), "time limit");
}

// How often the thread that looks at values has slept.
long SleepsOfTheTimekeeper() {
  for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name, word;
    std::ifstream(task.path() / "comm") >> name;
    if (name != "belay-time") continue;
    std::ifstream status(task.path() / "status");
    long count = 0;
    while (status >> word) {
      if (word == "voluntary_ctxt_switches:" && status >> count) return count;
    }
  }
  return -1;
}

// Nobody but this process sets the notifies, and then says so.
TEST_F(CapturedWaits, NotifiesOfThisProcessAreNotLookedAtForNothing) {
  aclrtNotify notify = nullptr;
  EXPECT_OK(aclrtCreateNotify(&notify, 0));
  int32_t *from = NewDevice(1), *to = NewDevice();
  EXPECT_OK(Begin());
  EXPECT_OK(aclrtWaitAndResetNotify(notify, main_, 0));
  EXPECT_OK(Copy(to, from, main_));
  aclmdlRI model = End();
  for (bool shared : {false, true}) {
    *to = 0;
    EXPECT_OK(aclmdlRIExecuteAsync(model, side_));
    EXPECT_REFUSED(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclrtSynchronizeStreamWithTimeout(side_, 5),
                   "unfinished");
    const long before = SleepsOfTheTimekeeper();
    EXPECT_REFUSED(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclrtSynchronizeStreamWithTimeout(side_, 60),
                   "unfinished");
    EXPECT_LE(SleepsOfTheTimekeeper(), before + 10);
    if (shared) {  // while the replay stands: from now on others may set it
      char key[65] = {};
      EXPECT_OK(aclrtNotifyGetExportKey(notify, key, sizeof key, 1));
      const long then = SleepsOfTheTimekeeper();
      while (SleepsOfTheTimekeeper() < then + 20) std::this_thread::yield();
    }
    EXPECT_OK(aclrtRecordNotify(notify, main_));
    EXPECT_OK(aclrtSynchronizeStream(side_));
    EXPECT_EQ(*to, 1);
  }
  EXPECT_OK(aclmdlRIDestroy(model));
  EXPECT_OK(aclrtDestroyNotify(notify));
}

TEST_F(CapturedWaits, TheLimitOfANotifyWaitHoldsInAReplay) {
  aclrtNotify notify = nullptr;
  EXPECT_OK(aclrtCreateNotify(&notify, 0));
  int32_t *from = NewDevice(1), *to = NewDevice();
  EXPECT_OK(Begin());
  EXPECT_OK(aclrtWaitAndResetNotify(notify, main_, 1));
  EXPECT_OK(Copy(to, from, main_));
  aclmdlRI model = End();
  EXPECT_OK(aclmdlRIExecuteAsync(model, side_));
  EXPECT_REFUSED(107020, aclrtSynchronizeStream(side_), "notify");
  EXPECT_EQ(*to, 0) << "what follows in the model is not run";
  ExpectWorks({side_});
  EXPECT_OK(aclmdlRIExecuteAsync(model, side_));
  EXPECT_OK(aclrtRecordNotify(notify, main_));
  EXPECT_OK(aclrtSynchronizeStream(side_));
  EXPECT_EQ(*to, 1);
  EXPECT_OK(aclrtDestroyNotify(notify));
}

}  // namespace
