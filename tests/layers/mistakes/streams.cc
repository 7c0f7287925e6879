// Streams, events, threads and devices with one wait too few.
#include <atomic>

#include "mistakes.h"

using namespace mistakes;

MISTAKE(ReadBeforeTheWrite, "race") {
  Fill(x, a);  // [1]
  if (mended) Link(a, b);
  Copy(y, x, b);  // [2]
}

MISTAKE(TwoWriters, "race") {
  Fill(x, a);  // [1]
  if (mended) Link(a, b);
  Fill(x, b);  // [2]
}

MISTAKE(OverwrittenWhileRead, "race") {
  Copy(y, x, a);  // [1]
  if (mended) Link(a, b);
  Fill(x, b);  // [2]
}

MISTAKE(RecordedBeforeTheWork, "race") {
  aclrtEvent event = NewEvent();
  if (!mended) Record(event, a);
  Fill(x, a);  // [1]
  if (mended) Record(event, a);
  Await(b, event);
  Copy(y, x, b);  // [2]
}

MISTAKE(TheOtherStreamWaits, "race") {
  aclrtEvent event = NewEvent();
  Fill(x, a);  // [1]
  Record(event, a);
  Await(mended ? b : c, event);
  Copy(y, x, b);  // [2]
}

MISTAKE(TheOtherEventIsWaitedFor, "race") {
  aclrtEvent filled = NewEvent(), other = NewEvent();
  Fill(x, a);  // [1]
  Record(filled, a);
  Record(other, c);
  Await(b, mended ? filled : other);
  Copy(y, x, b);  // [2]
}

// A wait is for the latest record at the time of its call.
MISTAKE(AnEventIsRecordedAgain, "race") {
  aclrtEvent event = NewEvent();
  Fill(x, a);  // [1]
  Record(event, a);
  if (mended) Await(b, event);
  Record(event, c);
  if (!mended) Await(b, event);
  Copy(y, x, b);  // [2]
}

MISTAKE(TheWaitComesAfterTheUse, "race") {
  aclrtEvent event = NewEvent();
  Fill(x, a);  // [1]
  Record(event, a);
  if (mended) Await(b, event);
  Copy(y, x, b);  // [2]
  if (!mended) Await(b, event);
}

MISTAKE(OneLinkOfAChainIsMissing, "race") {
  Fill(x, a);  // [1]
  Link(a, c);
  if (mended) Link(c, b);
  Copy(y, x, b);  // [2]
}

MISTAKE(OnlyOneOfTwoProducersIsWaitedFor, "race") {
  Fill(x, a);
  Fill(y, b);  // [1]
  Link(a, c);
  if (mended) Link(b, c);
  Copy(z, x, c);
  Copy(z, y, c);  // [2]
}

MISTAKE(TheDefaultStreamOrdersNothing, "race") {
  Fill(x, nullptr);  // [1]
  if (mended) Wait(nullptr);
  Copy(y, x, b);  // [2]
}

MISTAKE(PrioritiesOrderNothing, "race") {
  aclrtStream urgent = nullptr, late = nullptr;
  OK(aclrtCreateStreamWithConfig(&urgent, 0, 0));
  OK(aclrtCreateStreamWithConfig(&late, 7, 0));
  Fill(x, urgent);  // [1]
  if (mended) Link(urgent, late);
  Copy(y, x, late);  // [2]
}

// The copy back from the second round on finds its buffer in use.
MISTAKE(ABufferComesRoundTooEarly, "race") {
  void* buffers[] = {x, y};
  for (int round = 0; round < 3; ++round) {
    if (mended && round >= 2) Link(b, a);
    Fill(buffers[round % 2], a);  // [2]
    Link(a, b);
    Copy(z, buffers[round % 2], b);  // [1]
  }
}

// The event of the round before is waited for.
MISTAKE(TheWaitIsOneRoundLate, "race") {
  aclrtEvent events[] = {NewEvent(), NewEvent()};
  Record(events[1], a);
  for (int round = 0; round < 2; ++round) {
    void* block = round == 0 ? x : y;
    Fill(block, a);  // [1]
    Record(events[round], a);
    Await(b, events[mended ? round : 1 - round]);
    Copy(z, block, b);  // [2]
    Wait(b);
    Wait(a);
  }
}

MISTAKE(AThreadEndsBeforeItsStream, "race") {
  InThread([] {
    Fill(x, a);  // [1]
    if (mended) Wait(a);
  });
  Copy(y, x, b);  // [2]
}

MISTAKE(AThreadWaitsForItsOwnStream, "race") {
  Fill(x, a);  // [1]
  InThread([] { Wait(mended ? a : b); });
  Copy(y, x, b);  // [2]
}

MISTAKE(TwoThreadsShareABlock, "race") {
  InThread([] {
    Fill(x, a);  // [1]
  });
  if (mended) OK(aclrtSynchronizeDevice());
  InThread([] {
    Fill(x, b);  // [2]
  });
}

MISTAKE(SynchronisedBeforeTheWork, "race") {
  if (!mended) Wait(a);
  Fill(x, a);  // [1]
  if (mended) Wait(a);
  Copy(y, x, b);  // [2]
}

MISTAKE(TheOtherStreamIsSynchronised, "race") {
  Fill(x, a);  // [1]
  Wait(mended ? a : c);
  Copy(y, x, b);  // [2]
}

// An event that is over says nothing of what came after its record.
MISTAKE(TheEventIsSynchronisedButNotTheStream, "race") {
  aclrtEvent event = NewEvent();
  Fill(x, a);
  Record(event, a);
  Fill(y, a);  // [1]
  OK(aclrtSynchronizeEvent(event));
  Copy(z, mended ? x : y, b);  // [2]
}

MISTAKE(ANotifyIsRecordedButNotWaitedFor, "race") {
  aclrtNotify notify = nullptr;
  OK(aclrtCreateNotify(&notify, 0));
  Fill(x, a);  // [1]
  OK(aclrtRecordNotify(notify, a));
  if (mended) OK(aclrtWaitAndResetNotify(notify, b, 0));
  Copy(y, x, b);  // [2]
}

MISTAKE(TheOtherNotifyIsWaitedFor, "race") {
  aclrtNotify filled = nullptr, other = nullptr;
  for (aclrtNotify* notify : {&filled, &other}) OK(aclrtCreateNotify(notify, 0));
  Fill(x, a);  // [1]
  OK(aclrtRecordNotify(filled, a));
  OK(aclrtRecordNotify(other, c));
  OK(aclrtWaitAndResetNotify(mended ? filled : other, b, 0));
  Copy(y, x, b);  // [2]
}

MISTAKE(ANotifyIsRecordedTooEarly, "race") {
  aclrtNotify filled = nullptr;
  OK(aclrtCreateNotify(&filled, 0));
  Fill(x, a);
  if (!mended) OK(aclrtRecordNotify(filled, a));
  Fill(y, a);  // [1]
  if (mended) OK(aclrtRecordNotify(filled, a));
  OK(aclrtWaitAndResetNotify(filled, b, 0));
  Copy(z, y, b);  // [2]
}

// A block goes to and fro by two notifies. The second is set when it has been read.
MISTAKE(ANotifyGivesABlockBackTooEarly, "race") {
  aclrtNotify full = nullptr, empty = nullptr;
  for (aclrtNotify* notify : {&full, &empty}) OK(aclrtCreateNotify(notify, 0));
  for (int round = 0; round < 3; ++round) {
    if (round > 0) OK(aclrtWaitAndResetNotify(empty, a, 0));
    Fill(x, a);  // [2]
    OK(aclrtRecordNotify(full, a));
    OK(aclrtWaitAndResetNotify(full, b, 0));
    if (!mended) OK(aclrtRecordNotify(empty, b));
    Copy(round == 0 ? y : z, x, b);  // [1]
    if (mended) OK(aclrtRecordNotify(empty, b));
  }
}

MISTAKE(AValueIsWrittenButNotWaitedFor, "race") {
  Fill(x, a);  // [1]
  OK(aclrtValueWrite(z, 1, 0, a));
  if (mended) OK(aclrtValueWait(z, 1, ACL_STREAM_WAIT_VALUE_EQ, b));
  Copy(y, x, b);  // [2]
}

// The limit runs out while a callback holds the stream up, and the code of the call is not looked at.
MISTAKE(ATimeoutIsIgnored, "race") {
  static std::atomic<bool> go;
  go = false;
  HoldUp(a, &go);
  Fill(x, a);  // [1]
  if (mended) go = true;
  TWIN(aclrtSynchronizeStreamWithTimeout(a, mended ? 60'000 : 1));
  go = true;
  Read(x);  // [2]
}

MISTAKE(ContextsOrderNothing, "race") {
  aclrtContext mine = nullptr, other = nullptr;
  OK(aclrtGetCurrentContext(&mine));
  OK(aclrtCreateContext(&other, 0));
  aclrtStream stream = NewStream();
  Fill(x, stream);  // [1]
  if (mended) Wait(stream);
  OK(aclrtSetCurrentContext(mine));
  Copy(y, x, a);  // [2]
  Wait(a);
  OK(aclrtDestroyContext(other));
}

MISTAKE(ACopyFromAnotherDeviceIsNotWaitedFor, "race") {
  OK(aclrtDeviceEnablePeerAccess(1, 0));
  OK(aclrtSetDevice(1));
  aclrtStream there = NewStream();
  void* theirs = NewBlock();
  OK(aclrtDeviceEnablePeerAccess(0, 0));
  OK(aclrtMemcpyAsync(x, kBytes, theirs, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, there));  // [1]
  if (mended) Wait(there);
  OK(aclrtSetDevice(0));
  Copy(y, x, a);  // [2]
  OK(aclrtSetDevice(1));
  Wait(there);
  Free(theirs);
  OK(aclrtResetDevice(1));
  OK(aclrtSetDevice(0));
}

MISTAKE(TheTimeoutOfAnEventIsIgnored, "race") {
  static std::atomic<bool> go;
  go = false;
  aclrtEvent event = NewEvent();
  HoldUp(a, &go);
  Fill(x, a);  // [1]
  Record(event, a);
  if (mended) go = true;
  TWIN(aclrtSynchronizeEventWithTimeout(event, mended ? 60'000 : 1));
  go = true;
  Copy(y, x, b);  // [2]
}

MISTAKE(AnotherDeviceIsAwaited, "race") {
  Fill(x, a);  // [1]
  OK(aclrtSetDevice(mended ? 0 : 1));
  OK(aclrtSynchronizeDevice());
  if (!mended) OK(aclrtResetDevice(1));
  OK(aclrtSetDevice(0));
  Copy(y, x, b);  // [2]
}

// It lets the wait of this one through.
MISTAKE(ANotifyOfTheLastRoundIsLeft, "race") {
  aclrtNotify notify = nullptr;
  OK(aclrtCreateNotify(&notify, 0));
  if (!mended) OK(aclrtRecordNotify(notify, a));
  Fill(x, a);  // [1]
  OK(aclrtRecordNotify(notify, a));
  OK(aclrtWaitAndResetNotify(notify, b, 0));
  Copy(y, x, b);  // [2]
  OK(aclrtSynchronizeDevice());
  OK(aclrtDestroyNotify(notify));
}

// --- streams that are given up

MISTAKE(AStreamIsGivenUpBeforeItsResultIsRead, "given-up") {
  aclrtStream stream = NewStream();
  Fill(x, stream);  // [2]
  if (mended) Wait(stream);
  OK(aclrtDestroyStreamForce(stream));  // [3]
  Read(x);                              // [1]
}

MISTAKE(AnotherStreamReadsWhatWasGivenUp, "given-up") {
  aclrtStream stream = NewStream();
  Sum(Vector(x), Vector(y), Vector(z), stream);  // [2]
  OK(aclrtDestroyStreamForce(stream));           // [3]
  if (mended) Fill(z, a);
  Copy(y, z, a);  // [1]
}

// It was told to wait for the record, and goes on without it.
MISTAKE(AStreamThatIsGivenUpWasWaitedFor, "given-up") {
  aclrtStream stream = NewStream();
  Fill(x, stream);  // [2]
  Link(stream, a);
  Copy(y, x, a);  // [1]
  if (mended) Wait(a);
  OK(aclrtDestroyStreamForce(stream));  // [3]
}

// Half of it is written again.
MISTAKE(HalfOfWhatWasAbortedIsReplaced, "given-up") {
  Fill(x, b);               // [2]
  OK(aclrtStreamAbort(b));  // [3]
  Fill(x, a, kBytes / 2);
  Copy(y, x, a, mended ? kBytes / 2 : kBytes);  // [1]
}

MISTAKE(WhatAReplayHadToWriteIsRead, "given-up") {
  Begin(a);
  Fill(x, a);
  aclmdlRI model = Finish(a);
  aclrtStream stream = NewStream();
  Launch(model, stream);  // [2]
  if (mended) Wait(stream);
  OK(aclrtDestroyStreamForce(stream));  // [3]
  Read(x);                              // [1]
  OK(aclmdlRIDestroy(model));
}

MISTAKE(WhatIsAddedIsStillWritten, "race") {
  Fill(x, a);  // [1]
  if (mended) Link(a, b);
  OK(aclrtReduceAsync(y, x, kBytes, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_INT8, b, nullptr));  // [2]
}

// A hint, whose order makes no difference.
MISTAKE(APrefetchIsNoWait, "race") {
  Fill(x, a);  // [1]
  OK(aclrtCmoAsync(x, kBytes, ACL_RT_CMO_TYPE_PREFETCH, b));
  if (mended) Link(a, b);
  Copy(y, x, b);  // [2]
}
