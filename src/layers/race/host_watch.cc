#include "layers/race/host_watch.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/sanitizer.h"
#include "layers/host/host.h"
#include "layers/support/tally.h"

namespace belay::race {
namespace {

constinit std::atomic<Race*> g_race{nullptr};
constinit int g_door = -1;
using UseDoor = void (*)(int file) noexcept;
constinit UseDoor g_use_door = nullptr;

bool FaultWrites([[maybe_unused]] const ucontext_t& at) {
#if defined(__x86_64__)
  return (at.uc_mcontext.gregs[REG_ERR] & 2) != 0;
#elif defined(__aarch64__)
  // Records of a type and a size each; that of ESR_EL1 has whether it was a write.
  constexpr uint32_t kEsrRecord = 0x45535201;
  const unsigned char* record = at.uc_mcontext.__reserved;
  for (const unsigned char* end = record + sizeof at.uc_mcontext.__reserved; record + 16 <= end;) {
    uint32_t head[2];
    uint64_t esr = 0;
    std::memcpy(head, record, sizeof head);
    std::memcpy(&esr, record + sizeof head, sizeof esr);
    if (head[0] == kEsrRecord) return (esr >> 6 & 1) != 0;
    if (head[0] == 0 || head[1] == 0) break;
    record += head[1];
  }
  return false;
#else
  return false;
#endif
}

int OnFault(const siginfo_t* info, void* context) {
  Race* race = g_race.load(std::memory_order_acquire);
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  return race != nullptr && race->HostFaults(address, FaultWrites(*static_cast<const ucontext_t*>(context)));
}

void OnSystem(uintptr_t begin, size_t bytes, int writes, const char* call) {
  Race* race = g_race.load(std::memory_order_acquire);
  if (race != nullptr && bytes != 0) race->SystemTouches({0, begin, begin + bytes}, writes != 0, call);
}

void CloseDoor() {
  if (g_door >= 0) close(g_door);
  g_door = -1;
}

// The file is of the parent's memory.
void AfterForkInChild() {
  Race* race = g_race.exchange(nullptr);
  if (race == nullptr) return;
  g_use_door(-1);
  CloseDoor();
  race->AfterFork(true);
}

// Whether a closed page can be read and written by the file.
bool Opens(int file) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* closed = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (closed == MAP_FAILED) return false;
  char word = 1;
  const auto place = static_cast<off_t>(reinterpret_cast<uintptr_t>(closed));
  const bool opens = mprotect(closed, page, PROT_NONE) == 0 && pwrite(file, &word, 1, place) == 1 &&
                     pread(file, &word, 1, place) == 1;
  munmap(closed, page);
  return opens;
}

// Why not; empty: it is open.
std::string OpenDoor() {
  const std::string name = "/proc/self/mem";
  // Far from the numbers that programs close in a loop, or think to be theirs.
  const int low = open(name.c_str(), O_RDWR | O_CLOEXEC);
  if (low < 0) return name + " cannot be opened: " + std::strerror(errno);
  const int file = fcntl(low, F_DUPFD_CLOEXEC, 500);
  if (file >= 0) close(low);
  g_door = file >= 0 ? file : low;
  if (Opens(g_door)) return "";
  CloseDoor();
  return "by " + name + " the system does not let a process reach its closed pages";
}

// Why not; empty: it can be done.
std::string Begin(const rt::CoreFacts& core) {
#if defined(BELAY_ASAN) || defined(BELAY_TSAN)
  return "Belay is built with a sanitizer, which does not see accesses by a file";
#endif
  for (const char* name : {"__asan_init", "__hwasan_init", "__msan_init", "__tsan_init"}) {
    if (dlsym(RTLD_DEFAULT, name) != nullptr)
      return "the program has a sanitizer, which takes what happens in a handler for the program's doing";
  }
  static const BelayHostWatch watch{&OnFault, &OnSystem};
  const auto begin = reinterpret_cast<BelayWatchHost>(dlsym(RTLD_DEFAULT, "belay_watch_host"));
  if (begin == nullptr) return "libbelay_host.so was not loaded before the program";
  if (const std::string why = OpenDoor(); !why.empty()) return why;
  if (begin(&watch) == 0) {
    CloseDoor();
    return "the system refuses a handler for SIGSEGV";
  }
  g_use_door = core.use_pinned_door;
  core.use_pinned_door(g_door);
  return "";
}

}  // namespace

bool BeginHostWatch(Race& race, const rt::CoreFacts& core, bool says) {
  if (const std::string why = Begin(core); !why.empty()) {
    // Of all processes of the program the first says it.
    if (layers::TheTally().host_not_seen++ == 0 && says)
      std::fprintf(stderr, "belay check: loads and stores of the host are not seen: %s\n", why.c_str());
    return false;
  }
  static const int at_fork = pthread_atfork(
      [] {
        if (Race* now = g_race.load()) now->BeforeFork();
      },
      [] {
        if (Race* now = g_race.load()) now->AfterFork(false);
      },
      &AfterForkInChild);
  g_race.store(&race, std::memory_order_release);
  return at_fork == 0;
}

}  // namespace belay::race
