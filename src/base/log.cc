#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <memory>

#include "base/clock.h"
#include "base/fork.h"
#include "base/quiet_write.h"
#include "base/thread.h"

namespace belay {
namespace {

constexpr int kNotOpened = -1;
constexpr int kUnusable = -2;
constexpr int kOpening = -3;
constexpr int64_t kMostBytes = int64_t{64} << 20;  // of one file; a program that fails in a loop stops here

// The configuration in force and the ones before it, which other threads may still be reading.
struct Configured {
  LogConfig config;
  std::unique_ptr<const Configured> previous;
  mutable std::atomic<int> file{kNotOpened};  // or a state, below 0
  mutable std::atomic<int64_t> bytes{0};
  mutable std::atomic<ino_t> inode{0};  // of the file
};
constinit std::atomic<const Configured*> g_configured{nullptr};

// A child writes a file of its own.
[[maybe_unused]] const bool g_log_at_fork = AtForkInChild([] {
  for (const Configured* c = g_configured.load(); c != nullptr; c = c->previous.get()) {
    int file = c->file.exchange(kNotOpened);
    if (file >= 0) close(file);
    c->bytes.store(0);
  }
});

bool MakeFolders(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    std::string part = path.substr(0, slash);
    if (mkdir(part.c_str(), 0750) != 0 && errno != EEXIST && errno != EISDIR) return false;
    if (slash == std::string::npos) return true;
  }
}

int OpenLog(const LogConfig& config) {
  if (config.folder.empty() || !MakeFolders(config.folder)) return kUnusable;
  std::string digits;
  for (char c : WallTime()) {
    if (c >= '0' && c <= '9') digits += c;
  }
  std::string path = fmt::format("{}/{}-{}_{}.log", config.folder, config.prefix, getpid(),
                                 std::string_view(digits).substr(0, 17));
  // Non-blocking: what lies there may be a pipe that nobody reads.
  int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0640);
  return file < 0 ? kUnusable : file;
}

ino_t InodeOf(int file) {
  struct stat state;
  return fstat(file, &state) == 0 ? state.st_ino : 0;
}

int FileOf(const Configured& configured) {
  for (;;) {
    int file = configured.file.load(std::memory_order_acquire);
    if (file == kNotOpened && configured.file.compare_exchange_strong(file, kOpening)) {
      try {
        file = OpenLog(configured.config);
      } catch (...) {  // no memory for the path: the next line tries again
        configured.file.store(kNotOpened, std::memory_order_release);
        throw;
      }
      configured.inode.store(file < 0 ? 0 : InodeOf(file));
      configured.file.store(file, std::memory_order_release);
    }
    if (file != kNotOpened && file != kOpening) return file;
    sched_yield();  // another thread opens it
  }
}

// A reader of standard output that has gone, a full disk or a limit costs lines, nothing else.
void WriteToStdout(const std::string& line) { (void)!WriteQuietly(STDOUT_FILENO, line.data(), line.size()); }

void WriteToFile(const Configured& configured, const std::string& line) {
  int file = FileOf(configured);
  // A daemon closes every file it finds; the number may be somebody else's file by now.
  if (file < 0 || InodeOf(file) != configured.inode.load(std::memory_order_relaxed)) return;
  if (configured.bytes.fetch_add(static_cast<int64_t>(line.size())) > kMostBytes) return;
  (void)!WriteQuietly(file, line.data(), line.size());
}

void WriteLine(const std::string& line) {
  const Configured* configured = g_configured.load(std::memory_order_acquire);
  if (configured == nullptr) return;
  if (configured->config.to_stdout) {
    WriteToStdout(line);
  } else {
    WriteToFile(*configured, line);
  }
}

}  // namespace

LogPlace LogPlace::Here(const char* file, long line) {
  std::string_view name = file;
  name.remove_prefix(name.rfind('/') + 1);
  return {name, line};
}

void ConfigureLog(LogConfig config) {
  const Configured* old = g_configured.load(std::memory_order_acquire);
  if (old == nullptr || !(old->config == config)) {
    auto fresh = std::make_unique<Configured>();
    fresh->config = std::move(config);
    fresh->previous.reset(old);
    if (!g_configured.compare_exchange_strong(old, fresh.get())) {
      fresh->previous.release();  // another thread was first, with what it read from the same place
      return;
    }
    old = fresh.release();
  }
  g_log_level.store(old->config.level, std::memory_order_relaxed);
}

void WriteLog(LogLevel level, const char* module, std::string_view text, LogPlace place) {
  static constexpr const char* kNames[] = {"DEBUG", "INFO", "WARNING", "ERROR"};
  if (level >= LogLevel::kNothing) return;
  int saved_errno = errno;
  NoCancellation no_cancellation;
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  try {
    WriteLine(fmt::format("[{}] {}({},{}):{} [{}:{}]{} {}\n", kNames[static_cast<int>(level)], module,
                          getpid(), program_invocation_short_name, WallTime(), place.name, place.number,
                          syscall(SYS_gettid), text));
  } catch (const std::bad_alloc&) {
    // No memory for the line: the program has other worries.
  }
  errno = saved_errno;
}

}  // namespace belay
