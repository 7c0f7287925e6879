#include "base/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <thread>

#include "base/clock.h"

namespace belay {
namespace {

namespace fs = std::filesystem;

class LogTest : public testing::Test {
 protected:
  LogTest() : folder_(testing::TempDir() + "belay-log-" + std::to_string(getpid())) {
    fs::remove_all(folder_);
  }
  ~LogTest() override {
    ConfigureLog({});
    fs::remove_all(folder_);
  }
  void Configure(LogLevel level) {
    // A folder of its own for each test of a process: a configuration that was seen before is kept.
    static int serial = 0;
    ConfigureLog(
        {.level = level, .folder = folder_ + "/" + std::to_string(++serial) + "/a/b", .prefix = "plog"});
  }
  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    if (!fs::exists(folder_)) return files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    return files;
  }
  std::string Text() const {
    std::string all;
    for (const fs::path& path : Files()) {
      std::ifstream file(path);
      all.append(std::istreambuf_iterator<char>(file), {});
    }
    return all;
  }

  const std::string folder_;
};

TEST_F(LogTest, LevelsDecide) {
  Configure(LogLevel::kWarning);
  EXPECT_FALSE(LogWanted(LogLevel::kDebug));
  EXPECT_FALSE(LogWanted(LogLevel::kInfo));
  EXPECT_TRUE(LogWanted(LogLevel::kWarning));
  EXPECT_TRUE(LogWanted(LogLevel::kError));
  Configure(LogLevel::kNothing);
  EXPECT_FALSE(LogWanted(LogLevel::kError));
}

TEST_F(LogTest, TheFileComesWithTheFirstLine) {
  Configure(LogLevel::kInfo);
  EXPECT_TRUE(Files().empty());
  WriteLog(LogLevel::kInfo, "UNIT", "first");
  WriteLog(LogLevel::kError, "UNIT", "second");
  ASSERT_EQ(Files().size(), 1u);
  EXPECT_THAT(Files()[0].filename().string(),
              testing::ContainsRegex("^plog-" + std::to_string(getpid()) + "_[0-9]{17}.log$"));
}

TEST_F(LogTest, Format) {
  Configure(LogLevel::kDebug);
  WriteLog(LogLevel::kError, "UNIT", "some text\n", {"aclrtMalloc", 107000});
  std::regex line(R"(\[ERROR\] UNIT\()" + std::to_string(getpid()) + R"(,[^)]+\):\d{4}-\d\d-\d\d-)" +
                  R"(\d\d:\d\d:\d\d\.\d{3}\.\d{3} \[aclrtMalloc:107000\]\d+ some text\n)");
  EXPECT_TRUE(std::regex_match(Text(), line)) << Text();
}

TEST_F(LogTest, ALineNamesItsPlace) {
  Configure(LogLevel::kDebug);
  WriteLog(LogLevel::kDebug, "UNIT", "here");
  EXPECT_THAT(Text(), testing::HasSubstr("[log_test.cc:"));
}

TEST_F(LogTest, ThreadsDoNotMixTheirLines) {
  Configure(LogLevel::kInfo);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 200; ++i)
        WriteLog(LogLevel::kInfo, "UNIT", std::string(100, static_cast<char>('a' + t)) + "!");
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(Files().size(), 1u);
  std::ifstream file(Files()[0]);
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    EXPECT_TRUE(line.ends_with(std::string(100, line[line.size() - 2]) + "!")) << line;
  }
  EXPECT_EQ(lines, 800);
}

TEST_F(LogTest, AFolderThatCannotBeWrittenDoesNothing) {
  fs::create_directories(folder_);
  std::ofstream(folder_ + "/file") << "x";
  ConfigureLog({.level = LogLevel::kDebug, .folder = folder_ + "/file/b"});
  errno = 77;
  WriteLog(LogLevel::kError, "UNIT", "lost");
  EXPECT_EQ(errno, 77);
  ConfigureLog({.level = LogLevel::kDebug, .folder = "/proc/nowhere"});
  WriteLog(LogLevel::kError, "UNIT", "lost");
  EXPECT_EQ(Files().size(), 1u);
}

TEST_F(LogTest, AForkedChildWritesItsOwnFile) {
  Configure(LogLevel::kInfo);
  WriteLog(LogLevel::kInfo, "UNIT", "parent");
  pid_t child = fork();
  if (child == 0) {
    WriteLog(LogLevel::kInfo, "UNIT", "child");
    _exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  WriteLog(LogLevel::kInfo, "UNIT", "parent again");
  ASSERT_EQ(Files().size(), 2u);
  for (const fs::path& path : Files()) {
    bool childs = path.string().find("plog-" + std::to_string(child) + "_") != std::string::npos;
    std::ifstream file(path);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(text.find("child") != std::string::npos, childs);
    EXPECT_EQ(text.find("parent again") != std::string::npos, !childs);
  }
}

TEST_F(LogTest, AFileThatTheProgramClosedIsNotWrittenTo) {
  Configure(LogLevel::kInfo);
  WriteLog(LogLevel::kInfo, "UNIT", "first");
  std::string ours = fs::canonical(Files()[0]);
  int file = -1;
  for (int fd = 3; fd < 100; ++fd) {
    std::error_code error;
    if (fs::read_symlink("/proc/self/fd/" + std::to_string(fd), error) == ours) file = fd;
  }
  ASSERT_GE(file, 0);
  std::string theirs = folder_ + "/theirs";
  int other = open(theirs.c_str(), O_CREAT | O_RDWR, 0600);
  ASSERT_EQ(dup2(other, file), file);
  WriteLog(LogLevel::kInfo, "UNIT", "second");
  EXPECT_EQ(fs::file_size(theirs), 0u);
  close(other);
}

TEST_F(LogTest, StandardOutputWithoutAReaderDoesNotEndTheProgram) {
  pid_t child = fork();
  if (child == 0) {
    int ends[2];
    if (pipe(ends) != 0 || dup2(ends[1], STDOUT_FILENO) < 0) _exit(1);
    close(ends[0]);
    close(ends[1]);
    ConfigureLog({.level = LogLevel::kInfo, .to_stdout = true});
    WriteLog(LogLevel::kInfo, "UNIT", "nobody reads this");
    sigset_t pending;
    sigpending(&pending);
    _exit(sigismember(&pending, SIGPIPE));
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(WallTime, IsTheSystemsLocalTime) {
  auto now = [] {
    timespec t;
    clock_gettime(CLOCK_REALTIME, &t);  // time() may lag behind it
    return t.tv_sec;
  };
  time_t before = now();
  std::string text = WallTime();
  time_t after = now();
  bool matches = false;
  for (time_t t = before; t <= after; ++t) {
    tm local;
    localtime_r(&t, &local);
    char wanted[32];
    strftime(wanted, sizeof wanted, "%Y-%m-%d-%H:%M:%S.", &local);
    matches = matches || text.starts_with(wanted);
  }
  EXPECT_TRUE(matches) << text;
}

}  // namespace
}  // namespace belay
