// The file of a trace. Each thread writes packets into a piece of it that is mapped into memory, and at every
// moment the file is one that can be read: what ends a program loses nothing, and nothing is gathered in
// memory.
//
// A piece is whole packets and one that says nothing, which fills the rest. A packet is put down behind the
// first word of that one, then the new rest is filled, and the first word comes last, at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "layers/trace/packet.h"

namespace belay::trace {

class File {
 public:
  static constexpr size_t kPiece = size_t{1} << 16;
  static constexpr uint64_t kMostBytes = uint64_t{4} * 1000 * 1000 * 1000;  // what readers of the format take

  // Goes on with a file to which other processes may be writing. Without a path nothing is written.
  explicit File(std::string path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // A new piece at the end, and its number in the file; null where there is no room, which the user is told.
  char* AddPiece(uint64_t* number);
  static void Drop(char* piece);
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

 private:
  char* Extend(uint64_t* number);
  void Stop(const char* why);

  const std::string path_;
  int file_ = -1;
  std::mutex lock_;
  std::atomic<bool> stopped_{false};
};

// A thread's sequence of packets.
class Sequence {
 public:
  Sequence() = default;
  ~Sequence();
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  // From now on in this file.
  void Begin(File& file);
  bool Belongs(const File& file) const { return file_ == &file; }
  bool writes() const { return piece_ != nullptr; }
  // Adds the number of the sequence to the packet, which has been written then. Nothing happens once the file
  // has stopped.
  void Write(Packet& packet);

 private:
  File* file_ = nullptr;
  char* piece_ = nullptr;
  size_t used_ = 0;
  uint64_t number_ = 0;
};

}  // namespace belay::trace
