#include "runtime/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/sanitizer.h"
#include "runtime/arena_poison.h"
#include "runtime/copy_task.h"
#include "runtime/memory_state.h"

namespace belay::rt {
namespace {

using testing::HasSubstr;

constexpr size_t kCapacity = size_t{128} << 20;
constexpr MemoryConfig kConfig{.devices = 2, .bytes_per_device = kCapacity, .alias_offset = 0};

// Runs `body` and returns the error it throws; a code of 0 when it throws none.
template <class F>
Error Caught(F body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  return Error(0, "", "");
}

class MemoryTest : public testing::TestWithParam<ptrdiff_t> {
 protected:
  void SetUp() override {
    MemoryConfig config = kConfig;
    config.alias_offset = GetParam();
    StartMemory(config);
  }
  void TearDown() override {
    ReleaseDeviceMemory(0);
    ReleaseDeviceMemory(1);
  }
  static std::byte* Device(size_t bytes, int device = 0) {
    return static_cast<std::byte*>(AllocateDevice(device, {.bytes = bytes}));
  }
};

TEST_P(MemoryTest, LooksUpEveryByteOfABlock) {
  for (size_t bytes : {size_t{1}, size_t{64}, size_t{1000}, size_t{40'000}, size_t{5} << 20}) {
    std::byte* p = Device(bytes, 1);
    for (size_t offset : {size_t{0}, bytes / 2, bytes - 1}) {
      MemoryRange range = Lookup(p + offset);
      EXPECT_EQ(range.kind, MemoryKind::kDevice);
      EXPECT_EQ(range.device, 1);
      EXPECT_TRUE(range.live);
      EXPECT_EQ(range.base, reinterpret_cast<uintptr_t>(p));
      EXPECT_EQ(range.bytes, kGrantPadding ? Padded(bytes, Padding::kDocumented) : bytes);
      EXPECT_EQ(range.Remaining(p + offset), range.bytes - offset);
      EXPECT_EQ(range.huge_pages, bytes > (1 << 20));
      EXPECT_EQ(BlockSerial(p + offset), range.serial);
    }
    uint64_t serial = BlockSerial(p);
    uint64_t frees = FreeCount();
    FreeDevice(p);
    EXPECT_GT(FreeCount(), frees);
    EXPECT_FALSE(Lookup(p).live);
    EXPECT_EQ(BlockSerial(p), 0u);
    ASSERT_EQ(Device(bytes, 1), p);
    EXPECT_NE(BlockSerial(p), serial) << "the same address, another block";
    FreeDevice(p);
  }
}

TEST_P(MemoryTest, KnowsPinnedAndHostMemory) {
  auto* pinned = static_cast<std::byte*>(AllocatePinned(100));
  MemoryRange range = Lookup(pinned + 99);
  EXPECT_EQ(range.kind, MemoryKind::kPinned);
  EXPECT_EQ(range.device, -1);
  EXPECT_EQ(range.bytes, 100u);
  EXPECT_TRUE(range.live);
  EXPECT_EQ(View(pinned, 100), pinned);
  FreePinned(pinned);
  int local = 0;
  EXPECT_EQ(Lookup(&local).kind, MemoryKind::kHost);
  EXPECT_EQ(Lookup(nullptr).kind, MemoryKind::kHost);
  EXPECT_EQ(View(&local, sizeof local), &local);
}

TEST_P(MemoryTest, ViewShowsTheSameBytes) {
  std::byte* p = Device(4096);
  auto* view = static_cast<std::byte*>(View(p, 4096));
  EXPECT_EQ(view == p, GetParam() == 0);
  p[17] = std::byte{42};
  EXPECT_EQ(view[17], std::byte{42});
  view[4095] = std::byte{7};
  EXPECT_EQ(p[4095], std::byte{7});
}

TEST_P(MemoryTest, ADeviceDoesNotReachHostMemory) {
  std::byte* device = Device(64);
  void* pinned = AllocatePinned(64);
  char local[64];
  EXPECT_EQ(Caught([&] { CheckDeviceRange(device, 64, "input"); }).code(), 0);
  EXPECT_EQ(Caught([&] { CheckDeviceRange(pinned, 64, "input"); }).code(), 100000);
  Error host = Caught([&] { CheckDeviceRange(local, 64, "input"); });
  EXPECT_EQ(host.code(), 100000);
  EXPECT_THAT(host.sentence(), HasSubstr("ordinary host memory"));
  EXPECT_THAT(host.sentence(), HasSubstr("copy to memory from aclrtMalloc first"));
  FreePinned(pinned);
}

TEST_P(MemoryTest, CheckRangeRefusesWhatIsNotThere) {
  std::byte* p = Device(1024);
  size_t all = Lookup(p).bytes;
  EXPECT_EQ(Caught([&] { CheckRange(p, all, "dst"); }).code(), 0);
  EXPECT_EQ(Caught([&] { CheckRange(p + 100, all - 100, "dst"); }).code(), 0);
  Error beyond = Caught([&] { CheckRange(p + 100, all, "dst"); });
  EXPECT_EQ(beyond.code(), 100000);
  EXPECT_THAT(beyond.sentence(), HasSubstr("dst is"));
  EXPECT_THAT(beyond.sentence(), HasSubstr("100 bytes into the block of 1024 bytes"));
  EXPECT_THAT(beyond.sentence(), HasSubstr("100 bytes past its end"));
  for (size_t huge : {size_t{1} << 63, SIZE_MAX}) {
    int local = 0;
    EXPECT_EQ(Caught([&] { CheckRange(p, huge, "dst"); }).code(), 100000);
    EXPECT_EQ(Caught([&] { CheckRange(&local, huge, "src"); }).code(), 100000);
  }
  FreeDevice(p);
  Error freed = Caught([&] { CheckRange(p, 1, "src"); });
  EXPECT_EQ(freed.code(), 100000);
  EXPECT_THAT(freed.sentence(), HasSubstr("which was freed"));
  EXPECT_EQ(Caught([&] { CheckRange(nullptr, 1, "src"); }).code(), 100000);
  EXPECT_EQ(Caught([&] { CheckRange(reinterpret_cast<void*>(uintptr_t{0x1200} << 48), 1, "src"); }).code(),
            100000);
}

TEST_P(MemoryTest, WrongFreesAreErrorsThatNameTheBlock) {
  std::byte* p = Device(1024);
  Error interior = Caught([&] { FreeDevice(p + 64); });
  EXPECT_EQ(interior.code(), 100000);
  EXPECT_STREQ(interior.id(), "free-interior");
  EXPECT_THAT(interior.sentence(), HasSubstr("1024 bytes"));
  EXPECT_STREQ(Caught([&] { FreePinned(p); }).id(), "free-wrong-kind");
  FreeDevice(p);
  Error twice = Caught([&] { FreeDevice(p); });
  EXPECT_EQ(twice.code(), 100000);
  EXPECT_STREQ(twice.id(), "free-twice");
  EXPECT_THAT(twice.sentence(), HasSubstr("1024 bytes"));
  int local = 0;
  EXPECT_STREQ(Caught([&] { FreeDevice(&local); }).id(), "free-foreign");
  EXPECT_STREQ(Caught([] { FreeDevice(nullptr); }).id(), "null-pointer");
  void* pinned = AllocatePinned(10);
  EXPECT_STREQ(Caught([&] { FreeDevice(pinned); }).id(), "free-wrong-kind");
  FreePinned(pinned);
}

TEST_P(MemoryTest, AFullDeviceSaysWhatFillsIt) {
  std::byte* big = Device(kCapacity / 2);
  EXPECT_EQ(DeviceMemoryInfo(0).total, kCapacity);
  EXPECT_EQ(DeviceMemoryInfo(0).free, kCapacity / 2 - 32);
  EXPECT_EQ(DeviceMemoryInfo(1).free, kCapacity) << "devices do not share capacity";
  Error full = Caught([] { Device(kCapacity / 2); });
  EXPECT_EQ(full.code(), 207001);
  EXPECT_THAT(full.sentence(),
              HasSubstr(std::to_string(kCapacity / 2 - 32) + " of " + std::to_string(kCapacity)));
  EXPECT_THAT(full.sentence(), HasSubstr(fmt::format("{} bytes at {}", kCapacity / 2, (void*)big)));
  EXPECT_EQ(Caught([] { Device(0); }).code(), 100000);
  EXPECT_EQ(Caught([] { AllocateDevice(9, {.bytes = 1}); }).code(), 107001);
}

TEST_P(MemoryTest, LookupIsSafeWhileOthersAllocate) {
  std::byte* p = Device(1 << 20);
  std::atomic<bool> done{false};
  std::thread other([&] {
    for (int i = 0; i < 20'000; ++i) FreeDevice(Device(static_cast<size_t>(1) << i % 20));
    done = true;
  });
  while (!done) {
    MemoryRange range = Lookup(p + 1000);
    ASSERT_EQ(range.base, reinterpret_cast<uintptr_t>(p));
    ASSERT_TRUE(range.live);
    Lookup(p + (2 << 20));
  }
  other.join();
}

TEST_P(MemoryTest, VirtualMemoryIsRealMappings) {
  VirtualMemory& memory = *Memory().virtual_memory;
  constexpr size_t kPiece = kPhysicalGranularity;
  auto* range = static_cast<std::byte*>(memory.Reserve(4 * kPiece, nullptr));
  EXPECT_FALSE(Lookup(range).live);
  PhysicalMemory& first = *PhysicalMemories().Find(memory.CreatePhysical(1, kPiece));
  HandleBits second_handle = memory.CreatePhysical(1, 2 * kPiece);
  PhysicalMemory& second = *PhysicalMemories().Find(second_handle);
  EXPECT_EQ(DeviceMemoryInfo(1).free, kCapacity - 3 * kPiece);
  memory.Map(range, kPiece, 0, first);
  memory.Map(range + kPiece, kPiece, kPiece, second);
  memory.Map(range + 3 * kPiece, kPiece, kPiece, second);  // the same memory again
  EXPECT_EQ(Lookup(range).device, 1);
  EXPECT_EQ(Lookup(range + 5, 2 * kPiece).Remaining(range + 5), 2 * kPiece - 5)
      << "two mappings are one range";
  EXPECT_EQ(Caught([&] { CheckRange(range, 2 * kPiece, "dst"); }).code(), 0);
  EXPECT_EQ(Caught([&] { CheckRange(range, 2 * kPiece + 1, "dst"); }).code(), 100000);
  FillBytes(View(range, 2 * kPiece), 3, 2 * kPiece);
  EXPECT_EQ(range[3 * kPiece], std::byte{3});

  EXPECT_STREQ(Caught([&] { memory.Map(range, kPiece, 0, first); }).id(), "memory-still-mapped");
  EXPECT_STREQ(Caught([&] { memory.Map(range + 2 * kPiece, kPiece, kPiece, first); }).id(),
               "memory-map-beyond-physical");
  EXPECT_STREQ(Caught([&] { memory.Map(range + 3 * kPiece, 2 * kPiece, 0, second); }).id(),
               "memory-not-reserved");
  EXPECT_STREQ(Caught([&] { memory.Release(range); }).id(), "memory-still-mapped");
  EXPECT_STREQ(Caught([&] { memory.Map(range + 2 * kPiece, 100, 0, first); }).id(), "memory-granularity");

  memory.FreePhysical(second);  // still mapped: the memory stays
  EXPECT_EQ(Caught([&] { memory.FreePhysical(second); }).code(), 107017);
  EXPECT_EQ(Caught([&] { memory.Map(range + 2 * kPiece, kPiece, 0, second); }).code(), 107017);
  EXPECT_EQ(PhysicalMemories().Find(second_handle), nullptr);
  EXPECT_EQ(range[kPiece], std::byte{3});
  EXPECT_EQ(DeviceMemoryInfo(1).free, kCapacity - 3 * kPiece);
  memory.Unmap(range + kPiece);
  EXPECT_EQ(Caught([&] { memory.Unmap(range + kPiece); }).code(), 100000);
  memory.Unmap(range + 3 * kPiece);
  EXPECT_EQ(DeviceMemoryInfo(1).free, kCapacity - kPiece);
  memory.Unmap(range);
  memory.FreePhysical(first);
  EXPECT_EQ(DeviceMemoryInfo(1).free, kCapacity);
  memory.Release(range);
  EXPECT_EQ(Caught([&] { memory.Release(range); }).code(), 100000);
  EXPECT_EQ(memory.Reserve(512, range), range) << "a free wanted address is granted";
  memory.Release(range);
}

TEST_P(MemoryTest, AForkedChildStartsAfresh) {
  std::byte* device = Device(1024);
  auto* pinned = static_cast<std::byte*>(AllocatePinned(1024));
  std::memset(pinned, 9, 1024);
  std::memset(device, 8, 1024);
  pid_t child = fork();
  if (child == 0) {
    // Pinned memory came along, as ordinary memory would; device memory did not.
    bool ok = pinned[1023] == std::byte{9};
    pinned[0] = std::byte{1};
    unsigned char resident;
    auto page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(device) & ~uintptr_t{4095});
    ok = ok && mincore(page, 4096, &resident) != 0 && errno == ENOMEM;
    MemoryConfig config = kConfig;
    config.alias_offset = GetParam();
    RestartMemoryInChild(config);
    // Where it lay is nothing now, or what the child has reserved since.
    const bool allocated = Lookup(device).serial % 2 == 1;
    ok = ok && !allocated && DeviceMemoryInfo(0).free == kCapacity;
    std::memset(Device(5000), 7, 5000);
    _exit(ok ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(pinned[0], std::byte{9});
  EXPECT_EQ(device[1023], std::byte{8});
  FreePinned(pinned);
}

#ifdef BELAY_ASAN
TEST_P(MemoryTest, ATaskThatOverrunsItsBlockIsCaught) {
  std::byte* p = Device(1000);
  EXPECT_DEATH((FillTask{p, 1001, 0}.Run()), "use-after-poison");
  std::byte* other = Device(1 << 20);
  EXPECT_DEATH((CopyTask{p, other, 1001}.Run()), "use-after-poison");
  FreeDevice(other);
  EXPECT_DEATH((CopyTask{p, other, 10}.Run()), "use-after-poison");
}
#endif

INSTANTIATE_TEST_SUITE_P(Plain, MemoryTest, testing::Values(0));
INSTANTIATE_TEST_SUITE_P(Aliased, MemoryTest, testing::Values(ptrdiff_t{1} << 21));

TEST(RegisteredRangesTest, FindsWhileOthersChange) {
  static RegisteredRanges ranges;
  using enum RegisteredRanges::Added;
  ASSERT_EQ(ranges.Add({0x10000, 0x1000, 7}), kYes);
  EXPECT_EQ(ranges.Add({0x10800, 0x1000, 0}), kOverlaps);
  EXPECT_EQ(ranges.Add({0xf800, 0x1000, 0}), kOverlaps);
  EXPECT_EQ(ranges.Find(0x10fff).flags, 7u);
  EXPECT_EQ(ranges.Find(0x11000).bytes, 0u);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (uintptr_t i = 0; i < 5'000; ++i) {
      ranges.Add({0x1000 * (i % 8 + 1), 0x1000, 0});
      ranges.Remove(0x1000 * ((i + 5) % 8 + 1));
    }
    done = true;
  });
  while (!done) {
    RegisteredRange found = ranges.Find(0x10123);
    ASSERT_EQ(found.base, 0x10000u);
    ASSERT_EQ(found.flags, 7u);
  }
  writer.join();
  EXPECT_FALSE(ranges.Remove(0x20000));
  EXPECT_TRUE(ranges.Remove(0x10000));
  EXPECT_EQ(ranges.Find(0x10123).bytes, 0u);
}

TEST(MemoryLimits, AFewAddressesAreEnough) {
#if defined(BELAY_ASAN) || defined(BELAY_TSAN)
  GTEST_SKIP() << "sanitizers reserve more addresses than any limit allows";
#else
  pid_t child = fork();
  if (child == 0) {
    rlimit limit{size_t{6} << 30, size_t{6} << 30};
    setrlimit(RLIMIT_AS, &limit);
    RestartMemoryInChild(kConfig);
    void* device = AllocateDevice(1, {.bytes = kCapacity / 2});
    void* pinned = AllocatePinned(kCapacity);
    std::memset(device, 1, kCapacity / 2);
    std::memset(pinned, 1, 1000);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
#endif
}

// Bytes of this process's mapping around `address` that lie on huge pages, from /proc/self/smaps.
size_t HugeBytesAround(const void* address) {
  std::ifstream smaps("/proc/self/smaps");
  std::string line;
  bool here = false;
  while (std::getline(smaps, line)) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) == 2) {
      auto a = reinterpret_cast<uintptr_t>(address);
      here = begin <= a && a < end;
    }
    size_t kilobytes = 0;
    if (here && std::sscanf(line.c_str(), "AnonHugePages: %zu kB", &kilobytes) == 1) {
      return kilobytes << 10;
    }
  }
  return 0;
}

TEST(MemoryPages, LargeBlocksLieOnHugePages) {
  std::string mode;
  std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"), mode);
  if (mode.empty() || mode.find("[never]") != std::string::npos) {
    GTEST_SKIP() << "this kernel gives no transparent huge pages";
  }
  StartMemory(kConfig);
  constexpr size_t kBytes = 32 << 20;
  void* p = AllocateDevice(0, {.bytes = kBytes});
  std::memset(p, 1, kBytes);
  EXPECT_GE(HugeBytesAround(p), kBytes / 2) << "the kernel may run out of them, but not so early";
  FreeDevice(p);
}

}  // namespace
}  // namespace belay::rt
