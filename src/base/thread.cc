#include "base/thread.h"

namespace belay {
namespace {

uintptr_t StackBottom() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* bottom = nullptr;
  size_t bytes = 0;
  pthread_attr_getstack(&attributes, &bottom, &bytes);
  pthread_attr_destroy(&attributes);
  return reinterpret_cast<uintptr_t>(bottom);
}

}  // namespace

uint64_t StackLeft() {
  thread_local uintptr_t bottom = StackBottom();
  auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here > bottom ? here - bottom : 0;
}

}  // namespace belay
