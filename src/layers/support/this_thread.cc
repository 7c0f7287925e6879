#include "layers/support/this_thread.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace belay::layers {
namespace {

thread_local int t_thread = 0;

}  // namespace

int ThisThread() {
  static const int kept = pthread_atfork(nullptr, nullptr, [] { t_thread = 0; });
  if (t_thread == 0 || kept != 0) t_thread = static_cast<int>(syscall(SYS_gettid));
  return t_thread;
}

}  // namespace belay::layers
