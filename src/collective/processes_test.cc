// Ranks in processes of their own over one file in memory.
#include <cstdio>
#include <string>

#include "collective/process_testing.h"

namespace belay::coll::testing {
namespace {

bool SameAt(const Case& c, uint32_t r) {
  const Bytes& expected = c.expected[r];
  if (expected.empty() || (c.calls[r].kind == Kind::kReduce && r != c.calls[r].root)) return true;
  if (std::memcmp(c.calls[r].receive, expected.data(), expected.size()) == 0) return true;
  std::fprintf(stderr, "%s of %lu differs at rank %u\n", NameOf(c.calls[r].kind), c.calls[r].count, r);
  return false;
}

TEST(Processes, AllCollectivesOfFourRanks) {
  EXPECT_TRUE(InProcesses(4, 32768, [](ProcessRank& me) {
    bool well = true;
    uint64_t seed = 1;
    for (Kind kind : {Kind::kBarrier, Kind::kAllReduce, Kind::kReduce, Kind::kBroadcast, Kind::kAllGather,
                      Kind::kAllGatherV, Kind::kReduceScatter, Kind::kReduceScatterV, Kind::kScatter,
                      Kind::kAllToAll, Kind::kAllToAllV, Kind::kAllToAllVC}) {
      for (uint64_t count : {1, 100, 20'000}) {
        Case c = MakeCase(kind, DType::kBF16, Reduction::kSum, count, 4, seed % 4, seed % 2 == 0, seed);
        ++seed;
        Submit(me.board(), nullptr, me.stream(), c.calls[me.board().rank()]);
        std::string failure = me.Finish();
        if (!failure.empty()) std::fprintf(stderr, "%s\n", failure.c_str());
        well &= failure.empty() && SameAt(c, me.board().rank());
      }
    }
    return well;
  }));
}

TEST(Processes, ManySmallOnesAndSomeMessages) {
  EXPECT_TRUE(InProcesses(2, 65536, [](ProcessRank& me) {
    const uint32_t r = me.board().rank();
    std::vector<Case> cases;
    for (uint64_t i = 0; i < 300; ++i) {
      cases.push_back(MakeCase(Kind::kAllReduce, DType::kF32, Reduction::kSum, i, 2, 0, false, i + 1));
    }
    Bytes given = Numbers(DType::kU8, 1'000'000, 5), got(given.size());
    for (size_t i = 0; i < cases.size(); ++i) {
      Submit(me.board(), nullptr, me.stream(), cases[i].calls[r]);
      if (i % 50 != 0) continue;
      Operation o;
      o.kind = Kind::kBatch;
      o.messages = {{true, given.data(), given.size(), DType::kU8, 1 - r},
                    {false, got.data(), got.size(), DType::kU8, 1 - r}};
      Submit(me.board(), nullptr, me.stream(), o);
    }
    bool well = me.Finish().empty() && got == given;
    for (const Case& c : cases) well &= SameAt(c, r);
    return well;
  }));
}

TEST(Processes, AMismatchIsToldToBoth) {
  EXPECT_TRUE(InProcesses(2, 65536, [](ProcessRank& me) {
    Case c = MakeCase(me.board().rank() == 0 ? Kind::kAllReduce : Kind::kAllGather, DType::kF32,
                      Reduction::kSum, 10, 2, 0, false, 1);
    Submit(me.board(), nullptr, me.stream(), c.calls[me.board().rank()]);
    std::string said = me.Finish();
    return said.find("HcclAllReduce") != said.npos && said.find("HcclAllGather") != said.npos;
  }));
}

}  // namespace
}  // namespace belay::coll::testing
