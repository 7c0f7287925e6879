#include "layers/numbers/scan.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

namespace belay::numbers {
namespace {

using tensor::DType;

template <class Word>
Values ScanOf(const std::vector<Word>& words, DType type) {
  return Scan(words.data(), words.size() * sizeof(Word), type);
}

// The largest number, both infinities, the first NaN above and a negative one.
template <class Word>
void TryType(DType type, Word infinity, size_t words_of_element = 1) {
  constexpr Word kSign = static_cast<Word>(Word{1} << (8 * sizeof(Word) - 1));
  ASSERT_EQ(BytesOfScanned(type), sizeof(Word) * words_of_element);
  const Word largest = infinity - 1, nan = infinity + 1;
  const Values numbers = ScanOf<Word>({0, largest, kSign, static_cast<Word>(largest | kSign)}, type);
  EXPECT_EQ(numbers.nan, Values::kNone);
  EXPECT_FALSE(numbers.infinity);
  const Values infinities = ScanOf<Word>({0, static_cast<Word>(infinity | kSign), 0, 0}, type);
  EXPECT_EQ(infinities.nan, Values::kNone);
  EXPECT_TRUE(infinities.infinity);
  EXPECT_EQ(ScanOf<Word>({0, infinity, nan, nan}, type).nan, 2 / words_of_element);
  EXPECT_EQ(ScanOf<Word>({0, 0, 0, static_cast<Word>(nan | kSign)}, type).nan, 3 / words_of_element);
}

TEST(Scan, EachType) {
  TryType<uint16_t>(DType::kF16, 0x7c00);
  TryType<uint16_t>(DType::kBF16, 0x7f80);
  TryType<uint32_t>(DType::kF32, 0x7f800000);
  TryType<uint64_t>(DType::kF64, 0x7ff0000000000000);
  TryType<uint16_t>(DType::kC32, 0x7c00, 2);
  TryType<uint32_t>(DType::kC64, 0x7f800000, 2);
  TryType<uint64_t>(DType::kC128, 0x7ff0000000000000, 2);
}

TEST(Scan, WhatTheMachineCallsNaN) {
  const std::vector<float> values{1, std::numeric_limits<float>::infinity(),
                                  -std::numeric_limits<float>::quiet_NaN()};
  EXPECT_EQ(ScanOf(values, DType::kF32).nan, 2u);
  EXPECT_TRUE(ScanOf(values, DType::kF32).infinity);
}

// Blocks are passed over that hold nothing of the kind.
TEST(Scan, AnyPlaceAmongMany) {
  constexpr size_t kCount = 200;
  for (size_t at = 0; at < kCount; ++at) {
    std::vector<uint16_t> halves(kCount, 0xfbff);  // the least number
    EXPECT_EQ(ScanOf(halves, DType::kF16).nan, Values::kNone);
    halves[at] = 0xfc00;
    EXPECT_TRUE(ScanOf(halves, DType::kF16).infinity);
    halves[at] = 0xfe00;
    EXPECT_EQ(ScanOf(halves, DType::kF16).nan, at);
    EXPECT_FALSE(ScanOf(halves, DType::kF16).infinity);
  }
}

// A view may begin anywhere.
TEST(Scan, OfNoAlignment) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  char bytes[1 + 2 * sizeof nan] = {};
  std::memcpy(bytes + 1 + sizeof nan, &nan, sizeof nan);
  EXPECT_EQ(Scan(bytes + 1, 2 * sizeof nan, DType::kF64).nan, 1u);
}

TEST(Scan, OtherTypesAreAllNumbers) {
  EXPECT_EQ(BytesOfScanned(DType::kI32), 0u);
  EXPECT_EQ(BytesOfScanned(DType::kUndefined), 0u);
  EXPECT_EQ(ScanOf<uint32_t>({~0u}, DType::kI32).nan, Values::kNone);
}

}  // namespace
}  // namespace belay::numbers
