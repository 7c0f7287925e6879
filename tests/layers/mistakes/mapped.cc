// Physical memory that several ranges of addresses show, and ranges of several pieces.
#include "mistakes.h"

using namespace mistakes;

namespace {

constexpr size_t kPiece = size_t{2} << 20;

aclrtDrvMemHandle NewMemory(size_t bytes) {
  aclrtDrvMemHandle memory = nullptr;
  aclrtPhysicalMemProp prop{};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  OK(aclrtMallocPhysical(&memory, bytes, &prop, 0));
  return memory;
}

char* NewRange(size_t bytes) {
  void* range = nullptr;
  OK(aclrtReserveMemAddress(&range, bytes, 0, nullptr, 1));
  return static_cast<char*>(range);
}

void Map(char* at, size_t bytes, aclrtDrvMemHandle memory) { OK(aclrtMapMem(at, bytes, 0, memory, 0)); }

void EndMapping(char* at) {
  OK(aclrtUnmapMem(at));
  OK(aclrtReleaseMemAddress(at));
}

}  // namespace

// The twin reads, in the other range, what lies before what is written.
MISTAKE(TwoRangesShowTheSame, "race") {
  aclrtDrvMemHandle memory = NewMemory(2 * kPiece);
  char *first = NewRange(2 * kPiece), *second = NewRange(2 * kPiece);
  Map(first, 2 * kPiece, memory);
  Map(second, 2 * kPiece, memory);
  Fill(first, b);
  Fill(first + kPiece + kBytes, a);                     // [1]
  Copy(y, second + kPiece + (mended ? 0 : kBytes), b);  // [2]
  OK(aclrtSynchronizeDevice());
  EndMapping(first);
  EndMapping(second);
  OK(aclrtFreePhysical(memory));
}

MISTAKE(TheSecondRangeComesLater, "race") {
  aclrtDrvMemHandle memory = NewMemory(kPiece);
  char *first = NewRange(kPiece), *second = NewRange(kPiece);
  Map(first, kPiece, memory);
  Fill(first, a);  // [1]
  Map(second, kPiece, memory);
  if (mended) Link(a, b);
  Copy(y, second, b);  // [2]
  OK(aclrtSynchronizeDevice());
  EndMapping(first);
  EndMapping(second);
  OK(aclrtFreePhysical(memory));
}

MISTAKE(NodesUseTwoRanges, "race") {
  aclrtDrvMemHandle memory = NewMemory(kPiece);
  char *first = NewRange(kPiece), *second = NewRange(kPiece);
  Map(first, kPiece, memory);
  Map(second, kPiece, memory);
  Begin(a);
  Link(a, b);
  Fill(first, a);  // [1]
  if (mended) Link(a, b);
  Copy(y, second, b);  // [2]
  Link(b, a);
  Replay(Finish(a), a);
  EndMapping(first);
  EndMapping(second);
  OK(aclrtFreePhysical(memory));
}

// As allocators have it whose segments grow.
MISTAKE(ATensorLiesOnTwoPieces, "race") {
  aclrtDrvMemHandle pieces[] = {NewMemory(kPiece), NewMemory(kPiece)};
  char* range = NewRange(2 * kPiece);
  Map(range, kPiece, pieces[0]);
  Map(range + kPiece, kPiece, pieces[1]);
  Fill(range, a, kPiece + kBytes);  // [1]
  if (mended) Link(a, b);
  Copy(y, range + kPiece, b);  // [2]
  OK(aclrtSynchronizeDevice());
  OK(aclrtUnmapMem(range + kPiece));
  EndMapping(range);
  for (aclrtDrvMemHandle memory : pieces) OK(aclrtFreePhysical(memory));
}

MISTAKE(ARangeIsUnmappedTwice, "double-free") {
  aclrtDrvMemHandle memory = NewMemory(kPiece);
  char* range = NewRange(kPiece);
  Map(range, kPiece, memory);               // [3]
  OK(aclrtUnmapMem(range));                 // [2]
  if (!mended) TWIN(aclrtUnmapMem(range));  // [1]
  OK(aclrtReleaseMemAddress(range));
  OK(aclrtFreePhysical(memory));
}

MISTAKE(PhysicalMemoryIsFreedTwice, "use-after-destroy") {
  aclrtDrvMemHandle memory = NewMemory(kPiece);
  OK(aclrtFreePhysical(memory));                 // [2]
  if (!mended) TWIN(aclrtFreePhysical(memory));  // [1]
}

MISTAKE(PhysicalMemoryIsLeftBehind, "never-destroyed") {
  aclrtDrvMemHandle memory = NewMemory(kPiece);  // [1]
  if (mended) OK(aclrtFreePhysical(memory));
}
