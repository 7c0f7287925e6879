// Reductions over several hosts: what each host's ranks add up first, in which order, and what crosses.
#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <vector>

#include "collective/board.h"
#include "collective/cases_testing.h"
#include "collective/placement.h"

namespace belay::coll::testing {
namespace {

using Places = std::vector<uint32_t>;
using ::testing::ElementsAre;

// The same number of ranks each, and not; ranks that lie side by side, and not; of three hosts.
const Places kPlaces[] = {{0, 0, 1, 1}, {0, 1, 1}, {0, 1, 0, 0}, {0, 1, 0, 1}, {0, 1, 2, 1, 0, 1}};
constexpr Kind kReductions[] = {Kind::kAllReduce, Kind::kReduce, Kind::kReduceScatter, Kind::kReduceScatterV};
constexpr WayKind kWaysBetween[] = {WayKind::kDirect, WayKind::kRing, WayKind::kDoubling};

TEST(Placement, HostsByTheirLowestRanks) {
  const Placement placement(Places{2, 0, 0, 2, 1});
  ASSERT_EQ(placement.hosts(), 3u);
  EXPECT_THAT(placement.RanksOn(0), ElementsAre(0, 3));
  EXPECT_THAT(placement.RanksOn(1), ElementsAre(1, 2));
  EXPECT_THAT(placement.RanksOn(2), ElementsAre(4));
  EXPECT_THAT(placement.ranks(), ElementsAre(0, 3, 1, 2, 4));
  EXPECT_EQ(placement.HostOf(3), 0u);
  EXPECT_FALSE(placement.IsOneEach());
  EXPECT_TRUE(Placement(Places{1, 0}).IsOneEach());
}

TEST(Placement, RanksShareWhatTheyAddUpForOthers) {
  for (const Places& of : {Places{0, 1, 0, 1, 0, 1, 0, 1}, {0, 0, 0, 1, 2, 3}, {1, 0, 0, 2, 2, 2, 1}}) {
    const Placement placement(of);
    const auto ranks = static_cast<uint32_t>(of.size());
    for (uint32_t host = 0; host < placement.hosts(); ++host) {
      std::vector<uint32_t> parts(ranks);
      for (uint32_t part = 0; part < ranks; ++part) {
        const uint32_t adder = placement.AdderOf(part, host);
        EXPECT_EQ(placement.HostOf(adder), host);
        ++parts[adder];
        if (placement.HostOf(part) == host) EXPECT_EQ(adder, part);
      }
      const auto here = placement.RanksOn(host);
      EXPECT_EQ(placement.AdderOf(ranks, host), here.front());
      const auto by_parts = [&](uint32_t a, uint32_t b) { return parts[a] < parts[b]; };
      const auto [least, most] = std::minmax_element(here.begin(), here.end(), by_parts);
      EXPECT_LE(parts[*most] - parts[*least], 1u);
    }
  }
}

class ByHost : public Collectives {
 protected:
  // By the group's order. `seed` says what is reduced, and whether it lies where the result goes.
  void Reduce(Group& group, Kind kind, DType type, Reduction op, uint64_t count, uint64_t seed) {
    Case c = MakeCase(kind, type, op, count, group.ranks(), static_cast<uint32_t>(seed) % group.ranks(),
                      seed % 2 == 0, seed, group.placement());
    Run(group, c);
  }
};

TEST_F(ByHost, EveryTypeAndOperation) {
  uint64_t seed = 1;
  for (const Places& of : kPlaces) {
    Group group(of, 4096, seed % 2 == 0);
    ASSERT_NE(group.placement(), nullptr);
    for (DType type : {DType::kI8, DType::kI16, DType::kI32, DType::kI64, DType::kU8, DType::kU16,
                       DType::kU32, DType::kU64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
      for (int op = 0; op < 4; ++op) {
        for (Kind kind : kReductions) {
          const uint64_t count = ++seed % 3 == 0 ? 50 : 1100;
          ASSERT_NO_FATAL_FAILURE(Reduce(group, kind, type, static_cast<Reduction>(op), count, seed));
        }
      }
    }
  }
}

// Counts right below, at and above every size at which something else happens: what comes with the
// announcement, what each reduces for itself, and rounds of either, by the sizes of partial results.
TEST_F(ByHost, AroundEveryThreshold) {
  uint64_t seed = 1;
  for (const Places& of : kPlaces) {
    for (DType type : {DType::kBF16, DType::kF32}) {
      const uint64_t ranks = of.size(), element = tensor::BytesOf(type);
      Group group(of, 8192, false);
      const uint64_t half = group[0].half_bytes();
      const uint64_t line = 64 / element * 4;
      const uint64_t separate = half / ranks / line * line / 4;
      const uint64_t slices = half / (ranks + 1) / line * line / 4 * ranks;
      for (uint64_t at : {Announcement::kPayload / element, Announcement::kPayload / element / ranks,
                          half / element, half / 2 / element, half / 4, 2 * (half / 4), slices, 2 * slices,
                          3 * slices, separate, 2 * separate, 3 * separate}) {
        for (uint64_t count : {at - 1, at, at + 1}) {
          for (Kind kind : kReductions)
            ASSERT_NO_FATAL_FAILURE(Reduce(group, kind, type, Reduction::kSum, count, ++seed));
        }
      }
    }
  }
}

TEST_F(ByHost, WhatFillsTheStagingAreasOfACommunicator) {
  for (DType type : {DType::kF16, DType::kF32}) {
    Group group({0, 0, 1, 1}, Board::kStagingBytes, false);
    for (uint64_t count : {(uint64_t{64} << 10) + 1, uint64_t{450} << 10})
      ASSERT_NO_FATAL_FAILURE(Reduce(group, Kind::kAllReduce, type, Reduction::kSum, count, count));
  }
}

// By any way between hosts the bits are the same: those of the reference.
TEST_F(ByHost, TheWayDoesNotMatter) {
  for (const WayKind way : kWaysBetween) {
    Group group({0, 1, 2, 3, 2, 1, 0, 4}, 8192, true, "g", way);
    uint64_t seed = 1;
    for (Kind kind : kReductions) {
      ASSERT_NO_FATAL_FAILURE(Reduce(group, kind, DType::kF32, Reduction::kSum, 9000, ++seed));
      ASSERT_NO_FATAL_FAILURE(Reduce(group, kind, DType::kBF16, Reduction::kProd, 700, ++seed));
    }
  }
}

// Where it is asked for, the order of the ranks, wherever they are. What is reduced tells the two apart.
TEST_F(ByHost, NotWhereTheOrderOfTheRanksIsAskedFor) {
  for (const Places& of : kPlaces) {
    for (const WayKind way : kWaysBetween) {
      Group group(of, 8192, false, "g", way, /*by_rank=*/true);
      ASSERT_EQ(group.placement(), nullptr);
      uint64_t seed = 1;
      for (Kind kind : kReductions) {
        for (uint64_t count : {60, 700, 9000})
          ASSERT_NO_FATAL_FAILURE(Reduce(group, kind, DType::kF32, Reduction::kSum, count, ++seed));
      }
    }
    const Placement placement(of);
    const auto expected = [&](const Placement* by) {
      return MakeCase(Kind::kAllReduce, DType::kF32, Reduction::kSum, 700, static_cast<uint32_t>(of.size()),
                      0, false, 1, by)
          .expected[0];
    };
    EXPECT_NE(expected(nullptr), expected(&placement));
  }
}

// Of an all-reduce over two hosts, each gives the other what it has once, half of it as partial results and
// half as results, and not what each of its ranks has.
TEST_F(ByHost, OnePartialResultOfAHostCrosses) {
  constexpr uint64_t kCount = 96 << 10;
  const auto shared_by = [&](DType type, bool by_rank) {
    Group group({0, 0, 0, 0, 1, 1, 1, 1}, Board::kStagingBytes, true, "g", WayKind::kDirect, by_rank);
    Case c = MakeCase(Kind::kAllReduce, type, Reduction::kSum, kCount, group.ranks(), 0, false, 1,
                      group.placement());
    Run(group, c);
    uint64_t shared = 0;
    for (uint32_t rank = 0; rank < 4; ++rank) shared += group[rank].bytes_shared();
    return static_cast<double>(shared) / static_cast<double>(kCount * tensor::BytesOf(type));
  };
  EXPECT_NEAR(shared_by(DType::kF32, false), 1.0, 0.01);
  EXPECT_NEAR(shared_by(DType::kF16, false), 1.5, 0.01);  // partial results in f32
  EXPECT_NEAR(shared_by(DType::kF32, true), 2.5, 0.01);
}

// A rank that does not come is named by those of its host, who wait for it first, and by the others.
TEST_F(ByHost, WhoDoesNotComeIsNamed) {
  for (const uint32_t missing : {1, 3}) {
    Group group({0, 0, 1, 1}, 4096, true);
    Streams(4);
    Case c = MakeCase(Kind::kAllReduce, DType::kF32, Reduction::kSum, 3000, 4, 0, false, 1);
    // Rank 0's time begins to run out once its host has heard of all others.
    for (uint32_t rank : {1, 2, 3, 0}) {
      if (rank == missing) continue;
      group[rank].SetWaitLimit(rank == 0 ? 1'000'000 : 0);
      Submit(group[rank], nullptr, *streams_[rank], c.calls[rank]);
      while (group[0].announcement(rank, 1).number.load() == 0) std::this_thread::yield();
    }
    for (uint32_t rank = 0; rank < 4; ++rank) {
      if (rank == missing) continue;
      Wait(*streams_[rank]);
      const std::optional<rt::TaskFailure> failure = streams_[rank]->TakeFailure();
      ASSERT_TRUE(failure);
      EXPECT_THAT(failure->Sentence(), ::testing::HasSubstr(fmt::format("{} has not made it", missing)));
    }
  }
}

TEST(LookHint, NapsAtOnceWhereLooksAreInVain) {
  LookHint hint;
  int looks = 0;
  const auto call = [&](bool found_by_looking) {
    const bool looks_now = hint.pays();
    looks += looks_now ? 1 : 0;
    hint.Note(looks_now && found_by_looking);
  };
  for (int i = 0; i < 64; ++i) call(false);
  EXPECT_EQ(looks, 4 + 3);  // and once in 16 calls
  while (!hint.pays()) call(false);
  call(true);
  looks = 0;
  for (int i = 0; i < 64; ++i) call(true);
  EXPECT_EQ(looks, 64);
}

}  // namespace
}  // namespace belay::coll::testing
