// What waits for what never comes.
#include "mistakes.h"

using namespace mistakes;

MISTAKE(TwoStreamsWaitForEachOther, "hang") {
  aclrtEvent first = nullptr, second = nullptr;
  OK(aclrtCreateEvent(&first));
  OK(aclrtCreateEvent(&second));
  Await(a, first);                // [1]
  if (!mended) Await(b, second);  // [3]
  Record(first, b);               // [2]
  Record(second, a);
  if (mended) Await(b, second);
}

MISTAKE(ThreeStreamsWaitInACircle, "hang") {
  aclrtEvent events[3];
  for (aclrtEvent& event : events) OK(aclrtCreateEvent(&event));
  aclrtStream streams[] = {a, b, c};
  if (mended) Record(events[0], a);
  for (int i = 0; i < 3; ++i) Await(streams[i], events[i]);  // [1]
  for (int i = 0; i < 3; ++i) Record(events[(i + 1) % 3], streams[i]);
}

MISTAKE(NobodyRecordsTheEvent, "hang") {
  aclrtEvent event = nullptr;
  OK(aclrtCreateEvent(&event));
  if (mended) Record(event, b);
  Await(a, event);  // [1]
  Fill(x, a);
}

// It was recorded; but then it was reset.
MISTAKE(TheEventWasReset, "hang") {
  aclrtEvent event = nullptr;
  OK(aclrtCreateEvent(&event));
  Record(event, b);
  Wait(b);
  if (!mended) OK(aclrtResetEvent(event, b));
  Wait(b);
  Await(a, event);  // [1]
}

MISTAKE(TheNotifyComesAfterItsWait, "hang") {
  aclrtNotify notify = nullptr;
  OK(aclrtCreateNotify(&notify, 0));
  if (mended) OK(aclrtRecordNotify(notify, a));
  OK(aclrtWaitAndResetNotify(notify, a, 0));  // [1]
  if (!mended) OK(aclrtRecordNotify(notify, a));
}

// A notify lets one wait through.
MISTAKE(OneNotifyForTwoWaits, "hang") {
  aclrtNotify notify = nullptr;
  OK(aclrtCreateNotify(&notify, 0));
  OK(aclrtRecordNotify(notify, a));
  OK(aclrtWaitAndResetNotify(notify, a, 0));
  if (mended) OK(aclrtRecordNotify(notify, a));
  OK(aclrtWaitAndResetNotify(notify, a, 0));  // [1]
}

// --- what waits for nothing

MISTAKE(TheWaitComesBeforeTheRecord, "wait-before-record") {
  aclrtEvent filled = nullptr;
  OK(aclrtCreateEventExWithFlag(&filled, ACL_EVENT_SYNC));
  if (mended) Record(filled, a);
  Await(b, filled);  // [1]
  if (!mended) Record(filled, a);
}

// What is told of with an option: then the end of the program should have something to wait for.
MISTAKE(NothingIsOnTheStream, "nothing-awaited") {
  if (mended) Fill(x, a);
  Wait(a);  // [1]
  Fill(y, b);
}

MISTAKE(AllWasAwaitedBefore, "nothing-awaited") {
  for (int step = 0; step < 3; ++step) {
    Fill(x, a);
    Wait(a);
    if (mended) Copy(y, x, a);
    Wait(a);  // [1]
  }
  Fill(z, b);
}

MISTAKE(TheDeviceIsAwaitedOnceMore, "nothing-awaited") {
  Fill(x, a);
  Fill(y, b);
  Wait(a);
  if (!mended) Wait(b);
  OK(aclrtSynchronizeDevice());  // [1]
  Fill(z, c);
}
