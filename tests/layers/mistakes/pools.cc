// Pools of memory that the program describes by mstx: what no region holds may not be touched.
#include <vector>

#include "mistakes.h"
#include "mstx/ms_tools_ext.h"

using namespace mistakes;

namespace {

constexpr size_t kPool = 16 * kBytes;

mstxMemVirtualRangeDesc_t RangeOf(const void* base, size_t bytes) { return {0, base, bytes}; }

mstxMemHeapHandle_t Register(const void* base, size_t bytes) {
  const mstxMemVirtualRangeDesc_t range = RangeOf(base, bytes);
  const mstxMemHeapDesc_t heap = {MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR, MSTX_MEM_TYPE_VIRTUAL_ADDRESS,
                                  &range};
  return mstxMemHeapRegister(nullptr, &heap);
}

class Pool {
 public:
  explicit Pool(char* base) : base_(base), heap_(Register(base, kPool)) {}
  // The place-th kBytes of it.
  void* At(size_t place) const { return base_ + place * kBytes; }
  mstxMemRegionHandle_t Give(size_t place, size_t bytes = kBytes) const {
    const mstxMemVirtualRangeDesc_t range = RangeOf(At(place), bytes);
    mstxMemRegionHandle_t handle = nullptr;
    const mstxMemRegionsRegisterBatch_t batch = {heap_, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, 1, &range, &handle};
    mstxMemRegionsRegister(nullptr, &batch);
    return handle;
  }
  void TakeBack(size_t place) const {
    mstxMemRegionRef_t region = {};
    region.refType = MSTX_MEM_REGION_REF_TYPE_POINTER;
    region.pointer = At(place);
    TakeBackAll(region);
  }
  void TakeBackBy(mstxMemRegionHandle_t handle) const {
    mstxMemRegionRef_t region = {};
    region.refType = MSTX_MEM_REGION_REF_TYPE_HANDLE;
    region.handle = handle;
    TakeBackAll(region);
  }
  void End() const {
    mstxMemHeapUnregister(nullptr, heap_);
    Free(base_);
  }
  mstxMemHeapHandle_t heap() const { return heap_; }

 private:
  static void TakeBackAll(const mstxMemRegionRef_t& region) {
    const mstxMemRegionsUnregisterBatch_t batch = {1, &region};
    mstxMemRegionsUnregister(nullptr, &batch);
  }

  char* base_;
  mstxMemHeapHandle_t heap_;
};

char* NewPoolMemory() { return static_cast<char*>(NewBlock(kPool)); }

}  // namespace

MISTAKE(ARegionIsUsedAfterItWasTakenBack, "use-after-free") {
  const Pool pool(NewPoolMemory());
  pool.Give(1);                   // [3]
  if (!mended) pool.TakeBack(1);  // [2]
  Fill(pool.At(1), a);            // [1]
  if (mended) pool.TakeBack(1);
  Wait(a);
  pool.End();
}

// What was submitted before may still run: the pool gives the region to the same stream again.
MISTAKE(ARegionGoesToAnotherStream, "race") {
  const Pool pool(NewPoolMemory());
  pool.Give(0);
  Copy(pool.At(0), x, a);  // [1]
  pool.TakeBack(0);
  pool.Give(0);                         // [3]
  Copy(pool.At(0), y, mended ? a : b);  // [2]
  Wait(a);
  Wait(b);
  Copy(z, pool.At(0), a);
  pool.TakeBack(0);
  Wait(a);
  pool.End();
}

MISTAKE(ACopyRunsIntoTheNextRegion, "beyond-end") {
  const Pool pool(NewPoolMemory());
  pool.Give(0, mended ? kBytes : kBytes / 2);  // [2]
  pool.Give(1);
  Copy(pool.At(0), x, a);  // [1]
  Wait(a);
  pool.End();
}

MISTAKE(APoolIsUsedWhereNoRegionIs, "invalid-address") {
  const Pool pool(NewPoolMemory());  // [2]
  pool.Give(3);
  Fill(pool.At(mended ? 3 : 4), a);  // [1]
  Wait(a);
  pool.End();
}

MISTAKE(TwoStreamsHaveOneRegion, "race") {
  const Pool pool(NewPoolMemory());
  pool.Give(2);                                      // [3]
  Sum(Vector(x), Vector(y), Vector(pool.At(2)), a);  // [1]
  if (mended) Link(a, b);
  Copy(z, pool.At(2), b);  // [2]
  Wait(b);
  Wait(a);
  pool.End();
}

MISTAKE(ARegionIsTakenBackTwice, "double-free") {
  const Pool pool(NewPoolMemory());
  pool.Give(0);                   // [3]
  pool.TakeBack(0);               // [2]
  if (!mended) pool.TakeBack(0);  // [1]
  pool.End();
}

// By the handles that a batch has left.
MISTAKE(TheOtherRegionIsTakenBack, "use-after-free") {
  const Pool pool(NewPoolMemory());
  const mstxMemRegionHandle_t first = pool.Give(0);  // [3]
  const mstxMemRegionHandle_t second = pool.Give(1);
  pool.TakeBackBy(mended ? second : first);  // [2]
  Fill(pool.At(0), a);                       // [1]
  Wait(a);
  pool.End();
}

MISTAKE(ARegionLeavesItsPool, "beyond-end") {
  const Pool pool(NewPoolMemory());             // [2]
  pool.Give(15, mended ? kBytes : 2 * kBytes);  // [1]
  pool.End();
}

MISTAKE(ARegionIsGivenOutBeforeThePool, "invalid-address") {
  void* block = NewBlock(kPool);
  if (mended) Register(block, kPool);
  const mstxMemVirtualRangeDesc_t range = RangeOf(block, kBytes);
  mstxMemRegionsRegisterBatch_t batch = {};
  batch.regionCount = 1;
  batch.regionDescArray = &range;
  mstxMemRegionsRegister(nullptr, &batch);  // [1]
  Free(block);
}

// The last row of the view ends behind the region.
MISTAKE(AViewOfColumnsLeavesItsRegion, "beyond-end") {
  const Pool pool(NewPoolMemory());
  pool.Give(0, mended ? kBytes : kBytes - 240);  // [2]
  const View columns = {pool.At(0), {16, 8}, {64, 1}};
  Sum(columns, columns, {x, {16, 8}, {8, 1}}, a);  // [1]
  Wait(a);
  pool.End();
}

// The model of a capture keeps the memory of regions that are taken back meanwhile.
MISTAKE(ACapturedTaskHasARegionThatIsOver, "use-after-free") {
  const Pool pool(NewPoolMemory());
  pool.Give(0);  // [3]
  Begin(a);
  if (!mended) pool.TakeBack(0);  // [2]
  Fill(pool.At(0), a);            // [1]
  if (mended) pool.TakeBack(0);
  const aclmdlRI model = Finish(a);
  Launch(model, a);
  End(model, a);
  pool.End();
}

MISTAKE(TheHostReadsARegionThatIsOver, "use-after-free") {
  const Pool pool(NewPoolMemory());
  pool.Give(0);  // [3]
  Fill(pool.At(0), a);
  Wait(a);
  if (!mended) pool.TakeBack(0);  // [2]
  Read(pool.At(0));               // [1]
  if (mended) pool.TakeBack(0);
  pool.End();
}

// All regions go with their pool, which then is memory like any other.
MISTAKE(APoolIsUnregisteredTwice, "bad-free") {
  const Pool pool(NewPoolMemory());
  pool.Give(0);
  Fill(pool.At(0), a);
  Wait(a);
  mstxMemHeapUnregister(nullptr, pool.heap());
  Fill(pool.At(5), a);
  Wait(a);
  if (!mended) mstxMemHeapUnregister(nullptr, pool.heap());  // [1]
  Free(pool.At(0));
}

MISTAKE(APoolIsRegisteredWithoutMemory, "invalid-address") {
  char* memory = NewPoolMemory();
  std::vector<char> of_the_host(kPool);
  const mstxMemHeapHandle_t heap = Register(mended ? memory : of_the_host.data(), kPool);  // [1]
  mstxMemHeapUnregister(nullptr, heap);
  Free(memory);
}
