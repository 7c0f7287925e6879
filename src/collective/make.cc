#include "collective/make.h"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/hcclresult_codes.h"
#include "collective/algorithm.h"
#include "collective/board.h"
#include "collective/bootstrap.h"
#include "collective/environment.h"
#include "collective/rank_table.h"
#include "collective/root.h"
#include "collective/transport.h"
#include "runtime/process.h"

namespace belay::coll {
namespace {

constinit std::atomic<int> g_deterministic{-1};

// Meeting points that may turn out not to be needed, until their group meets.
constinit std::mutex g_spares_lock;
struct Spare {
  Id id;
  std::weak_ptr<Root> root;
};
std::vector<Spare>& Spares() {
  static auto* const spares = new std::vector<Spare>;  // for threads that run at the very end, too
  return *spares;
}

// Takes those with these ids, and forgets those that have ended.
std::vector<std::shared_ptr<Root>> TakeSpares(std::span<const RootInfo> of) {
  std::vector<std::shared_ptr<Root>> taken;
  const std::lock_guard hold(g_spares_lock);
  std::erase_if(Spares(), [&](const Spare& spare) {
    const bool asked =
        std::any_of(of.begin(), of.end(), [&](const RootInfo& root) { return root.id == spare.id; });
    std::shared_ptr<Root> root = spare.root.lock();
    if (asked && root != nullptr) taken.push_back(root);
    return asked || root == nullptr;
  });
  return taken;
}

std::string NameOfGroup(const RootInfo& root) {
  const std::string id = Hex(std::span(root.id).first(4));
  if (root.process == 0) return "rank-table_" + id;
  return fmt::format("{}%{}_{}_{}", TextOf(root.addresses[0]), root.port, root.process, id);
}

void CheckRank(uint32_t rank, uint32_t ranks) {
  if (rank < ranks && ranks <= kMostRanks) return;
  Fail(codes::kHcclEPara, "rank-number",
       "rank {} of {}: ranks go from 0 to the number of ranks less one, and {} at most may meet", rank, ranks,
       kMostRanks);
}

Meeting MeetingOf(const RootInfo& root, uint32_t rank, uint32_t ranks, int device,
                  const CommunicatorConfig& config) {
  Meeting meeting;
  meeting.root = root;
  meeting.rank = rank;
  meeting.ranks = ranks;
  meeting.device = device;
  meeting.staging_bytes = std::min<uint64_t>(config.buffer_bytes, Board::kStagingBytes);
  meeting.timeout_ns = ConnectTimeoutNs();
  meeting.way = config.algorithms.way;
  meeting.by_rank = config.deterministic != 0;
  return meeting;
}

void Join(const Meeting& meeting, CommunicatorConfig config, const Made& made) {
  if (config.name.empty()) config.name = NameOfGroup(meeting.root);
  if (KeepForGroup(meeting, config, made)) return;
  made(Communicator::Create(Joining(meeting).Finish(), std::move(config), meeting.device));
}

// Until the group that met there before has gone.
void OpenMeetingPoint(const RootInfo& root, const std::string& path, int64_t timeout_ns) {
  const int64_t deadline = NowNs() + timeout_ns;
  while (!Root::StartAt(root)) {
    if (NowNs() >= deadline || !rt::Running()) {
      Fail(codes::kHcclEUnavail, "rank-table-in-use",
           "the ranks of {} have met already, and not all have destroyed their communicators", path);
    }
    poll(nullptr, 0, 5);
  }
}

}  // namespace

void SetDeterministic(int value) { g_deterministic.store(value); }

int DeterministicNow() {
  const int set = g_deterministic.load();
  return set >= 0 ? set : Deterministic();
}

CommunicatorConfig DefaultConfig() {
  CommunicatorConfig config;
  config.buffer_bytes = BufferBytes();
  config.deterministic = DeterministicNow();
  config.exec_timeout_ns = ExecTimeoutNs();
  config.algorithms = AlgorithmsOfEnvironment();
  EngineOfEnvironment();  // refuses what cannot be, before anybody has met
  return config;
}

void JoinByRootInfo(const RootInfo& root, uint32_t rank, uint32_t ranks, int device,
                    CommunicatorConfig config, const Made& made) {
  CheckRank(rank, ranks);
  Join(MeetingOf(root, rank, ranks, device, config), std::move(config), made);
}

RootInfo StartOneOfSeveral() {
  std::shared_ptr<Root> root;
  const RootInfo info = Root::Start(&root);
  static_cast<void>(TakeSpares({}));
  const std::lock_guard hold(g_spares_lock);
  Spares().push_back({info.id, root});
  return info;
}

void JoinByRootInfos(std::span<const RootInfo> roots, uint32_t rank, uint32_t ranks, int device,
                     CommunicatorConfig config, const Made& made) {
  CheckRank(rank, ranks);
  for (const std::shared_ptr<Root>& other : TakeSpares(roots.subspan(1))) Watch::Get().Remove(other.get());
  static_cast<void>(TakeSpares(roots.first(1)));  // which ends with its group
  Join(MeetingOf(roots[0], rank, ranks, device, config), std::move(config), made);
}

void JoinByRankTable(const std::string& path, uint32_t rank, int device, CommunicatorConfig config,
                     const Made& made) {
  const RankTable table = ReadRankTable(path);
  const auto ranks = static_cast<uint32_t>(table.ranks.size());
  CheckRank(rank, ranks);
  Meeting meeting = MeetingOf(MeetingPointOf(table), rank, ranks, device, config);
  meeting.host = HostOf(table, rank);
  meeting.root_comes_later = true;
  if (rank == 0) OpenMeetingPoint(meeting.root, path, meeting.timeout_ns);
  Join(meeting, std::move(config), made);
}

void JoinPart(const Communicator& whole, std::span<const uint32_t> ranks, uint64_t part, uint32_t rank,
              CommunicatorConfig config, const Made& made) {
  if (whole.whole() != 0) {
    Fail(
        codes::kHcclENotSupport, "part-of-a-part",
        "{} is a part of another communicator itself, which cannot be divided again; make the part of the whole",
        whole.name());
  }
  std::string key = fmt::format("{} of {}:", part, whole.name());
  std::set<uint32_t> seen;
  for (uint32_t each : ranks) {
    if (each >= whole.ranks() || !seen.insert(each).second) {
      Fail(codes::kHcclEPara, "part-ranks", "rankIds names rank {} of {} ranks, or names it twice", each,
           whole.ranks());
    }
    key += fmt::format(" {}", each);
  }
  if (rank >= ranks.size() || ranks[rank] != whole.rank()) {
    Fail(codes::kHcclEPara, "part-rank",
         "subCommRankId is {}, but the place of rank {} in rankIds is another, or it is not there", rank,
         whole.rank());
  }
  whole.ThrowIfFailed();
  if (config.name.empty()) {
    config.name = fmt::format("{}_sub_{}", whole.name(), part);
    if (whole.HasPart(config.name)) {
      Fail(
          codes::kHcclEPara, "part-twice",
          "subCommId {} names a part of the communicator already; give this one another number, or a name in config",
          part);
    }
  }
  Meeting meeting =
      MeetingOf(whole.membership().root, rank, static_cast<uint32_t>(ranks.size()), whole.device(), config);
  meeting.host = whole.membership().host;
  meeting.group = Digest(key);
  meeting.claim.part = Digest(config.name);
  meeting.claim.rank = whole.rank();
  for (uint32_t each : ranks) meeting.claim.List(each);
  meeting.whole = g_communicators.HandleOf(&whole);
  Join(meeting, std::move(config), made);
}

std::vector<Communicator*> JoinAll(std::span<const int32_t> devices, const CommunicatorConfig& config) {
  std::shared_ptr<Root> meeting_point;
  const RootInfo root = Root::Start(&meeting_point);
  const auto ranks = static_cast<uint32_t>(devices.size());
  std::vector<Communicator*> made;
  try {
    std::deque<Joining> all;
    for (uint32_t rank = 0; rank < ranks; ++rank)
      all.emplace_back(MeetingOf(root, rank, ranks, devices[rank], config));
    CommunicatorConfig named = config;
    if (named.name.empty()) named.name = NameOfGroup(root);
    made.reserve(ranks);
    for (uint32_t rank = 0; rank < ranks; ++rank)
      made.push_back(&Communicator::Create(all[rank].Finish(), named, devices[rank]));
  } catch (...) {
    for (Communicator* each : made) Communicator::Destroy(*each);
    Watch::Get().Remove(meeting_point.get());  // nobody else knows of it
    throw;
  }
  return made;
}

}  // namespace belay::coll
