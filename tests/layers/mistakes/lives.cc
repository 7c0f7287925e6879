// Memory and objects that are used too long, ended twice, or never.
#include "acl/acl_mdl.h"
#include "aclnnop/aclnn_add.h"
#include "mistakes.h"

using namespace mistakes;

MISTAKE(FreedBeforeTheCopyIsOver, "free-while-used") {
  void* block = NewBlock();
  Copy(x, block, a);  // [2]
  if (mended) Wait(a);
  Free(block);  // [1]
}

MISTAKE(FreedAfterTheOtherStreamIsDone, "free-while-used") {
  void* block = NewBlock();
  Copy(block, x, a);  // [2]
  Wait(mended ? a : b);
  Free(block);  // [1]
}

MISTAKE(PinnedMemoryIsFreedDuringACopy, "free-while-used") {
  void* block = NewPinned();
  Copy(x, block, a);  // [2]
  if (mended) Wait(a);
  OK(aclrtFreeHost(block));  // [1]
}

MISTAKE(FreedByTheEventOfAnEarlierUse, "free-while-used") {
  void* block = NewBlock();
  aclrtEvent event = NewEvent();
  Copy(x, block, a);
  if (!mended) Record(event, a);
  Sum(Vector(block), Vector(block), Vector(y), a);  // [2]
  if (mended) Record(event, a);
  OK(aclrtSynchronizeEvent(event));
  Free(block);  // [1]
}

MISTAKE(AnotherThreadFrees, "free-while-used") {
  void* block = NewBlock();
  Fill(block, a);  // [2]
  InThread([&] {
    if (mended) Wait(a);
    Free(block);  // [1]
  });
}

// The first stream is done; the second had the block, too.
MISTAKE(FreedWhileASecondStreamReads, "free-while-used") {
  void* block = NewBlock();
  Fill(block, a);
  Link(a, b);
  Copy(y, block, b);  // [2]
  Wait(mended ? b : a);
  Free(block);  // [1]
}

MISTAKE(UnmappedWhileACopyRuns, "free-while-used") {
  constexpr size_t kPage = size_t{2} << 20;
  void* range = nullptr;
  aclrtDrvMemHandle physical = nullptr;
  aclrtPhysicalMemProp prop{};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  OK(aclrtReserveMemAddress(&range, kPage, 0, nullptr, 1));
  OK(aclrtMallocPhysical(&physical, kPage, &prop, 0));
  OK(aclrtMapMem(range, kPage, 0, physical, 0));
  Fill(range, a);  // [2]
  if (mended) Wait(a);
  OK(aclrtUnmapMem(range));  // [1]
  OK(aclrtFreePhysical(physical));
  OK(aclrtReleaseMemAddress(range));
}

MISTAKE(ACopyFromWhatWasFreed, "use-after-free") {
  void* block = NewBlock();                                                          // [3]
  if (!mended) Free(block);                                                          // [2]
  TWIN(aclrtMemcpyAsync(x, kBytes, block, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, a));  // [1]
  Wait(a);
  if (mended) Free(block);
}

MISTAKE(AFillOfWhatWasFreed, "use-after-free") {
  void* block = NewBlock();                     // [3]
  if (!mended) Free(block);                     // [2]
  TWIN(aclrtMemset(block, kBytes, 0, kBytes));  // [1]
  if (mended) Free(block);
}

MISTAKE(AnOperatorOnWhatWasFreed, "use-after-free") {
  void* block = NewBlock();                           // [3]
  if (!mended) Free(block);                           // [2]
  TWIN(Add(Vector(x), Vector(block), Vector(y), a));  // [1]
  Wait(a);
  if (mended) Free(block);
}

MISTAKE(PinnedMemoryIsUsedAfterItsEnd, "use-after-free") {
  void* block = NewPinned();                                                       // [3]
  if (!mended) OK(aclrtFreeHost(block));                                           // [2]
  TWIN(aclrtMemcpyAsync(block, kBytes, x, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, a));  // [1]
  Wait(a);
  if (mended) OK(aclrtFreeHost(block));
}

// A pointer into a block that was freed by another thread.
MISTAKE(AnotherThreadHasFreedIt, "use-after-free") {
  void* block = NewBlock();  // [3]
  InThread([&] {
    if (!mended) Free(block);  // [2]
  });
  char* middle = static_cast<char*>(block) + 512;
  TWIN(aclrtMemcpy(host, kBytes, middle, 512, ACL_MEMCPY_DEVICE_TO_HOST));  // [1]
  if (mended) Free(block);
}

// Memory of a device does not outlive it.
MISTAKE(TheDeviceWasReset, "use-after-free leak") {
  OK(aclrtSetDevice(1));
  void* block = NewBlock();              // [3]
  if (!mended) OK(aclrtResetDevice(1));  // [2]
  OK(aclrtSetDevice(1));
  TWIN(aclrtMemset(block, kBytes, 0, kBytes));  // [1]
  if (mended) Free(block);
  OK(aclrtResetDevice(1));
  OK(aclrtSetDevice(0));
}

MISTAKE(ACopyBeyondTheEnd, "beyond-end") {
  void* block = NewBlock();  // [2]
  const size_t bytes = mended ? kBytes - 64 : kBytes;
  auto* from = static_cast<char*>(block) + 64;
  TWIN(aclrtMemcpyAsync(x, kBytes, from, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE, a));  // [1]
  Wait(a);
  Free(block);
}

MISTAKE(AFillBeyondTheEnd, "beyond-end") {
  void* block = NewBlock(1000);                             // [2]
  TWIN(aclrtMemset(block, 2000, 0, mended ? 1000 : 2000));  // [1]
  Free(block);
}

MISTAKE(RowsEndBehindTheBlock, "beyond-end") {
  void* block = NewBlock(1000);                                                              // [2]
  TWIN(aclrtMemcpy2d(block, 128, y, 128, 64, mended ? 8 : 9, ACL_MEMCPY_DEVICE_TO_DEVICE));  // [1]
  Free(block);
}

MISTAKE(PinnedMemoryIsTooShort, "beyond-end") {
  void* block = nullptr;
  OK(aclrtMallocHost(&block, 1000));                                                             // [2]
  TWIN(aclrtMemcpyAsync(x, kBytes, block, mended ? 1000 : 4000, ACL_MEMCPY_HOST_TO_DEVICE, a));  // [1]
  Wait(a);
  OK(aclrtFreeHost(block));
}

MISTAKE(AnOffsetWithoutItsBase, "invalid-address") {
  auto* offset = reinterpret_cast<void*>(uintptr_t{256});
  TWIN(aclrtMemcpy(x, 8, mended ? host : offset, 8, ACL_MEMCPY_HOST_TO_DEVICE));  // [1]
}

MISTAKE(FreedTwice, "double-free") {
  void* block = NewBlock();             // [3]
  Free(block);                          // [2]
  if (!mended) TWIN(aclrtFree(block));  // [1]
}

MISTAKE(PinnedMemoryIsFreedTwice, "double-free") {
  void* block = NewPinned();                // [3]
  OK(aclrtFreeHost(block));                 // [2]
  if (!mended) TWIN(aclrtFreeHost(block));  // [1]
}

MISTAKE(AFreeOfTheMiddle, "bad-free") {
  auto* block = static_cast<char*>(NewBlock());  // [2]
  if (!mended) TWIN(aclrtFree(block + 64));      // [1]
  Free(block);
}

MISTAKE(PinnedMemoryIsFreedAsDeviceMemory, "bad-free") {
  void* block = NewPinned();            // [2]
  if (!mended) TWIN(aclrtFree(block));  // [1]
  OK(aclrtFreeHost(block));
}

MISTAKE(DeviceMemoryIsFreedAsPinned, "bad-free") {
  void* block = NewBlock();                 // [2]
  if (!mended) TWIN(aclrtFreeHost(block));  // [1]
  Free(block);
}

MISTAKE(AFreeOfTheProgramsOwnMemory, "bad-free") {
  if (!mended) TWIN(aclrtFreeHost(host));  // [1]
}

MISTAKE(AStreamIsUsedAfterItsEnd, "use-after-destroy") {
  aclrtStream stream = NewStream();
  if (!mended) End(stream);                              // [2]
  TWIN(aclrtMemsetAsync(x, kBytes, 0, kBytes, stream));  // [1]
  if (mended) End(stream);
}

MISTAKE(AnEventIsUsedAfterItsEnd, "use-after-destroy") {
  aclrtEvent event = NewEvent();
  Record(event, a);
  if (!mended) OK(aclrtDestroyEvent(event));  // [2]
  TWIN(aclrtStreamWaitEvent(b, event));       // [1]
  if (mended) OK(aclrtDestroyEvent(event));
}

MISTAKE(ANotifyIsUsedAfterItsEnd, "use-after-destroy") {
  aclrtNotify notify = nullptr;
  OK(aclrtCreateNotify(&notify, 0));
  if (!mended) OK(aclrtDestroyNotify(notify));  // [2]
  TWIN(aclrtRecordNotify(notify, a));           // [1]
  Wait(a);
  if (mended) OK(aclrtDestroyNotify(notify));
}

MISTAKE(AStreamIsDestroyedTwice, "use-after-destroy") {
  aclrtStream stream = NewStream();
  End(stream);                                    // [2]
  if (!mended) TWIN(aclrtDestroyStream(stream));  // [1]
}

// A context takes its streams along.
MISTAKE(TheContextOfAStreamIsGone, "use-after-destroy") {
  aclrtContext mine = nullptr, other = nullptr;
  OK(aclrtGetCurrentContext(&mine));
  OK(aclrtCreateContext(&other, 0));
  aclrtStream stream = NewStream();
  if (!mended) OK(aclrtDestroyContext(other));  // [2]
  if (!mended) OK(aclrtSetCurrentContext(mine));
  TWIN(aclrtMemsetAsync(x, kBytes, 0, kBytes, stream));  // [1]
  if (mended) OK(aclrtDestroyContext(other));
  OK(aclrtSetCurrentContext(mine));
}

MISTAKE(AContextIsMadeCurrentAfterItsEnd, "use-after-destroy") {
  aclrtContext mine = nullptr, other = nullptr;
  OK(aclrtGetCurrentContext(&mine));
  OK(aclrtCreateContext(&other, 0));
  OK(aclrtSetCurrentContext(mine));
  if (!mended) OK(aclrtDestroyContext(other));  // [2]
  TWIN(aclrtSetCurrentContext(other));          // [1]
  OK(aclrtSetCurrentContext(mine));
  if (mended) OK(aclrtDestroyContext(other));
}

MISTAKE(ADatasetIsDestroyedTwice, "use-after-destroy") {
  aclmdlDataset* dataset = aclmdlCreateDataset();
  OK(aclmdlDestroyDataset(dataset));                 // [2]
  if (!mended) TWIN(aclmdlDestroyDataset(dataset));  // [1]
}

MISTAKE(AModelIsUnloadedTwice, "use-after-destroy") {
  uint32_t model = 0;
  OK(aclmdlLoadFromFile(model_file.c_str(), &model));
  OK(aclmdlUnload(model));                 // [2]
  if (!mended) TWIN(aclmdlUnload(model));  // [1]
}

MISTAKE(AThreadStillHasTheStream, "use-after-destroy") {
  aclrtStream stream = NewStream();
  Fill(x, stream);
  if (!mended) End(stream);  // [2]
  InThread([&] {
    TWIN(aclrtMemsetAsync(x, kBytes, 0, kBytes, stream));  // [1]
  });
  if (mended) End(stream);
}

MISTAKE(ABlockARoundIsLeftBehind, "leak") {
  for (int round = 0; round < 3; ++round) {
    void* block = NewBlock();  // [1]
    Copy(block, x, a);
    Wait(a);
    if (mended) Free(block);
  }
}

MISTAKE(AnErrorPathForgetsItsBlock, "leak") {
  void* block = NewBlock();  // [1]
  const bool failed = aclrtMemcpy(block, 8, x, 16, ACL_MEMCPY_DEVICE_TO_DEVICE) != ACL_SUCCESS;
  if (failed && !mended) return;
  Free(block);
}
