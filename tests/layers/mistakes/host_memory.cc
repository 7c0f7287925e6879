// What the host does too early with memory that a copy is at, and the other way round.
#include <atomic>

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

// --- stores by no call, which the bytes tell when the host learns that the copy is over

MISTAKE(ARegisteredBufferIsFilledAgain, "race") {
  alignas(4096) static char registered[kBytes];
  void* device = nullptr;
  OK(aclrtHostRegister(registered, kBytes, ACL_HOST_REGISTER_MAPPED, &device));
  Copy(x, registered, a);  // [1]
  if (mended) Wait(a);
  registered[100] = static_cast<char>(registered[100] + 1);
  Wait(a);  // [2]
  OK(aclrtHostUnregister(registered));
}

// Less than a page, in one that others use, too.
MISTAKE(ASmallUploadIsFilledAgain, "race") {
  auto* small = static_cast<volatile char*>(pinned) + 8;
  for (int i = 0; i < 3; ++i) {
    small[5] = static_cast<char>(i + 1);
    Copy(x, const_cast<char*>(small), a, 16);  // [1]
    if (mended) Wait(a);
  }
  Wait(a);  // [2]
}

MISTAKE(AnEventTellsTooLittle, "race") {
  auto* small = static_cast<volatile char*>(pinned) + 8;
  aclrtEvent event = NewEvent();
  if (!mended) Record(event, a);
  Copy(x, const_cast<char*>(small), a, 16);  // [1]
  if (mended) Record(event, a);
  OK(aclrtSynchronizeEvent(event));
  small[0] = static_cast<char>(small[0] + 1);
  Copy(x, const_cast<char*>(small), a, 16);
  Wait(a);  // [2]
}

// The stream itself brings new bytes, behind the copy that reads the old ones.
MISTAKE(AStreamMayWriteWhatItHasRead, "race") {
  auto* small = static_cast<volatile char*>(pinned) + 8;
  Fill(y, a);
  Copy(x, const_cast<char*>(small), a, 16);
  Copy(const_cast<char*>(small), y, a, 16);
  Copy(z, const_cast<char*>(small), a, 16);
  if (!mended) Copy(x, static_cast<char*>(pinned) + 100, a, 16);  // [1]
  if (!mended) static_cast<volatile char*>(pinned)[101] = 77;
  Wait(a);  // [2]
}

// A callback is the host, and fills what the copy before it has read.
MISTAKE(ACallbackFillsTheNextUpload, "race") {
  static char* small;
  small = static_cast<char*>(pinned) + 8;
  if (mended) Copy(x, small, a, 16);
  OK(aclrtLaunchHostFunc(
      a, [](void*) { small[3] = static_cast<char>(small[3] + 1); }, nullptr));
  if (mended) Copy(y, small, a, 16);
  Wait(a);
  Copy(x, small, a, 16);  // [1]
  if (!mended) small[3] = static_cast<char>(small[3] + 1);
  Wait(a);  // [2]
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

// --- what calls read of the host's memory

// As lengths of sequences that operators take.
MISTAKE(LengthsAreTakenBeforeTheyAreThere, "race") {
  auto* lengths = static_cast<int64_t*>(pinned) + 3;
  Copy(lengths, x, a, 8 * sizeof *lengths);  // [1]
  if (mended) Wait(a);
  OK(aclDestroyIntArray(aclCreateIntArray(lengths, 8)));  // [2]
}

MISTAKE(AScalarIsTakenBeforeItIsThere, "race") {
  auto* value = static_cast<float*>(pinned) + 5;
  Copy(value, x, a, sizeof *value);  // [1]
  if (mended) Wait(a);
  OK(aclDestroyScalar(aclCreateScalar(value, ACL_FLOAT)));  // [2]
}

// --- functions that a stream calls, and that wait for the host

// What is on the stream behind the function comes when that has returned.
MISTAKE(TheGateOpensBeforeTheUpload, "race") {
  static std::atomic<bool> open;
  open = false;
  HoldUp(a, &open);
  Copy(y, x, a);  // [1]
  if (!mended) open = true;
  OK(aclrtMemcpy(x, kBytes, host, kBytes, ACL_MEMCPY_HOST_TO_DEVICE));  // [2]
  open = true;
}
