// What the host does too early with memory that a copy is at, and the other way round.
#include "mistakes.h"

using namespace mistakes;

MISTAKE(TheHostReadsBeforeTheOperatorIsDone, "race") {
  Sum(Vector(x), Vector(y), Vector(z), a);  // [1]
  if (mended) Wait(a);
  Read(z);  // [2]
}

MISTAKE(TheHostFillsWhatIsBeingRead, "race") {
  Copy(y, x, a);  // [1]
  if (mended) Wait(a);
  OK(aclrtMemset(x, kBytes, 2, kBytes));  // [2]
}

MISTAKE(TheHostUploadsOverWhatIsBeingRead, "race") {
  Sum(Vector(x), Vector(x), Vector(y), a);  // [1]
  if (mended) Wait(a);
  OK(aclrtMemcpy(x, kBytes, host, kBytes, ACL_MEMCPY_HOST_TO_DEVICE));  // [2]
}

MISTAKE(APinnedBufferIsFilledAgain, "race") {
  Copy(x, pinned, a);  // [1]
  if (mended) Wait(a);
  OK(aclrtMemcpy(pinned, kBytes, host, kBytes, ACL_MEMCPY_HOST_TO_HOST));  // [2]
}

MISTAKE(APinnedBufferIsReadTooEarly, "race") {
  Copy(pinned, x, a);  // [1]
  if (mended) Wait(a);
  OK(aclrtMemcpy(host, kBytes, pinned, kBytes, ACL_MEMCPY_HOST_TO_HOST));  // [2]
}

MISTAKE(APinnedBufferServesTwoStreams, "race") {
  Copy(pinned, x, a);  // [1]
  if (mended) Link(a, b);
  Copy(y, pinned, b);  // [2]
}

MISTAKE(ARegisteredBufferServesTwoStreams, "race") {
  alignas(4096) static char registered[kBytes];
  OK(aclrtHostRegister(registered, kBytes, ACL_HOST_REGISTER_MAPPED, [] {
    static void* device;
    return &device;
  }()));
  Copy(registered, x, a);  // [1]
  if (mended) Link(a, b);
  Copy(y, registered, b);  // [2]
  OK(aclrtSynchronizeDevice());
  OK(aclrtHostUnregister(registered));
}

MISTAKE(ARegisteredBufferIsUnregisteredTooEarly, "free-while-used") {
  alignas(4096) static char registered[kBytes];
  void* device = nullptr;
  OK(aclrtHostRegister(registered, kBytes, ACL_HOST_REGISTER_MAPPED, &device));
  Copy(x, registered, a);  // [2]
  if (mended) Wait(a);
  OK(aclrtHostUnregister(registered));  // [1]
}

// Pageable memory makes a call wait, for its own stream only.
MISTAKE(ACopyThatWaitsIsOnAnotherStream, "race") {
  Fill(x, a);                     // [1]
  Copy(host, x, mended ? a : b);  // [2]
}

// Rows of 64 bytes, 128 from one to the next: the second copy's begin 32 or 64 bytes behind the first's.
MISTAKE(RowsOverlap, "race") {
  auto* from = static_cast<char*>(x);
  OK(aclrtMemcpy2dAsync(y, 128, from, 128, 64, 16, ACL_MEMCPY_DEVICE_TO_DEVICE, a));         // [1]
  OK(aclrtMemcpy2dAsync(static_cast<char*>(y) + (mended ? 64 : 32), 128, from, 128, 64, 16,  // [2]
                        ACL_MEMCPY_DEVICE_TO_DEVICE, b));
}

MISTAKE(ABatchOfCopiesIsNotWaitedFor, "race") {
  void *to[] = {x, y}, *from[] = {pinned, pinned};
  size_t sizes[] = {kBytes, kBytes}, first = 0, failed = 0;
  aclrtMemcpyBatchAttr attribute{};
  attribute.dstLoc = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
  attribute.srcLoc = {0, ACL_MEM_LOCATION_TYPE_HOST};
  OK(aclrtMemcpyBatchAsync(to, sizes, from, sizes, 2, &attribute, &first, 1, &failed, a));  // [1]
  if (mended) Link(a, b);
  Copy(z, y, b);  // [2]
}
