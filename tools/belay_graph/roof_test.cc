#include "belay_graph/roof.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "belay_graph/measure.h"

namespace belay::graph_tool {
namespace {

class KeptRoof : public testing::Test {
 protected:
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("roof" + std::to_string(getpid()));
  std::string path_ = folder_ / "belay" / "roof.json";
  void TearDown() override { std::filesystem::remove_all(folder_); }
};

TEST(Roof, TheSlowerOfProductsAndBytesDecides) {
  const Roof roof{100e9, {{1000, 200e9}, {1'000'000, 50e9}}};
  EXPECT_DOUBLE_EQ(roof.SecondsFor(1e9, 1000), 0.01);
  EXPECT_DOUBLE_EQ(roof.SecondsFor(0, 1000), 5e-9);         // from the cache that holds them
  EXPECT_DOUBLE_EQ(roof.SecondsFor(0, 1001), 1001 / 50e9);  // from the next one
  EXPECT_DOUBLE_EQ(roof.SecondsFor(0, 2'000'000), 4e-5);    // beyond the largest: its rate
  EXPECT_DOUBLE_EQ(Roof().SecondsFor(1e9, 1000), 0);
}

TEST_F(KeptRoof, IsReadByTheMachineThatWroteIt) {
  const Roof roof{100e9, {{1000, 200e9}, {1'000'000, 50e9}}};
  ASSERT_TRUE(WriteRoof(path_, "this one", roof));
  const auto kept = ReadRoof(path_, "this one");
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->flops, roof.flops);
  EXPECT_EQ(kept->rates, roof.rates);
  EXPECT_FALSE(ReadRoof(path_, "another").has_value());
}

TEST_F(KeptRoof, WhatSomebodyElseWroteIsMeasuredAgain) {
  std::filesystem::create_directories(folder_ / "belay");
  for (const char* text :
       {"", "[]", "{", R"({"machine": 3})", R"({"machine": "m", "flops": "x", "rates": []})",
        R"({"machine": "m", "flops": 1.0, "rates": []})", R"({"machine": "m"})"}) {
    std::ofstream(path_, std::ios::trunc) << text;
    EXPECT_FALSE(ReadRoof(path_, "m").has_value()) << text;
  }
  EXPECT_FALSE(ReadRoof(folder_ / "missing", "m").has_value());
}

TEST_F(KeptRoof, APlaceThatTakesNothingIsNoError) {
  EXPECT_FALSE(WriteRoof("/proc/belay/roof.json", "m", Roof{1, {{1, 1}}}));
}

TEST(Roof, IsMeasuredInAllSizes) {
  const Workers workers;
  const Roof roof = MeasureRoof();
  EXPECT_GT(roof.flops, 1e8);
  ASSERT_EQ(roof.rates.size(), 4u);
  for (const auto& [size, rate] : roof.rates) EXPECT_GT(rate, 1e7) << size;
}

}  // namespace
}  // namespace belay::graph_tool
