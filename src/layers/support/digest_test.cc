#include "layers/support/digest.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace belay::layers {
namespace {

uint64_t Of(const std::string& bytes) {
  Digest digest;
  digest.Add(bytes.data(), bytes.size());
  return digest.value();
}

std::string SomeBytes(size_t n) {
  std::string bytes(n, 0);
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<char>(i * 37 >> 3 ^ i * i);
  return bytes;
}

TEST(Digest, TellsEachBitFromTheOther) {
  for (size_t n : {1u, 7u, 8u, 63u, 64u, 65u, 200u}) {
    for (std::string bytes : {std::string(n, 0), SomeBytes(n)}) {
      std::set<uint64_t> seen{Of(bytes)};
      for (size_t bit = 0; bit < 8 * n; ++bit) {
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
        EXPECT_TRUE(seen.insert(Of(bytes)).second) << n << " bytes, bit " << bit;
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
      }
      EXPECT_TRUE(seen.contains(Of(bytes)));
    }
  }
}

TEST(Digest, TellsWordsThatChangePlaces) {
  const std::string bytes = SomeBytes(256);
  std::set<uint64_t> seen{Of(bytes)};
  for (size_t i = 0; i < 32; ++i) {
    for (size_t k = i + 1; k < 32; ++k) {
      std::string other = bytes;
      for (size_t b = 0; b < 8; ++b) std::swap(other[8 * i + b], other[8 * k + b]);
      EXPECT_TRUE(seen.insert(Of(other)).second) << i << " and " << k;
    }
  }
}

TEST(Digest, TellsHowManyZerosThereAre) {
  std::set<uint64_t> seen;
  for (size_t n = 0; n < 300; ++n) EXPECT_TRUE(seen.insert(Of(std::string(n, 0))).second) << n;
}

}  // namespace
}  // namespace belay::layers
