#include "runtime/arena.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <random>
#include <set>
#include <thread>

#include "base/sanitizer.h"
#include "runtime/arena_poison.h"

namespace belay::rt {
namespace {

TEST(SizeClass, HoldsItsRequestAndIsTight) {
  for (size_t bytes = 1; bytes <= kMaxSmallBytes; ++bytes) {
    SizeClass c = SmallClassOf(bytes);
    ASSERT_LT(c, kSmallClasses);
    ASSERT_GE(SmallClassBytes(c), bytes);
    ASSERT_EQ(SmallClassBytes(c) % kBlockAlignment, 0u);
    if (c > 0) {
      ASSERT_LT(SmallClassBytes(c - 1), bytes);
    }
  }
  for (uint64_t pages = 1; pages < 100'000; ++pages) {
    SizeClass c = LargeClassOf(pages);
    ASSERT_FALSE(IsSmall(c));
    ASSERT_GE(LargeClassPages(c), pages);
    ASSERT_LE(LargeClassPages(c), pages + pages / 8);
  }
  EXPECT_LT(LargeClassOf(kMaxLargePages), kMappedClass);
}

TEST(SizeClass, BlockIndexDivides) {
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    for (uint32_t offset = 0; offset < kPageBytes; ++offset) {
      ASSERT_EQ(BlockIndex(c, offset), offset / SmallClassBytes(c)) << int{c} << " " << offset;
    }
  }
}

TEST(FreeRanges, MergesAndSplits) {
  FreeRanges ranges;
  ranges.Add(0, 10);
  ranges.Add(20, 10);
  EXPECT_EQ(ranges.Take(11, 1), FreeRanges::kNone);
  ranges.Add(10, 10);  // joins both
  EXPECT_EQ(ranges.Take(20, 8), 0u);
  EXPECT_EQ(ranges.TakeAt(25, 5), 25u);
  EXPECT_EQ(ranges.TakeAt(25, 1), FreeRanges::kNone);
  EXPECT_EQ(ranges.Take(2, 4), 20u);
  EXPECT_EQ(ranges.Take(4, 1), FreeRanges::kNone);
  EXPECT_EQ(ranges.Take(3, 1), 22u);
}

class ArenaTest : public testing::Test {
 protected:
  static constexpr size_t kCapacity = size_t{64} << 20;
  static constexpr uint32_t kPages = (size_t{256} << 20) >> kPageShift;
  ArenaTest() {
    EXPECT_TRUE(space_.Reserve(size_t{kPages} << kPageShift, size_t{kPages} << kPageShift, 0));
    arena_.emplace(&space_, 0, kPages, MemoryKind::kDevice, 0, kCapacity);
  }
  std::byte* Allocate(size_t bytes) {
    return static_cast<std::byte*>(arena_->Allocate(bytes, Padding::kDocumented, true));
  }
  bool Free(void* p) { return arena_->Free(reinterpret_cast<uintptr_t>(p)); }

  AddressSpace space_;
  std::optional<Arena> arena_;
};

TEST_F(ArenaTest, AlignsAndReuses) {
  for (size_t bytes : {1, 63, 64, 1000, 5000, 32'000, 40'000, 1'000'000, 3'000'000}) {
    std::byte* p = Allocate(bytes);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % kBlockAlignment, 0u);
    if (bytes >= kHugePageBytes) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % kHugePageBytes, 0u);
    }
    p[0] = p[bytes - 1] = std::byte{1};
    EXPECT_TRUE(Free(p));
    EXPECT_EQ(Allocate(bytes), p) << "a freed block is the next one handed out";
    EXPECT_TRUE(Free(p));
    EXPECT_FALSE(Free(p)) << "twice";
    EXPECT_FALSE(Free(p + 1)) << "interior";
  }
  EXPECT_EQ(arena_->used(), 0u);
}

TEST_F(ArenaTest, ChargesCapacityAndTrimsTheCache) {
  EXPECT_EQ(Allocate(kCapacity), nullptr) << "the padding does not fit";
  EXPECT_EQ(Allocate(SIZE_MAX), nullptr);
  EXPECT_EQ(Allocate(size_t{1} << 63), nullptr);
  // Every size fills the capacity in turn: what other sizes cached has to go.
  for (size_t bytes : {size_t{100}, size_t{10'000}, size_t{100'000}, size_t{5} << 20}) {
    std::vector<std::byte*> blocks;
    while (std::byte* p = Allocate(bytes)) blocks.push_back(p);
    EXPECT_GE(blocks.size() * Padded(bytes, Padding::kDocumented), kCapacity - bytes - 64);
    EXPECT_LE(arena_->used(), kCapacity);
    for (std::byte* p : blocks) EXPECT_TRUE(Free(p));
    EXPECT_EQ(arena_->used(), 0u);
  }
  EXPECT_LE(arena_->cached(), kCapacity + kCapacity / 8);
  ASSERT_NE(Allocate(kCapacity - 64), nullptr);
}

TEST_F(ArenaTest, ClearFreesWhatIsLeft) {
  std::byte* small = Allocate(100);
  std::byte* large = Allocate(1 << 20);
  arena_->Clear();
  EXPECT_EQ(arena_->used(), 0u);
  EXPECT_EQ(arena_->cached(), 0u);
  EXPECT_FALSE(Free(small));
  EXPECT_FALSE(Free(large));
  EXPECT_NE(Allocate(100), nullptr);
}

// Random allocations and frees against a model: blocks are disjoint, keep their bytes, and capacity
// is the sum of what lives.
TEST_F(ArenaTest, RandomAgainstModel) {
  struct Block {
    std::byte* p;
    size_t bytes;
    std::byte mark;
  };
  unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::vector<Block> model;
  std::map<uintptr_t, size_t> extents;
  size_t charged = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 2 == 0 || model.empty()) {
      size_t bytes = 1 + random() % (size_t{1} << (random() % 23));
      std::byte* p = Allocate(bytes);
      if (p == nullptr) {
        ASSERT_GT(charged + Padded(bytes, Padding::kDocumented), kCapacity);
        continue;
      }
      auto at = reinterpret_cast<uintptr_t>(p);
      auto next = extents.lower_bound(at);
      ASSERT_TRUE(next == extents.end() || at + bytes <= next->first);
      ASSERT_TRUE(next == extents.begin() || std::prev(next)->first + std::prev(next)->second <= at);
      extents[at] = bytes;
      charged += Padded(bytes, Padding::kDocumented);
      auto mark = static_cast<std::byte>(random());
      p[0] = p[bytes / 2] = p[bytes - 1] = mark;
      model.push_back({p, bytes, mark});
    } else {
      std::swap(model[random() % model.size()], model.back());
      Block b = model.back();
      model.pop_back();
      ASSERT_EQ(b.p[0], b.mark);
      ASSERT_EQ(b.p[b.bytes / 2], b.mark);
      ASSERT_EQ(b.p[b.bytes - 1], b.mark);
      extents.erase(reinterpret_cast<uintptr_t>(b.p));
      charged -= Padded(b.bytes, Padding::kDocumented);
      ASSERT_TRUE(Free(b.p));
    }
    ASSERT_EQ(arena_->used(), charged);
  }
}

TEST_F(ArenaTest, ThreadsShareAnArena) {
  std::atomic<int> refused{0};
  auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::pair<std::byte*, size_t>> mine;
    for (int step = 0; step < 5'000; ++step) {
      if (random() % 2 == 0 || mine.empty()) {
        size_t bytes = 1 + random() % (size_t{1} << (random() % 21));
        std::byte* p = Allocate(bytes);
        if (p == nullptr) {
          ++refused;
          continue;
        }
        p[0] = p[bytes - 1] = static_cast<std::byte>(seed);
        mine.emplace_back(p, bytes);
      } else {
        auto [p, bytes] = mine.back();
        mine.pop_back();
        ASSERT_EQ(p[0], static_cast<std::byte>(seed));
        ASSERT_EQ(p[bytes - 1], static_cast<std::byte>(seed));
        ASSERT_TRUE(Free(p));
      }
    }
    for (auto [p, bytes] : mine) ASSERT_TRUE(Free(p));
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i <= 4; ++i) threads.emplace_back(work, i);
  for (auto& t : threads) t.join();
  EXPECT_EQ(arena_->used(), 0u);
}

TEST_F(ArenaTest, OneOfTwoFreesWins) {
  for (int round = 0; round < 500; ++round) {
    std::byte* p = Allocate(128);
    std::atomic<int> wins{0};
    std::thread other([&] { wins += Free(p); });
    wins += Free(p);
    other.join();
    ASSERT_EQ(wins, 1);
  }
}

// An arena that has room for everything, so that nothing but its own rule makes it give memory back.
class LargeArenaTest : public testing::Test {
 protected:
  static constexpr size_t kBytes = size_t{2} << 30;
  static constexpr uint32_t kPages = kBytes >> kPageShift;
  static void SetUpTestSuite() { ASSERT_TRUE(space_.Reserve(kBytes, kBytes, 0)); }
  // Other tests count on addresses.
  static void TearDownTestSuite() { munmap(reinterpret_cast<void*>(space_.base()), kBytes); }
  LargeArenaTest() { arena_.emplace(&space_, 0, kPages, MemoryKind::kDevice, 0, kBytes); }
  ~LargeArenaTest() override {
    arena_->Clear();
    arena_->ForgetAfterFork();
  }
  std::byte* Allocate(size_t bytes) {
    return static_cast<std::byte*>(arena_->Allocate(bytes, Padding::kDocumented, true));
  }
  bool Free(void* p) { return arena_->Free(reinterpret_cast<uintptr_t>(p)); }
  static size_t Resident() {
    std::ifstream statm("/proc/self/statm");
    size_t all = 0, resident = 0;
    statm >> all >> resident;
    return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  }
  static void Touch(std::byte* p, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 4096) p[i] = std::byte{1};
  }

  static inline AddressSpace space_;
  std::optional<Arena> arena_;
};

TEST_F(LargeArenaTest, OneBlockOfEverOtherSizesStaysSmall) {
  size_t before = Resident();
  size_t most = 0;
  for (size_t bytes = size_t{8} << 20; bytes < size_t{40} << 20; bytes += bytes / 10) {
    std::byte* p = Allocate(bytes);
    ASSERT_NE(p, nullptr);
    Touch(p, bytes);
    ASSERT_TRUE(Free(p));
    EXPECT_LE(arena_->cached(), Arena::kLeastKept);
    most = std::max(most, Resident() - before);
  }
#if !defined(BELAY_ASAN) && !defined(BELAY_TSAN)  // what they keep of each byte counts as well
  EXPECT_LE(most, Arena::kLeastKept + (size_t{64} << 20));
#endif
  EXPECT_GE(arena_->cached(), Arena::kLeastKept / 2) << "no more was given back than had to be";
}

// More than the least that is kept: each step finds the blocks of the one before, with what was written
// there.
TEST_F(LargeArenaTest, StepsThatRepeatFindTheirBlocksAgain) {
  constexpr size_t kBlock = 80'000;  // a run of two pages: far larger than what is charged
  constexpr size_t kCount = 2600;
  std::vector<std::byte*> first;
  for (int step = 0; step < 20; ++step) {
    std::vector<std::byte*> blocks;
    for (size_t i = 0; i < kCount; ++i) {
      blocks.push_back(Allocate(kBlock));
      if (step == 0) blocks.back()[0] = std::byte{7};
#ifndef BELAY_ASAN
      ASSERT_EQ(blocks.back()[0], std::byte{7}) << "step " << step << ": its memory was given back";
#endif
    }
    for (auto p = blocks.rbegin(); p != blocks.rend(); ++p) ASSERT_TRUE(Free(*p));
    EXPECT_EQ(arena_->cached(), kCount * 2 * kPageBytes);
  }
}

// A program that once held much and goes on with little gets rid of what it held.
TEST_F(LargeArenaTest, APeakIsForgotten) {
  std::byte* once = Allocate(size_t{700} << 20);
  ASSERT_TRUE(Free(once));
  std::byte* other = Allocate(size_t{500} << 20);
  ASSERT_TRUE(Free(other));
  EXPECT_GE(arena_->cached(), size_t{500} << 20);
  for (int i = 0; i < 3000; ++i) {
    std::byte* p = Allocate(size_t{100} << 20);
    ASSERT_TRUE(Free(p));
  }
  EXPECT_LE(arena_->cached(), Arena::kLeastKept);
}

TEST_F(LargeArenaTest, ThreadsThatGiveBackAtOnce) {
  auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 100; ++i) {
      size_t bytes = (size_t{1} << 20) + random() % (size_t{100} << 20);
      std::byte* p = Allocate(bytes);
      ASSERT_NE(p, nullptr);
      p[0] = p[bytes - 1] = static_cast<std::byte>(seed);
      ASSERT_EQ(p[0], static_cast<std::byte>(seed));
      ASSERT_TRUE(Free(p));
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i <= 3; ++i) threads.emplace_back(work, i);
  for (auto& t : threads) t.join();
  EXPECT_EQ(arena_->used(), 0u);
  EXPECT_TRUE(Free(Allocate(1 << 20)));  // a free that nobody disturbs
  EXPECT_LE(arena_->cached(), size_t{400} << 20);
}

#ifdef BELAY_ASAN
TEST_F(ArenaTest, OverrunsAndFreedBlocksAreCaught) {
  Allocate(100);  // its red zone lies before the next one
  std::byte* p = Allocate(100);
  volatile std::byte* bytes = p;
  EXPECT_DEATH(bytes[100] = std::byte{1}, "use-after-poison");
  EXPECT_DEATH(bytes[-1] = std::byte{1}, "use-after-poison");
  ASSERT_TRUE(Free(p));
  EXPECT_DEATH(bytes[0] = std::byte{1}, "use-after-poison");
  volatile std::byte* large = Allocate(3 << 20);
  EXPECT_DEATH(large[3 << 20] = std::byte{1}, "use-after-poison");
}
#endif

}  // namespace
}  // namespace belay::rt
