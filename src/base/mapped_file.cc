#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <system_error>

#include "base/descriptor.h"
#include "base/room.h"

namespace belay {
namespace {

// An ordinary file that can be read, or a negative number with the reason.
int Open(const std::string& path, struct stat* about, std::string* reason) {
  const int file =
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe would wait for who writes to it
  *reason = file < 0 ? std::strerror(errno) : "it is empty or no ordinary file";
  if (file >= 0 && fstat(file, about) == 0 && S_ISREG(about->st_mode) && about->st_size > 0) return file;
  if (file >= 0) close(file);
  return -1;
}

// Empty in a folder that is gone: then nobody writes there either.
std::string AbsolutePath(const std::string& path) {
  std::error_code unknown;
  const std::filesystem::path absolute = std::filesystem::absolute(path, unknown);
  if (unknown == std::errc::not_enough_memory) throw std::bad_alloc();
  return absolute.string();
}

bool ReadAll(int file, uint64_t offset, void* to, size_t bytes, std::string* reason) {
  auto* at = static_cast<std::byte*>(to);
  while (bytes > 0) {
    const ssize_t got = pread(file, at, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      *reason = got < 0 ? std::strerror(errno) : "it was cut off while it was read";
      return false;
    }
    at += got, offset += static_cast<size_t>(got), bytes -= static_cast<size_t>(got);
  }
  return true;
}

}  // namespace

FileBytes::FileBytes(void* data, size_t size, std::string path, const struct stat& mapped)
    : data_(data),
      size_(size),
      path_(std::move(path)),
      device_(mapped.st_dev),
      inode_(mapped.st_ino),
      written_(mapped.st_mtim) {}

FileBytes::~FileBytes() { munmap(data_, size_); }

bool FileBytes::WrittenSince() const {
  struct stat now {};
  if (!mapped() || stat(path_.c_str(), &now) != 0) return false;
  if (now.st_dev != device_ || now.st_ino != inode_) return false;
  return static_cast<size_t>(now.st_size) != size_ || now.st_mtim.tv_sec != written_.tv_sec ||
         now.st_mtim.tv_nsec != written_.tv_nsec;
}

std::shared_ptr<const FileBytes> ReadFileBytes(const std::string& path, size_t most_copied,
                                               std::string* reason) {
  struct stat about {};
  const Descriptor file(Open(path, &about, reason));
  if (!file) return nullptr;
  const auto size = static_cast<size_t>(about.st_size);
  const bool copies = size <= most_copied;
  void* data = copies ? mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                      : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED && errno == ENOMEM) throw std::bad_alloc();
  if (data == MAP_FAILED) {
    *reason = std::strerror(errno);
    return nullptr;
  }
  Rollback unmap([&] { munmap(data, size); });
  std::shared_ptr<const FileBytes> bytes =
      std::make_shared<FileBytes>(data, size, copies ? "" : AbsolutePath(path), about);
  unmap.Keep();
  if (!copies) return bytes;
  madvise(data, size, MADV_HUGEPAGE);  // three times as fast
  if (!ReadAll(file.get(), 0, data, size, reason)) return nullptr;
  return bytes;
}

bool ReadPart(const std::string& path, uint64_t offset, void* to, size_t bytes, std::string* reason) {
  struct stat about {};
  const Descriptor file(Open(path, &about, reason));
  return file && ReadAll(file.get(), offset, to, bytes, reason);
}

}  // namespace belay
