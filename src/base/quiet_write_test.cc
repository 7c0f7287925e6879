#include "base/quiet_write.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>

namespace belay {
namespace {

// Files of at most 4096 bytes while in scope.
class SmallFiles {
 public:
  SmallFiles() {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit small{4096, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_;
};

class MemoryFile {
 public:
  ~MemoryFile() { close(file); }
  const int file = memfd_create("quiet-write-test", MFD_CLOEXEC);
};

bool IsPending(int signal) {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, signal) != 0;
}

TEST(QuietWrite, BeyondTheLimitOfFilesIsAnError) {
  MemoryFile memory;
  std::string text(10'000, 'x');
  bool written = true;
  bool sized = true;
  int write_error = 0;
  int size_error = 0;
  {
    SmallFiles small;
    written = WriteAllQuietly(memory.file, text.data(), text.size());
    write_error = errno;
    sized = SizeQuietly(memory.file, 10'000);
    size_error = errno;
  }
  EXPECT_FALSE(written);
  EXPECT_EQ(write_error, EFBIG);
  EXPECT_EQ(lseek(memory.file, 0, SEEK_END), 4096);
  EXPECT_FALSE(sized);
  EXPECT_EQ(size_error, EFBIG);
  EXPECT_FALSE(IsPending(SIGXFSZ));
}

TEST(QuietWrite, AFullDiskIsAnError) {
  int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  EXPECT_FALSE(WriteAllQuietly(full, "x", 1));
  EXPECT_EQ(errno, ENOSPC);
  close(full);
}

TEST(QuietWrite, AReaderThatHasGoneIsAnError) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  close(ends[0]);
  EXPECT_EQ(WriteQuietly(ends[1], "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  EXPECT_FALSE(IsPending(SIGPIPE));
  close(ends[1]);
}

TEST(QuietWrite, SignalsOfTheProgramAndItsMaskStay) {
  sigset_t one;
  sigset_t before;
  sigemptyset(&one);
  sigaddset(&one, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &one, &before);
  pthread_kill(pthread_self(), SIGXFSZ);
  MemoryFile memory;
  bool sized = true;
  {
    SmallFiles small;
    sized = SizeQuietly(memory.file, 10'000);
  }
  EXPECT_FALSE(sized);
  EXPECT_TRUE(IsPending(SIGXFSZ)) << "it was pending before";
  timespec now{0, 0};
  EXPECT_EQ(sigtimedwait(&one, nullptr, &now), SIGXFSZ);
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, &before, &mask);
  EXPECT_EQ(sigismember(&mask, SIGXFSZ), 1);
  EXPECT_EQ(sigismember(&mask, SIGPIPE), sigismember(&before, SIGPIPE));
}

}  // namespace
}  // namespace belay
