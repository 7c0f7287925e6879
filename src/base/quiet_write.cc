#include "base/quiet_write.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

namespace belay {
namespace {

constexpr int kSignals[] = {SIGXFSZ, SIGPIPE};

sigset_t Both() {
  sigset_t both;
  sigemptyset(&both);
  for (int signal : kSignals) sigaddset(&both, signal);
  return both;
}

}  // namespace

QuietWrites::QuietWrites() {
  sigset_t both = Both();
  pthread_sigmask(SIG_BLOCK, &both, &blocked_before_);
  sigpending(&pending_before_);
}

QuietWrites::~QuietWrites() {
  int error = errno;
  sigset_t pending;
  sigpending(&pending);
  for (int signal : kSignals) {
    // One that was pending before belongs to the program.
    if (sigismember(&pending, signal) == 0 || sigismember(&pending_before_, signal) != 0) continue;
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    timespec now{0, 0};
    sigtimedwait(&one, nullptr, &now);
  }
  pthread_sigmask(SIG_SETMASK, &blocked_before_, nullptr);
  errno = error;
}

ssize_t WriteQuietly(int file, const void* data, size_t bytes) {
  QuietWrites quiet;
  return write(file, data, bytes);
}

bool WriteAllQuietly(int file, const void* data, size_t bytes) {
  QuietWrites quiet;
  const auto* at = static_cast<const std::byte*>(data);
  while (bytes > 0) {
    ssize_t written = write(file, at, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) return false;
    at += written;
    bytes -= static_cast<size_t>(written);
  }
  return true;
}

bool SizeQuietly(int file, size_t bytes) {
  QuietWrites quiet;
  return ftruncate(file, static_cast<off_t>(bytes)) == 0;
}

bool SizeToMap(int file, size_t bytes) { return SizeToMap(file, bytes, PromisesOnlyWhatThereIs()); }

bool SizeToMap(int file, size_t bytes, bool reserve) {
  if (!SizeQuietly(file, bytes)) return false;
  if (!reserve || bytes == 0) return true;
  QuietWrites quiet;
  while (fallocate(file, 0, 0, static_cast<off_t>(bytes)) != 0) {
    if (errno == EOPNOTSUPP || errno == ENOSYS) return true;  // the system keeps no room for anybody
    if (errno != EINTR) return false;
  }
  return true;
}

bool PromisesOnlyWhatThereIs() {
  static const bool only = [] {
    const int file = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
    char mode = 0;
    const bool known = file >= 0 && read(file, &mode, 1) == 1;
    if (file >= 0) close(file);
    return known && mode == '2';
  }();
  return only;
}

}  // namespace belay
