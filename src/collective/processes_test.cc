// Ranks in processes of their own over one file in memory.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>

#include "collective/testing.h"
#include "runtime/thread_engine.h"

namespace belay::coll::testing {
namespace {

using rt::Stream;

// A child has an engine of its own. It says by its exit status whether all was well.
class Rank {
 public:
  Rank(int memory, size_t bytes, uint32_t rank, uint32_t ranks, size_t staging)
      : engine_({1, true}),
        board_(static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0)),
               rank, ranks, staging, "p") {
    rt::rings::TheDevice();
    rt::InstallThreadEngine(&engine_);
    stream_ = &rt::Contexts().Find(rt::CreateContext(rt::rings::TheDevice(), false))->CreateStream({});
  }
  Board& board() { return board_; }
  Stream& stream() { return *stream_; }
  std::string Finish() {
    rt::TheEngine().WaitFor(*stream_, stream_->tail(), -1);
    std::optional<rt::TaskFailure> failure = stream_->TakeFailure();
    return failure ? failure->Sentence() : "";
  }

 private:
  rt::ThreadEngine engine_;
  Board board_;
  Stream* stream_ = nullptr;
};

// Runs `body` in a process for each rank; true where all came back with true.
bool InProcesses(uint32_t ranks, size_t staging, const std::function<bool(Rank&)>& body) {
  const size_t bytes = Board::Bytes(ranks, staging);
  int memory = memfd_create("belay-test", MFD_CLOEXEC);
  if (memory < 0 || ftruncate(memory, static_cast<off_t>(bytes)) != 0) return false;
  std::vector<pid_t> children;
  for (uint32_t r = 0; r < ranks; ++r) {
    pid_t child = fork();
    if (child == 0) {
      auto* rank = new Rank(memory, bytes, r, ranks, staging);  // never ended: _exit does that
      _exit(body(*rank) ? 0 : 1);
    }
    children.push_back(child);
  }
  bool well = true;
  for (pid_t child : children) {
    int status = 0;
    well &= waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  close(memory);
  return well;
}

bool SameAt(const Case& c, uint32_t r) {
  const Bytes& expected = c.expected[r];
  if (expected.empty() || (c.calls[r].kind == Kind::kReduce && r != c.calls[r].root)) return true;
  if (std::memcmp(c.calls[r].receive, expected.data(), expected.size()) == 0) return true;
  std::fprintf(stderr, "%s of %lu differs at rank %u\n", NameOf(c.calls[r].kind), c.calls[r].count, r);
  return false;
}

TEST(Processes, AllCollectivesOfFourRanks) {
  EXPECT_TRUE(InProcesses(4, 32768, [](Rank& me) {
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
  EXPECT_TRUE(InProcesses(2, 65536, [](Rank& me) {
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
  EXPECT_TRUE(InProcesses(2, 65536, [](Rank& me) {
    Case c = MakeCase(me.board().rank() == 0 ? Kind::kAllReduce : Kind::kAllGather, DType::kF32,
                      Reduction::kSum, 10, 2, 0, false, 1);
    Submit(me.board(), nullptr, me.stream(), c.calls[me.board().rank()]);
    std::string said = me.Finish();
    return said.find("HcclAllReduce") != said.npos && said.find("HcclAllGather") != said.npos;
  }));
}

}  // namespace
}  // namespace belay::coll::testing
