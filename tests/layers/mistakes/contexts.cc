// Streams, memory and models of another context or device, captures that are spoiled, callbacks that wait.
#include <thread>

#include "mistakes.h"

using namespace mistakes;

MISTAKE(AStreamOfAnotherContext, "wrong-context") {
  aclrtContext mine = nullptr, other = nullptr;
  OK(aclrtGetCurrentContext(&mine));
  OK(aclrtCreateContext(&other, 0));
  if (mended) OK(aclrtSetCurrentContext(mine));
  TWIN(aclrtMemsetAsync(x, kBytes, 0, kBytes, a));  // [1]
  OK(aclrtSetCurrentContext(mine));
  Wait(a);
  OK(aclrtDestroyContext(other));
}

MISTAKE(AStreamOfAnotherDevice, "wrong-context") {
  OK(aclrtSetDevice(mended ? 0 : 1));
  TWIN(aclrtRecordEvent(NewEvent(), a));  // [1]
  OK(aclrtSetDevice(0));
}

// A thread that has set no device of its own, or another one, is in another context.
MISTAKE(AThreadIsInAnotherContext, "wrong-context") {
  InThread([] {
    aclrtContext other = nullptr;
    if (!mended) OK(aclrtCreateContext(&other, 0));
    TWIN(aclrtMemcpyAsync(x, kBytes, y, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, a));  // [1]
    if (!mended) OK(aclrtDestroyContext(other));
  });
}

// The device that its maker has set is not its own.
MISTAKE(AThreadHasNoContext, "wrong-context") {
  std::thread([] {
    aclrtContext none = nullptr;
    if (mended) OK(aclrtSetDevice(0));
    if (!mended) aclrtGetCurrentContext(&none);             // that is a question
    TWIN(aclrtMemsetAsync(x, kBytes, 0, kBytes, nullptr));  // [1]
    if (mended) Wait(nullptr);
  }).join();
}

MISTAKE(ACallAfterTheDeviceWasReset, "wrong-context") {
  OK(aclrtSetDevice(1));
  if (!mended) OK(aclrtResetDevice(1));
  TWIN(aclrtSynchronizeDevice());  // [1]
  if (mended) OK(aclrtResetDevice(1));
  OK(aclrtSetDevice(0));
}

MISTAKE(AModelOfAnotherDevice, "wrong-context") {
  Begin(a);
  Copy(x, y, a);
  aclmdlRI model = Finish(a);
  OK(aclrtSetDevice(mended ? 0 : 1));
  aclrtStream stream = NewStream();
  TWIN(aclmdlRIExecuteAsync(model, stream));  // [1]
  Wait(stream);
  OK(aclrtSetDevice(0));
  OK(aclmdlRIDestroy(model));
}

MISTAKE(ACopyThatWaitsInACapture, "spoiled-capture") {
  if (mended) Read(x);
  Begin(a);
  Fill(x, a);
  if (!mended) TWIN(aclrtMemcpy(host, kBytes, x, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));  // [1]
  aclmdlRI model = nullptr;
  TWIN(aclmdlRICaptureEnd(a, &model));
  if (mended) OK(aclmdlRIDestroy(model));
}

// The call succeeds.
MISTAKE(AStreamOfACaptureIsDestroyed, "spoiled-capture") {
  aclrtStream side = NewStream();
  Begin(a);
  Link(a, side);
  Fill(x, side);
  Link(side, a);
  if (!mended) OK(aclrtDestroyStream(side));  // [1]
  aclmdlRI model = nullptr;
  TWIN(aclmdlRICaptureEnd(a, &model));
  if (mended) OK(aclmdlRIDestroy(model));
  if (mended) OK(aclrtDestroyStream(side));
}

MISTAKE(TheMainStreamOfACaptureIsForcedAway, "spoiled-capture") {
  aclrtStream main = NewStream();
  Begin(main);
  Fill(x, main);
  aclmdlRI model = nullptr;
  if (!mended) OK(aclrtDestroyStreamForce(main));  // [1]
  if (!mended) return;
  OK(aclmdlRICaptureEnd(main, &model));
  OK(aclmdlRIDestroy(model));
  OK(aclrtDestroyStreamForce(main));
}

MISTAKE(PageableMemoryInACapture, "spoiled-capture") {
  Begin(a);
  void* to = mended ? pinned : host;
  TWIN(aclrtMemcpyAsync(to, kBytes, x, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, a));  // [1]
  aclmdlRI model = nullptr;
  TWIN(aclmdlRICaptureEnd(a, &model));
  if (mended) OK(aclmdlRIDestroy(model));
}

MISTAKE(AStreamIsWaitedForInItsCapture, "spoiled-capture") {
  Begin(a);
  Fill(x, a);
  if (!mended) TWIN(aclrtSynchronizeStream(a));  // [1]
  aclmdlRI model = nullptr;
  TWIN(aclmdlRICaptureEnd(a, &model));
  if (!mended) return;
  Launch(model, a);
  End(model, a);
}

MISTAKE(TheDeviceIsWaitedForInACapture, "spoiled-capture") {
  if (mended) OK(aclrtSynchronizeDevice());
  Begin(a);
  Fill(x, a);
  if (!mended) TWIN(aclrtSynchronizeDevice());  // [1]
  aclmdlRI model = nullptr;
  TWIN(aclmdlRICaptureEnd(a, &model));
  if (mended) OK(aclmdlRIDestroy(model));
}

MISTAKE(ACaptureWaitsForWhatIsOutside, "spoiled-capture") {
  aclrtEvent event = NewEvent();
  Fill(x, b);
  Record(event, b);
  if (mended) Await(a, event);
  Begin(a);
  if (!mended) TWIN(aclrtStreamWaitEvent(a, event));  // [1]
  if (mended) Copy(y, x, a);
  aclmdlRI model = nullptr;
  TWIN(aclmdlRICaptureEnd(a, &model));
  if (!mended) return;
  Launch(model, a);
  End(model, a);
}

MISTAKE(ABranchNeverReturns, "spoiled-capture") {
  Begin(a);
  Link(a, b);
  Fill(x, b);
  if (mended) Link(b, a);
  aclmdlRI model = nullptr;
  TWIN(aclmdlRICaptureEnd(a, &model));  // [1]
  if (mended) OK(aclmdlRIDestroy(model));
}

MISTAKE(ABranchGoesOnAfterItsReturn, "spoiled-capture") {
  Begin(a);
  Link(a, b);
  Fill(x, b);
  Link(b, a);
  if (!mended) Fill(y, b);
  aclmdlRI model = nullptr;
  TWIN(aclmdlRICaptureEnd(a, &model));  // [1]
  if (mended) OK(aclmdlRIDestroy(model));
}

MISTAKE(ACallbackWaitsForItsStream, "wait-in-callback") {
  const auto callback = [](void*) {
    OK(aclrtSetDevice(0));
    if (!mended) TWIN(aclrtSynchronizeStream(a));  // [1]
  };
  OK(aclrtLaunchHostFunc(a, callback, nullptr));
  Wait(a);
}
