#include "base/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "base/descriptor.h"
#include "base/quiet_write.h"
#include "base/thread.h"

namespace belay {
namespace {

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// Follows links, also to what is not there yet. Links of /proc, where /dev/stdout leads, are open files, not
// names:
// `*open_file` says so.
std::string Followed(std::string path, bool* open_file) {
  for (int links = 0; links < 40; ++links) {
    char target[4096];
    const ssize_t length = readlink(path.c_str(), target, sizeof target);
    if (length < 0 || length == sizeof target) break;
    *open_file |= path.rfind("/proc/", 0) == 0 || path.rfind("/dev/fd/", 0) == 0;
    const std::string next(target, static_cast<size_t>(length));
    path = next.rfind('/', 0) == 0 ? next : FolderOf(path) + "/" + next;
  }
  return path;
}

std::optional<WriteFailure> Failed(bool opened) { return WriteFailure{opened, std::strerror(errno)}; }

std::optional<WriteFailure> WriteInPlace(const std::string& path, std::string_view bytes) {
  const int file = open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return Failed(false);
  const bool written = WriteAllQuietly(file, bytes.data(), bytes.size());
  const int reason = errno;
  const bool closed = close(file) == 0;
  if (!written) errno = reason;
  return written && closed ? std::nullopt : Failed(true);
}

// A new file beside the path; its name in `*name`. Negative with errno.
int OpenBeside(const std::string& path, mode_t mode, std::string* name) {
  for (int number = 0; number < 1000; ++number) {
    *name = FolderOf(path) + "/.belay-" + std::to_string(getpid()) + "-" + std::to_string(number) + ".tmp";
    const int file = open(name->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

// The folder's entry reaches the disk with the file; a file system that cannot do that is none of the
// writer's faults.
void SyncFolder(const std::string& folder) {
  const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  fsync(file);
  close(file);
}

bool FillAndReplace(int file, const std::string& beside, const std::string& path, std::string_view bytes) {
  const bool written =
      WriteAllQuietly(file, bytes.data(), bytes.size()) && (fsync(file) == 0 || errno == EINVAL);
  const int reason = errno;
  const bool closed = close(file) == 0;
  if (!written) errno = reason;
  return written && closed && rename(beside.c_str(), path.c_str()) == 0;
}

}  // namespace

std::optional<std::string> ReadWholeFile(const std::string& path, size_t most) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOMEM) throw std::bad_alloc();
  if (!file) return std::nullopt;
  struct stat about {};
  std::string bytes;
  if (fstat(file.get(), &about) == 0 && S_ISREG(about.st_mode) && static_cast<size_t>(about.st_size) <= most)
    bytes.reserve(static_cast<size_t>(about.st_size));
  char part[16384];
  for (;;) {
    const ssize_t got = read(file.get(), part, sizeof part);
    if (got == 0) return bytes;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (static_cast<size_t>(got) > most - bytes.size()) {
      errno = EFBIG;
      return std::nullopt;
    }
    bytes.append(part, static_cast<size_t>(got));
  }
}

std::optional<WriteFailure> WriteWholeFile(const std::string& given, std::string_view bytes, mode_t mode) {
  NoCancellation no_cancellation;
  bool open_file = false;
  const std::string path = Followed(given, &open_file);
  struct stat old {};
  const bool exists = stat(given.c_str(), &old) == 0;
  if (exists && (open_file || !S_ISREG(old.st_mode))) return WriteInPlace(given, bytes);
  if (exists && access(path.c_str(), W_OK) != 0) return Failed(false);
  const std::string folder = FolderOf(path);
  std::string beside;
  const int file = OpenBeside(path, mode, &beside);
  if (file < 0) return exists ? WriteInPlace(path, bytes) : Failed(false);
  if (exists) {
    if (fchown(file, old.st_uid, old.st_gid) != 0) errno = 0;  // it is another's: only root keeps the owner
    if (fchmod(file, old.st_mode & 07777) != 0) errno = 0;     // a file system without permissions
  }
  if (FillAndReplace(file, beside, path, bytes)) {
    SyncFolder(folder);
    return {};
  }
  const int reason = errno;
  unlink(beside.c_str());
  const bool mounted = reason == EBUSY;  // the file is a place where another is mounted, as containers do
  if (exists && mounted) return WriteInPlace(path, bytes);
  errno = reason;
  return Failed(true);
}

}  // namespace belay
