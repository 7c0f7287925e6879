#include "layers/support/unwind.h"

#include <alloca.h>
#include <execinfo.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

namespace belay::layers {
namespace {

using Frames = std::vector<uint64_t>;

// Without the frames of who unwinds, and of who asks.
[[gnu::noinline]] Frames ByMemo() {
  static std::vector<Frames> numbered;
  const Unwound unwound;
  Frames frames(unwound.frames().begin() + 4, unwound.frames().end());
  if (uint32_t& number = unwound.number(); number == 0) {
    numbered.push_back(frames);
    number = static_cast<uint32_t>(numbered.size());
  } else {
    EXPECT_EQ(frames, numbered[number - 1]) << "a number that others were given";
  }
  return frames;
}
[[gnu::noinline]] Frames ByTheLibrary() {
  void* found[Unwound::kMost];
  const int count = backtrace(found, static_cast<int>(Unwound::kMost));
  Frames frames;
  for (int i = 2; i < count; ++i) frames.push_back(reinterpret_cast<uint64_t>(found[i]));
  return frames;
}

// A place that is reached by many ways.
[[gnu::noinline]] void Look(std::set<Frames>* seen) {
  const Frames memo = ByMemo(), library = ByTheLibrary();
  // The innermost differ where a sanitizer stands between.
  const size_t shared = std::min(memo.size(), library.size());
  EXPECT_LE(std::max(memo.size(), library.size()), shared + 1);
  EXPECT_EQ(Frames(memo.end() - static_cast<ptrdiff_t>(shared), memo.end()),
            Frames(library.end() - static_cast<ptrdiff_t>(shared), library.end()));
  seen->insert(memo);
}

using Step = void (*)(int depth, unsigned way, std::set<Frames>* seen);
extern const Step kSteps[3];

void Next(int depth, unsigned way, std::set<Frames>* seen) {
  if (depth == 0) return Look(seen);
  kSteps[way % 3](depth - 1, way / 3, seen);
}
template <int kWhich>
[[gnu::noinline]] void Go(int depth, unsigned way, std::set<Frames>* seen) {
  // The third has a frame whose size only the run decides, so that the others lie elsewhere or not.
  if (kWhich == 2) {
    const size_t bytes = 16 + 16 * (way % 4);
    auto* room = static_cast<volatile char*>(alloca(bytes));
    room[bytes - 1] = 0;
    Next(depth, way, seen);
    room[0] = 0;
    return;
  }
  volatile int kept = kWhich;
  Next(depth, way, seen);
  kept = kept + 1;
}
const Step kSteps[3] = {&Go<0>, &Go<1>, &Go<2>};

TEST(Unwound, IsWhatTheLibraryFindsOnEveryWayAndEveryTime) {
  std::set<Frames> seen;
  for (int time = 0; time < 3; ++time) {
    for (unsigned way = 0; way < 243; ++way) Next(5, way, &seen);
  }
  EXPECT_EQ(seen.size(), 243u);
}

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// A function that has a variable where others have a frame pointer.
extern "C" void UnwindTestCallWithWord(uint64_t word, void (*call)());
__asm__(
    ".text\n.type UnwindTestCallWithWord, @function\nUnwindTestCallWithWord:\n.cfi_startproc\n"
    "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset 6, -16\nmov %rdi, %rbp\ncall *%rsi\n"
    "pop %rbp\n.cfi_def_cfa_offset 8\nret\n.cfi_endproc\n.size UnwindTestCallWithWord, .-UnwindTestCallWithWord\n");

const uint64_t* g_frames;
uint32_t g_number;
// It aligns its stack, for which it has a frame pointer.
[[gnu::noinline]] void LookAligned() {
  alignas(64) volatile char room[64];
  room[0] = 0;
  const Unwound unwound;
  g_frames = unwound.frames().data();
  g_number = unwound.number()++;
  room[1] = room[0];
}

TEST(Unwound, AVariableInALoopIsNoOtherStack) {
  const uint64_t* first = nullptr;
  for (uint64_t i = 0; i < 20; ++i) {
    UnwindTestCallWithWord(i * 64, &LookAligned);
    if (i == 0) first = g_frames;
    EXPECT_EQ(g_frames, first) << "unwound again";
    EXPECT_EQ(g_number, i) << "what was kept with it";
  }
}
#endif

TEST(Unwound, ThreadsHaveTheirOwn) {
  std::set<Frames> here, there;
  Next(2, 0, &here);
  std::thread([&] { Next(2, 0, &there); }).join();
  EXPECT_EQ(there.size(), 1u);
  EXPECT_NE(here, there);
}

}  // namespace
}  // namespace belay::layers
