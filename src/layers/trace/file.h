// The file of a trace. Each thread writes packets into a piece of it that is mapped into memory, and at every
// moment the file is one that can be read: what ends a program loses nothing, and nothing is gathered in
// memory.
//
// A piece is whole packets and one that says nothing, which fills the rest. A packet is put down behind the
// first word of that one, then the new rest is filled, and the first word comes last, at once.
//
// The system takes as long for a piece as a thread takes to fill a good part of it: where threads go on to a
// second piece, a thread of the file's own makes some before they are wanted.
#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

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

  struct Piece {
    char* begin = nullptr;
    uint64_t number = 0;  // in the file
  };
  // A new one, behind all that were taken before; null where there is no room, which the user is told. Where
  // it follows one that is full, that one goes.
  Piece TakePiece(char* full);
  static void Drop(char* piece);
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kReady = 16;

  Piece Add();
  Piece Extend();
  void Stop(const char* why);
  static void* MakeReady(void* file);

  const std::string path_;
  int file_ = -1;
  std::atomic<bool> stopped_{false};
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<Piece> ready_;
  std::vector<char*> full_;  // to be dropped
  bool making_ = false;      // one that is not ready yet comes before all others
  enum class Maker { kNone, kWorks, kEnds } maker_ = Maker::kNone;
  pthread_t maker_thread_{};
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
  // The same for a packet of which the bytes that the number takes are known: where it is put down, but for
  // its first word, and published by that. Null once the file has stopped.
  uint64_t number() const { return number_; }
  unsigned number_bytes() const { return number_bytes_; }  // as packets have it
  char* Room(size_t bytes) {
    if (used_ + bytes > File::kPiece) GoOn();
    return piece_ == nullptr ? nullptr : piece_ + used_;
  }
  void Publish(size_t bytes, uint64_t first_word) {
    char* at = piece_ + used_;
    used_ += bytes;
    if (used_ < File::kPiece) {
      const uint64_t rest = FillerWord(File::kPiece - used_);
      std::memcpy(piece_ + used_, &rest, sizeof rest);
    }
    std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(at)).store(first_word, std::memory_order_release);
  }

 private:
  void GoOn();

  File* file_ = nullptr;
  char* piece_ = nullptr;
  size_t used_ = 0;
  uint64_t number_ = 0;
  unsigned number_bytes_ = 1;
};

}  // namespace belay::trace
