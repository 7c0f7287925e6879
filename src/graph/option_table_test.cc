#include "graph/option_table.h"

#include <gmock/gmock.h>

#include <set>
#include <string>

#include "base/error.h"
#include "graph/build_model.h"
#include "support/option_samples.h"

namespace belay::graph {
namespace {

using testing::HasSubstr;

std::string OptionRefusal(const BuildOptions& options) {
  try {
    CheckBuildOptions(options);
  } catch (const Error& error) {
    return error.sentence();
  }
  return "";
}

// Of a name that a graph is built with.
TEST(OptionTable, EveryValueThatIsListedIsTakenAndOthersAreRefused) {
  for (const OptionRow& row : AllOptions()) {
    for (const std::string& value : option_samples::Good(row)) {
      EXPECT_EQ(Wanted(row, value), "") << row.key << " " << row.flag << " '" << value << "'";
      if (*row.key != '\0') {
        EXPECT_EQ(OptionRefusal({{row.key, value}}), "");
      }
    }
    for (const std::string& value : option_samples::Meaningless(row)) {
      EXPECT_NE(Wanted(row, value), "") << row.key << " " << row.flag << " '" << value << "'";
      if (*row.key == '\0') continue;
      const std::string refusal = OptionRefusal({{row.key, value}});
      EXPECT_THAT(refusal, HasSubstr(row.key));
      EXPECT_THAT(refusal, HasSubstr("'" + value + "': it must be " + Wanted(row, value)));
    }
    if (*row.key != '\0') {
      EXPECT_EQ(OptionRefusal({{row.key, ""}}), "") << row.key << ", as if it were not given";
    }
  }
}

TEST(OptionTable, NamesStandOnce) {
  std::set<std::string> keys, flags;
  std::set<int> numbers;
  for (const OptionRow& row : AllOptions()) {
    if (*row.key != '\0') {
      EXPECT_TRUE(keys.insert(row.key).second) << row.key;
    }
    if (*row.flag != '\0') {
      EXPECT_TRUE(flags.insert(row.flag).second) << row.flag;
    }
    if (row.compile >= 0) {
      EXPECT_TRUE(numbers.insert(row.compile).second) << row.compile;
    }
    if (*row.fallback != '\0') {
      EXPECT_EQ(Wanted(row, row.fallback), "") << row.flag;
    }
  }
  EXPECT_EQ(numbers.size(), 17u) << "each of aclCompileOpt has a row";
}

}  // namespace
}  // namespace belay::graph
