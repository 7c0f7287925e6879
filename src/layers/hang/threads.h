// What the threads of this process are at: whether there is one left that may do something.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::hang {

// A sleep in futex, by what the system says of a thread (/proc/self/task/<id>/syscall).
struct FutexSleep {
  uintptr_t word;
  bool limited;  // it ends by itself
};
std::optional<FutexSleep> ParseFutexSleep(std::string_view syscall);

// Ranges of addresses that other processes may share (/proc/self/maps).
class SharedRanges {
 public:
  explicit SharedRanges(std::string_view maps);
  bool Has(uintptr_t address) const;

 private:
  struct Range {
    uintptr_t begin, end;
  };
  std::vector<Range> ranges_;
};

struct Awake {
  std::string names;     // of threads that may still do something: "worker (123), ..."
  bool unknown = false;  // the system does not say
  bool none() const { return names.empty() && !unknown; }
};

// Looks at all threads but the calling one, twice, and says which of them may get on without another thread's
// help: those that do not sleep until somebody wakes them. `waits` says which threads are known to wait for
// streams without a limit, however they sleep; of those that are `aside` it is not asked what they are at.
using IsThread = std::function<bool(int)>;
Awake LookForAwake(
    const IsThread& waits, const IsThread& aside = [](int) { return false; });

// Threads of this process.
std::vector<int> ThreadIds();
std::string ThreadName(int id);

}  // namespace belay::hang
