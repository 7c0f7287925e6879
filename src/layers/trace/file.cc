#include "layers/trace/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/quiet_write.h"

namespace belay::trace {
namespace {

constexpr size_t kWord = 8;
constexpr char kPacket = 1 << 3 | 2;  // a packet of the trace

void Header(char* at, size_t payload) {
  at[0] = kPacket;
  at[1] = static_cast<char>(0x80 | (payload & 0x7f));
  at[2] = static_cast<char>(0x80 | (payload >> 7 & 0x7f));
  at[3] = static_cast<char>(payload >> 14);
}

// The first word of a packet that says nothing, `bytes` long.
uint64_t Filler(size_t bytes) {
  char word[kWord];
  Header(word, bytes - 4);
  Header(word + 4, bytes - 8);
  word[4] = fields::kNothing << 3 | 2;
  uint64_t whole;
  std::memcpy(&whole, word, sizeof whole);
  return whole;
}

}  // namespace

File::File(std::string path) : path_(std::move(path)) {
  if (path_.empty()) {
    stopped_.store(true);
    return;
  }
  file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) Stop(std::strerror(errno));
}

File::~File() {
  if (file_ >= 0) close(file_);
}

void File::Stop(const char* why) {
  if (stopped_.exchange(true)) return;
  QuietWrites quiet;
  std::fprintf(stderr, "belay trace: cannot write to %s: %s; the program goes on, what was written stays\n",
               path_.c_str(), why);
}

char* File::AddPiece(uint64_t* number) {
  std::lock_guard guard(lock_);
  if (stopped()) return nullptr;
  errno = 0;
  char* piece = Extend(number);
  if (piece == nullptr) Stop(errno == 0 ? "it has 4 GB, more than readers take" : std::strerror(errno));
  return piece;
}

// Other processes extend it, too.
char* File::Extend(uint64_t* number) {
  static const auto* const kEmpty = [] {
    static char empty[kPiece];
    const uint64_t word = Filler(kPiece);
    std::memcpy(empty, &word, sizeof word);
    return empty;
  }();
  QuietWrites quiet;
  struct stat facts {};
  if (flock(file_, LOCK_EX) != 0 || fstat(file_, &facts) != 0) return nullptr;
  const auto end = static_cast<uint64_t>(facts.st_size) / kPiece * kPiece;
  const auto at = static_cast<off_t>(end);
  ssize_t written = 0;
  if (end + kPiece <= kMostBytes) written = pwrite(file_, kEmpty, kPiece, at);
  if (written > 0 && written < static_cast<ssize_t>(kPiece)) {  // why not all of it?
    const auto rest = kPiece - static_cast<size_t>(written);
    const ssize_t more = pwrite(file_, kEmpty + written, rest, at + written);
    if (more > 0) written += more;
  }
  void* piece = MAP_FAILED;
  if (written == static_cast<ssize_t>(kPiece)) {
    piece = mmap(nullptr, kPiece, PROT_READ | PROT_WRITE, MAP_SHARED, file_, at);
  }
  int error = errno;
  if (piece == MAP_FAILED && written > 0) {
    if (error == 0) error = ENOSPC;
    if (ftruncate(file_, at) != 0) error = errno;
  }
  flock(file_, LOCK_UN);
  errno = error;
  *number = end / kPiece;
  return piece == MAP_FAILED ? nullptr : static_cast<char*>(piece);
}

void File::Drop(char* piece) { munmap(piece, kPiece); }

Sequence::~Sequence() {
  if (piece_ != nullptr) File::Drop(piece_);
}

void Sequence::Begin(File& file) {
  if (piece_ != nullptr) File::Drop(piece_);
  file_ = &file;
  used_ = 0;
  piece_ = file.AddPiece(&number_);
  ++number_;  // 0 stands for none
}

void Sequence::Write(Packet& packet) {
  const size_t least = Packet::BytesOf(number_);
  const size_t bytes = 4 + packet.size() + 1 + least;
  const size_t whole = (bytes + kWord - 1) / kWord * kWord;
  if (piece_ != nullptr && used_ + whole > File::kPiece) {
    File::Drop(piece_);
    uint64_t next = 0;
    piece_ = file_->AddPiece(&next);
    used_ = 0;
  }
  if (piece_ == nullptr) return;
  packet.Padded(fields::kSequence, number_, least + whole - bytes);
  char* at = piece_ + used_;
  used_ += whole;
  if (used_ < File::kPiece) {
    const uint64_t rest = Filler(File::kPiece - used_);
    std::memcpy(piece_ + used_, &rest, sizeof rest);
  }
  std::memcpy(at + kWord, packet.data() + 4, whole - kWord);
  char first[kWord];
  Header(first, whole - 4);
  std::memcpy(first + 4, packet.data(), 4);
  uint64_t word;
  std::memcpy(&word, first, sizeof word);
  std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(at)).store(word, std::memory_order_release);
}

}  // namespace belay::trace
