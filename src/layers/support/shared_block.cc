#include "layers/support/shared_block.h"

#include <sys/ipc.h>
#include <sys/random.h>
#include <sys/shm.h>

#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace belay::layers {
namespace {

// What tells the block from a later one of the same number.
struct alignas(64) Head {
  uint64_t nonce;
};

Head* Attach(int number) {
  void* at = shmat(number, nullptr, 0);
  return at == reinterpret_cast<void*>(-1) ? nullptr : static_cast<Head*>(at);
}

}  // namespace

void* MakeSharedBlock(const char* variable, size_t bytes) {
  uint64_t nonce = 0;
  if (getrandom(&nonce, sizeof nonce, GRND_NONBLOCK) != sizeof nonce)
    nonce = reinterpret_cast<uintptr_t>(&nonce);
  const int number = shmget(IPC_PRIVATE, sizeof(Head) + bytes, 0600);
  if (number < 0) return nullptr;
  Head* head = Attach(number);
  const int why = errno;
  shmctl(number, IPC_RMID, nullptr);  // it stays, and can be attached, while anybody has it attached
  char text[64];
  std::snprintf(text, sizeof text, "%d:%" PRIx64, number, nonce);
  errno = why;
  if (head == nullptr || setenv(variable, text, 1) != 0) return nullptr;
  head->nonce = nonce;
  return head + 1;
}

void* FindSharedBlock(const char* variable, size_t bytes) {
  const char* text = std::getenv(variable);
  int number = -1;
  uint64_t nonce = 0;
  if (text == nullptr || std::sscanf(text, "%d:%" SCNx64, &number, &nonce) != 2) return nullptr;
  struct shmid_ds facts {};
  if (shmctl(number, IPC_STAT, &facts) != 0 || facts.shm_segsz != sizeof(Head) + bytes) return nullptr;
  Head* head = Attach(number);
  if (head == nullptr || head->nonce == nonce) return head == nullptr ? nullptr : head + 1;
  shmdt(head);
  return nullptr;
}

}  // namespace belay::layers
