#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "base/parallel.h"
#include "runtime/memory.h"

namespace belay::rt {
namespace {

// Two threads, halves each: pieces of every size are seen.
void RunOnTwoThreads(int64_t n, int64_t /*grain*/, RangeBody body) {
  std::thread other([&] { body(n / 3, n); });
  body(0, n / 3);
  other.join();
}
constexpr ParallelBackend kTwoThreads{2, &RunOnTwoThreads};

class CopyTest : public testing::TestWithParam<const ParallelBackend*> {
 protected:
  void SetUp() override { SetParallelBackend(GetParam()); }
  void TearDown() override { SetParallelBackend(nullptr); }
};

// Made and compared in words: byte by byte a sanitizer takes most of the test's time for that.
std::vector<uint8_t> Noise(size_t bytes) {
  std::vector<uint64_t> words(bytes / sizeof(uint64_t) + 1);
  uint64_t state = 88172645463325252;
  for (uint64_t& word : words) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    word = state;
  }
  std::vector<uint8_t> noise(bytes);
  if (bytes != 0) std::memcpy(noise.data(), words.data(), bytes);
  return noise;
}

TEST_P(CopyTest, CopiesEveryByteAndNoMore) {
  constexpr size_t kGuard = 128;
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{63}, size_t{4096}, (size_t{1} << 20) - 1,
                       (size_t{1} << 20) + 13, (size_t{33} << 20) + 77}) {
    std::vector<uint8_t> src = Noise(bytes + 64);
    std::vector<uint8_t> dst(bytes + 2 * kGuard, 0xee);
    for (size_t shift : {0, 1, 24}) {
      std::fill(dst.begin(), dst.end(), 0xee);
      CopyBytes(dst.data() + kGuard + shift, src.data() + 7, bytes);
      ASSERT_EQ(std::memcmp(dst.data() + kGuard + shift, src.data() + 7, bytes), 0) << bytes;
      ASSERT_EQ(dst[kGuard + shift - 1], 0xee);
      ASSERT_EQ(dst[kGuard + shift + bytes], 0xee);
    }
    std::fill(dst.begin(), dst.end(), 0xee);
    FillBytes(dst.data() + kGuard + 3, 0x1a5, bytes);
    ASSERT_EQ(dst[kGuard + 2], 0xee);
    ASSERT_NE(dst[kGuard + 3 + bytes], 0xa5);
    const std::vector<uint8_t> filled(bytes, 0xa5);
    ASSERT_TRUE(std::equal(filled.begin(), filled.end(), dst.begin() + kGuard + 3)) << bytes;
  }
}

TEST_P(CopyTest, OverlappingRangesKeepTheirBytes) {
  for (size_t bytes : {size_t{1000}, size_t{3} << 20, size_t{40} << 20}) {
    for (ptrdiff_t shift : {-64, 64}) {
      std::vector<uint8_t> expected = Noise(bytes + 128);
      std::vector<uint8_t> actual = expected;
      std::memmove(expected.data() + 64 + shift, expected.data() + 64, bytes);
      CopyBytes(actual.data() + 64 + shift, actual.data() + 64, bytes);
      ASSERT_EQ(actual, expected) << bytes << " " << shift;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OneCore, CopyTest, testing::Values(nullptr));
INSTANTIATE_TEST_SUITE_P(TwoCores, CopyTest, testing::Values(&kTwoThreads));

}  // namespace
}  // namespace belay::rt
