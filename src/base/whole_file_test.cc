#include "base/whole_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/mapped_file.h"

namespace belay {
namespace {

namespace fs = std::filesystem;

class WholeFile : public ::testing::Test {
 protected:
  WholeFile() : folder_(testing::TempDir() + "belay_whole_XXXXXX") {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
  }
  ~WholeFile() override { fs::remove_all(folder_); }

  std::string At(const char* name) const { return folder_ + "/" + name; }
  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Of the folder: a failure leaves nothing behind.
  size_t Files() const { return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {})); }
  static mode_t ModeOf(const std::string& path) {
    struct stat about {};
    EXPECT_EQ(stat(path.c_str(), &about), 0);
    return about.st_mode & 07777;
  }

  std::string folder_;
};

TEST_F(WholeFile, TheOldOneStaysForWhoHasItOpen) {
  const std::string path = At("f");
  EXPECT_FALSE(WriteWholeFile(path, "old"));
  std::ifstream open(path);
  EXPECT_FALSE(WriteWholeFile(path, "new one"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(open), {}), "old");
  EXPECT_EQ(Read(path), "new one");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(WholeFile, IsReadToItsEndWhateverItIs) {
  const std::string bytes(100'000, 'x');
  EXPECT_FALSE(WriteWholeFile(At("f"), bytes));
  EXPECT_EQ(ReadWholeFile(At("f")), bytes);
  EXPECT_EQ(ReadWholeFile(At("f"), bytes.size()), bytes);
  EXPECT_EQ(ReadWholeFile("/proc/self/comm").value_or("").empty(), false);  // of no size that is known before
  EXPECT_FALSE(WriteWholeFile(At("empty"), ""));
  EXPECT_EQ(ReadWholeFile(At("empty")), "");
}

TEST_F(WholeFile, WhatCannotBeReadSaysWhy) {
  EXPECT_EQ(ReadWholeFile(At("none")), std::nullopt);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(ReadWholeFile(folder_), std::nullopt);
  EXPECT_EQ(errno, EISDIR);
  EXPECT_FALSE(WriteWholeFile(At("f"), "12345"));
  EXPECT_EQ(ReadWholeFile(At("f"), 4), std::nullopt);
  EXPECT_EQ(errno, EFBIG);
}

TEST_F(WholeFile, PermissionsAreThoseOfTheOldOneOrTheUmask) {
  const mode_t before = umask(027);
  EXPECT_FALSE(WriteWholeFile(At("f"), "1"));
  EXPECT_EQ(ModeOf(At("f")), 0640u);
  chmod(At("f").c_str(), 0604);
  EXPECT_FALSE(WriteWholeFile(At("f"), "2"));
  EXPECT_EQ(ModeOf(At("f")), 0604u);
  umask(before);
}

TEST_F(WholeFile, ALinkStaysOne) {
  fs::create_directory(At("there"));
  fs::create_symlink("there/target", At("link"));
  for (const char* text : {"first", "second"}) {
    EXPECT_FALSE(WriteWholeFile(At("link"), text));
    EXPECT_EQ(Read(At("there/target")), text);
    EXPECT_TRUE(fs::is_symlink(At("link")));
  }
}

TEST_F(WholeFile, WhatIsNoOrdinaryFileIsWrittenTo) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_FALSE(WriteWholeFile("/proc/self/fd/" + std::to_string(ends[1]), "through a pipe"));
  char text[32] = {};
  EXPECT_EQ(read(ends[0], text, sizeof text), 14);
  EXPECT_STREQ(text, "through a pipe");
  close(ends[0]);
  close(ends[1]);
  // As /dev/stdout leads to it where standard output goes to a file.
  const int file = open(At("out").c_str(), O_RDWR | O_CREAT, 0600);
  EXPECT_FALSE(WriteWholeFile("/proc/self/fd/" + std::to_string(file), "into an open file"));
  EXPECT_EQ(pread(file, text, sizeof text, 0), 17);
  close(file);
  EXPECT_FALSE(WriteWholeFile("/dev/null", "nothing"));
}

TEST_F(WholeFile, AFailureLeavesTheOldOne) {
  const std::string path = At("f");
  EXPECT_FALSE(WriteWholeFile(path, "old"));
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  auto failure = WriteWholeFile(path, std::string(10'000, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_TRUE(failure);
  EXPECT_TRUE(failure->opened);
  EXPECT_EQ(failure->reason, "File too large");
  EXPECT_EQ(Read(path), "old");
  EXPECT_EQ(Files(), 1u);
  EXPECT_TRUE(WriteWholeFile("/dev/full", "x"));
  auto nowhere = WriteWholeFile(At("none/f"), "x");
  ASSERT_TRUE(nowhere);
  EXPECT_FALSE(nowhere->opened);
  EXPECT_TRUE(WriteWholeFile(folder_, "x")) << "a folder";
}

TEST_F(WholeFile, ACopyOfAFileIsOnesOwn) {
  const std::string path = At("f");
  EXPECT_FALSE(WriteWholeFile(path, std::string(5000, 'a')));
  std::string reason;
  auto copied = ReadFileBytes(path, 5000, &reason), mapped = ReadFileBytes(path, 4999, &reason);
  ASSERT_NE(copied, nullptr);
  ASSERT_NE(mapped, nullptr);
  EXPECT_FALSE(copied->mapped());
  EXPECT_TRUE(mapped->mapped());
  EXPECT_FALSE(mapped->WrittenSince());
  EXPECT_FALSE(WriteWholeFile(path, "another"));
  EXPECT_FALSE(mapped->WrittenSince()) << "the old file is as it was";
  EXPECT_EQ(static_cast<char>(mapped->bytes()[4999]), 'a');
  mapped = ReadFileBytes(path, 0, &reason);
  fs::resize_file(path, 1);
  EXPECT_TRUE(mapped->WrittenSince());
  EXPECT_FALSE(copied->WrittenSince());
  EXPECT_EQ(static_cast<char>(copied->bytes()[4999]), 'a');
}

}  // namespace
}  // namespace belay
