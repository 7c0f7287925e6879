#include "layers/trace/chrome_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace belay::trace {
namespace {

class ChromeFiles : public testing::Test {
 protected:
  ChromeFiles() { close(mkstemp(path_.data())); }
  ~ChromeFiles() override { unlink(path_.c_str()); }
  std::vector<std::string> Lines() const {
    std::ifstream in(path_);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
  // How many lines have this.
  size_t Count(const std::string& part) const {
    size_t found = 0;
    for (const std::string& line : Lines()) found += line.find(part) != std::string::npos;
    return found;
  }
  static ChromeFile::Task TaskOf(std::string_view name, pid_t submitter) {
    return {1, 7, 4294967295, 3, name, "AI_CORE", 5'000'001, 2'500, submitter, 4'000'000};
  }
  std::string path_ = testing::TempDir() + "belay-chrome-XXXXXX";
};

TEST_F(ChromeFiles, ATaskHasAnArrowFromTheCallThatSubmittedIt) {
  ChromeFile file(path_);
  file.AddTask(TaskOf("aclnnAdd", 11));
  file.AddTask(TaskOf("a \"node\"\n", 0));
  file.Finish();
  EXPECT_EQ(Lines().front(), "[");
  EXPECT_EQ(Lines().back(), "]");
  EXPECT_EQ(Count(R"("ph": "X")"), 2U);
  EXPECT_EQ(Count(R"("tid": 7, "ts": "5000.001", "dur": 2.500)"), 2U);
  EXPECT_EQ(Count(R"({"ph": "s", "cat": "HostToDevice", "name": "HostToDevice1", "id": "1")"), 1U);
  EXPECT_EQ(Count(R"({"ph": "f", "bp": "e", "cat": "HostToDevice")"), 1U);
  EXPECT_EQ(Count(R"("tid": 11, "ts": "4000.000")"), 1U);
  EXPECT_EQ(Count(R"("connection_id": 1)"), 1U);
  EXPECT_EQ(Count(R"("name": "a \"node\"\u000a")"), 1U);
  EXPECT_EQ(Count(R"("labels": "NPU 1")"), 1U);
}

TEST_F(ChromeFiles, IsWholeAfterEachFinish) {
  ChromeFile file(path_);
  file.Finish();
  EXPECT_EQ(Lines(), (std::vector<std::string>{"[", "]"}));
  file.AddCall("aclrtMalloc", "AscendCL", 12, 1000, 2000);
  file.Finish();
  const size_t lines = Lines().size();
  EXPECT_EQ(Count("AscendCL@aclrtMalloc"), 1U);
  file.AddSpan("forward", "Push/Pop", 12, 1000, 2000);
  file.Finish();
  file.Finish();
  EXPECT_GT(Lines().size(), lines);
  EXPECT_EQ(Lines().back(), "]");
  for (size_t i = 1; i + 2 < Lines().size(); ++i) EXPECT_EQ(Lines()[i].back(), ',') << Lines()[i];
  EXPECT_EQ(Lines()[Lines().size() - 2].back(), '}');
}

TEST(AChromeFile, ThatCannotBeWrittenIsToldOfOnce) {
  testing::internal::CaptureStderr();
  ChromeFile file("/dev/full");
  for (int i = 0; i < 2; ++i) {
    file.AddCall("aclrtMalloc", "AscendCL", 12, 1000, 2000);
    file.Finish();
  }
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("belay trace: cannot write a timeline: "), std::string::npos) << told;
  EXPECT_EQ(told.find("belay trace", 1), std::string::npos) << told;
}

TEST_F(ChromeFiles, AFullOneIsFollowedByAnother) {
  ChromeFile file(path_, "", 4096);
  for (int i = 0; i < 20; ++i) file.AddTask(TaskOf("aclnnAdd", 11));
  file.Finish();
  size_t tasks = 0;
  const std::string first = path_;
  for (int slice = 0; slice < 3; ++slice) {
    if (slice > 0) path_ = first + "slice_" + std::to_string(slice) + "_";
    ASSERT_FALSE(Lines().empty()) << path_;
    EXPECT_EQ(Lines().front(), "[");
    EXPECT_EQ(Lines().back(), "]");
    tasks += Count(R"("ph": "X")");
    EXPECT_EQ(Count(R"("ph": "s")"), Count(R"("ph": "X")"));
    EXPECT_EQ(Count(R"("labels": "NPU 1")"), 1U) << "each tells what its tracks are";
    unlink(path_.c_str());
  }
  EXPECT_EQ(tasks, 20U);
}

}  // namespace
}  // namespace belay::trace
