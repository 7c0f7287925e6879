// Every *.cases file of this folder, each case run once, from a repeatable executor and from a
// captured model.
#include <gtest/gtest.h>

#include <filesystem>

#include "acl/acl.h"
#include "runner.h"

namespace belay::cases {
namespace {

// The slow twins take their time.
bool IsLarge(const Case& c) {
  int64_t elements = 0;
  for (const Argument& argument : c.arguments) elements += argument.tensor.storage_count;
  return elements > 50'000;
}

class Cases : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ASSERT_EQ(aclInit(nullptr), 0);
    ASSERT_EQ(aclrtSetDevice(0), 0);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtResetDevice(0), 0);
    EXPECT_EQ(aclFinalize(), 0);
  }
};

TEST_P(Cases, GiveWhatTheSlowTwinsGive) {
  uint32_t seed = 1;
  for (const Case& c : ReadCases(std::string(BELAY_CASES) + "/" + GetParam() + ".cases")) {
    for (How how : {How::kOnce, How::kRepeatable, How::kCaptured}) {
      if (how != How::kOnce && (c.code != 0 || IsLarge(c))) continue;
      EXPECT_EQ(RunCase(c, how, seed), "") << c.text << "\nrun " << static_cast<int>(how);
    }
    ++seed;
  }
}

std::vector<std::string> Files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(BELAY_CASES)) {
    if (entry.path().extension() == ".cases") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Files, Cases, testing::ValuesIn(Files()),
                         [](const auto& info) { return info.param; });

TEST(CaseText, IsReadOrRefused) {
  Case c = ParseCase("ReduceSum f16[2,3].t.o {0,-1} 1 :f32 >f32[1,1] ~1e-3 !161002");
  EXPECT_EQ(c.function, "ReduceSum");
  ASSERT_EQ(c.arguments.size(), 5u);
  EXPECT_EQ(c.arguments[0].tensor.strides, (tensor::Strides{1, 2}));
  EXPECT_EQ(c.arguments[0].tensor.offset, 7);
  EXPECT_EQ(c.arguments[1].ints, (std::vector<int64_t>{0, -1}));
  EXPECT_TRUE(c.arguments[4].written);
  EXPECT_EQ(c.tolerance, 1e-3);
  EXPECT_EQ(c.code, 161002);
  EXPECT_THROW(ParseCase("Add f99[2]"), std::runtime_error);
  EXPECT_THROW(ParseCase("Add f32[2].q"), std::runtime_error);
}

}  // namespace
}  // namespace belay::cases
