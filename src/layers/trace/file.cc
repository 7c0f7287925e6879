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
#include "base/thread.h"

namespace belay::trace {
namespace {

constexpr size_t kWord = 8;
constexpr size_t kPage = 4096;

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
  if (maker_ == Maker::kWorks) {
    {
      std::lock_guard guard(lock_);
      maker_ = Maker::kEnds;
    }
    changed_.notify_all();
    pthread_join(maker_thread_, nullptr);
  }
  for (const Piece& piece : ready_) Drop(piece.begin);
  for (char* piece : full_) Drop(piece);
  if (file_ >= 0) close(file_);
}

void File::Stop(const char* why) {
  if (stopped_.exchange(true)) return;
  QuietWrites quiet;
  std::fprintf(stderr, "belay trace: cannot write to %s: %s; the program goes on, what was written stays\n",
               path_.c_str(), why);
}

// Other processes extend it, too.
File::Piece File::Extend() {
  static const auto* const kEmpty = [] {
    static char empty[kPiece];
    const uint64_t word = FillerWord(kPiece);
    std::memcpy(empty, &word, sizeof word);
    return empty;
  }();
  QuietWrites quiet;
  struct stat facts {};
  if (flock(file_, LOCK_EX) != 0 || fstat(file_, &facts) != 0) return {};
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
  if (piece == MAP_FAILED) return {};
  return {static_cast<char*>(piece), end / kPiece};
}

void File::Drop(char* piece) { munmap(piece, kPiece); }

// --- pieces before they are wanted

// Nothing is added once the file has stopped.
File::Piece File::Add() {
  if (stopped()) return {};
  errno = 0;
  const Piece piece = Extend();
  if (piece.begin == nullptr) Stop(errno == 0 ? "it has 4 GB, more than readers take" : std::strerror(errno));
  return piece;
}

// A sequence's pieces have to come one after another in the file: whoever wants one takes the first that was
// made.
File::Piece File::TakePiece(char* full) {
  const NoCancellation whole;
  std::unique_lock guard(lock_);
  if (full != nullptr && maker_ == Maker::kNone && !stopped() &&
      StartThread(&maker_thread_, "belay-trace", &File::MakeReady, this))
    maker_ = Maker::kWorks;
  if (maker_ == Maker::kNone) {
    if (full != nullptr) Drop(full);
    return Add();
  }
  if (full != nullptr) full_.push_back(full);
  while (ready_.empty() && making_) changed_.wait(guard);
  if (ready_.size() <= kReady / 2) changed_.notify_all();
  if (ready_.empty()) return Add();  // the other thread has no processor yet
  const Piece piece = ready_.front();
  ready_.pop_front();
  return piece;
}

void* File::MakeReady(void* raw) {
  auto& file = *static_cast<File*>(raw);
  std::unique_lock guard(file.lock_);
  while (file.maker_ == Maker::kWorks) {
    if (file.ready_.size() >= kReady || file.stopped()) {
      file.changed_.wait(guard);
      continue;
    }
    const std::vector<char*> full = std::exchange(file.full_, {});
    file.making_ = true;
    guard.unlock();
    for (char* piece : full) Drop(piece);
    const Piece piece = file.Add();
    // A page costs most when it is first stored to.
    for (size_t at = kPage; piece.begin != nullptr && at < kPiece; at += kPage) piece.begin[at] = 0;
    guard.lock();
    file.making_ = false;
    if (piece.begin != nullptr) file.ready_.push_back(piece);
    file.changed_.notify_all();
  }
  return nullptr;
}

Sequence::~Sequence() {
  if (piece_ != nullptr) File::Drop(piece_);
}

void Sequence::Begin(File& file) {
  if (piece_ != nullptr) File::Drop(piece_);
  file_ = &file;
  used_ = 0;
  const File::Piece piece = file.TakePiece(nullptr);
  piece_ = piece.begin;
  number_ = piece.number + 1;  // 0 stands for none
  number_bytes_ = static_cast<unsigned>(Packet::BytesOf(number_));
}

void Sequence::GoOn() {
  if (piece_ != nullptr) piece_ = file_->TakePiece(piece_).begin;
  used_ = 0;
}

void Sequence::Write(Packet& packet) {
  const size_t bytes = 4 + packet.size() + 1 + number_bytes_;
  const size_t whole = (bytes + kWord - 1) / kWord * kWord;
  char* at = Room(whole);
  if (at == nullptr) return;
  packet.Padded(fields::kSequence, number_, number_bytes_ + whole - bytes);
  std::memcpy(at + kWord, packet.data() + 4, whole - kWord);
  uint32_t second;
  std::memcpy(&second, packet.data(), sizeof second);
  Publish(whole, HeaderWord(whole - 4) | uint64_t{second} << 32);
}

}  // namespace belay::trace
