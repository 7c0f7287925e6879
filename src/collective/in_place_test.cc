// Ranks of several processes that read each other's device memory where it lies: the same results as through
// the staging areas, and what becomes of memory that is freed, processes that fork, and ranks that cannot.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "base/codes.h"
#include "collective/process_testing.h"
#include "runtime/memory.h"
#include "runtime/memory_sharing.h"

namespace belay::coll::testing {
namespace {

using rt::SharedMemory;
using rt::Stream;

constexpr rt::MemoryConfig kMemory{.devices = 2, .bytes_per_device = size_t{256} << 20, .alias_offset = 0};
constexpr size_t kElements = 66'003;  // of 4 bytes
// Where ranks send different amounts, the least of them is still large.
uint64_t ElementsOf(Kind kind) {
  return kind == Kind::kAllGatherV || kind == Kind::kReduceScatterV ? 2 * kElements : kElements;
}
constexpr Kind kMoving[] = {Kind::kAllReduce,  Kind::kReduce,        Kind::kBroadcast, Kind::kAllGather,
                            Kind::kAllGatherV, Kind::kReduceScatter, Kind::kScatter,   Kind::kReduceScatterV,
                            Kind::kAllToAll,   Kind::kAllToAllV,     Kind::kAllToAllVC};
constexpr Kind kOverItself[] = {Kind::kAllReduce, Kind::kAllGather, Kind::kReduceScatter, Kind::kScatter,
                                Kind::kAllToAll};

// A block of device memory with these bytes, in a file unless `shown` is false.
class DeviceCopy {
 public:
  explicit DeviceCopy(const Bytes& bytes, bool shown = true) : bytes_(&bytes) {
    if (bytes.empty()) return;
    memory_ = static_cast<std::byte*>(rt::AllocateDevice(0, {.bytes = bytes.size()}));
    std::memcpy(memory_, bytes.data(), bytes.size());
    // It is tried less and less often; tasks that have just ended may not have said so yet.
    for (int use = 0; shown && use < 1 << 20 && !IsShown(); ++use)
      SharedMemory::Get().Show(memory_, bytes.size());
  }
  ~DeviceCopy() {
    if (memory_ != nullptr) rt::FreeDevice(memory_);
  }
  DeviceCopy(const DeviceCopy&) = delete;
  DeviceCopy& operator=(const DeviceCopy&) = delete;
  bool IsShown() const { return SharedMemory::Get().PlaceOf(memory_, bytes_->size()).has_value(); }
  // Where it is in the copy, if it is in the original.
  void* Here(const void* p) const {
    const auto offset = static_cast<size_t>(static_cast<const std::byte*>(p) - bytes_->data());
    return offset < bytes_->size() ? memory_ + offset : nullptr;
  }
  std::byte* memory() const { return memory_; }

 private:
  const Bytes* bytes_;
  std::byte* memory_ = nullptr;
};

// One rank's buffers of a case, moved to device memory.
struct OnDevice {
  OnDevice(Case& c, uint32_t r, bool shown = true) : given(c.given[r], shown), result(c.results[r], shown) {
    auto place = [&](const void* p) { return given.Here(p) != nullptr ? given.Here(p) : result.Here(p); };
    c.calls[r].send = place(c.calls[r].send);
    c.calls[r].receive = place(c.calls[r].receive);
  }
  DeviceCopy given, result;
};

bool HasWhatItShould(const Case& c, uint32_t r) {
  const Bytes& expected = c.expected[r];
  if (expected.empty() || (c.calls[r].kind == Kind::kReduce && r != c.calls[r].root)) return true;
  return std::memcmp(c.calls[r].receive, expected.data(), expected.size()) == 0;
}

class InPlace : public rt::rings::WorkersTest {
 protected:
  InPlace() : WorkersTest(2) { rt::StartMemory(kMemory); }
  // Runs it over device memory; true where all was read in place.
  bool Run(Group& group, Case& c, bool shown = true) {
    std::vector<std::unique_ptr<OnDevice>> buffers;
    for (uint32_t r = 0; r < group.ranks(); ++r) buffers.push_back(std::make_unique<OnDevice>(c, r, shown));
    return RunHere(group, c);
  }
  bool RunHere(Group& group, Case& c) {
    const uint64_t before = InPlaceCalls(group);
    while (streams_.size() < group.ranks()) streams_.push_back(&NewStream());
    for (uint32_t r = 0; r < group.ranks(); ++r) Submit(group[r], nullptr, *streams_[r], c.calls[r]);
    for (uint32_t r = 0; r < group.ranks(); ++r) {
      Wait(*streams_[r]);
      std::optional<rt::TaskFailure> failure = streams_[r]->TakeFailure();
      EXPECT_FALSE(failure) << failure->Sentence();
      EXPECT_TRUE(HasWhatItShould(c, r)) << NameOf(c.calls[r].kind) << " of " << HcclNameOf(c.calls[r].type)
                                         << (c.in_place ? " in place" : "") << " at rank " << r;
    }
    return InPlaceCalls(group) == before + group.ranks();
  }
  static uint64_t InPlaceCalls(Group& group) {
    uint64_t calls = 0;
    for (uint32_t r = 0; r < group.ranks(); ++r) calls += group[r].calls_in_place();
    return calls;
  }
  std::vector<Stream*> streams_;
};

TEST_F(InPlace, EveryCollectiveGivesWhatItShould) {
  Group group(3, 65536, Where::kApart);
  uint64_t seed = 1;
  for (Kind kind : kMoving) {
    for (bool same_buffer : {false, true}) {
      if (same_buffer &&
          std::find(std::begin(kOverItself), std::end(kOverItself), kind) == std::end(kOverItself))
        continue;
      ++seed;
      Case c = MakeCase(kind, DType::kF32, Reduction::kSum, ElementsOf(kind), 3,
                        static_cast<uint32_t>(seed % 3), same_buffer, seed);
      const bool moves_over_itself = kind == Kind::kAllToAll && same_buffer;
      EXPECT_EQ(Run(group, c), !moves_over_itself) << NameOf(kind);
    }
  }
}

TEST_F(InPlace, EveryTypeAndReduction) {
  Group group(2, 65536, Where::kApart);
  for (DType type : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8, DType::kI16,
                     DType::kI32, DType::kI64, DType::kU8, DType::kU16, DType::kU32, DType::kU64}) {
    for (Reduction op : {Reduction::kSum, Reduction::kProd, Reduction::kMax, Reduction::kMin}) {
      if (op != Reduction::kSum && type != DType::kF32) continue;
      const uint64_t count = SharedMemory::kLeastShown / tensor::BytesOf(type) + 1;
      Case c = MakeCase(Kind::kAllReduce, type, op, count, 2, 0, op == Reduction::kMax, count + 1);
      EXPECT_TRUE(Run(group, c));
    }
  }
}

TEST_F(InPlace, ABlockIsMovedWhenItWasUsedForSomeTimes) {
  Group group(2, 65536, Where::kApart);
  Case c = MakeCase(Kind::kAllReduce, DType::kF32, Reduction::kSum, kElements, 2, 0, false, 1);
  OnDevice first(c, 0, false), second(c, 1, false);
  int staged = 0;
  while (staged < 5000 && !RunHere(group, c)) ++staged;
  EXPECT_GE(staged, 2);
  EXPECT_LT(staged, 5000);
  EXPECT_TRUE(RunHere(group, c)) << "and stays so";
}

TEST_F(InPlace, OneRankWhoseMemoryIsNotInAFileHasAllStaged) {
  Group group(3, 65536, Where::kApart);
  for (uint32_t other = 0; other < 3; ++other) {
    Case c = MakeCase(Kind::kAllReduce, DType::kBF16, Reduction::kSum, 2 * kElements, 3, 0, true, other + 1);
    OnDevice a(c, 0, other != 0), b(c, 1, other != 1), d(c, 2, other != 2);
    EXPECT_FALSE(RunHere(group, c));
    group[other].SetReadsPeers(true);
  }
}

// A message is read where the sender has it, unless its memory is not in a file or the receiver cannot.
TEST_F(InPlace, MessagesAreReadWhereTheyLie) {
  Group group(2, 65536, Where::kApart);
  const Bytes given = Numbers(DType::kF32, kElements, 7);
  for (int i = 0; i < 3; ++i) {
    const DeviceCopy from(given, i != 1);
    const Bytes none(given.size());
    const DeviceCopy to(none, false);
    if (i == 2) group[1].SetReadsPeers(false);
    const uint64_t before = InPlaceCalls(group);
    Stream &sender = NewStream(), &receiver = NewStream();
    for (bool sends : {true, false}) {
      Operation o;
      o.kind = sends ? Kind::kSend : Kind::kReceive;
      o.count = kElements;
      o.messages = {{sends, sends ? from.memory() : to.memory(), kElements, DType::kF32, sends ? 1u : 0u}};
      Submit(group[sends ? 0 : 1], nullptr, sends ? sender : receiver, o);
    }
    Wait(sender);
    Wait(receiver);
    EXPECT_EQ(std::memcmp(to.memory(), given.data(), given.size()), 0);
    EXPECT_EQ(InPlaceCalls(group) - before, i == 0 ? 1u : 0u) << i;
  }
}

// A file is gone with its block, though others have it mapped; what comes to lie there is read anew.
TEST_F(InPlace, MemoryThatIsFreedGoesBackAtOnce) {
  Group group(2, 65536, Where::kApart);
  Case c = MakeCase(Kind::kAllGather, DType::kF32, Reduction::kSum, kElements, 2, 0, false, 1);
  auto first = std::make_unique<OnDevice>(c, 0);
  OnDevice second(c, 1);
  ASSERT_TRUE(RunHere(group, c));
  const auto place = SharedMemory::Get().PlaceOf(first->given.memory(), kElements * 4);
  ASSERT_TRUE(place);
  const int file = dup(place->file);
  struct stat about {};
  ASSERT_EQ(fstat(file, &about), 0);
  EXPECT_GE(about.st_blocks * 512, static_cast<int64_t>(kElements * 4));
  first.reset();
  ASSERT_EQ(fstat(file, &about), 0);
  EXPECT_EQ(about.st_blocks, 0);
  EXPECT_EQ(static_cast<uint64_t>(about.st_size), place->file_bytes) << "whoever has it mapped may touch it";
  close(file);
  for (uint64_t seed : {2, 3, 4}) {
    Case next = MakeCase(Kind::kAllReduce, DType::kF32, Reduction::kSum, kElements, 2, 0, false, seed);
    EXPECT_TRUE(Run(group, next));
  }
}

size_t MappedFiles() {
  std::ifstream maps("/proc/self/maps");
  size_t found = 0;
  for (std::string line; std::getline(maps, line);) found += line.find("belay-shared-memory") != line.npos;
  return found;
}

TEST_F(InPlace, AForkedChildHasNeitherTheMemoryNorTheMappings) {
  auto group = std::make_unique<Group>(2, 65536, Where::kApart);
  Case c = MakeCase(Kind::kAllReduce, DType::kF32, Reduction::kSum, kElements, 2, 0, false, 1);
  OnDevice first(c, 0), second(c, 1);
  ASSERT_TRUE(RunHere(*group, c));
  EXPECT_GT(MappedFiles(), 0u);
  const pid_t child = fork();
  if (child == 0) {
    const bool none = MappedFiles() == 0;
    group.reset();
    _exit(none ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(RunHere(*group, c));
}

class InPlaceSteps : public rt::rings::StepTest {
 protected:
  void StepOf(Stream& stream) {
    const auto& ready = engine_.ready();
    const auto it = std::find(ready.begin(), ready.end(), &stream);
    ASSERT_NE(it, ready.end());
    engine_.Step(static_cast<size_t>(it - ready.begin()));
  }
};

// Its program may already use the memory for something else that the slow one reads.
TEST_F(InPlaceSteps, WhoReadsAfterAnotherHasGivenUpFails) {
  rt::StartMemory(kMemory);
  Group group(2, 65536, Where::kApart);
  Case c = MakeCase(Kind::kAllGather, DType::kF32, Reduction::kSum, kElements, 2, 0, false, 1);
  OnDevice first(c, 0), second(c, 1);
  Stream& early = NewStream();
  Stream& slow = NewStream();
  Submit(group[0], nullptr, early, c.calls[0]);
  Submit(group[1], nullptr, slow, c.calls[1]);
  StepOf(early);  // has come
  StepOf(slow);   // has come, and says that it can
  StepOf(early);  // has read
  ASSERT_EQ(group[0].calls_in_place(), 1u);
  ASSERT_EQ(group[1].calls_in_place(), 0u);
  group[0].MarkFailed(1, FailureKind::kTimeout, "too slow");
  engine_.RunAll();
  for (Stream* stream : {&early, &slow}) {
    std::optional<rt::TaskFailure> failure = stream->TakeFailure();
    ASSERT_TRUE(failure);
    EXPECT_THAT(failure->Sentence(), ::testing::HasSubstr("too slow"));
  }
  EXPECT_EQ(group[1].calls_in_place(), 1u) << "it was about to read";
}

bool RunOne(ProcessRank& me, Case& c) {
  const uint32_t r = me.board().rank();
  Submit(me.board(), nullptr, me.stream(), c.calls[r]);
  const std::string failure = me.Finish();
  const bool well = failure.empty() && HasWhatItShould(c, r);
  if (!well) std::fprintf(stderr, "rank %u: %s %s\n", r, NameOf(c.calls[r].kind), failure.c_str());
  return well;
}

TEST(InPlaceProcesses, ReadEachOther) {
  EXPECT_TRUE(InProcesses(3, 65536, [](ProcessRank& me) {
    rt::RestartMemoryInChild(kMemory);
    Submit(me.board(), nullptr, me.stream(),
           Operation());  // a barrier: before all have come, calls are staged
    bool well = me.Finish().empty();
    uint64_t seed = 1;
    for (Kind kind : kMoving) {
      if (kind != Kind::kAllReduce && kind != Kind::kReduce && kind != Kind::kBroadcast &&
          kind != Kind::kReduceScatter)
        continue;
      Case c = MakeCase(kind, DType::kF32, Reduction::kSum, kElements, 3, 1, seed % 2 == 0, seed);
      ++seed;
      OnDevice buffers(c, me.board().rank());
      well &= RunOne(me, c);
    }
    const auto in_place = static_cast<unsigned>(me.board().calls_in_place());
    if (in_place != 4) std::fprintf(stderr, "rank %u: %u in place\n", me.board().rank(), in_place);
    return well && in_place == 4;
  }));
}

// One of them may open no more files, and so cannot map the other's memory: both hear of it in time.
TEST(InPlaceProcesses, AreStagedWhereOneOfThemCannot) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer needs pipes to look at objects";
#endif
  EXPECT_TRUE(InProcesses(2, 65536, [](ProcessRank& me) {
    rt::RestartMemoryInChild(kMemory);
    Case c = MakeCase(Kind::kAllGather, DType::kF32, Reduction::kSum, kElements, 2, 0, false, 1);
    OnDevice buffers(c, me.board().rank());
    const rlimit none{0, 0};
    bool well = me.board().rank() == 0 || setrlimit(RLIMIT_NOFILE, &none) == 0;
    for (int i = 0; i < 3; ++i) well &= RunOne(me, c);
    return well && me.board().calls_in_place() == 0;
  }));
}

}  // namespace
}  // namespace belay::coll::testing
