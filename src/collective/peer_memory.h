// Device memory of ranks in other processes of the machine, mapped here to be read, never to be written: a
// rank that fails or is slow cannot spoil what another has allocated since. Which memory file it lies in is
// announced with each call (runtime/memory_sharing.h); the files are opened under /proc, so both processes
// belong to one user.
//
// Used by the call whose turn it is, so by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/memory_sharing.h"

namespace belay::coll {

class PeerMemory {
 public:
  PeerMemory();
  ~PeerMemory();
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  // What is mapped may be given up in a later call only.
  void BeginCall() { ++call_; }
  // `bytes` from the place on; null where the system refuses, or the file is gone.
  const std::byte* Find(const rt::FilePlace& place, uint64_t bytes) noexcept;

 private:
  // More than a program has buffers in use.
  static constexpr size_t kMost = 512;
  struct Mapping {
    uint64_t device, inode;
    uint64_t bytes;
    const std::byte* memory;
    uint64_t used_in;  // call
  };
  Mapping* Map(const rt::FilePlace& place) noexcept;
  bool MakeRoom() noexcept;

  std::vector<Mapping> mappings_;
  uint64_t call_ = 0;
  const int32_t opener_;
};

}  // namespace belay::coll
