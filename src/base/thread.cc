#include "base/thread.h"

#include <cxxabi.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <string_view>

namespace belay {
namespace {

// `ulimit -s` sets the size that threads get by default; kernels need this much whatever it says.
constexpr size_t kLeastStack = size_t{1} << 20;

struct Start {
  void* (*main)(void*);
  void* argument;
  std::array<char, 16> name{};
};

void* ThreadMain(void* raw) {
  Start start = *static_cast<Start*>(raw);
  delete static_cast<Start*>(raw);
  MakeRoomForExceptions();
  pthread_setname_np(pthread_self(), start.name.data());  // itself: whatever it runs finds it named
  DefaultFloatMode float_mode;                            // a new thread inherits its creator's
  return start.main(start.argument);
}

// All but those that a fault of the thread itself raises: their handlers report where it happened.
sigset_t SignalsToBlock() {
  sigset_t signals;
  sigfillset(&signals);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&signals, fault);
  return signals;
}

bool Create(pthread_t* thread, Start* start) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  size_t stack = 0;
  pthread_attr_getstacksize(&attributes, &stack);
  pthread_attr_setstacksize(&attributes, std::max(stack, kLeastStack));
  bool ok = pthread_create(thread, &attributes, &ThreadMain, start) == 0;
  pthread_attr_destroy(&attributes);
  return ok;
}

struct Stack {
  uintptr_t bottom = 0;
  size_t bytes = 0;
};

Stack StackOfThread() {
  NoCancellation no_cancellation;  // reads /proc/self/maps for the first thread
  Stack stack;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return stack;
  void* bottom = nullptr;
  pthread_attr_getstack(&attributes, &bottom, &stack.bytes);
  pthread_attr_destroy(&attributes);
  stack.bottom = reinterpret_cast<uintptr_t>(bottom);
  return stack;
}

}  // namespace

bool StartThread(pthread_t* thread, const char* name, void* (*main)(void*), void* argument) noexcept {
  std::unique_ptr<Start> start(new (std::nothrow) Start{main, argument});
  if (start == nullptr) return false;
  std::string_view(name).substr(0, start->name.size() - 1).copy(start->name.data(), start->name.size() - 1);
  sigset_t block = SignalsToBlock();
  sigset_t old;
  pthread_sigmask(SIG_BLOCK, &block, &old);
  bool ok = Create(thread, start.get());
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  if (!ok) return false;
  start.release();
  return true;
}

void MakeRoomForExceptions() noexcept { [[maybe_unused]] auto* volatile room = abi::__cxa_get_globals(); }

uint64_t StackLeft() {
  thread_local Stack stack = StackOfThread();
  auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here - stack.bottom < stack.bytes ? here - stack.bottom : 0;
}

}  // namespace belay
