#include "layers/support/tally.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

namespace belay::layers {
namespace {

Tally* Map() {
  static Tally own;
  const char* path = std::getenv(Tally::kVariable);
  const int file = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return &own;
  void* mapped = mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return mapped == MAP_FAILED ? &own : static_cast<Tally*>(mapped);
}

}  // namespace

Tally& TheTally() {
  static Tally* const tally = Map();
  return *tally;
}

}  // namespace belay::layers
