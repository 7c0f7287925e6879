// Runs cases of collectives in groups of this process, and looks at what every rank has.
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "collective/testing.h"

namespace belay::coll::testing {

constexpr Kind kCollectives[] = {Kind::kBarrier,       Kind::kAllReduce,      Kind::kReduce,
                                 Kind::kBroadcast,     Kind::kAllGather,      Kind::kAllGatherV,
                                 Kind::kReduceScatter, Kind::kReduceScatterV, Kind::kScatter,
                                 Kind::kAllToAll,      Kind::kAllToAllV,      Kind::kAllToAllVC};

inline bool Same(const Case& c, uint32_t r) {
  const Bytes& expected = c.expected[r];
  if (expected.empty() || (c.calls[r].kind == Kind::kReduce && r != c.calls[r].root)) return true;
  return std::memcmp(c.calls[r].receive, expected.data(), expected.size()) == 0;
}

inline std::string Name(const Case& c) {
  const Operation& o = c.calls[0];
  return fmt::format("{} of {} {} op {} root {} ranks {}{}", NameOf(o.kind), o.count, HcclNameOf(o.type),
                     static_cast<int>(o.op), o.root, c.calls.size(), c.in_place ? " in place" : "");
}

class Collectives : public rt::rings::WorkersTest {
 protected:
  explicit Collectives(int workers = 2) : WorkersTest(workers) {}
  void Streams(uint32_t ranks) {
    while (streams_.size() < ranks) streams_.push_back(&NewStream());
  }
  // Runs it and says whether every rank has what it should.
  void Run(Group& group, Case& c) {
    Streams(group.ranks());
    for (uint32_t r = 0; r < group.ranks(); ++r) Submit(group[r], nullptr, *streams_[r], c.calls[r]);
    for (uint32_t r = 0; r < group.ranks(); ++r) {
      Wait(*streams_[r]);
      std::optional<rt::TaskFailure> failure = streams_[r]->TakeFailure();
      ASSERT_FALSE(failure) << Name(c) << ": " << failure->Sentence();
    }
    for (uint32_t r = 0; r < group.ranks(); ++r) ASSERT_TRUE(Same(c, r)) << Name(c) << " at rank " << r;
  }
  void RunAll(uint32_t ranks, bool apart) {
    Group group(ranks, 8192, apart);
    RunAll(group);
  }
  void RunAll(Group& group) {
    const uint32_t ranks = group.ranks();
    uint64_t seed = 1;
    for (Kind kind : kCollectives) {
      for (uint64_t count : {0, 1, 5, 61, 1048, 3000}) {
        for (bool in_place : {false, true}) {
          Case c = MakeCase(kind, DType::kF32, Reduction::kSum, count, ranks, seed % ranks, in_place, seed,
                            group.placement());
          ++seed;
          ASSERT_NO_FATAL_FAILURE(Run(group, c));
        }
      }
    }
  }
  std::vector<rt::Stream*> streams_;
};

}  // namespace belay::coll::testing
