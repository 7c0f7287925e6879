// Ranks on several machines: processes that only have a network between them, be it that a setting says so or
// that they are in network namespaces of their own.
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ranks.h"
#include "temp_file.h"

namespace conformance {
namespace {

constexpr uint64_t kMuch = 50'000;

struct Buffers {
  float* in = nullptr;
  float* out = nullptr;
  aclrtStream stream = nullptr;

  explicit Buffers(uint32_t ranks) {
    EXPECT_OK(aclrtCreateStream(&stream));
    for (float** p : {&in, &out}) {
      EXPECT_OK(
          aclrtMalloc(reinterpret_cast<void**>(p), ranks * kMuch * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
    }
  }
  ~Buffers() {
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtFree(in));
    EXPECT_OK(aclrtFree(out));
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
};

// One of each sort, of little and of much, with what it should give.
void UseGroup(HcclComm comm, uint32_t rank, uint32_t ranks) {
  const Buffers b(ranks);
  for (uint64_t count : {uint64_t{1}, kMuch}) {
    for (uint64_t i = 0; i < ranks * count; ++i) b.in[i] = static_cast<float>(rank * 1000 + i % 997);
    EXPECT_OK(HcclAllReduce(b.in, b.out, count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, b.stream));
    EXPECT_OK(aclrtSynchronizeStream(b.stream));
    const auto ramp = static_cast<float>((count - 1) % 997);
    EXPECT_EQ(b.out[count - 1],
              static_cast<float>(1000 * (ranks * (ranks - 1) / 2)) + ramp * static_cast<float>(ranks));
    EXPECT_OK(HcclAllGather(b.in, b.out, count, HCCL_DATA_TYPE_FP32, comm, b.stream));
    EXPECT_OK(aclrtSynchronizeStream(b.stream));
    for (uint32_t r = 0; r < ranks; ++r)
      EXPECT_EQ(b.out[(r + 1) * count - 1], static_cast<float>(r * 1000) + ramp);
    EXPECT_OK(
        HcclAlltoAll(b.in, count, HCCL_DATA_TYPE_FP32, b.out, count, HCCL_DATA_TYPE_FP32, comm, b.stream));
    EXPECT_OK(aclrtSynchronizeStream(b.stream));
    for (uint32_t r = 0; r < ranks; ++r)
      EXPECT_EQ(b.out[r * count], static_cast<float>(r * 1000 + rank * count % 997));
    const uint32_t next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
    EXPECT_OK(HcclGroupStart());
    EXPECT_OK(HcclSend(b.in, count, HCCL_DATA_TYPE_FP32, next, comm, b.stream));
    EXPECT_OK(HcclRecv(b.out, count, HCCL_DATA_TYPE_FP32, last, comm, b.stream));
    EXPECT_OK(HcclGroupEnd());
    EXPECT_OK(aclrtSynchronizeStream(b.stream));
    EXPECT_EQ(b.out[count - 1], static_cast<float>(last * 1000) + ramp);
  }
}

// Connections of TCP that this process has.
size_t CountConnections() {
  size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(file.path().filename());
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    count += getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) == 0 && peer.ss_family == AF_INET;
  }
  return count;
}
// What two sides have begun at once is closed a moment later.
void AwaitConnections(size_t count) {
  while (CountConnections() != count) std::this_thread::yield();
}

// Runs `body` as each rank, on the machine that `on` names; one that has the name of an engine uses it.
void OnMachines(const std::vector<const char*>& on, const std::function<void(HcclComm, uint32_t)>& body) {
  const auto ranks = static_cast<uint32_t>(on.size());
  std::vector<std::unique_ptr<OtherProcess>> all;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    all.push_back(std::make_unique<OtherProcess>([&, rank](Channel& channel) {
      const Setting machine("BELAY_COLLECTIVE_HOST", on[rank]);
      const bool names_engine = std::string(on[rank]) == "tcp" || std::string(on[rank]) == "ucx";
      if (names_engine) setenv("BELAY_COLLECTIVE_ENGINE", on[rank], 1);
      if (rank == 0) channel.Send(NewRoot());
      body(Join(channel.Receive<HcclRootInfo>(), ranks, rank), rank);
    }));
  }
  const auto root = all[0]->channel.Receive<HcclRootInfo>();
  for (auto& one : all) one->channel.Send(root);
}

class Machines : public testing::Test {};

class MachinesBy : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!IsThere(GetParam())) GTEST_SKIP() << kNoEngine;
  }
  const Setting engine_{"BELAY_COLLECTIVE_ENGINE", GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Engine, MachinesBy, testing::Values("tcp", "ucx"),
                         [](const auto& info) { return std::string(info.param); });

// By each way between them.
TEST_P(MachinesBy, HandOnForOthers) {
  for (const char* way : {"level1:pairwise", "level1:ring", "level1:NHR"}) {
    const Setting algorithm("HCCL_ALGO", way);
    OnMachines({"a", "b", "c", "d", "e", "c"}, [](HcclComm comm, uint32_t rank) {
      UseGroup(comm, rank, 6);
      EXPECT_OK(HcclCommDestroy(comm));
    });
  }
}

TEST_P(MachinesBy, AllSortsOfCalls) {
  for (const std::vector<const char*>& on :
       {std::vector{"a", "b"}, std::vector{"a", "a", "b"}, std::vector{"a", "b", "c", "b"}}) {
    OnMachines(on, [&](HcclComm comm, uint32_t rank) {
      UseGroup(comm, rank, static_cast<uint32_t>(on.size()));
      EXPECT_OK(HcclCommDestroy(comm));
    });
  }
}

// HCCL_ALGO names a way between machines. What is not there is said once and by rank 0. Whatever it asks for,
// the bits are the same: numbers of all sizes, whose sum depends on the order.
TEST_F(Machines, TheAlgorithmsThatAreAskedFor) {
  constexpr const char* kAsked[] = {"",
                                    "level0:NA;level1:ring",
                                    "level0:NA;level1:H-D_R",
                                    "allreduce=level0:NA;level1:NHR/reduce=level0:NA;level1:NB",
                                    "level0:NA;level1:AHC",
                                    "allreduce=level0:NA;level1:ring/reduce=level0:NA;level1:NB"};
  for (const uint64_t count : {uint64_t{5}, kMuch}) {
    OnMachines({"a", "b", "b", "c"}, [count, &kAsked](HcclComm first, uint32_t rank) {
      const Buffers b(4);
      std::vector<float> wanted;
      for (uint64_t i = 0; i < count; ++i)
        b.in[i] =
            std::ldexp(static_cast<float>((i * 7919 + rank * 104729) % 1009), static_cast<int>(rank * 9));
      const auto reduce = [&](HcclComm comm) {
        EXPECT_OK(HcclAllReduce(b.in, b.out, count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, b.stream));
        EXPECT_OK(aclrtSynchronizeStream(b.stream));
        return std::vector<float>(b.out, b.out + count);
      };
      wanted = reduce(first);
      uint32_t ids[] = {0, 1, 2, 3};
      uint64_t part = 1;
      testing::internal::CaptureStderr();
      for (const char* asked : kAsked) {
        for (int again = 0; again < 2; ++again) {
          const Setting algorithm("HCCL_ALGO", asked);
          HcclComm comm = nullptr;
          EXPECT_OK(HcclCreateSubCommConfig(&first, 4, ids, part++, rank, nullptr, &comm));
          EXPECT_EQ(reduce(comm), wanted) << asked;
          EXPECT_OK(HcclCommDestroy(comm));
        }
      }
      const std::string said = testing::internal::GetCapturedStderr();
      EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), rank == 0 ? 2 : 0) << said;
      EXPECT_THAT(said, rank == 0 ? testing::HasSubstr(
                                        "asks for NB for reduce: not there; a communicator has one way")
                                  : testing::HasSubstr(""));
      const Setting unusable("HCCL_ALGO", "level1:star");
      HcclComm comm = nullptr;
      EXPECT_REFUSED(HCCL_E_PARA, HcclCreateSubCommConfig(&first, 4, ids, part, rank, nullptr, &comm),
                     "HCCL_ALGO = 'level1:star' cannot be used: level1 has no 'star'");
      EXPECT_OK(HcclCommDestroy(first));
    });
  }
}

// Of four ranks on two machines in turns: each machine's first, or rank by rank.
float SumOfFour(bool by_rank, const std::function<float(uint32_t rank)>& of) {
  if (by_rank) return ((of(0) + of(1)) + of(2)) + of(3);
  return (of(0) + of(2)) + (of(1) + of(3));
}

// By a setting or a configuration of rank 0. What others ask for does not count.
TEST_F(Machines, TheOrderOfTheRanksIsAskedFor) {
  struct Asked {
    const char* setting;  // of rank 0; the others have another one
    uint32_t config;
    bool by_rank;
  };
  constexpr uint32_t kUnsaid = 0xffffffff;
  OnMachines({"a", "b", "a", "b"}, [](HcclComm whole, uint32_t rank) {
    const auto number = [](uint32_t of, uint64_t i) {
      return std::ldexp(1.0f / static_cast<float>(1 + (i * 7 + of * 13) % 97), static_cast<int>(i * of % 21));
    };
    const Buffers b(4);
    for (uint64_t i = 0; i < kMuch; ++i) b.in[i] = number(rank, i);
    uint64_t part = 1;
    for (const Asked& asked : {Asked{"false", kUnsaid, false},
                               {"true", kUnsaid, true},
                               {"strict", kUnsaid, true},
                               {"false", 1, true},
                               {"true", 0, false}}) {
      const char* const others = asked.by_rank ? "false" : "strict";
      const Setting setting("HCCL_DETERMINISTIC", rank == 0 ? asked.setting : others);
      HcclCommConfig config;
      HcclCommConfigInit(&config);
      if (rank == 0 && asked.config != kUnsaid) config.hcclDeterministic = asked.config;
      uint32_t ids[] = {0, 1, 2, 3};
      HcclComm comm = nullptr;
      EXPECT_OK(HcclCreateSubCommConfig(&whole, 4, ids, part++, rank, &config, &comm));
      for (const uint64_t count : {uint64_t{100}, uint64_t{8000}, kMuch}) {
        EXPECT_OK(HcclAllReduce(b.in, b.out, count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, b.stream));
        EXPECT_OK(aclrtSynchronizeStream(b.stream));
        uint64_t wrong = 0, same = 0;
        for (uint64_t i = 0; i < count; ++i) {
          const auto of = [&](uint32_t each) { return number(each, i); };
          wrong += b.out[i] != SumOfFour(asked.by_rank, of);
          same += b.out[i] == SumOfFour(!asked.by_rank, of);
        }
        EXPECT_EQ(wrong, 0u) << asked.setting << " " << asked.config << " of " << count;
        EXPECT_LT(same, count) << "the orders do not differ";
      }
      EXPECT_OK(HcclCommDestroy(comm));
    }
    EXPECT_OK(HcclCommDestroy(whole));
  });
}

// Of four machines: who sends to the next one is connected to it and to the one before, and to no other.
TEST_F(Machines, AreConnectedOnceTheyHaveSomethingForEachOther) {
  constexpr uint32_t kAll = 4;
  OnMachines({"a", "b", "c", "d"}, [](HcclComm comm, uint32_t rank) {
    const Buffers b(kAll);
    const uint32_t next = (rank + 1) % kAll, last = (rank + kAll - 1) % kAll;
    const auto pass_on = [&] {
      *b.in = static_cast<float>(rank + 1);
      EXPECT_OK(HcclGroupStart());
      EXPECT_OK(HcclSend(b.in, 1, HCCL_DATA_TYPE_FP32, next, comm, b.stream));
      EXPECT_OK(HcclRecv(b.out, 1, HCCL_DATA_TYPE_FP32, last, comm, b.stream));
      EXPECT_OK(HcclGroupEnd());
      EXPECT_OK(aclrtSynchronizeStream(b.stream));
      EXPECT_EQ(*b.out, static_cast<float>(last + 1));
    };
    pass_on();
    AwaitConnections((rank == 0 ? kAll - 1 : 1) + 2);        // the first are those of the meeting point
    for (uint32_t turn = 0; turn < kAll; ++turn) pass_on();  // until all have seen that
    EXPECT_OK(HcclCommDestroy(comm));
  });
}

// Who has left is known to those, too, that have no connection to it, and so on.
TEST_F(Machines, ARankThatLeftWithoutAConnectionIsNamed) {
  OnMachines({"a", "b", "c"}, [](HcclComm comm, uint32_t rank) {
    const Buffers b(3);
    if (rank < 2) {  // the one with the meeting point leaves last
      const HcclResult said = HcclRecv(b.out, 1, HCCL_DATA_TYPE_FP32, rank + 1, comm, b.stream);
      EXPECT_TRUE(said == HCCL_SUCCESS || said == HCCL_E_REMOTE) << said;
      EXPECT_EQ(aclrtSynchronizeStream(b.stream) == ACL_SUCCESS, said == HCCL_E_REMOTE);
      EXPECT_REFUSED(HCCL_E_REMOTE, HcclRecv(b.out, 1, HCCL_DATA_TYPE_FP32, rank + 1, comm, b.stream),
                     rank == 1 ? "rank 2" : "rank [12]");
    }
    EXPECT_OK(HcclCommDestroy(comm));
  });
}

// Across machines, and on one that is not the meeting point's.
TEST_P(MachinesBy, PartsOfAGroup) {
  OnMachines({"a", "b", "b"}, [](HcclComm comm, uint32_t rank) {
    uint32_t across[] = {1, 0}, there[] = {2, 1};
    HcclComm part = nullptr;
    if (rank < 2) {
      EXPECT_OK(HcclCreateSubCommConfig(&comm, 2, across, 7, 1 - rank, nullptr, &part));
      UseGroup(part, 1 - rank, 2);
      EXPECT_OK(HcclCommDestroy(part));
    }
    if (rank > 0) {
      EXPECT_OK(HcclCreateSubCommConfig(&comm, 2, there, 8, 2 - rank, nullptr, &part));
      UseGroup(part, 2 - rank, 2);
      EXPECT_OK(HcclCommDestroy(part));
    }
    UseGroup(comm, rank, 3);
    EXPECT_OK(HcclCommDestroy(comm));
  });
}

TEST_P(MachinesBy, DifferentCallsAreToldToBoth) {
  OnMachines({"a", "b", "b"}, [](HcclComm comm, uint32_t rank) {
    const Buffers b(3);
    if (rank == 2) {
      EXPECT_OK(HcclBroadcast(b.in, 10, HCCL_DATA_TYPE_FP32, 0, comm, b.stream));
    } else {
      EXPECT_OK(HcclAllReduce(b.in, b.out, 10, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, b.stream));
    }
    EXPECT_NE(aclrtSynchronizeStream(b.stream), ACL_SUCCESS);
    const std::string said = TakeMessage();
    EXPECT_THAT(said, testing::HasSubstr("HcclBroadcast (count 10, fp32, root 0)"));
    EXPECT_THAT(said, testing::HasSubstr("HcclAllReduce (count 10, fp32, sum)"));
    EXPECT_OK(HcclCommDestroy(comm));
  });
}

// The one that does not come is named after the time that was set, on the other machine.
TEST_P(MachinesBy, TimeLimits) {
  const Setting limit("HCCL_EXEC_TIMEOUT", "1");
  OnMachines({"a", "b"}, [](HcclComm comm, uint32_t rank) {
    const Buffers b(2);
    if (rank == 0) {
      EXPECT_OK(HcclAllReduce(b.in, b.out, 10, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, b.stream));
      EXPECT_NE(aclrtSynchronizeStream(b.stream), ACL_SUCCESS);
      EXPECT_THAT(TakeMessage(), testing::HasSubstr("waited 1 s in HcclAllReduce"));
    } else {
      while (AsyncErrorOf(comm) == HCCL_SUCCESS) std::this_thread::yield();
      EXPECT_REFUSED(HCCL_E_REMOTE, HcclBarrier(comm, b.stream), "rank 1 has not made it");
    }
    EXPECT_OK(HcclCommDestroy(comm));
  });
}

// One that is stopped in the middle does not hold up the other for longer than was set.
TEST_P(MachinesBy, AStoppedRankIsNamed) {
  const Setting limit("HCCL_EXEC_TIMEOUT", "1");
  const auto be_rank = [](Channel& channel, uint32_t rank) {
    const Setting machine("BELAY_COLLECTIVE_HOST", rank == 0 ? "a" : "b");
    if (rank == 0) channel.Send(NewRoot());
    HcclComm comm = Join(channel.Receive<HcclRootInfo>(), 2, rank);
    const Buffers b(2);
    for (int turn = 0;; ++turn) {
      if (turn == 10) channel.Send(1);
      EXPECT_OK(HcclAllGather(b.in, b.out, kMuch, HCCL_DATA_TYPE_FP32, comm, b.stream));
      if (aclrtSynchronizeStream(b.stream) != ACL_SUCCESS) break;
    }
    EXPECT_THAT(TakeMessage(), testing::HasSubstr("waited 1 s in HcclAllGather"));
    channel.Send(1);
    channel.Receive<int>();
    EXPECT_OK(HcclCommDestroy(comm));
  };
  OtherProcess goes_on([&](Channel& channel) { be_rank(channel, 0); });
  OtherProcess stopped([&](Channel& channel) { be_rank(channel, 1); });
  const auto root = goes_on.channel.Receive<HcclRootInfo>();
  goes_on.channel.Send(root);
  stopped.channel.Send(root);
  goes_on.channel.Receive<int>();
  stopped.channel.Receive<int>();
  kill(stopped.pid(), SIGSTOP);
  EXPECT_EQ(goes_on.channel.Receive<int>(), 1);
  stopped.Kill();
  goes_on.channel.Send(1);
}

// Both are told, whichever of them has which, though one may leave before the other has heard.
TEST_F(Machines, DifferentEngines) {
  if (!IsThere("ucx")) GTEST_SKIP() << kNoEngine;
  for (const bool first_has_ucx : {true, false}) {
    OnMachines({first_has_ucx ? "ucx" : "tcp", first_has_ucx ? "tcp" : "ucx"}, [&](HcclComm comm, uint32_t) {
      const Buffers b(2);
      // The first that needs the other machine, which may have come before.
      const HcclResult said = HcclBarrier(comm, b.stream);
      EXPECT_TRUE(said == HCCL_SUCCESS || said == HCCL_E_REMOTE) << said;
      EXPECT_EQ(aclrtSynchronizeStream(b.stream) == ACL_SUCCESS, said == HCCL_E_REMOTE);
      EXPECT_REFUSED(HCCL_E_REMOTE, HcclBarrier(comm, b.stream), "go between machines by different engines");
      EXPECT_OK(HcclCommDestroy(comm));
    });
  }
}

TEST_F(Machines, EnginesThatAreNotThere) {
  OtherProcess one([](Channel&) {
    HcclComm comm = nullptr;
    int32_t device = 0;
    const HcclRootInfo root = NewRoot();
    const Setting setting("BELAY_COLLECTIVE_ENGINE", "pigeon");
    constexpr const char* kWhy = "BELAY_COLLECTIVE_ENGINE = 'pigeon' cannot be used; set it to tcp or ucx";
    EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitRootInfo(1, &root, 0, &comm), kWhy);
    EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitAll(1, &device, &comm), kWhy);
  });
}

// The first of the 16 ports from HCCL_IF_BASE_PORT on, none of which a test that runs beside this one has.
int PortsOfOurOwn() {
  constexpr int kFirst = 20'000, kRanges = 625, kPorts = 16;
  const auto is_free = [](int port) {
    sockaddr_in at{};
    at.sin_family = AF_INET, at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(static_cast<uint16_t>(port));
    const int tried = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    setsockopt(tried, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);  // who had it before may have ended just now
    const bool bound = bind(tried, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
    close(tried);
    return bound;
  };
  for (int range = getpid();; range += 101) {  // not the next one: it is that of the next process
    const int first = kFirst + range % kRanges * kPorts;
    int free = 0;
    while (free < kPorts && is_free(first + free)) ++free;
    if (free == kPorts) return first;
  }
}

// The table says where rank 0 is, and who shares a machine.
TEST_P(MachinesBy, ARankTableOfSeveralServers) {
  const std::string table =
      R"({"version":"1.0","status":"completed","server_count":"2","server_list":[{"server_id":"127.0.0.1","device":[)"
      R"({"device_id":"0","device_ip":"198.18.0.0","rank_id":"0"},)"
      R"({"device_id":"1","device_ip":"198.18.0.2","rank_id":"2"}]},{"server_id":"b_)" +
      std::to_string(getpid()) +
      R"(","device":[{"device_id":"0","device_ip":"198.18.0.1","rank_id":"1"},)"
      R"({"device_id":"1","device_ip":"198.18.0.3","rank_id":"3"}]}]})";
  const TempFile file(table);
  const Setting port("HCCL_IF_BASE_PORT", std::to_string(PortsOfOurOwn()).c_str());
  const auto be_rank = [&](uint32_t rank) {
    HcclComm comm = nullptr, part = nullptr;
    EXPECT_OK(HcclCommInitClusterInfo(file.path(), rank, &comm));
    UseGroup(comm, rank, 4);
    uint32_t ids[] = {1, 3};
    if (rank % 2 == 1) {
      EXPECT_OK(HcclCreateSubCommConfig(&comm, 2, ids, 1, rank / 2, nullptr, &part));
      UseGroup(part, rank / 2, 2);
      EXPECT_OK(HcclCommDestroy(part));
    }
    UseGroup(comm, rank, 4);  // rank 0, where parts meet, stays until they have
    EXPECT_OK(HcclCommDestroy(comm));
  };
  for (int turn = 0; turn < 3; ++turn) {  // on the same port
    std::vector<std::unique_ptr<OtherProcess>> all;
    for (uint32_t rank = 0; rank < 4; ++rank)
      all.push_back(std::make_unique<OtherProcess>([&, rank](Channel&) { be_rank(rank); }));
  }
}

// --- in network namespaces

bool Shell(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

// The process's own one, in which nothing is there yet but loopback. UCX asks /sys what there is.
bool NewNetwork() {
  return unshare(CLONE_NEWNET | CLONE_NEWNS) == 0 && Shell("mount --make-rprivate /") &&
         Shell("mount -t sysfs sysfs /sys") && Shell("ip link set lo up");
}

// What it goes to is up as well, and the system has taken note of that, which UCX wants.
void AwaitRunning(const char* interface) {
  const int asked = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::strncpy(request.ifr_name, interface, sizeof request.ifr_name - 1);
  while (ioctl(asked, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_RUNNING) == 0)
    std::this_thread::yield();
  close(asked);
}

TEST_P(MachinesBy, InNetworksOfTheirOwn) {
  const bool ucx = std::string(GetParam()) == "ucx";
  OtherProcess one([ucx](Channel& channel) {
    const bool made = NewNetwork();
    channel.Send(made);
    const int other = channel.Receive<int>();
    if (other == 0) return;
    const bool linked =
        Shell("ip link add belay0 type veth peer name belay1 netns " + std::to_string(other)) &&
        Shell("ip addr add 10.77.0.1/24 dev belay0") && Shell("ip link set belay0 up");
    channel.Send(linked);
    if (!channel.Receive<bool>()) return;
    if (ucx) AwaitRunning("belay0");
    const Setting interface("HCCL_SOCKET_IFNAME", "belay0");
    const HcclRootInfo root = NewRoot();
    channel.Send(root);
    HcclComm comm = Join(root, 2, 0);
    UseGroup(comm, 0, 2);
    EXPECT_OK(HcclCommDestroy(comm));
  });
  OtherProcess two([ucx](Channel& channel) {
    const bool made = NewNetwork();
    channel.Send(made);
    if (!channel.Receive<bool>()) return;
    EXPECT_TRUE(Shell("ip addr add 10.77.0.2/24 dev belay1") && Shell("ip link set belay1 up"));
    if (ucx) AwaitRunning("belay1");
    channel.Send(true);
    HcclComm comm = Join(channel.Receive<HcclRootInfo>(), 2, 1);
    UseGroup(comm, 1, 2);
    EXPECT_OK(HcclCommDestroy(comm));
  });
  const bool made = one.channel.Receive<bool>() & two.channel.Receive<bool>();
  one.channel.Send(made ? two.pid() : 0);
  const bool linked = made && one.channel.Receive<bool>();
  two.channel.Send(linked);
  if (made) one.channel.Send(linked && two.channel.Receive<bool>());
  if (!linked) GTEST_SKIP() << "no network namespaces here: they want CAP_SYS_ADMIN, ip(8) and veth";
  two.channel.Send(one.channel.Receive<HcclRootInfo>());
}

}  // namespace
}  // namespace conformance
