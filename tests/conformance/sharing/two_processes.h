// Two real processes: the test, and a child made by fork before anything is initialised, which runs one of
// the test's functions when it is told to, with a runtime of its own.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>

#include "fixture.h"

namespace conformance {

// Sanitizers make everything some ten times slower; they look at the same steps in fewer turns.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

inline constexpr int kBadArgument = 100000;
inline constexpr int kStale = ACL_ERROR_RT_INVALID_HANDLE;

// Bytes between the two processes, in both directions.
class Channel {
 public:
  Channel() {
    EXPECT_EQ(pipe(down_), 0);
    EXPECT_EQ(pipe(up_), 0);
  }
  // Of a program that was started by another, with its ends.
  Channel(int in, int out) : in_(in), out_(out) {}
  int child_in() const { return down_[0]; }
  int child_out() const { return up_[1]; }
  ~Channel() {
    for (int fd : {down_[0], down_[1], up_[0], up_[1]}) {
      if (fd >= 0) close(fd);
    }
  }
  // Called on each side after the fork: the end of the other process is then the end of the data.
  void IAmTheChild() { KeepOnly(down_[0], up_[1]); }
  void IAmTheParent() { KeepOnly(up_[0], down_[1]); }

  template <class T>
  bool Send(const T& value) {
    return write(out_, &value, sizeof value) == static_cast<ssize_t>(sizeof value);
  }
  template <class T>
  T Receive() {
    T value{};
    auto* at = reinterpret_cast<char*>(&value);
    for (size_t done = 0; done < sizeof value;) {
      ssize_t n = read(in_, at + done, sizeof value - done);
      if (n <= 0) return T{};
      done += static_cast<size_t>(n);
    }
    return value;
  }

 private:
  void KeepOnly(int in, int out) {
    for (int* fd : {&down_[0], &down_[1], &up_[0], &up_[1]}) {
      if (*fd == in || *fd == out) continue;
      close(*fd);
      *fd = -1;
    }
    in_ = in;
    out_ = out;
  }
  int down_[2] = {-1, -1};
  int up_[2] = {-1, -1};
  int in_ = -1;
  int out_ = -1;
};

struct Key {
  char text[65] = {};
};

// The other process: `body` runs in it with device 0 set; what it expects counts for the test.
class OtherProcess {
 public:
  explicit OtherProcess(const std::function<void(Channel&)>& body) {
    pid_ = fork();
    if (pid_ == 0) {
      channel.IAmTheChild();
      alarm(60);  // rather than wait for ever when the parent has failed
      EXPECT_OK(aclInit(nullptr));
      EXPECT_OK(aclrtSetDevice(0));
      body(channel);
      aclFinalize();
      std::fflush(nullptr);
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    channel.IAmTheParent();
  }
  ~OtherProcess() { Join(); }
  int pid() const { return pid_; }
  // Ends it as the system does that is out of memory: nothing of it runs any more.
  void Kill() {
    int pid = std::exchange(pid_, 0);
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  void Join() {
    if (pid_ <= 0) return;
    int status = 0;
    waitpid(std::exchange(pid_, 0), &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the other process: status " << status;
  }

  Channel channel;

 private:
  int pid_ = 0;
};

inline size_t CountMappings() {
  std::ifstream maps("/proc/self/maps");
  return static_cast<size_t>(std::count(std::istreambuf_iterator<char>(maps), {}, '\n'));
}
// A sanitizer looks whether memory can be read by a pipe that it opens for a moment, in threads that begin,
// too.
inline size_t CountFiles() {
  size_t least = SIZE_MAX;
  for (int look = 0; look < (kSanitized ? 20 : 1); ++look) {
    if (look > 0) usleep(200);
    auto files = std::filesystem::directory_iterator("/proc/self/fd");
    least = std::min(least, static_cast<size_t>(std::distance(begin(files), end(files))));
  }
  return least;
}

// Says that the process has as many files and mappings at the end as at the beginning. Others come and go for
// reasons of their own (memory of threads), so mappings may differ by a few.
class NothingStays {
 public:
  ~NothingStays() {
    EXPECT_EQ(CountFiles(), files_) << "open files";
    if (!kSanitized) {  // theirs grow with what they have seen
      EXPECT_LE(CountMappings(), mappings_ + 16);
    }
  }

 private:
  size_t files_ = CountFiles();
  size_t mappings_ = CountMappings();
};

// Each test forks first, then starts its own runtime.
class Sharing : public ::testing::Test {
 protected:
  void TearDown() override {
    aclFinalize();
    TakeMessage();
  }
  void Start() {
    ASSERT_OK(aclInit(nullptr));
    ASSERT_OK(aclrtSetDevice(0));
  }
  static aclrtStream NewStream() {
    aclrtStream stream = nullptr;
    EXPECT_OK(aclrtCreateStream(&stream));
    return stream;
  }
  static int* NewBlock(size_t bytes, int value) {
    void* p = nullptr;
    EXPECT_OK(aclrtMalloc(&p, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    auto* ints = static_cast<int*>(p);
    std::fill(ints, ints + bytes / sizeof(int), value);
    return ints;
  }
  static Key Export(void* p, size_t bytes,
                    uint64_t flags = ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION) {
    Key key;
    EXPECT_OK(aclrtIpcMemGetExportKey(p, bytes, key.text, sizeof key.text, flags));
    return key;
  }
  static aclrtEvent NewIpcEvent() {
    aclrtEvent event = nullptr;
    EXPECT_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    return event;
  }
  static aclrtIpcEventHandle HandleOf(aclrtEvent event) {
    aclrtIpcEventHandle handle = {};
    EXPECT_OK(aclrtIpcGetEventHandle(event, &handle));
    return handle;
  }
  static aclrtEvent Open(const aclrtIpcEventHandle& handle) {
    aclrtEvent event = nullptr;
    EXPECT_OK(aclrtIpcOpenEventHandle(handle, &event));
    return event;
  }
  static aclrtNotify NewNotify() {
    aclrtNotify notify = nullptr;
    EXPECT_OK(aclrtCreateNotify(&notify, 0));
    return notify;
  }
  static Key KeyOf(aclrtNotify notify) {
    Key key;
    EXPECT_OK(aclrtNotifyGetExportKey(notify, key.text, sizeof key.text, 1));
    return key;
  }
  static aclrtNotify OpenNotify(const Key& key) {
    aclrtNotify notify = nullptr;
    EXPECT_OK(aclrtNotifyImportByKey(&notify, key.text, ACL_RT_NOTIFY_IMPORT_FLAG_DEFAULT));
    return notify;
  }
  static int* Import(const Key& key) {
    void* p = nullptr;
    EXPECT_OK(aclrtIpcMemImportByKey(&p, key.text, ACL_RT_IPC_MEM_IMPORT_FLAG_DEFAULT));
    return static_cast<int*>(p);
  }
};

}  // namespace conformance
