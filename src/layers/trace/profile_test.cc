#include "layers/trace/profile.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace belay::trace {
namespace {

constexpr BelayCall kProfiledFunctions[] = {
    {"aclrtMalloc", "r", "devPtr:P,size:u"},
    {"HcclAllReduce", "r", "sendBuf:p"},
    {"rtKernelLaunch", "i", ""},
    {"aclnnInplaceAddGetWorkspaceSize", "r", "selfRef:o,others:l,alpha:c,executor:P"},
    {"aclnnCatGetWorkspaceSize", "r", "tensors:l,mask:t,out:o,executor:P"},
    {"aclnnCat", "r", "workspace:p,workspaceSize:u,executor:p,stream:p"},
};
constexpr BelayCalls kProfiledCalls = {6, kProfiledFunctions, nullptr, nullptr};

class Profiles : public testing::Test {
 protected:
  Profiles() {
    std::string path = testing::TempDir() + "belay-profile-XXXXXX";
    folder_ = mkdtemp(path.data());
  }
  ~Profiles() override { std::filesystem::remove_all(folder_); }

  // The lines of a table below the names of its columns.
  std::vector<std::string> Rows(const std::string& table) const {
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder_)) {
      if (file.path().filename().string().rfind(table + "_2", 0) != 0) continue;
      EXPECT_EQ(file.path().parent_path().filename(), "mindstudio_profiler_output");
      std::ifstream in(file.path());
      std::vector<std::string> lines;
      for (std::string line; std::getline(in, line);) lines.push_back(line);
      if (!lines.empty()) lines.erase(lines.begin());
      return lines;
    }
    return {};
  }
  static Profile::Row RowOf(std::string_view name, bool is_operator, uint64_t took) {
    return {.device = 1,
            .stream = 7,
            .model = Profile::kNoModel,
            .task = 3,
            .name = name,
            .kind = name,
            .is_operator = is_operator,
            .begun = 1'000'000,
            .ended = 1'000'000 + took,
            .waited = 1500,
            .operands = nullptr,
            .submitter = 0,
            .submitted = 0};
  }
  std::string folder_;
};

TEST_F(Profiles, OperatorsAreInBothTablesAndInSum) {
  Profile profile(folder_);
  profile.Add(RowOf("aclnnInplaceAdd", true, 4000));
  profile.Add(RowOf("event record", false, 500));
  profile.Add(RowOf("aclnnAdd", true, 2000));
  profile.Add(RowOf("aclnnMul", true, 2000));
  profile.Finish();
  const std::vector<std::string> operators = Rows("op_summary"), tasks = Rows("task_time");
  ASSERT_EQ(operators.size(), 3U);
  EXPECT_EQ(operators[0].rfind("1,4294967295,3,7,aclnnInplaceAdd,Add,AI_CORE,", 0), 0U) << operators[0];
  EXPECT_NE(operators[0].find(",4.000,1.500,1,N/A,N/A,N/A,N/A,N/A,N/A"), std::string::npos) << operators[0];
  ASSERT_EQ(tasks.size(), 4U);
  EXPECT_EQ(tasks[1].rfind("1,event record,EVENT_RECORD,7,3,0.500,", 0), 0U) << tasks[1];
  EXPECT_EQ(Rows("op_statistic"),
            (std::vector<std::string>{"1,Add,AI_CORE,2,6.000,2.000,3.000,4.000,75.000",
                                      "1,Mul,AI_CORE,1,2.000,2.000,2.000,2.000,25.000"}));
}

TEST_F(Profiles, CallsAreInSumByTheTimeThatTheyTook) {
  Profile profile(folder_);
  profile.AddCall("rtKernelLaunch", "Runtime", 1, 100);
  for (const uint64_t ns : {1000, 3000}) profile.AddCall("aclrtMalloc", "AscendCL", 1, ns);
  profile.AddCall("HcclAllReduce", "Communication", 1, 2000);
  profile.Finish();
  EXPECT_EQ(Rows("api_statistic"),
            (std::vector<std::string>{"host,AscendCL,aclrtMalloc,4.000,2,2.000,1.000,3.000,1.000",
                                      "host,Communication,HcclAllReduce,2.000,1,2.000,2.000,2.000,0.000",
                                      "host,Runtime,rtKernelLaunch,0.100,1,0.100,0.100,0.100,0.000"}));
}

TEST(Calls, HaveTheirLevelByTheirName) {
  EXPECT_STREQ(Profile::LevelOf("aclrtMalloc"), "AscendCL");
  EXPECT_STREQ(Profile::LevelOf("HcclAllReduce"), "Communication");
  EXPECT_STREQ(Profile::LevelOf("rtKernelLaunch"), "Runtime");
}

TEST_F(Profiles, OnlyWhatIsCollectedIsWritten) {
  Profile profile(folder_);
  profile.Collect({{1, rt::kCollectTasks}});
  Profile::Row row = RowOf("aclnnAdd", true, 2000);
  row.operands = std::make_shared<const std::string>("2,FLOAT,ND,2,FLOAT,ND");
  profile.Add(row);
  row.device = 0;
  profile.Add(row);
  profile.AddCall("aclrtMalloc", "AscendCL", 1, 1000);
  profile.AddSpan({1, "Mark", "here", 5, 5});
  profile.Collect({{0, rt::kCollectMarks | rt::kCollectCalls}});
  profile.Add(row);
  profile.AddSpan({1, "Mark", "a \"b\", c", 5, 5});
  profile.Finish();
  ASSERT_EQ(Rows("op_summary").size(), 1U);
  EXPECT_NE(Rows("op_summary")[0].find("N/A,N/A,N/A,N/A,N/A,N/A"), std::string::npos);
  ASSERT_EQ(Rows("msprof_tx").size(), 1U);
  EXPECT_NE(Rows("msprof_tx")[0].find(R"(,Mark,,,)"), std::string::npos);
  EXPECT_NE(Rows("msprof_tx")[0].find(R"(,,"a ""b"", c")"), std::string::npos) << Rows("msprof_tx")[0];
  EXPECT_TRUE(Rows("api_statistic").empty());
}

TEST_F(Profiles, OperandsAreThoseOfTheFirstStage) {
  const auto words = +[](char letter, uint64_t handle) {
    const std::string line = std::to_string(handle) + ",2|FLOAT|ND";
    return letter == 'L' ? line + "\n" + line : line;
  };
  Profile profile(folder_);
  const uint64_t add[] = {1, 2, 3, 0}, cat[] = {4, 0, 5, 0};
  profile.Keep(10, kProfiledCalls, 3, add, words);
  profile.Keep(11, kProfiledCalls, 4, cat, words);
  ASSERT_NE(profile.Find(10), nullptr);
  EXPECT_EQ(*profile.Find(10), R"("1,2;2,2;2,2",FLOAT;FLOAT;FLOAT,ND;ND;ND,"1,2",FLOAT,ND)");
  EXPECT_EQ(*profile.Find(11), R"("4,2;4,2",FLOAT;FLOAT,ND;ND,"5,2",FLOAT,ND)");
  EXPECT_EQ(profile.Find(12), nullptr);
  profile.Keep(12, kProfiledCalls, 4, cat, nullptr);
  EXPECT_EQ(*profile.Find(12), "N/A,N/A,N/A,N/A,N/A,N/A");
}

TEST(ExecutorArguments, AreFoundByTheirNameAndLetter) {
  EXPECT_EQ(ExecutorMadeBy(kProfiledFunctions[4]), 3);
  EXPECT_EQ(ExecutorRunBy(kProfiledFunctions[4]), -1);
  EXPECT_EQ(ExecutorMadeBy(kProfiledFunctions[5]), -1);
  EXPECT_EQ(ExecutorRunBy(kProfiledFunctions[5]), 2);
  EXPECT_EQ(ExecutorRunBy(kProfiledFunctions[2]), -1);
}

TEST_F(Profiles, RowsThatWaitAreWrittenWhenTheyAreMany) {
  Profile profile(folder_);
  for (int i = 0; i < 2000; ++i) profile.Add(RowOf("aclnnAdd", true, 2000));
  EXPECT_GT(Rows("op_summary").size(), 500U);
  profile.Finish();
  profile.Add(RowOf("aclnnAdd", true, 2000));
  profile.Finish();
  EXPECT_EQ(Rows("op_summary").size(), 2001U);
  EXPECT_EQ(Rows("op_statistic").size(), 1U);
}

TEST_F(Profiles, AChildOfForkWritesNothing) {
  Profile profile(folder_);
  profile.Add(RowOf("aclnnAdd", true, 2000));
  const pid_t child = fork();
  if (child == 0) {
    profile.Finish();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(Rows("op_summary").size(), 0U);
  profile.Finish();
  EXPECT_EQ(Rows("op_summary").size(), 1U);
}

TEST(ATable, ThatCannotBeWrittenIsToldOfOnce) {
  testing::internal::CaptureStderr();
  Table table("/dev/full", "a,b");
  table.Flush();
  table.Add("1,2");
  table.Flush();
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("belay trace: cannot write a table: "), std::string::npos) << told;
  EXPECT_EQ(told.find("belay trace", 1), std::string::npos) << told;
}

}  // namespace
}  // namespace belay::trace
