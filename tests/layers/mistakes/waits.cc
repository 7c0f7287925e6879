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
