#include "base/copy_memory.h"

#include <gtest/gtest.h>

#include <vector>

namespace belay {
namespace {

TEST(CopyMemory, OfEverySizeToEveryPlace) {
  std::vector<unsigned char> from(20'000), to(20'000), want(20'000);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 31 % 251);
  for (size_t shift : {0, 1, 4, 12, 63, 64, 100, 4095}) {
    for (size_t bytes : {0, 1, 2047, 2048, 2049, 4096, 4100, 9999}) {
      std::fill(to.begin(), to.end(), 7), std::fill(want.begin(), want.end(), 7);
      const size_t place =
          (reinterpret_cast<uintptr_t>(from.data()) - reinterpret_cast<uintptr_t>(to.data()) + shift) % 4096;
      std::copy_n(from.data(), bytes, want.data() + place);
      CopyMemory(to.data() + place, from.data(), bytes);
      EXPECT_EQ(to, want) << shift << " " << bytes;
    }
  }
}

}  // namespace
}  // namespace belay
