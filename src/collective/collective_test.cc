// Every collective, type and operation, in one process, through both ways that data goes.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <utility>

#include "collective/cases_testing.h"
#include "collective/reduce.h"
#include "runtime/shared_cores.h"
#include "runtime/thread_engine.h"

namespace belay::coll::testing {
namespace {

TEST_F(Collectives, OfOneToEightRanksThatSeeEachOthersBuffers) {
  for (uint32_t ranks : {1, 2, 3, 4, 8}) ASSERT_NO_FATAL_FAILURE(RunAll(ranks, false));
}

TEST_F(Collectives, OfOneToEightRanksThroughTheStagingAreas) {
  for (uint32_t ranks : {1, 2, 3, 4, 8}) ASSERT_NO_FATAL_FAILURE(RunAll(ranks, true));
}

TEST_F(Collectives, OfRanksOnSeveralHosts) {
  const std::vector<std::vector<uint32_t>> cases = {
      {0, 1}, {0, 1, 1}, {0, 1, 0, 1}, {0, 1, 2}, {0, 0, 1, 2, 1}};
  for (const std::vector<uint32_t>& of : cases) {
    for (bool apart : {false, true}) {
      Group group(of, 8192, apart);
      ASSERT_NO_FATAL_FAILURE(RunAll(group));
    }
  }
}

// Whatever way it goes: to each directly, or handed on by hosts between.
TEST_F(Collectives, OfHostsThatHandOn) {
  for (const WayKind way : {WayKind::kRing, WayKind::kDoubling}) {
    for (const std::vector<uint32_t>& of :
         {std::vector<uint32_t>{0, 1}, {0, 1, 2}, {0, 1, 2, 3, 4, 2}, {0, 1, 2, 3, 4, 5, 6}}) {
      Group group(of, 8192, false, "g", way);
      ASSERT_NO_FATAL_FAILURE(RunAll(group));
    }
  }
}

class OneWorker : public Collectives {
 protected:
  OneWorker() : Collectives(1) {}
};

TEST_F(OneWorker, ServesAllRanksOfAProcess) {
  ASSERT_NO_FATAL_FAILURE(RunAll(4, false));
  ASSERT_NO_FATAL_FAILURE(RunAll(3, true));
}

// One task at a time, on one thread, whichever is first.
class Steps : public rt::rings::StepTest {};

TEST_F(Steps, NoRankHoldsUpTheOthers) {
  for (bool apart : {false, true}) {
    for (Kind kind : kCollectives) {
      Group group(3, 4096, apart);
      Case c = MakeCase(kind, DType::kI16, Reduction::kSum, 2000, 3, 1, false, 9);
      std::vector<rt::Stream*> streams;
      for (uint32_t r = 0; r < 3; ++r) {
        streams.push_back(&NewStream());
        Submit(group[r], nullptr, *streams[r], c.calls[r]);
      }
      engine_.RunAll();
      for (uint32_t r = 0; r < 3; ++r) {
        EXPECT_TRUE(streams[r]->Idle()) << Name(c);
        EXPECT_TRUE(Same(c, r)) << Name(c) << " at rank " << r;
      }
    }
  }
}

TEST_F(Collectives, OfEveryTypeAndOperation) {
  for (Where where : kAnywhere) {
    Group group(3, 4096, where);
    uint64_t seed = 1000;
    for (DType type : {DType::kI8, DType::kI16, DType::kI32, DType::kI64, DType::kU8, DType::kU16,
                       DType::kU32, DType::kU64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
      for (int op = 0; op < 4; ++op) {
        for (Kind kind : {Kind::kAllReduce, Kind::kReduceScatter}) {
          Case c =
              MakeCase(kind, type, static_cast<Reduction>(op), 1100, 3, 0, false, ++seed, group.placement());
          ASSERT_NO_FATAL_FAILURE(Run(group, c));
        }
      }
    }
    for (DType type : {DType::kU8, DType::kF8E5M2, DType::kC128, DType::kF64}) {
      Case c = MakeCase(Kind::kAllToAll, type == DType::kF8E5M2 ? DType::kI8 : type, Reduction::kSum, 777, 3,
                        0, false, ++seed);
      ASSERT_NO_FATAL_FAILURE(Run(group, c));
    }
  }
}

// Counts right below, at and above every size at which something else happens.
TEST_F(Collectives, AroundEveryThreshold) {
  for (const auto& [ranks, where] : {std::pair(2u, Where::kTogether),
                                     {2u, Where::kApart},
                                     {3u, Where::kApart},
                                     {3u, Where::kOnTwoHosts}}) {
    Group group(ranks, 4096, where);
    uint64_t half = group[0].half_bytes() / 4;
    uint64_t round = group[0].half_bytes() / (ranks + 1) / 64 * 64 / 4 * ranks;
    uint64_t seed = 5000;
    for (uint64_t at : {uint64_t{16}, uint64_t{32}, uint64_t{Announcement::kPayload / 4}, half / ranks,
                        half / 2, half, round, 2 * round, 3 * round, 2 * half}) {
      for (uint64_t count : {at - 1, at, at + 1}) {
        for (Kind kind : {Kind::kAllReduce, Kind::kReduce, Kind::kBroadcast, Kind::kAllGather,
                          Kind::kReduceScatter, Kind::kAllToAllV}) {
          Case c = MakeCase(kind, DType::kI32, Reduction::kMax, count, ranks, 1, seed % 2 == 0, seed + 1);
          ++seed;
          ASSERT_NO_FATAL_FAILURE(Run(group, c));
        }
      }
    }
  }
}

// Rounds of the size that a communicator has, more than one of them, in place as DistributedDataParallel
// does.
TEST_F(Collectives, OfWhatFillsTheStagingAreasOfACommunicator) {
  for (const auto& [ranks, where] :
       {std::pair(2u, Where::kApart), {3u, Where::kApart}, {3u, Where::kOnTwoHosts}}) {
    Group group(ranks, Board::kStagingBytes, where);
    for (uint64_t count : {uint64_t{16} << 10, (uint64_t{64} << 10) + 1, uint64_t{200} << 10}) {
      for (bool in_place : {false, true}) {
        Case c = MakeCase(Kind::kAllReduce, DType::kF32, Reduction::kSum, count, ranks, 0, in_place, count,
                          group.placement());
        ASSERT_NO_FATAL_FAILURE(Run(group, c));
      }
    }
  }
}

// The result may lie on any of what is reduced.
TEST_F(Collectives, SumsLieWhereWhatIsSummedLies) {
  constexpr size_t kCount = 1300;
  for (DType type : {DType::kF32, DType::kBF16, DType::kI8}) {
    for (size_t ranks : {1, 2, 3, 5}) {
      for (size_t on = 0; on < ranks; ++on) {
        std::vector<Bytes> given;
        for (size_t r = 0; r < ranks; ++r) given.push_back(Numbers(type, kCount, r + 1));
        const Bytes expected = Folded(type, Reduction::kSum, given);
        Bytes other(expected.size());
        std::vector<Operand> ins;
        for (const Bytes& one : given) ins.push_back({one.data(), type});
        std::byte* outs[] = {given[on].data(), other.data()};
        ReduceInto(type, Reduction::kSum, outs, 2, ins.data(), ranks, kCount);
        EXPECT_EQ(given[on], expected) << ranks << " on " << on;
        EXPECT_EQ(other, expected) << ranks << " on " << on;
      }
    }
  }
}

// With more ranks in other processes than cores, who waits leaves its core to them; afterwards no longer.
TEST_F(Collectives, CrowdedRanksShareTheirCores) {
  const auto ranks = static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_CONF)) + 1;
  if (ranks > 33) GTEST_SKIP() << "so many streams are more than one test needs";
  ASSERT_FALSE(rt::SharesCores());
  {
    Group group(ranks, 4096, true);
    Streams(ranks);
    Operation barrier;
    Submit(group[0], nullptr, *streams_[0], barrier);
    while (!rt::SharesCores()) std::this_thread::yield();  // once it is parked
    for (uint32_t r = 1; r < ranks; ++r) Submit(group[r], nullptr, *streams_[r], barrier);
    for (uint32_t r = 0; r < ranks; ++r) Wait(*streams_[r]);
  }
  EXPECT_FALSE(rt::SharesCores());
  Group here(ranks, 4096, false);
  for (uint32_t r = 0; r < ranks; ++r) Submit(here[r], nullptr, *streams_[r], Operation());
  for (uint32_t r = 0; r < ranks; ++r) Wait(*streams_[r]);
  EXPECT_FALSE(rt::SharesCores()) << "in one process nobody is elsewhere";
}

// Sums of numbers of very different size depend on their order.
TEST_F(Collectives, ResultsRepeatBitForBit) {
  constexpr uint32_t kRanks = 4;
  constexpr uint64_t kCount = 4096;
  std::vector<std::vector<float>> given(kRanks, std::vector<float>(kCount));
  for (uint32_t r = 0; r < kRanks; ++r) {
    for (uint64_t i = 0; i < kCount; ++i)
      given[r][i] = (r % 2 == 0 ? 1.0f : -1.0f) * 1e7f / static_cast<float>(1 + (i * 7 + r) % 97);
  }
  std::vector<float> first;
  for (Where where : kAnywhere) {
    for (uint64_t staging : {4096, 65536}) {
      // Between hosts, the order of the ranks is that of one host only where it is asked for.
      const auto of = where == Where::kOnTwoHosts ? OnTwoHosts(kRanks) : std::vector<uint32_t>(kRanks);
      Group group(of, staging, where == Where::kApart, "g", WayKind::kDirect, /*by_rank=*/true);
      Streams(kRanks);
      std::vector<std::vector<float>> results(kRanks, std::vector<float>(kCount));
      for (uint32_t i = 0; i < kRanks; ++i) {
        uint32_t r = (i * 3 + (where == Where::kApart ? 1 : 2)) % kRanks;
        Operation o;
        o.kind = Kind::kAllReduce;
        o.send = given[r].data();
        o.receive = results[r].data();
        o.count = kCount;
        Submit(group[r], nullptr, *streams_[r], o);
      }
      for (uint32_t r = 0; r < kRanks; ++r) Wait(*streams_[r]);
      if (first.empty()) first = results[0];
      for (uint32_t r = 0; r < kRanks; ++r)
        EXPECT_EQ(std::memcmp(first.data(), results[r].data(), kCount * 4), 0);
    }
  }
}

TEST_F(Collectives, ANaNWins) {
  for (Reduction op : {Reduction::kMax, Reduction::kMin}) {
    float a[] = {1, NAN, 3}, b[] = {NAN, 2, 3}, out[3];
    std::byte* outs[] = {reinterpret_cast<std::byte*>(out)};
    const Operand ins[] = {{reinterpret_cast<std::byte*>(a), DType::kF32},
                           {reinterpret_cast<std::byte*>(b), DType::kF32}};
    ReduceInto(DType::kF32, op, outs, 1, ins, 2, 3);
    EXPECT_NE(out[0], out[0]);
    EXPECT_NE(out[1], out[1]);
    EXPECT_EQ(out[2], 3);
  }
}

Message To(uint32_t peer, const Bytes& bytes, DType type = DType::kU8) {
  return {true, const_cast<std::byte*>(bytes.data()), bytes.size() / tensor::BytesOf(type), type, peer};
}
Message From(uint32_t peer, Bytes& bytes, DType type = DType::kU8) {
  return {false, bytes.data(), bytes.size() / tensor::BytesOf(type), type, peer};
}
Operation OperationOf(Kind kind, std::vector<Message> messages) {
  Operation o;
  o.kind = kind;
  o.root = messages.at(0).peer;
  o.count = messages[0].count;
  o.type = messages[0].type;
  o.messages = std::move(messages);
  return o;
}

TEST_F(Collectives, MessagesArriveInOrder) {
  for (Where where : kAnywhere) {
    Group group(2, 4096, where);
    Streams(2);
    std::vector<Bytes> given, got;
    for (uint64_t bytes : {0, 1, 1023, 1024, 1025, 131072, 131073, 400000, 7, 262144}) {
      given.push_back(Numbers(DType::kU8, bytes, bytes + 1));
      got.emplace_back(bytes);
    }
    for (size_t i = 0; i < given.size(); ++i) {
      Submit(group[0], nullptr, *streams_[0], OperationOf(Kind::kSend, {To(1, given[i])}));
      Submit(group[1], nullptr, *streams_[1], OperationOf(Kind::kReceive, {From(0, got[i])}));
    }
    Wait(*streams_[0]);
    Wait(*streams_[1]);
    for (size_t i = 0; i < given.size(); ++i) EXPECT_EQ(given[i], got[i]) << i;
  }
}

TEST_F(Collectives, ABatchGetsOnAsAWhole) {
  for (Where where : kAnywhere) {
    constexpr uint32_t kRanks = 4;
    Group group(kRanks, 4096, where);
    Streams(kRanks);
    std::vector<std::vector<Bytes>> given(kRanks), got(kRanks);
    for (uint32_t r = 0; r < kRanks; ++r) {
      for (uint32_t q = 0; q < kRanks; ++q) {
        given[r].push_back(Numbers(DType::kU8, 1 + 90'000 * (r + q), r * 8 + q));
        got[r].emplace_back(given[r].back().size());
      }
    }
    for (uint32_t r = 0; r < kRanks; ++r) {
      std::vector<Message> messages;
      for (uint32_t q = 0; q < kRanks; ++q) messages.push_back(To(q, given[r][q]));
      for (uint32_t q = 0; q < kRanks; ++q) messages.push_back(From(q, got[r][q]));
      Submit(group[r], nullptr, *streams_[r], OperationOf(Kind::kBatch, messages));
    }
    for (uint32_t r = 0; r < kRanks; ++r) Wait(*streams_[r]);
    for (uint32_t r = 0; r < kRanks; ++r) {
      for (uint32_t q = 0; q < kRanks; ++q) EXPECT_EQ(got[r][q], given[q][r]) << q << " to " << r;
    }
  }
}

}  // namespace
}  // namespace belay::coll::testing
