#include "layers/support/unwind.h"

#include <unwind.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "layers/support/thread_cache.h"

namespace belay::layers {
namespace {

// A stack that was unwound, and the words in memory that decided how: each return address, and each frame
// pointer that was kept where functions keep it. When all are the same, so is the stack. What is kept there
// and leads nowhere into the stack has decided nothing, and never does between these return addresses: a
// variable of a function that needs no frame pointer, which a loop changes.
struct Memo {
  struct Slot {
    const uint64_t* at;
    uint64_t word;
  };
  uintptr_t pointer = 0;  // of the stack
  uint64_t age = 0;
  bool whole = false;   // all that decides is in slots
  uint32_t number = 0;  // that its frames were given
  std::vector<Slot> slots;
  std::vector<uint64_t> frames;

  bool Holds() const {
    for (const Slot& slot : slots) {
      if (*slot.at != slot.word) return false;
    }
    return true;
  }
};

constexpr size_t kSets = 64;
constexpr size_t kWays = 8;
struct Memos {
  std::array<std::array<Memo, kWays>, kSets> sets;
  Memo other;
  uint64_t clock = 0;
};

struct Unwinding {
  Memo* memo;
  uint64_t frame_pointer = 0;  // of the frame before
};

#ifdef __x86_64__
bool MayBeFrame(uint64_t word, const uint64_t* below) {
  constexpr uint64_t kLargestStack = uint64_t{1} << 30;
  const auto from = reinterpret_cast<uint64_t>(below);
  return word > from && word - from < kLargestStack;
}
#endif

_Unwind_Reason_Code Take(_Unwind_Context* context, void* argument) {
  auto& unwinding = *static_cast<Unwinding*>(argument);
  Memo& memo = *unwinding.memo;
  int interrupted = 0;  // a signal came: it is where the frame goes on, and not behind a call
  uint64_t returns_to = _Unwind_GetIPInfo(context, &interrupted);
  if (interrupted != 0 && returns_to != 0) ++returns_to;
  if (returns_to == 0 || memo.frames.size() == Unwound::kMost) return _URC_END_OF_STACK;
#ifdef __x86_64__
  constexpr int kFramePointer = 6;
  const auto* below =
      reinterpret_cast<const uint64_t*>(_Unwind_GetCFA(context));  // just above what was called
  const size_t depth = memo.frames.size();  // 0: Unwind, 1: who looks for what it found
  if (depth >= 2) {
    memo.whole = memo.whole && below[-1] == returns_to;
    memo.slots.push_back({below - 1, returns_to});
    const auto* kept = reinterpret_cast<const uint64_t*>(unwinding.frame_pointer);
    if (depth >= 3 && kept == below - 2 && MayBeFrame(*kept, kept)) memo.slots.push_back({kept, *kept});
  }
  unwinding.frame_pointer = _Unwind_GetGR(context, kFramePointer);
#endif
  memo.frames.push_back(returns_to);
  return _URC_NO_REASON;
}

[[gnu::noinline]] void Unwind(Memo* memo) {
  memo->frames.clear();
  memo->slots.clear();
  memo->number = 0;
#ifdef __x86_64__
  memo->whole = true;
#endif
  Unwinding unwinding{memo};
  _Unwind_Backtrace(&Take, &unwinding);
}

}  // namespace

[[gnu::noinline]] Unwound::Unwound() {
  auto* memos = ThreadCache<Memos>();
  const auto pointer = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  auto& set = memos->sets[(pointer >> 4) % kSets];
  Memo* memo = nullptr;
  for (Memo& known : set) {
    if (known.pointer != pointer || !known.whole || !known.Holds()) continue;
    memo = &known;
    break;
  }
  if (memo == nullptr) {
    memo = &*std::min_element(set.begin(), set.end(),
                              [](const Memo& a, const Memo& b) { return a.age < b.age; });
    memo->pointer = pointer;
    Unwind(memo);
  }
  memo->age = ++memos->clock;
  frames_ = memo->frames.data();
  count_ = memo->frames.size();
  number_ = &memo->number;
}

}  // namespace belay::layers
