#include "ops/random/philox.h"

#include <gtest/gtest.h>

namespace belay::ops {
namespace {

// The vectors that the authors publish with the generator.
TEST(Philox, GivesTheKnownWords) {
  EXPECT_EQ(Philox(0, 0, 0)[0], (Philox::Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox(~0ull, ~0ull, ~0ull)[0], (Philox::Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e)[0],
            (Philox::Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, TheCounterHas128Bits) {
  EXPECT_EQ(Philox(7, ~0ull, 4)[2], Philox(7, 1, 5)[0]);
  EXPECT_EQ(Philox(7, 10, 4)[2], Philox(7, 12, 4)[0]);
}

}  // namespace
}  // namespace belay::ops
