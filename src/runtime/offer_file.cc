#include "runtime/offer_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/codes.h"
#include "base/error.h"
#include "base/system_limit.h"

namespace belay::rt {
namespace {

struct flock LockOf(off_t at, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = at;
  lock.l_len = 1;
  return lock;
}

}  // namespace

void CountOut(OfferEntry& entry) {
  uint32_t count = entry.importers.load(std::memory_order_relaxed);
  while (count != 0 && !entry.importers.compare_exchange_weak(count, count - 1, std::memory_order_release)) {
  }
}

int CodeOfRefusal(int error) { return error == ENOMEM ? codes::kRtMemoryAllocation : codes::kRtIpcError; }

bool LockByte(int file, off_t at, bool shared) {
  struct flock lock = LockOf(at, shared ? F_RDLCK : F_WRLCK);
  if (fcntl(file, F_SETLK, &lock) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  const int why = errno;
  Fail(CodeOfRefusal(why), "share-system", "locking a file of offers failed ({})", ExplainRefusal(why));
}

void UnlockByte(int file, off_t at) {
  struct flock lock = LockOf(at, F_UNLCK);
  fcntl(file, F_SETLK, &lock);
}

bool LockedByAnother(int file, off_t at) noexcept {
  struct flock lock = LockOf(at, F_WRLCK);
  return fcntl(file, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

}  // namespace belay::rt
