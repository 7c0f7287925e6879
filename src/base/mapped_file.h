// A whole file in memory: a copy of it, or as the system maps it.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace belay {

// Mapped, it is read when its bytes are looked at and shared between processes; but whoever writes into the
// file changes the bytes, and where it is cut off, looking at them ends the process. A copy is the process's
// own.
class FileBytes {
 public:
  FileBytes(void* data, size_t size, std::string path, const struct stat& mapped);
  ~FileBytes();
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }
  bool mapped() const { return !path_.empty(); }
  // Whether somebody has written into the file since it was mapped. Another file that has taken its name is
  // none of our business: the mapping keeps the old one.
  bool WrittenSince() const;

 private:
  void* data_;
  size_t size_;
  std::string path_;  // empty: a copy
  dev_t device_ = 0;
  ino_t inode_ = 0;
  timespec written_{};
};

// Copies a file of at most `most_copied` bytes, maps a larger one. Null with the reason for a file that
// cannot be read, is empty, or is no ordinary one. Throws std::bad_alloc.
std::shared_ptr<const FileBytes> ReadFileBytes(const std::string& path, size_t most_copied,
                                               std::string* reason);

// `bytes` of a file from `offset` on; false with the reason.
bool ReadPart(const std::string& path, uint64_t offset, void* to, size_t bytes, std::string* reason);

}  // namespace belay
