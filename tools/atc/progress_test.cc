#include "atc/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace atc {
namespace {

TEST(Progress, SaysTheStepThatIsUnderWay) {
  std::promise<std::string> first;
  std::atomic<bool> said{false};
  auto say = [&](const std::string& line) {
    if (line.ends_with("compiling") && !said.exchange(true)) first.set_value(line);
  };
  Progress progress(std::chrono::milliseconds(1), say);
  progress.Step("compiling");
  EXPECT_THAT(first.get_future().get(), testing::MatchesRegex("ATC is still working, [0-9]+ s: compiling"));
}

TEST(Progress, AShortWorkIsDoneWithoutAWord) {
  int lines = 0;
  {
    Progress progress(std::chrono::hours(1), [&](const std::string&) { ++lines; });
  }
  EXPECT_EQ(lines, 0);
}

}  // namespace
}  // namespace atc
