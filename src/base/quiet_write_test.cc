#include "base/quiet_write.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
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

// In a child that has a file system of a few pages to itself: 0, or the number of what did not hold; 100: the
// system lets it have none.
int CheckRoomInAChild(const char* folder) {
  if (unshare(CLONE_NEWNS) != 0) return 100;
  mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  if (mount("tmpfs", folder, "tmpfs", 0, "size=64k") != 0) return 100;
  const std::string path = std::string(folder) + "/file";
  const int file = open(path.c_str(), O_RDWR | O_CREAT, 0600);
  if (file < 0) return 1;
  if (!SizeToMap(file, 1 << 20, false)) return 2;  // whose pages nobody has promised
  if (SizeToMap(file, 1 << 20, true)) return 3;
  if (errno != ENOSPC) return 4;
  if (!SizeQuietly(file, 0) || !SizeToMap(file, 32 << 10, true)) return 5;
  // Who comes later is refused, and what was promised is there.
  const int other = open((path + "2").c_str(), O_RDWR | O_CREAT, 0600);
  if (other < 0 || SizeToMap(other, 48 << 10, true)) return 6;
  void* at = mmap(nullptr, 32 << 10, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) return 7;
  memset(at, 1, 32 << 10);
  return 0;
}

TEST(QuietWrite, RoomForWhatIsMappedIsReserved) {
  char folder[] = "/tmp/belay-room-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const int child = fork();
  if (child == 0) _exit(CheckRoomInAChild(folder));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  rmdir(folder);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) == 100) GTEST_SKIP() << "the system lets this process mount nothing";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(QuietWrite, ReservingBeyondTheLimitOfFilesIsAnError) {
  MemoryFile memory;
  bool sized = true;
  int why = 0;
  {
    SmallFiles small;
    sized = SizeToMap(memory.file, 10'000, true);
    why = errno;
  }
  EXPECT_FALSE(sized);
  EXPECT_EQ(why, EFBIG);
  EXPECT_FALSE(IsPending(SIGXFSZ));
  EXPECT_TRUE(SizeToMap(memory.file, 10'000, true));
  EXPECT_EQ(lseek(memory.file, 0, SEEK_END), 10'000);
}

}  // namespace
}  // namespace belay
