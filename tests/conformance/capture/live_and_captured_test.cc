// Ring 5: the same body of calls, once live and once captured and replayed, gives the same bytes. Bodies
// are random: copies, fills and host functions over several streams that fork from one and join it again.
#include <array>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include "runtime_fixture.h"

namespace conformance {
namespace {

constexpr int kBlocks = 8;
constexpr size_t kBlockBytes = 192;
constexpr int kStreams = 4;
constexpr int kRounds = 3;
using Bytes = std::array<uint8_t, kBlocks * kBlockBytes>;

struct Mix {
  uint8_t* block;
  uint8_t value;
};
void RunMix(void* argument) {
  auto* mix = static_cast<Mix*>(argument);
  for (size_t i = 0; i < kBlockBytes; ++i)
    mix->block[i] = static_cast<uint8_t>(mix->block[i] * 3 + mix->value + i);
}

class LiveAndCaptured : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    for (aclrtStream& stream : streams_) stream = NewStream();
    for (aclrtEvent& event : events_) event = NewEvent(ACL_EVENT_SYNC);
    void* block = nullptr;
    ASSERT_EQ(aclrtMalloc(&block, kBlocks * kBlockBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    device_ = static_cast<uint8_t*>(block);
    ASSERT_EQ(aclrtMallocHost(&block, kBlockBytes), ACL_SUCCESS);
    pinned_ = static_cast<uint8_t*>(block);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtFree(device_), ACL_SUCCESS);
    EXPECT_EQ(aclrtFreeHost(pinned_), ACL_SUCCESS);
    for (aclrtEvent event : events_) EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
    for (aclrtStream stream : streams_) EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
    RuntimeTest::TearDown();
  }

  uint8_t* Block(int b) { return device_ + static_cast<size_t>(b) * kBlockBytes; }
  void Prepare() {
    ASSERT_EQ(aclrtMemset(device_, kBlocks * kBlockBytes, 7, kBlocks * kBlockBytes), ACL_SUCCESS);
    std::memset(pinned_, 9, kBlockBytes);
  }
  Bytes Result() {
    Bytes bytes;
    EXPECT_EQ(aclrtMemcpy(bytes.data(), bytes.size(), device_, bytes.size(), ACL_MEMCPY_DEVICE_TO_HOST),
              ACL_SUCCESS);
    return bytes;
  }

  void Task(std::mt19937& random, int s) {
    auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    // A stream writes the two blocks that are its own and reads these; joins pass bytes on.
    uint8_t* own = Block(s * 2);
    uint8_t* other = Block(s * 2 + 1);
    if (below(2) == 0) std::swap(own, other);
    size_t bytes = 1 + static_cast<size_t>(below(kBlockBytes));
    switch (below(5)) {
      case 0:
        EXPECT_EQ(aclrtMemsetAsync(own, kBlockBytes, below(256), bytes, streams_[s]), ACL_SUCCESS);
        return;
      case 1:
        mixes_.push_back({own, static_cast<uint8_t>(below(256))});
        EXPECT_EQ(aclrtLaunchHostFunc(streams_[s], &RunMix, &mixes_.back()), ACL_SUCCESS);
        return;
      case 2:
        EXPECT_EQ(aclrtMemcpyAsync(own, kBlockBytes, pinned_, bytes, ACL_MEMCPY_HOST_TO_DEVICE, streams_[s]),
                  ACL_SUCCESS);
        return;
      default:
        EXPECT_EQ(aclrtMemcpyAsync(own, kBlockBytes, other, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE, streams_[s]),
                  ACL_SUCCESS);
    }
  }
  void After(int later, int earlier) {
    aclrtEvent event = events_[static_cast<size_t>(earlier)];
    EXPECT_EQ(aclrtRecordEvent(event, streams_[earlier]), ACL_SUCCESS);
    EXPECT_EQ(aclrtStreamWaitEvent(streams_[later], event), ACL_SUCCESS);
  }
  // Stream 0 forks to the others and joins them, with tasks everywhere. Calls only: it does not matter
  // to this function whether they are captured.
  void Body(unsigned seed) {
    std::mt19937 random(seed);
    int tasks = 2 + static_cast<int>(random() % 6);
    for (int i = 0; i < tasks; ++i) Task(random, 0);
    for (int s = 1; s < kStreams; ++s) After(s, 0);
    for (int i = 0; i < tasks * kStreams; ++i) Task(random, static_cast<int>(random() % kStreams));
    for (int s = 1; s < kStreams; ++s) {
      After(0, s);
      EXPECT_EQ(aclrtMemcpyAsync(Block(0), kBlockBytes, Block(s * 2), kBlockBytes / 2,
                                 ACL_MEMCPY_DEVICE_TO_DEVICE, streams_[0]),
                ACL_SUCCESS);
      Task(random, 0);
    }
  }

  std::array<aclrtStream, kStreams> streams_{};
  std::array<aclrtEvent, kStreams> events_{};
  uint8_t* device_ = nullptr;
  uint8_t* pinned_ = nullptr;
  std::deque<Mix> mixes_;  // arguments of host functions live as long as the test
};

TEST_F(LiveAndCaptured, GiveTheSameBytes) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Prepare();
    for (int round = 0; round < kRounds; ++round) {
      Body(seed);
      // The next round's first task on another stream comes after this round, as in a replay.
      ASSERT_EQ(aclrtSynchronizeStream(streams_[0]), ACL_SUCCESS);
    }
    Bytes live = Result();

    Prepare();
    aclmdlRI model = nullptr;
    ASSERT_EQ(aclmdlRICaptureBegin(streams_[0], ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_SUCCESS);
    Body(seed);
    ASSERT_EQ(aclmdlRICaptureEnd(streams_[0], &model), ACL_SUCCESS) << LastMessage();
    for (int round = 0; round < kRounds; ++round) {
      ASSERT_EQ(aclmdlRIExecuteAsync(model, streams_[static_cast<size_t>(round) % kStreams]), ACL_SUCCESS);
    }
    ASSERT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
    EXPECT_EQ(Result(), live);
    ASSERT_EQ(aclmdlRIDestroy(model), ACL_SUCCESS);
  }
}

}  // namespace
}  // namespace conformance
