#include "collective/peer_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <new>

namespace belay::coll {
namespace {

// The memory file of another process, if it is still the one that was announced.
int Open(const rt::FilePlace& place) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", place.process, place.file);
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return -1;
  struct stat about {};
  if (fstat(file, &about) == 0 && about.st_dev == place.device && about.st_ino == place.inode &&
      S_ISREG(about.st_mode) && static_cast<uint64_t>(about.st_size) == place.file_bytes)
    return file;
  close(file);
  return -1;
}

}  // namespace

PeerMemory::PeerMemory() : opener_(getpid()) {}

PeerMemory::~PeerMemory() {
  if (opener_ != getpid()) return;  // a forked child does not have them
  for (const Mapping& m : mappings_) munmap(const_cast<std::byte*>(m.memory), m.bytes);
}

bool PeerMemory::MakeRoom() noexcept {
  if (mappings_.size() < kMost) {
    try {
      mappings_.reserve(mappings_.size() + 1);
    } catch (const std::bad_alloc&) {
      return false;
    }
    return true;
  }
  auto oldest = std::min_element(mappings_.begin(), mappings_.end(),
                                 [](const Mapping& a, const Mapping& b) { return a.used_in < b.used_in; });
  if (oldest->used_in == call_) return false;
  munmap(const_cast<std::byte*>(oldest->memory), oldest->bytes);
  *oldest = mappings_.back();
  mappings_.pop_back();
  return true;
}

PeerMemory::Mapping* PeerMemory::Map(const rt::FilePlace& place) noexcept {
  if (!MakeRoom()) return nullptr;
  const int file = Open(place);
  if (file < 0) return nullptr;
  void* p = mmap(nullptr, place.file_bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE | MAP_POPULATE, file, 0);
  close(file);
  if (p == MAP_FAILED) return nullptr;
  madvise(p, place.file_bytes, MADV_DONTFORK);
  mappings_.push_back({place.device, place.inode, place.file_bytes, static_cast<const std::byte*>(p), call_});
  return &mappings_.back();
}

const std::byte* PeerMemory::Find(const rt::FilePlace& place, uint64_t bytes) noexcept {
  if (place.offset > place.file_bytes || bytes > place.file_bytes - place.offset) return nullptr;
  auto it = std::find_if(mappings_.begin(), mappings_.end(), [&](const Mapping& m) {
    return m.inode == place.inode && m.device == place.device && m.bytes == place.file_bytes;
  });
  Mapping* found = it != mappings_.end() ? &*it : Map(place);
  if (found == nullptr) return nullptr;
  found->used_in = call_;
  return found->memory + place.offset;
}

}  // namespace belay::coll
