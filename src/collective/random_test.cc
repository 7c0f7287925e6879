// Random collectives on several communicators and streams from several threads, with captures and replays,
// each against the plain reference. BELAY_TEST_SEED runs one seed alone.
#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <thread>

#include "collective/testing.h"
#include "runtime/capture.h"
#include "runtime/model_ri.h"
#include "runtime/thread_engine.h"

namespace belay::coll::testing {
namespace {

using rt::Stream;

constexpr int kSteps = 60;
constexpr Kind kKinds[] = {Kind::kBarrier,   Kind::kAllReduce,  Kind::kReduce,        Kind::kBroadcast,
                           Kind::kAllGather, Kind::kAllGatherV, Kind::kReduceScatter, Kind::kReduceScatterV,
                           Kind::kScatter,   Kind::kAllToAll,   Kind::kAllToAllV,     Kind::kAllToAllVC};

// What all ranks of one communicator do, one step after the other.
struct Step {
  std::vector<Case> cases;  // several: captured together
  int replays = 0;          // 0: not captured
};

std::vector<Step> Plan(std::mt19937_64& random, const Group& group) {
  const uint32_t ranks = group.ranks();
  auto below = [&](uint64_t n) { return random() % n; };
  constexpr DType kTypes[] = {DType::kF32, DType::kBF16, DType::kI8, DType::kI64, DType::kF16};
  auto one = [&] {
    uint64_t count = below(4) == 0 ? below(9000) : below(300);
    return MakeCase(kKinds[below(std::size(kKinds))], kTypes[below(std::size(kTypes))],
                    static_cast<Reduction>(below(4)), count, ranks, static_cast<uint32_t>(below(ranks)),
                    false, random(), group.placement());
  };
  std::vector<Step> steps;
  for (int i = 0; i < kSteps; ++i) {
    Step step;
    step.replays = below(5) == 0 ? 1 + static_cast<int>(below(4)) : 0;
    for (uint64_t cases = step.replays == 0 ? 1 : 1 + below(3); cases > 0; --cases)
      step.cases.push_back(one());
    steps.push_back(std::move(step));
  }
  return steps;
}

// Up to four ranks, on up to three hosts.
std::unique_ptr<Group> NewGroup(std::mt19937_64& random) {
  constexpr WayKind kWays[] = {WayKind::kDirect, WayKind::kRing, WayKind::kDoubling};
  std::vector<uint32_t> of{0};
  const uint64_t others = random() % 4, hosts = 1 + random() % 3;
  uint32_t begun = 1;
  for (uint64_t i = 0; i < others; ++i) {
    of.push_back(static_cast<uint32_t>(random() % std::min<uint64_t>(hosts, begun + 1)));
    begun = std::max(begun, of.back() + 1);
  }
  const size_t staging = random() % 2 == 0 ? 2048 : 16384;
  return std::make_unique<Group>(of, staging, random() % 2 == 0, "g", kWays[random() % 3], random() % 3 == 0);
}

bool SameAsReference(const Case& c, uint32_t r) {
  const Bytes& expected = c.expected[r];
  if (expected.empty() || (c.calls[r].kind == Kind::kReduce && r != c.calls[r].root)) return true;
  return std::memcmp(c.calls[r].receive, expected.data(), expected.size()) == 0;
}

// One rank in one communicator: a stream, and a thread that feeds it.
void Feed(Board& board, Stream& stream, std::vector<Step>& steps) {
  for (Step& step : steps) {
    if (step.replays > 0) rt::Capture::Begin(stream, rt::CaptureMode::kThreadLocal);
    for (Case& c : step.cases) Submit(board, nullptr, stream, c.calls[board.rank()]);
    if (step.replays == 0) continue;
    rt::ModelRI& model = rt::Capture::End(stream);
    for (int i = 0; i < step.replays; ++i) model.Execute(stream);
    rt::ModelRI::Destroy(model);
  }
}

class RandomCollectives : public rt::rings::WorkersTest, public ::testing::WithParamInterface<int> {
 protected:
  RandomCollectives() : WorkersTest(rt::ThreadEngineConfig{2, true}) {}
};

TEST_P(RandomCollectives, GiveWhatThePlainReferenceGives) {
  const uint64_t seed = rt::rings::SeedOr(static_cast<uint64_t>(GetParam()) + 1);
  SCOPED_TRACE(fmt::format("BELAY_TEST_SEED={}", seed));
  std::mt19937_64 random(seed);
  const auto communicators = 1 + random() % 3;
  std::vector<std::unique_ptr<Group>> groups;
  std::vector<std::vector<Step>> plans;
  for (uint64_t c = 0; c < communicators; ++c) {
    groups.push_back(NewGroup(random));
    plans.push_back(Plan(random, *groups.back()));
  }
  std::vector<std::thread> threads;
  std::vector<std::vector<Stream*>> streams(communicators);
  std::atomic<int> failures{0};
  for (uint64_t c = 0; c < communicators; ++c) {
    for (uint32_t r = 0; r < groups[c]->ranks(); ++r) {
      streams[c].push_back(&NewStream());
      threads.emplace_back([&, c, r, stream = streams[c].back()] {
        Feed((*groups[c])[r], *stream, plans[c]);
        Wait(*stream);
        if (stream->TakeFailure()) ++failures;
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  for (uint64_t c = 0; c < communicators; ++c) {
    for (const Step& step : plans[c]) {
      for (const Case& one : step.cases) {
        for (uint32_t r = 0; r < groups[c]->ranks(); ++r) {
          ASSERT_TRUE(SameAsReference(one, r)) << NameOf(one.calls[r].kind) << " of " << one.calls[r].count
                                               << " at rank " << r << " of " << groups[c]->ranks();
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomCollectives, ::testing::Range(0, 12));

}  // namespace
}  // namespace belay::coll::testing
