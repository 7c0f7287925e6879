#include "runtime/pinned_door.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "runtime/memory.h"

namespace belay::rt {

constinit std::atomic<PinnedClosed> g_pinned_closed{PinnedClosed::kToNothing};

namespace {

constinit std::atomic<int> g_pinned_door{-1};  // the open file; below 0: there is none

// Which file it was: a program that closes what it does not know may get the same number for one of its own.
constinit std::atomic<uint64_t> g_inode{0};
constinit std::atomic<uint64_t> g_device{0};

int Door() noexcept {
  const int file = g_pinned_door.load(std::memory_order_acquire);
  struct stat now {};
  if (file < 0 || fstat(file, &now) != 0 || now.st_ino != g_inode.load() || now.st_dev != g_device.load()) {
    g_pinned_door.store(-1);
    return -1;
  }
  return file;
}

bool IsPinned(const void* p) noexcept {
  const MemoryRange range = Lookup(p);
  return range.kind == MemoryKind::kPinned && range.serial != 0;
}

off_t Place(const void* p) noexcept { return static_cast<off_t>(reinterpret_cast<uintptr_t>(p)); }

bool ReadAll(int file, void* dst, const void* pinned, size_t bytes) noexcept {
  for (size_t done = 0; done < bytes;) {
    const ssize_t got =
        pread(file, static_cast<char*>(dst) + done, bytes - done, Place(pinned) + static_cast<off_t>(done));
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

bool WriteFromPinned(int file, void* pinned, const void* src, size_t bytes) noexcept {
  for (size_t done = 0; done < bytes;) {
    const ssize_t put = pwrite(file, static_cast<const char*>(src) + done, bytes - done,
                               Place(pinned) + static_cast<off_t>(done));
    if (put <= 0) return false;
    done += static_cast<size_t>(put);
  }
  return true;
}

constexpr size_t kPiece = 16 << 10;

bool Apart(const void* a, const void* b, size_t bytes) noexcept {
  const auto x = reinterpret_cast<uintptr_t>(a), y = reinterpret_cast<uintptr_t>(b);
  return x < y ? y - x >= bytes : x - y >= bytes;
}

bool CopyInPieces(int file, void* dst, const void* src, size_t bytes) noexcept {
  char piece[kPiece];
  for (size_t done = 0; done < bytes; done += kPiece) {
    const size_t n = std::min(kPiece, bytes - done);
    if (!ReadAll(file, piece, static_cast<const char*>(src) + done, n)) return false;
    if (!WriteFromPinned(file, static_cast<char*>(dst) + done, piece, n)) return false;
  }
  return true;
}

}  // namespace

void SetPinnedClosed(PinnedClosed closed) noexcept { g_pinned_closed.store(closed); }

void UsePinnedDoor(int file) noexcept {
  struct stat now {};
  if (file < 0 || fstat(file, &now) != 0) return g_pinned_door.store(-1);
  g_inode.store(now.st_ino);
  g_device.store(now.st_dev);
  g_pinned_door.store(file, std::memory_order_release);
}

bool CopyByDoor(void* dst, const void* src, size_t bytes) noexcept {
  const bool loads = g_pinned_closed.load(std::memory_order_acquire) == PinnedClosed::kToAll;
  const bool to = IsPinned(dst), from = loads && IsPinned(src);
  if (!to && !from) return false;
  const int file = Door();
  if (file < 0) return false;
  if (!to) return ReadAll(file, dst, src, bytes);
  if (!from) return WriteFromPinned(file, dst, src, bytes);
  return Apart(dst, src, bytes) && CopyInPieces(file, dst, src, bytes);
}

bool FillByDoor(void* dst, int value, size_t bytes) noexcept {
  if (!IsPinned(dst)) return false;
  const int file = Door();
  if (file < 0) return false;
  char piece[kPiece];
  std::memset(piece, value, std::min(bytes, kPiece));
  for (size_t done = 0; done < bytes; done += kPiece) {
    if (!WriteFromPinned(file, static_cast<char*>(dst) + done, piece, std::min(kPiece, bytes - done)))
      return false;
  }
  return true;
}

}  // namespace belay::rt
