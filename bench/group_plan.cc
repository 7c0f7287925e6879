// What a large group costs before it does anything, and what goes between its machines: all ranks meet in
// this process, each by the code and the sockets by which a rank of a process of its own meets, some of them
// on each of many machines that are made up. Then what a machine sends is followed over each way (way.h).
//
//   group_plan [ranks] [ranks of a machine]
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "collective/board.h"
#include "collective/bootstrap.h"
#include "collective/root.h"
#include "collective/watch.h"
#include "collective/way.h"
#include "collective/wire.h"
#include "runtime/process.h"

namespace {

using namespace belay;
using coll::Way;
using coll::WayKind;

coll::Meeting MeetingOf(const coll::RootInfo& root, uint32_t rank, uint32_t ranks, uint32_t of_machine) {
  coll::Meeting meeting;
  meeting.root = root;
  meeting.rank = rank;
  meeting.ranks = ranks;
  meeting.staging_bytes = coll::Board::kStagingBytes;
  meeting.timeout_ns = int64_t{120} * 1'000'000'000;
  meeting.host = root.host;
  if (rank / of_machine > 0) meeting.host = coll::Digest("machine " + std::to_string(rank / of_machine));
  return meeting;
}

size_t OpenFiles() {
  auto files = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

void Meet(uint32_t ranks, uint32_t of_machine) {
  const size_t files = OpenFiles();
  const coll::RootInfo root = coll::Root::Start();
  const int64_t begin = NowNs();
  std::deque<coll::Joining> all;
  for (uint32_t rank = 0; rank < ranks; ++rank) all.emplace_back(MeetingOf(root, rank, ranks, of_machine));
  const int64_t come = NowNs();
  std::vector<std::unique_ptr<coll::Membership>> members;
  for (coll::Joining& joining : all) members.push_back(joining.Finish());
  const int64_t met = NowNs();
  const auto& hosts = members[0]->hosts;
  const size_t machines = hosts == nullptr ? 1 : hosts->count();
  const size_t welcome =
      sizeof(coll::Welcome) + ranks * sizeof(coll::WelcomePeer) + machines * sizeof(coll::WelcomeHost);
  std::printf("%u ranks on %zu machines: come in %.1f ms, met after %.1f ms\n", ranks, machines,
              static_cast<double>(come - begin) / 1e6, static_cast<double>(met - begin) / 1e6);
  std::printf("  the meeting point: %u connections, %zu KiB in hellos, %zu KiB in welcomes of %zu bytes\n",
              ranks, ranks * sizeof(coll::Hello) / 1024, ranks * welcome / 1024, welcome);
  std::printf("  a rank: %.1f files with both ends, %zu MiB of addresses, 2 x %zu KiB to stage in\n",
              static_cast<double>(OpenFiles() - files) / ranks, members[0]->board.bytes >> 20,
              members[0]->board.staging_bytes_per_rank >> 11);
}

// What all machines of a group send when each has a byte for all, or another for each.
struct Sent {
  uint64_t for_all = 0, for_each = 0;  // of the machine that sends most
  uint32_t steps = 0;
};

Sent Follow(const Way& way, uint32_t machines) {
  std::vector<uint64_t> for_all(machines), for_each(machines);
  std::vector<uint32_t> steps(machines), order;
  Sent sent;
  for (uint32_t from = 0; from < machines; ++from) {
    order.assign(1, from);
    steps[from] = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      way.ForEachNext(from, order[i], machines, [&](uint32_t next) {
        ++for_all[order[i]];
        steps[next] = steps[order[i]] + 1;
        order.push_back(next);
      });
      sent.steps = std::max(sent.steps, steps[order[i]]);
    }
    for (uint32_t to = 0; to < machines; ++to) {
      for (uint32_t at = to; at != from;) ++for_each[at = way.Before(from, at)];
    }
  }
  sent.for_all = *std::max_element(for_all.begin(), for_all.end());
  sent.for_each = *std::max_element(for_each.begin(), for_each.end());
  return sent;
}

void Plan(uint32_t machines) {
  std::printf("%u machines: connections of each, steps to the last, parts sent by each\n", machines);
  const struct {
    WayKind kind;
    const char* name;
  } ways[] = {{WayKind::kDirect, "direct"}, {WayKind::kDoubling, "doubling"}, {WayKind::kRing, "ring"}};
  for (const auto& [kind, name] : ways) {
    const Way way(kind, machines);
    uint32_t connections = 0;
    for (uint32_t other = 1; other < machines; ++other) connections += way.AreNeighbours(0, other) ? 1 : 0;
    const Sent sent = Follow(way, machines);
    std::printf("  %-8s %5u %5u   all-gather %6llu   all-to-all %8llu\n", name, connections, sent.steps,
                static_cast<unsigned long long>(sent.for_all),
                static_cast<unsigned long long>(sent.for_each));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto ranks = static_cast<uint32_t>(argc > 1 ? std::atoi(argv[1]) : 1000);
  const auto of_machine = static_cast<uint32_t>(argc > 2 ? std::atoi(argv[2]) : 8);
  if (ranks == 0 || ranks > coll::kMostRanks || of_machine == 0) return 2;
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  rt::Start(-1);
  Meet(ranks, of_machine);
  Plan((ranks + of_machine - 1) / of_machine);
  coll::Watch::Get().End();
  rt::Stop();
  return 0;
}
