// A whole file in memory, as the system maps it: read when its bytes are looked at, shared between processes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace belay {

class MappedFile {
 public:
  MappedFile(void* data, size_t size) : data_(data), size_(size) {}
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

 private:
  void* data_;
  size_t size_;
};

// Null with the reason for a file that cannot be read, is empty, or is no ordinary one.
std::shared_ptr<const MappedFile> MapFile(const std::string& path, std::string* reason);

}  // namespace belay
