// A rank is killed in the middle of collectives, whichever it is: the others say who, and go on without it.
#include <algorithm>
#include <cstring>
#include <memory>
#include <ostream>

#include "ranks.h"

namespace conformance {
namespace {

constexpr uint32_t kRanks = 4;
constexpr uint64_t kElements = 70'000;  // as much as is read in place where all are on one machine

struct Said {
  char text[512] = {};
};

struct Work {
  HcclComm comm;
  aclrtStream stream;
  float* in;
  float* out;
};

Work NewWork(HcclComm comm) {
  Work work = {comm, nullptr, nullptr, nullptr};
  EXPECT_OK(aclrtCreateStream(&work.stream));
  for (float** p : {&work.in, &work.out}) {
    EXPECT_OK(aclrtMalloc(reinterpret_cast<void**>(p), kRanks * kElements * sizeof(float),
                          ACL_MEM_MALLOC_HUGE_FIRST));
    std::fill_n(*p, kRanks * kElements, 1.f);
  }
  return work;
}

HcclResult SubmitTurn(const Work& w, int turn) {
  switch (turn % 3) {
    case 0:
      return HcclAllReduce(w.in, w.out, kElements, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, w.comm, w.stream);
    case 1:
      return HcclAlltoAll(w.in, kElements, HCCL_DATA_TYPE_FP32, w.out, kElements, HCCL_DATA_TYPE_FP32, w.comm,
                          w.stream);
    default:
      return HcclAllGather(w.in, w.out, kElements, HCCL_DATA_TYPE_FP32, w.comm, w.stream);
  }
}

// Until it fails; how it says why. `after_some` is called once before that.
Said WorkUntilItFails(const Work& work, const std::function<void()>& after_some) {
  for (int turn = 0;; ++turn) {
    if (turn == 10) after_some();
    const HcclResult submitted = SubmitTurn(work, turn);
    const aclError ended = aclrtSynchronizeStream(work.stream);
    if (submitted == HCCL_SUCCESS && ended == ACL_SUCCESS) continue;
    Said said;
    std::strncpy(said.text, TakeMessage().c_str(), sizeof said.text - 1);
    EXPECT_EQ(AsyncErrorOf(work.comm), HCCL_E_REMOTE);
    EXPECT_OK(HcclCommDestroy(work.comm));
    return said;
  }
}

void SumOnce(HcclComm comm) {
  Work work = NewWork(comm);
  EXPECT_OK(SubmitTurn(work, 0));
  EXPECT_OK(aclrtSynchronizeStream(work.stream));
  EXPECT_EQ(work.out[kElements - 1], float{kRanks - 1});
  EXPECT_OK(HcclCommDestroy(comm));
}

void BeRank(Channel& channel, uint32_t rank) {
  if (rank == 0) channel.Send(NewRoot());
  const auto root = channel.Receive<HcclRootInfo>();
  channel.Send(WorkUntilItFails(NewWork(Join(root, kRanks, rank)), [&] { channel.Send(1); }));
  const auto next = channel.Receive<HcclRootInfo>();
  SumOnce(Join(next, kRanks - 1, channel.Receive<uint32_t>()));
}

// Who has left because of that is not the one to be named.
class RanksThatAreLeft : public Sharing {};

TEST_F(RanksThatAreLeft, NameTheKilledOneAndNotThoseThatLeft) {
  const auto be_rank = [](Channel& channel, uint32_t rank) {
    HcclComm comm = Join(channel.Receive<HcclRootInfo>(), 3, rank);
    channel.Send(1);
    while (AsyncErrorOf(comm) == HCCL_SUCCESS) std::this_thread::yield();
    EXPECT_OK(HcclCommDestroy(comm));
    channel.Send(1);
    channel.Receive<int>();
  };
  OtherProcess leaves([&](Channel& channel) { be_rank(channel, 1); });
  OtherProcess killed([&](Channel& channel) { be_rank(channel, 2); });
  Start();
  const HcclRootInfo root = NewRoot();
  leaves.channel.Send(root);
  killed.channel.Send(root);
  const Work work = NewWork(Join(root, 3, 0));
  leaves.channel.Receive<int>();
  killed.channel.Receive<int>();
  killed.Kill();
  leaves.channel.Receive<int>();
  for (int i = 0; i < 200; ++i) {  // until this process has heard of it, too
    EXPECT_REFUSED(HCCL_E_REMOTE, HcclSend(work.in, 1, HCCL_DATA_TYPE_FP32, 1, work.comm, work.stream),
                   "rank 2 of communicator");
    std::this_thread::yield();
  }
  EXPECT_OK(HcclCommDestroy(work.comm));
  leaves.channel.Send(1);
}

// The test is the last rank; rank 0 has the meeting point.
struct Killed {
  uint32_t rank;
  bool on_two_machines;  // two ranks each
  const char* engine;    // between these
};
void PrintTo(const Killed& killed, std::ostream* to) {
  *to << "rank " << killed.rank;
  if (killed.on_two_machines) *to << " of two machines by " << killed.engine;
}
class KilledRanks : public Sharing, public testing::WithParamInterface<Killed> {
 protected:
  static const char* MachineOf(uint32_t rank) { return GetParam().on_two_machines && rank >= 2 ? "b" : "a"; }
};

TEST_P(KilledRanks, IsNamedByTheOthersWhoGoOn) {
  if (!IsThere(GetParam().engine)) GTEST_SKIP() << kNoEngine;
  const Setting engine("BELAY_COLLECTIVE_ENGINE", GetParam().engine);
  const uint32_t killed = GetParam().rank;
  std::vector<std::unique_ptr<OtherProcess>> others;
  for (uint32_t rank = 0; rank + 1 < kRanks; ++rank) {
    others.push_back(std::make_unique<OtherProcess>([rank](Channel& channel) {
      const Setting machine("BELAY_COLLECTIVE_HOST", MachineOf(rank));
      BeRank(channel, rank);
    }));
  }
  const Setting machine("BELAY_COLLECTIVE_HOST", MachineOf(kRanks - 1));
  Start();
  EXPECT_REFUSED(100000, aclrtFree(nullptr), "null");  // the first error opens the log, which stays open
  const size_t files = CountFiles();
  const auto root = others[0]->channel.Receive<HcclRootInfo>();
  for (auto& other : others) other->channel.Send(root);
  std::thread kills([&] {
    for (auto& other : others) other->channel.Receive<int>();
    others[killed]->Kill();
  });
  const Work work = NewWork(Join(root, kRanks, kRanks - 1));
  const std::string wanted = "rank " + std::to_string(killed) + " of communicator";
  EXPECT_THAT(WorkUntilItFails(work, [] {}).text, testing::HasSubstr(wanted));
  kills.join();
  const HcclRootInfo next = NewRoot();
  uint32_t number = 0;
  for (uint32_t rank = 0; rank + 1 < kRanks; ++rank) {
    if (rank == killed) continue;
    Channel& channel = others[rank]->channel;
    EXPECT_THAT(channel.Receive<Said>().text, testing::HasSubstr(wanted));
    channel.Send(next);
    channel.Send(number++);
  }
  SumOnce(Join(next, kRanks - 1, number));
  for (auto& other : others) other->Join();
  EXPECT_OK(aclFinalize());
  EXPECT_EQ(CountFiles(), files) << "open files";
}

INSTANTIATE_TEST_SUITE_P(Each, KilledRanks,
                         testing::Values(Killed{0, false, "tcp"}, Killed{1, false, "tcp"},
                                         Killed{2, false, "tcp"}, Killed{0, true, "tcp"},
                                         Killed{1, true, "tcp"}, Killed{2, true, "tcp"},
                                         Killed{0, true, "ucx"}, Killed{1, true, "ucx"},
                                         Killed{2, true, "ucx"}));

}  // namespace
}  // namespace conformance
