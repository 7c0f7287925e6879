#include "collective/way.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace belay::coll {
namespace {

constexpr WayKind kEveryWay[] = {WayKind::kDirect, WayKind::kRing, WayKind::kDoubling};

// Hosts that get what `from` has for all, each as often as it gets it, by who hands it on.
struct Spread {
  Spread(const Way& way, uint32_t hosts, uint32_t from) : by(hosts, hosts), times(hosts) {
    std::vector<uint32_t> reached{from};
    for (size_t i = 0; i < reached.size(); ++i) {
      way.ForEachNext(from, reached[i], hosts, [&](uint32_t next) {
        by[next] = reached[i];
        if (++times[next] == 1) reached.push_back(next);
      });
    }
  }
  std::vector<uint32_t> by, times;
};

TEST(Ways, WhatIsForAllComesToEachOnce) {
  for (const WayKind kind : kEveryWay) {
    for (uint32_t hosts = 1; hosts < 40; ++hosts) {
      const Way way(kind, hosts);
      for (uint32_t from = 0; from < hosts; ++from) {
        const Spread spread(way, hosts, from);
        for (uint32_t to = 0; to < hosts; ++to) {
          ASSERT_EQ(spread.times[to], to == from ? 0u : 1u) << hosts << " hosts, " << from << " to " << to;
          if (to == from) continue;
          ASSERT_EQ(way.Before(from, to), spread.by[to]);
          ASSERT_TRUE(way.AreNeighbours(spread.by[to], to) && way.AreNeighbours(to, spread.by[to]));
        }
      }
    }
  }
}

// So that nothing overtakes.
TEST(Ways, WhatIsForOneTakesTheSameWay) {
  for (const WayKind kind : kEveryWay) {
    for (const uint32_t hosts : {2u, 3u, 5u, 8u, 13u, 16u, 33u}) {
      const Way way(kind, hosts);
      for (uint32_t from = 0; from < hosts; ++from) {
        for (uint32_t to = 0; to < hosts; ++to) {
          std::vector<bool> on(hosts);
          on[from] = true;
          for (uint32_t at = from; at != to;) {
            uint32_t after = hosts;
            way.ForEachNext(from, at, to, [&](uint32_t next) { after = next; });
            ASSERT_LT(after, hosts);
            ASSERT_EQ(way.Before(from, after), at);
            on[at = after] = true;
          }
          for (uint32_t at = 0; at < hosts; ++at) {
            if (at != from) ASSERT_EQ(way.IsOn(from, at, to), on[at]) << from << " " << at << " " << to;
          }
        }
      }
    }
  }
}

TEST(Ways, NeighboursAreFewWhereHostsAreMany) {
  const auto neighbours = [](WayKind kind, uint32_t hosts) {
    const Way way(kind, hosts);
    uint32_t count = 0;
    for (uint32_t other = 1; other < hosts; ++other) count += way.AreNeighbours(0, other) ? 1 : 0;
    return count;
  };
  EXPECT_EQ(neighbours(WayKind::kDirect, 128), 127u);
  EXPECT_EQ(neighbours(WayKind::kRing, 128), 2u);
  EXPECT_EQ(neighbours(WayKind::kDoubling, 128), 13u);  // 1 to 64 in both directions; 64 is the same in both
  EXPECT_EQ(neighbours(WayKind::kDoubling, 1000), 20u);
  EXPECT_EQ(Way::Among(WayKind::kUnsaid, 16), WayKind::kDirect);
  EXPECT_EQ(Way::Among(WayKind::kUnsaid, 17), WayKind::kDoubling);
  EXPECT_EQ(Way::Among(WayKind::kRing, 2), WayKind::kRing);
}

}  // namespace
}  // namespace belay::coll
