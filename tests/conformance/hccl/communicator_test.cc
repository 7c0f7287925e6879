// How ranks find each other, what a communicator says of itself, and its end.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <memory>
#include <set>

#include "ranks.h"
#include "temp_file.h"

namespace conformance {
namespace {

class Communicators : public Started {};

TEST_F(Communicators, ThreadsMeetByARootInfo) {
  const std::vector<HcclComm> comms = Meet(3);
  std::set<std::string> names;
  for (uint32_t i = 0; i < 3; ++i) {
    uint32_t size = 0, rank = 7;
    char name[COMM_NAME_MAX_LENGTH] = "";
    EXPECT_OK(HcclGetRankSize(comms[i], &size));
    EXPECT_OK(HcclGetRankId(comms[i], &rank));
    EXPECT_OK(HcclGetCommName(comms[i], name));
    EXPECT_EQ(size, 3u);
    EXPECT_EQ(rank, i);
    EXPECT_EQ(AsyncErrorOf(comms[i]), HCCL_SUCCESS);
    names.insert(name);
  }
  EXPECT_EQ(names.size(), 1u);
  for (HcclComm comm : comms) EXPECT_OK(HcclCommDestroy(comm));
  EXPECT_REFUSED(HCCL_E_PARA, HcclCommDestroy(comms[0]), "not a communicator");
}

TEST_F(Communicators, ArgumentsAreChecked) {
  HcclRootInfo root = NewRoot();
  HcclComm comm = nullptr;
  EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitRootInfo(2, &root, 2, &comm), "rank 2 of 2");
  EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitRootInfo(0, &root, 0, &comm), "rank 0 of 0");
  EXPECT_REFUSED(HCCL_E_PTR, HcclCommInitRootInfo(2, nullptr, 0, &comm), "rootInfo");
  EXPECT_REFUSED(HCCL_E_PTR, HcclCommInitRootInfo(2, &root, 0, nullptr), "comm");
  HcclRootInfo changed = root;
  changed.internal[20] ^= 1;
  EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitRootInfo(2, &changed, 0, &comm), "changed on its way");
  const HcclRootInfo empty = {};
  EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitRootInfo(2, &empty, 0, &comm), "HcclGetRootInfo");
  Setting setting("HCCL_CONNECT_TIMEOUT", "soon");
  EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitRootInfo(2, &root, 0, &comm), "HCCL_CONNECT_TIMEOUT = 'soon'");
}

HcclCommConfig NewConfig() {
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  return config;
}

HcclComm JoinAtSeveral(const std::vector<HcclRootInfo>& roots, uint32_t ranks, uint32_t rank) {
  HcclComm comm = nullptr;
  const HcclCommConfig config = NewConfig();
  EXPECT_OK(HcclCommInitRootInfoScalable(ranks, static_cast<uint32_t>(roots.size()), roots.data(), rank, 0,
                                         &config, &comm));
  return comm;
}

TEST_F(Communicators, SeveralRootsAreOneGroup) {
  std::vector<HcclRootInfo> roots(2);
  for (HcclRootInfo& root : roots) EXPECT_OK(HcclGetRootInfoScalable(&root));
  std::vector<HcclComm> comms(4);
  AsRanks(4, [&](uint32_t rank) { comms[rank] = JoinAtSeveral(roots, 4, rank); });
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t size = 0, rank = 7;
    EXPECT_OK(HcclGetRankSize(comms[i], &size));
    EXPECT_OK(HcclGetRankId(comms[i], &rank));
    EXPECT_EQ(size, 4u);
    EXPECT_EQ(rank, i);
  }
  // Nobody waits at the second any more.
  HcclComm comm = nullptr;
  EXPECT_REFUSED(HCCL_E_TCP_CONNECT, HcclCommInitRootInfo(1, &roots[1], 0, &comm), "HcclGetRootInfo");
  for (HcclComm each : comms) EXPECT_OK(HcclCommDestroy(each));
}

TEST_F(Communicators, ArgumentsOfSeveralRootsAreChecked) {
  std::vector<HcclRootInfo> roots(2);
  for (HcclRootInfo& root : roots) EXPECT_OK(HcclGetRootInfoScalable(&root));
  const HcclCommConfig config = NewConfig(), none = {};
  HcclComm comm = nullptr;
  const HcclRootInfo* list = roots.data();
  EXPECT_REFUSED(HCCL_E_PTR, HcclGetRootInfoScalable(nullptr), "rootInfo");
  EXPECT_REFUSED(HCCL_E_PTR, HcclCommInitRootInfoScalable(2, 2, nullptr, 0, 0, &config, &comm),
                 "rootInfoList");
  EXPECT_REFUSED(HCCL_E_PTR, HcclCommInitRootInfoScalable(2, 2, list, 0, 0, nullptr, &comm), "config");
  EXPECT_REFUSED(HCCL_E_PTR, HcclCommInitRootInfoScalable(2, 2, list, 0, 0, &config, nullptr), "comm");
  EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitRootInfoScalable(2, 0, list, 0, 0, &config, &comm), "nRoots is 0");
  EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitRootInfoScalable(1, 2, list, 0, 0, &config, &comm), "nRoots is 2");
  EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitRootInfoScalable(2, 2, list, 0, 1, &config, &comm), "reserved 1");
  EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitRootInfoScalable(2, 2, list, 2, 0, &config, &comm), "rank 2 of 2");
  EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitRootInfoScalable(2, 2, list, 0, 0, &none, &comm),
                 "HcclCommConfigInit");
  roots[1] = {};
  EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitRootInfoScalable(2, 2, list, 0, 0, &config, &comm),
                 "HcclGetRootInfo");
  roots.resize(1);
  EXPECT_OK(HcclCommDestroy(JoinAtSeveral(roots, 1, 0)));
}

TEST_F(Communicators, AnAddressOfAnotherMachineIsNoPlaceToMeet) {
  Setting setting("HCCL_IF_IP", "203.0.113.9");  // of nobody: it is for examples
  HcclRootInfo root = {};
  EXPECT_REFUSED(HCCL_E_NETWORK, HcclGetRootInfo(&root), "let HCCL_IF_IP");
}

TEST_F(Communicators, ARootInfoServesOnce) {
  const HcclRootInfo root = NewRoot();
  HcclComm comm = Join(root, 1, 0);
  HcclComm other = nullptr;
  EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitRootInfo(1, &root, 0, &other), "met already");
  EXPECT_OK(HcclCommDestroy(comm));
}

// All are told, not only the one that came last.
TEST_F(Communicators, RanksThatDisagreeAreAllTold) {
  const HcclRootInfo root = NewRoot();
  AsRanks(2, [&](uint32_t rank) {
    HcclComm comm = nullptr;
    EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitRootInfo(2 + rank, &root, rank, &comm),
                   "(are [23] ranks|said [23])");
  });
  const HcclRootInfo second = NewRoot();
  AsRanks(2, [&](uint32_t) {
    HcclComm comm = nullptr;
    EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitRootInfo(3, &second, 1, &comm), "rank 1 came twice");
  });
}

TEST_F(Communicators, MissingRanksAreNamed) {
  const HcclRootInfo root = NewRoot();
  Setting setting("HCCL_CONNECT_TIMEOUT", "1");
  HcclComm comm = nullptr;
  EXPECT_REFUSED(HCCL_E_TIMEOUT, HcclCommInitRootInfo(4, &root, 2, &comm),
                 "ranks 0, 1, 3 of 4 did not come within 1 s \\(HCCL_CONNECT_TIMEOUT\\); here are 2");
}

TEST_F(Communicators, FinalizeSetsThoseFreeThatWait) {
  const HcclRootInfo root = NewRoot();
  std::atomic<pid_t> id{0};
  std::thread waits([&] {
    EXPECT_OK(aclrtSetDevice(0));
    HcclComm comm = nullptr;
    id = gettid();
    EXPECT_EQ(HcclCommInitRootInfo(2, &root, 0, &comm), HCCL_E_RUNTIME);
    EXPECT_THAT(TakeMessage(), testing::HasSubstr("aclFinalize"));
  });
  while (id == 0) std::this_thread::yield();
  AwaitInPoll(id);
  EXPECT_OK(aclFinalize());
  waits.join();
}

// Communicators end with the runtime, and a new one begins afresh.
TEST_F(Communicators, FinalizeEndsThem) {
  std::vector<HcclComm> comms = Meet(2);
  EXPECT_OK(aclFinalize());
  uint32_t size = 0;
  EXPECT_REFUSED(HCCL_E_RUNTIME, HcclGetRankSize(comms[0], &size), "aclFinalize");
  ASSERT_OK(aclInit(nullptr));
  ASSERT_OK(aclrtSetDevice(0));
  EXPECT_REFUSED(HCCL_E_PARA, HcclGetRankSize(comms[0], &size), "not a communicator");
  for (HcclComm comm : Meet(2)) EXPECT_OK(HcclCommDestroy(comm));
}

TEST_F(Communicators, OneProcessTakesAllItsDevices) {
  int32_t devices[] = {1, 0};
  HcclComm comms[2] = {};
  EXPECT_OK(HcclCommInitAll(2, devices, comms));
  uint32_t rank = 7;
  EXPECT_OK(HcclGetRankId(comms[1], &rank));
  EXPECT_EQ(rank, 1u);
  for (HcclComm comm : comms) EXPECT_OK(HcclCommDestroy(comm));
  int32_t twice[] = {1, 1};
  EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitAll(2, twice, comms), "device 1 twice");
  int32_t none[] = {0, 99};
  EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitAll(2, none, comms), "99");
  EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitAll(0, devices, comms), "ndev is 0");
  EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitAll(3, devices, comms), "there are 2 devices");
}

TEST_F(Communicators, OneThreadMakesSeveralInAGroup) {
  const HcclRootInfo root = NewRoot();
  std::vector<HcclComm> comms(3);
  EXPECT_OK(HcclGroupStart());
  for (uint32_t rank = 0; rank < 3; ++rank) {
    EXPECT_OK(aclrtSetDevice(static_cast<int>(rank % 2)));
    EXPECT_OK(HcclCommInitRootInfo(3, &root, rank, &comms[rank]));
    EXPECT_EQ(comms[rank], nullptr);
  }
  EXPECT_OK(HcclGroupEnd());
  for (uint32_t rank = 0; rank < 3; ++rank) {
    uint32_t is = 7;
    EXPECT_OK(HcclGetRankId(comms[rank], &is));
    EXPECT_EQ(is, rank);
    EXPECT_OK(HcclCommDestroy(comms[rank]));
  }
}

TEST_F(Communicators, PartsOfAGroup) {
  const std::vector<HcclComm> comms = Meet(3);
  std::vector<HcclComm> parts(3);
  uint32_t ids[] = {2, 0};
  AsRanks(3, [&](uint32_t rank) {
    HcclComm whole = comms[rank];
    if (rank == 1) return;
    EXPECT_OK(HcclCreateSubCommConfig(&whole, 2, ids, 5, rank == 2 ? 0 : 1, nullptr, &parts[rank]));
  });
  uint32_t rank = 7, size = 0;
  EXPECT_OK(HcclGetRankId(parts[0], &rank));
  EXPECT_OK(HcclGetRankSize(parts[0], &size));
  EXPECT_EQ(rank, 1u);
  EXPECT_EQ(size, 2u);
  HcclComm whole = comms[0], part = nullptr;
  uint32_t twice[] = {0, 0}, strange[] = {0, 9};
  EXPECT_REFUSED(HCCL_E_PARA, HcclCreateSubCommConfig(&whole, 2, twice, 6, 0, nullptr, &part), "rank 0 of 3");
  EXPECT_REFUSED(HCCL_E_PARA, HcclCreateSubCommConfig(&whole, 2, strange, 6, 0, nullptr, &part),
                 "rank 9 of 3");
  EXPECT_REFUSED(HCCL_E_PARA, HcclCreateSubCommConfig(&whole, 2, ids, 6, 0, nullptr, &part),
                 "subCommRankId is 0");
  EXPECT_REFUSED(HCCL_E_PARA, HcclCreateSubCommConfig(&whole, 4, ids, 6, 0, nullptr, &part), "rankNum is 4");
  for (HcclComm comm : comms) EXPECT_OK(HcclCommDestroy(comm));  // parts live on
  EXPECT_OK(HcclGetRankSize(parts[2], &size));
  EXPECT_OK(HcclCommDestroy(parts[0]));
  EXPECT_OK(HcclCommDestroy(parts[2]));
}

TEST_F(Communicators, PartsAreNamedByTheirNumber) {
  const std::vector<HcclComm> comms = Meet(2);
  uint32_t ids[] = {0};
  HcclComm whole = comms[0], first = nullptr, second = nullptr, named = nullptr;
  ASSERT_OK(HcclCreateSubCommConfig(&whole, 1, ids, 5, 0, nullptr, &first));
  char name[COMM_NAME_MAX_LENGTH] = {}, of_whole[COMM_NAME_MAX_LENGTH] = {};
  EXPECT_OK(HcclGetCommName(whole, of_whole));
  EXPECT_OK(HcclGetCommName(first, name));
  EXPECT_EQ(std::string(name), std::string(of_whole) + "_sub_5");
  EXPECT_REFUSED(HCCL_E_PARA, HcclCreateSubCommConfig(&whole, 1, ids, 5, 0, nullptr, &second), "subCommId 5");
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  std::strcpy(config.hcclCommName, "of one");
  EXPECT_OK(HcclCreateSubCommConfig(&whole, 1, ids, 5, 0, &config, &named));
  EXPECT_OK(HcclCommDestroy(named));
  EXPECT_OK(HcclCommDestroy(first));
  EXPECT_OK(HcclCreateSubCommConfig(&whole, 1, ids, 5, 0, nullptr, &second));  // the number is free again
  EXPECT_REFUSED(HCCL_E_NOT_SUPPORT, HcclCreateSubCommConfig(&second, 1, ids, 6, 0, nullptr, &first),
                 "part of another communicator");
  EXPECT_OK(HcclCommDestroy(second));
  for (HcclComm comm : comms) EXPECT_OK(HcclCommDestroy(comm));
}

TEST_F(Communicators, WhoIsInNoPartSaysSo) {
  const std::vector<HcclComm> comms = Meet(2);
  HcclComm whole = comms[1], part = comms[1];
  EXPECT_OK(HcclCreateSubCommConfig(&whole, 1, nullptr, 0xffffffff, 0, nullptr, &part));
  EXPECT_EQ(part, nullptr);
  EXPECT_REFUSED(HCCL_E_PTR, HcclCreateSubCommConfig(&whole, 1, nullptr, 3, 0, nullptr, &part), "rankIds");
  for (HcclComm comm : comms) EXPECT_OK(HcclCommDestroy(comm));
}

// The ranks of a new group give these lists for one part, `late` of them after the others were refused.
void GiveLists(const std::vector<std::vector<uint32_t>>& lists, uint32_t late, const char* told) {
  const auto ranks = static_cast<uint32_t>(lists.size());
  const std::vector<HcclComm> comms = Meet(ranks);
  const auto give = [&](uint32_t rank) {
    std::vector<uint32_t> ids = lists[rank];
    const auto own = static_cast<uint32_t>(std::find(ids.begin(), ids.end(), rank) - ids.begin());
    HcclComm whole = comms[rank], part = nullptr;
    EXPECT_REFUSED(HCCL_E_PARA,
                   HcclCreateSubCommConfig(&whole, static_cast<uint32_t>(ids.size()), ids.data(), 9, own,
                                           nullptr, &part),
                   told);
  };
  AsRanks(ranks - late, give);
  for (uint32_t rank = ranks - late; rank < ranks; ++rank) give(rank);
  AsRanks(ranks, [&](uint32_t rank) {  // and all may try again
    uint32_t ids[] = {0, 1};
    HcclComm whole = comms[rank], part = nullptr;
    if (rank > 1) return;
    EXPECT_OK(HcclCreateSubCommConfig(&whole, 2, ids, 9, rank, nullptr, &part));
    EXPECT_OK(HcclCommDestroy(part));
  });
  for (HcclComm comm : comms) EXPECT_OK(HcclCommDestroy(comm));
}

TEST_F(Communicators, ListsOfAPartThatDifferAreToldAtOnce) {
  GiveLists({{0, 1}, {1, 0}}, 0, "ranks 0, 1, in another order");
  GiveLists({{0, 1}, {0, 1, 2}, {0, 1, 2}}, 0, "ranks 0, 1, 2");
  GiveLists({{0, 1}, {0, 1, 2}, {0, 1, 2}}, 1, "ranks 0, 1, 2");
}

// One number for parts that have no rank in common is nobody's mistake: each rank knows one of them.
TEST_F(Communicators, PartsApartMayHaveOneNumber) {
  const std::vector<HcclComm> comms = Meet(4);
  AsRanks(4, [&](uint32_t rank) {
    uint32_t ids[] = {rank % 2, rank % 2 + 2};
    HcclComm whole = comms[rank], part = nullptr;
    EXPECT_OK(HcclCreateSubCommConfig(&whole, 2, ids, 9, rank / 2, nullptr, &part));
    EXPECT_OK(HcclCommDestroy(part));
  });
  for (HcclComm comm : comms) EXPECT_OK(HcclCommDestroy(comm));
}

// --- rank tables

// Ranks meet by what the table says: other processes that run this test have tables of their own.
std::string Table(const std::string& version, const std::string& second_server = "") {
  const std::string server = "node_0_of_" + std::to_string(getpid());
  return R"({"version":")" + version + R"(","status":"completed","server_count":")" +
         (second_server.empty() ? "1" : "2") + R"(","server_list":[{"server_id":")" + server +
         R"(","host_ip":"127.0.0.1","device":[)"
         R"({"device_id":"0","super_device_id":"0","device_ip":"192.168.1.8","rank_id":"0"},)"
         R"({"device_id":"1","super_device_id":"1","device_ip":"192.168.1.9","rank_id":"1"}]})" +
         second_server + R"(],"super_pod_list":[{"super_pod_id":"0","server_list":[{"server_id":")" + server +
         R"("}]}]})";
}

TEST_F(Communicators, RankTables) {
  for (const char* version : {"1.0", "1.2", "1.0"}) {
    const TempFile file(Table(version));
    std::vector<HcclComm> comms(2);
    AsRanks(2, [&](uint32_t rank) { EXPECT_OK(HcclCommInitClusterInfo(file.path(), rank, &comms[rank])); });
    uint32_t size = 0;
    EXPECT_OK(HcclGetRankSize(comms[1], &size));
    EXPECT_EQ(size, 2u);
    for (HcclComm comm : comms) EXPECT_OK(HcclCommDestroy(comm));
  }
}

TEST_F(Communicators, RankTablesThatCannotBeUsed) {
  HcclComm comm = nullptr;
  EXPECT_REFUSED(HCCL_E_OPEN_FILE_FAILURE, HcclCommInitClusterInfo("/nonexistent", 0, &comm), "/nonexistent");
  EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitClusterInfo("", 0, &comm), "1 to 4095");
  EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitClusterInfo(std::string(5000, 'x').c_str(), 0, &comm), "1 to 4095");
  const TempFile good(Table("1.0")), strange(Table("3.0")), words("rank 0: here");
  EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitClusterInfo(strange.path(), 0, &comm), "version is '3.0'");
  EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitClusterInfo(words.path(), 0, &comm), "no JSON");
  EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitClusterInfo(good.path(), 2, &comm), "rank 2 of 2");
  std::string nowhere = Table(
      "1.0",
      R"(,{"server_id":"node_1","device":[{"device_id":"0","device_ip":"192.168.2.8","rank_id":"2"}]})");
  nowhere.replace(nowhere.find("host_ip"), 7, "comment");
  const TempFile unknown(nowhere);
  EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitClusterInfo(unknown.path(), 0, &comm), "where server 'node_0");
  Setting setting("HCCL_CONNECT_TIMEOUT", "1");
  EXPECT_REFUSED(HCCL_E_TIMEOUT, HcclCommInitClusterInfo(good.path(), 1, &comm), "rank 0 did not come");
}

// --- configurations

TEST_F(Communicators, ConfigurationsOfEverySize) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* pages =
      static_cast<char*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages + page, page, PROT_NONE), 0);
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  std::strcpy(config.hcclCommName, "a_name");
  for (uint64_t size : {32, 160, 288, 300, 2104, 2232, 2240}) {
    std::memcpy(config.reserved, &size, sizeof size);
    char* at = pages + page - size;  // the first byte behind it cannot be read
    std::memcpy(at, &config, size);
    const HcclRootInfo root = NewRoot();
    HcclComm comm = nullptr;
    EXPECT_OK(HcclCommInitRootInfoConfig(1, &root, 0, reinterpret_cast<HcclCommConfig*>(at), &comm));
    char name[COMM_NAME_MAX_LENGTH] = "";
    EXPECT_OK(HcclGetCommName(comm, name));
    EXPECT_EQ(std::string(name) == "a_name", size >= 160) << size << " " << name;
    EXPECT_OK(HcclCommDestroy(comm));
  }
  munmap(pages, 2 * page);
}

// What is left as HcclCommConfigInit puts it is said by the environment; hccl page 0047.
TEST_F(Communicators, AConfigurationOfTheNewestHeader) {
  EXPECT_GT(HcclGetCommConfigCapability(), static_cast<uint32_t>(HCCL_COMM_CONFIG_BUFFER_NAME));
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  EXPECT_EQ(config.hcclRdmaTrafficClass, 0xffffffffu);
  EXPECT_EQ(config.hcclRdmaServiceLevel, 0xffffffffu);
  std::strcpy(config.hcclBufferName, "shared");
  config.hcclSymWinMaxMemSizePerRank = 1;
  const HcclRootInfo root = NewRoot();
  HcclComm comm = nullptr;
  EXPECT_OK(HcclCommInitRootInfoConfig(1, &root, 0, &config, &comm));
  EXPECT_OK(HcclCommDestroy(comm));
}

TEST_F(Communicators, ConfigurationsThatCannotBeUsed) {
  const HcclRootInfo root = NewRoot();
  HcclComm comm = nullptr;
  HcclCommConfig config = {};
  const auto refused = [&](const char* words) {
    EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitRootInfoConfig(1, &root, 0, &config, &comm), words);
  };
  refused("HcclCommConfigInit");
  HcclCommConfigInit(&config);
  config.hcclDeterministic = 3;
  refused("hcclDeterministic is 3");
  HcclCommConfigInit(&config);
  config.hcclExecTimeOut = -7;
  refused("hcclExecTimeOut is -7");
  HcclCommConfigInit(&config);
  config.hcclBufferSize = 0;
  refused("hcclBufferSize is 0");
  HcclCommConfigInit(&config);
  std::memset(config.hcclCommName, 'x', sizeof config.hcclCommName);
  refused("has no end");
  HcclCommConfigInit(&config);
  std::strcpy(config.hcclAlgo, "level1:star");
  refused("hcclAlgo = 'level1:star'");
  std::memset(config.hcclAlgo, 'x', sizeof config.hcclAlgo);
  refused("hcclAlgo has no end");
  HcclCommConfigInit(&config);
  std::memset(config.hcclCommName, 'x', sizeof config.hcclCommName);
  const TempFile table(Table("1.0"));
  EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitClusterInfoConfig(table.path(), 0, &config, &comm), "has no end");
}

TEST_F(Communicators, BufferSizes) {
  HcclComm comm = nullptr;
  for (const char* wrong : {"0", "-1", "1.5", "200MB", " 200", "0x10", "4294967296"}) {
    const HcclRootInfo root = NewRoot();
    Setting setting("HCCL_BUFFSIZE", wrong);
    EXPECT_REFUSED(HCCL_E_PARA, HcclCommInitRootInfo(1, &root, 0, &comm), "HCCL_BUFFSIZE");
  }
  for (const char* right : {"1", "2147483647"}) {
    const HcclRootInfo root = NewRoot();
    Setting setting("HCCL_BUFFSIZE", right);
    EXPECT_OK(HcclCommInitRootInfo(1, &root, 0, &comm));
    EXPECT_OK(HcclCommDestroy(comm));
  }
}

TEST(CommunicatorsWithoutRuntime, Settings) {
  EXPECT_EQ(HcclGetCommConfigCapability(), static_cast<uint32_t>(HCCL_COMM_CONFIG_RESERVED));
  std::set<std::string> texts;
  for (int code = 0; code <= HCCL_E_SUSPENDING; ++code)
    texts.insert(HcclGetErrorString(static_cast<HcclResult>(code)));
  EXPECT_EQ(texts.size(), 23u);
  EXPECT_NE(HcclGetErrorString(static_cast<HcclResult>(-1)), nullptr);
  // What is set counts from then on, for all communicators that the process makes.
  OtherProcess([](Channel&) {
    HcclConfigValue value = {2};
    EXPECT_OK(HcclSetConfig(HCCL_DETERMINISTIC, value));
    HcclConfigValue got = {9};
    EXPECT_OK(HcclGetConfig(HCCL_DETERMINISTIC, &got));
    EXPECT_EQ(got.value, 2);
    value.value = 3;
    EXPECT_REFUSED(HCCL_E_PARA, HcclSetConfig(HCCL_DETERMINISTIC, value), "config 0 = 3");
    EXPECT_REFUSED(HCCL_E_PARA, HcclGetConfig(HCCL_CONFIG_RESERVED, &got), "config is 1");
  });
}

// --- processes

class CommunicatorsOfProcesses : public Sharing {};

// The other process, as rank 1 of two, until it is told to end.
void BeRankOne(Channel& channel, bool destroys) {
  const auto root = channel.Receive<HcclRootInfo>();
  HcclComm comm = Join(root, 2, 1);
  channel.Send(1);
  channel.Receive<int>();
  if (destroys) {
    EXPECT_OK(HcclCommDestroy(comm));
  }
}

TEST_F(CommunicatorsOfProcesses, MeetAndLeaveNothing) {
  OtherProcess other([](Channel& channel) { BeRankOne(channel, true); });
  Start();
  NothingStays nothing;
  const HcclRootInfo root = NewRoot();
  other.channel.Send(root);
  HcclComm comm = Join(root, 2, 0);
  other.channel.Receive<int>();
  EXPECT_EQ(AsyncErrorOf(comm), HCCL_SUCCESS);
  EXPECT_OK(HcclCommDestroy(comm));
  other.channel.Send(1);
  other.Join();
  EXPECT_OK(aclFinalize());
}

TEST_F(CommunicatorsOfProcesses, AKilledRankIsNoticed) {
  OtherProcess other([](Channel& channel) { BeRankOne(channel, true); });
  Start();
  const HcclRootInfo root = NewRoot();
  other.channel.Send(root);
  HcclComm comm = Join(root, 2, 0);
  other.channel.Receive<int>();
  other.Kill();
  while (AsyncErrorOf(comm) == HCCL_SUCCESS) std::this_thread::yield();
  EXPECT_EQ(AsyncErrorOf(comm), HCCL_E_REMOTE);
  EXPECT_REFUSED(HCCL_E_REMOTE, HcclBarrier(comm, nullptr), "rank 1 of communicator");
  EXPECT_OK(HcclCommDestroy(comm));
}

// A child that the rank has forked holds its sockets open, as the workers of a data loader do.
TEST_F(CommunicatorsOfProcesses, AKilledRankIsNoticedThatHadForked) {
  OtherProcess other([](Channel& channel) {
    const auto root = channel.Receive<HcclRootInfo>();
    Join(root, 2, 1);
    if (fork() == 0) {
      channel.Receive<int>();  // until the test ends
      _exit(0);
    }
    channel.Send(1);
    pause();
  });
  Start();
  const HcclRootInfo root = NewRoot();
  other.channel.Send(root);
  HcclComm comm = Join(root, 2, 0);
  other.channel.Receive<int>();
  other.Kill();
  while (AsyncErrorOf(comm) == HCCL_SUCCESS) std::this_thread::yield();
  EXPECT_OK(HcclCommDestroy(comm));
}

// The process of the root info is a rank like the others.
TEST_F(CommunicatorsOfProcesses, AKilledRootIsNoticed) {
  OtherProcess other([](Channel& channel) {
    const HcclRootInfo root = NewRoot();
    channel.Send(root);
    Join(root, 2, 0);
    channel.Send(1);
    pause();
  });
  Start();
  const auto root = other.channel.Receive<HcclRootInfo>();
  HcclComm comm = Join(root, 2, 1);
  other.channel.Receive<int>();
  other.Kill();
  while (AsyncErrorOf(comm) == HCCL_SUCCESS) std::this_thread::yield();
  EXPECT_REFUSED(HCCL_E_REMOTE, HcclBarrier(comm, nullptr), "rank 0 of communicator");
  EXPECT_OK(HcclCommDestroy(comm));
}

// It leaves, and has ended before its meeting point could tell.
TEST_F(CommunicatorsOfProcesses, ARootThatLeavesAndEndsAtOnceIsNoFailure) {
  std::vector<std::unique_ptr<OtherProcess>> others;
  for (int i = 0; i < 8; ++i) {
    others.push_back(std::make_unique<OtherProcess>([](Channel& channel) {
      const HcclRootInfo root = NewRoot();
      channel.Send(root);
      HcclComm comm = Join(root, 2, 0);
      EXPECT_OK(HcclCommDestroy(comm));
      kill(getpid(), SIGKILL);
    }));
  }
  Start();
  for (auto& other : others) {
    HcclComm comm = Join(other->channel.Receive<HcclRootInfo>(), 2, 1);
    aclrtStream stream = NewStream();
    while (HcclBarrier(comm, stream) == HCCL_SUCCESS) {  // the first one may still be taken
      EXPECT_NE(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    }
    EXPECT_THAT(TakeMessage(), testing::ContainsRegex("rank 0 .*destroyed"));
    EXPECT_OK(HcclCommDestroy(comm));
    other->Kill();
  }
}

TEST_F(CommunicatorsOfProcesses, ARankThatIsKilledBeforeAllMetIsNamed) {
  OtherProcess other([](Channel& channel) {
    const auto root = channel.Receive<HcclRootInfo>();
    std::atomic<pid_t> id{0};
    std::thread joins([&] {
      EXPECT_OK(aclrtSetDevice(0));
      HcclComm comm = nullptr;
      id = gettid();
      HcclCommInitRootInfo(3, &root, 1, &comm);
    });
    while (id == 0) std::this_thread::yield();
    AwaitInPoll(id);
    channel.Send(1);
    joins.join();
  });
  Start();
  const HcclRootInfo root = NewRoot();
  other.channel.Send(root);
  other.channel.Receive<int>();
  std::thread kills([&] { other.Kill(); });
  HcclComm comm = nullptr;
  EXPECT_REFUSED(HCCL_E_REMOTE, HcclCommInitRootInfo(3, &root, 0, &comm), "rank 1 .process");
  kills.join();
}

TEST_F(CommunicatorsOfProcesses, ARootInfoOfAProcessThatHasEnded) {
  OtherProcess other([](Channel& channel) {
    channel.Send(NewRoot());
    pause();
  });
  Start();
  const auto root = other.channel.Receive<HcclRootInfo>();
  other.Kill();
  HcclComm comm = nullptr;
  EXPECT_REFUSED(HCCL_E_TCP_CONNECT, HcclCommInitRootInfo(2, &root, 1, &comm), "has ended");
}

// A program that ends is no accident: the others keep their communicators, and hear of it when they need it.
TEST_F(CommunicatorsOfProcesses, ARankWhoseProgramEnds) {
  OtherProcess other([](Channel& channel) { BeRankOne(channel, false); });
  Start();
  const HcclRootInfo root = NewRoot();
  other.channel.Send(root);
  HcclComm comm = Join(root, 2, 0);
  other.channel.Receive<int>();
  other.channel.Send(1);
  other.Join();
  aclrtStream stream = NewStream();
  while (HcclBarrier(comm, stream) == HCCL_SUCCESS) {  // the first one may still be taken
    EXPECT_NE(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  }
  EXPECT_THAT(TakeMessage(), testing::ContainsRegex("rank 1 .*destroyed"));
  EXPECT_OK(HcclCommDestroy(comm));
}

}  // namespace
}  // namespace conformance
