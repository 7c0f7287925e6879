// Communicators (libhccl.so).
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "api/convert.h"
#include "api/handlers.h"
#include "api/names.h"
#include "api/refuse.h"
#include "base/error.h"
#include "base/hcclresult_codes.h"
#include "collective/algorithm.h"
#include "collective/communicator.h"
#include "collective/group.h"
#include "collective/make.h"
#include "collective/root.h"
#include "collective/root_info.h"
#include "runtime/context.h"

namespace belay::api {
namespace {

constexpr size_t kMostPath = 4096;  // with the end
constexpr uint32_t kNotSet = 0xffffffff;
constexpr uint64_t kNoPart = 0xffffffff;  // the subCommId of a rank that is in none

// The first bytes of a configuration, which HcclCommConfigInit writes in the client.
struct ConfigHead {
  uint64_t bytes;
  uint32_t magic;
  uint32_t version;
};
constexpr uint32_t kConfigMagic = 0xf0f0f0f0;

// Reads the fields that the caller's header had, and no byte beyond.
class ConfigReader {
 public:
  explicit ConfigReader(const HcclCommConfig* config) : from_(reinterpret_cast<const char*>(config)) {
    std::memcpy(&head_, from_, sizeof head_);
    if (head_.magic == kConfigMagic && head_.bytes >= offsetof(HcclCommConfig, hcclCommName) &&
        head_.bytes <= size_t{1} << 16) {
      return;
    }
    Fail(codes::kHcclEPara, "comm-config",
         "config was not initialised; call HcclCommConfigInit on it before its fields are set");
  }
  template <class T>
  T Get(size_t offset, T otherwise) const {
    if (offset + sizeof(T) > head_.bytes) return otherwise;
    T value;
    std::memcpy(&value, from_ + offset, sizeof value);
    return value;
  }

 private:
  const char* from_;
  ConfigHead head_;
};

template <size_t most>
std::string ReadText(const ConfigReader& reader, size_t offset, const char* name) {
  const auto text = reader.Get(offset, std::array<char, most>{});
  const size_t length = strnlen(text.data(), most);
  if (length == most) {
    Fail(codes::kHcclEPara, "comm-config", "{} has no end; it has at most {} characters", name, most - 1);
  }
  return {text.data(), length};
}

coll::CommunicatorConfig ConfigOf(const HcclCommConfig* config) {
  coll::CommunicatorConfig read = coll::DefaultConfig();
  if (config == nullptr) return read;
  const ConfigReader reader(config);
  const auto buffer = reader.Get(offsetof(HcclCommConfig, hcclBufferSize), kNotSet);
  if (buffer == 0)
    Fail(codes::kHcclEPara, "comm-config", "hcclBufferSize is 0; it is a number of MB from 1 on");
  if (buffer != kNotSet) read.buffer_bytes = uint64_t{buffer} << 20;
  const auto deterministic = reader.Get(offsetof(HcclCommConfig, hcclDeterministic), kNotSet);
  if (deterministic != kNotSet && deterministic > 2) {
    Fail(codes::kHcclEPara, "comm-config", "hcclDeterministic is {}; it is 0, 1 or 2", deterministic);
  }
  if (deterministic != kNotSet) read.deterministic = static_cast<int>(deterministic);
  const auto limit = reader.Get<int32_t>(offsetof(HcclCommConfig, hcclExecTimeOut), -1);
  if (limit < -1) {
    Fail(codes::kHcclEPara, "comm-config", "hcclExecTimeOut is {}; it is a number of seconds, 0 for ever",
         limit);
  }
  if (limit >= 0) read.exec_timeout_ns = int64_t{limit} * 1'000'000'000;
  read.name = ReadText<COMM_NAME_MAX_LENGTH>(reader, offsetof(HcclCommConfig, hcclCommName), "hcclCommName");
  const std::string algorithm =
      ReadText<HCCL_COMM_ALGO_MAX_LENGTH>(reader, offsetof(HcclCommConfig, hcclAlgo), "hcclAlgo");
  if (!algorithm.empty()) read.algorithms = coll::AlgorithmsIn(algorithm, "hcclAlgo");
  return read;
}

HcclComm CommOf(const coll::Communicator& communicator) {
  return AsHandle<HcclComm>(coll::g_communicators.HandleOf(&communicator));
}

int CurrentDevice() { return rt::CurrentContext().device().id(); }

// In a group the program has it when that ends.
coll::Made Into(HcclComm* comm) {
  return [comm](const coll::Communicator& made) { *comm = CommOf(made); };
}

void ByRootInfo(uint32_t ranks, const HcclRootInfo* root, uint32_t rank, const HcclCommConfig* config,
                HcclComm* comm) {
  const int device = CurrentDevice();
  const std::span bytes(root->internal);
  coll::JoinByRootInfo(coll::ReadRootInfo(std::as_bytes(bytes)), rank, ranks, device, ConfigOf(config),
                       Into(comm));
}

void ByRankTable(const char* path, uint32_t rank, const HcclCommConfig* config, HcclComm* comm) {
  const int device = CurrentDevice();
  const std::string text(path, strnlen(path, kMostPath));
  if (text.size() == kMostPath || text.empty()) {
    Fail(codes::kHcclEPara, "rank-table-path", "clusterInfo is a path of 1 to {} bytes", kMostPath - 1);
  }
  coll::JoinByRankTable(text, rank, device, ConfigOf(config), Into(comm));
}

}  // namespace

void HcclGetRootInfo(HcclRootInfo* rootInfo) {
  const coll::RootInfo root = coll::Root::Start();
  coll::Write(root, std::as_writable_bytes(std::span(rootInfo->internal)));
}

void HcclGetRootInfoScalable(HcclRootInfo* rootInfo) {
  coll::Write(coll::StartOneOfSeveral(), std::as_writable_bytes(std::span(rootInfo->internal)));
}

void HcclCommInitRootInfoScalable(uint32_t nRanks, uint32_t nRoots, const HcclRootInfo* rootInfoList,
                                  uint32_t rank, uint32_t reserved, const HcclCommConfig* config,
                                  HcclComm* comm) {
  if (nRoots == 0 || nRoots > nRanks || reserved != 0) {
    Fail(codes::kHcclEPara, "several-roots",
         "nRoots is {} and reserved {}; there are from 1 to nRanks ({}) roots, and reserved is 0", nRoots,
         reserved, nRanks);
  }
  const int device = CurrentDevice();
  std::vector<coll::RootInfo> roots;
  for (const HcclRootInfo& each : std::span(rootInfoList, nRoots))
    roots.push_back(coll::ReadRootInfo(std::as_bytes(std::span(each.internal))));
  coll::JoinByRootInfos(roots, rank, nRanks, device, ConfigOf(config), Into(comm));
}

void HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank, HcclComm* comm) {
  ByRootInfo(nRanks, rootInfo, rank, nullptr, comm);
}

void HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank,
                                const HcclCommConfig* config, HcclComm* comm) {
  ByRootInfo(nRanks, rootInfo, rank, config, comm);
}

void HcclCommInitClusterInfo(const char* clusterInfo, uint32_t rank, HcclComm* comm) {
  ByRankTable(clusterInfo, rank, nullptr, comm);
}

void HcclCommInitClusterInfoConfig(const char* clusterInfo, uint32_t rank, HcclCommConfig* config,
                                   HcclComm* comm) {
  ByRankTable(clusterInfo, rank, config, comm);
}

void HcclCommInitAll(uint32_t ndev, int32_t* devices, HcclComm* comms) {
  const auto most = static_cast<uint32_t>(rt::DeviceCount());
  if (ndev == 0 || ndev > most) {
    Fail(codes::kHcclEPara, "init-all-devices", "ndev is {}; there are {} devices (BELAY_DEVICES)", ndev,
         most);
  }
  const std::span<const int32_t> all(devices, ndev);
  for (size_t i = 0; i < all.size(); ++i) {
    rt::DeviceAt(all[i]);
    for (size_t j = 0; j < i; ++j) {
      if (all[j] == all[i])
        Fail(codes::kHcclEPara, "init-all-devices", "devices names device {} twice", all[i]);
    }
  }
  const std::vector<coll::Communicator*> made = coll::JoinAll(all, coll::DefaultConfig());
  for (size_t i = 0; i < made.size(); ++i) comms[i] = CommOf(*made[i]);
}

void HcclCreateSubCommConfig(HcclComm* comm, uint32_t rankNum, uint32_t* rankIds, uint64_t subCommId,
                             uint32_t subCommRankId, HcclCommConfig* config, HcclComm* subComm) {
  const Pinned<coll::Communicator> whole = Need<coll::Communicator>(*comm, "*comm");
  if (rankIds == nullptr) {
    if (subCommId != kNoPart) RefuseNull("rankIds", codes::kHcclEPtr);
    *subComm = nullptr;
    return;
  }
  if (rankNum > whole->ranks()) {
    Fail(codes::kHcclEPara, "part-ranks", "rankNum is {}; the communicator has {} ranks", rankNum,
         whole->ranks());
  }
  coll::JoinPart(whole, std::span(rankIds, rankNum), subCommId, subCommRankId, ConfigOf(config),
                 Into(subComm));
}

void HcclGroupStart() { coll::BeginGroup(); }
void HcclGroupEnd() { coll::EndGroup(); }

void HcclCommDestroy(coll::Communicator& comm) { coll::Communicator::Destroy(comm); }

void HcclGetRankSize(coll::Communicator& comm, uint32_t* rankSize) { *rankSize = comm.ranks(); }
void HcclGetRankId(coll::Communicator& comm, uint32_t* rank) { *rank = comm.rank(); }

void HcclGetCommName(coll::Communicator& comm, char* commName) {
  const size_t length = std::min<size_t>(comm.name().size(), COMM_NAME_MAX_LENGTH - 1);
  std::memcpy(commName, comm.name().data(), length);
  commName[length] = '\0';
}

uint32_t HcclGetCommConfigCapability() { return HCCL_COMM_CONFIG_RESERVED; }

void HcclSetConfig(HcclConfig config, HcclConfigValue configValue) {
  if (config != HCCL_DETERMINISTIC || configValue.value < 0 || configValue.value > 2) {
    Fail(codes::kHcclEPara, "hccl-config",
         "config {} = {}; there is HCCL_DETERMINISTIC (0), which is 0, 1 or 2 for strict",
         static_cast<int>(config), configValue.value);
  }
  coll::SetDeterministic(configValue.value);
}

void HcclGetConfig(HcclConfig config, HcclConfigValue* configValue) {
  if (config != HCCL_DETERMINISTIC) {
    Fail(codes::kHcclEPara, "hccl-config", "config is {}; there is HCCL_DETERMINISTIC (0)",
         static_cast<int>(config));
  }
  configValue->value = coll::DeterministicNow();
}

const char* HcclGetErrorString(HcclResult code) {
  const char* meaning = code >= 0 && code < HCCL_E_RESERVED ? ErrorMeaning(static_cast<int>(code)) : nullptr;
  return meaning != nullptr ? meaning : "a code that no page names";
}

void HcclGetCommAsyncError(coll::Communicator& comm, HcclResult* asyncError) {
  *asyncError = static_cast<HcclResult>(comm.async_error());
}

}  // namespace belay::api
