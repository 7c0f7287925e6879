// Captures, replays, and what lives too short for them.
#include "aclnnop/aclnn_add.h"
#include "mistakes.h"

using namespace mistakes;

MISTAKE(BranchesOfAGraphMeet, "race") {
  Begin(a);
  Link(a, b);
  Fill(x, a);  // [1]
  if (mended) Link(a, b);
  Copy(y, x, b);  // [2]
  Link(b, a);
  Replay(Finish(a), a);
}

MISTAKE(TwoBranchesWriteOneResult, "race") {
  Begin(a);
  Link(a, b);
  Link(a, c);
  Fill(x, b);  // [1]
  if (mended) Link(b, c);
  Fill(x, c);  // [2]
  Link(b, a);
  Link(c, a);
  Replay(Finish(a), a);
}

MISTAKE(BranchesShareARow, "race") {
  Begin(a);
  Link(a, b);
  Sum(Vector(y, 64), Vector(y, 64), {x, {64}, {1}, 0}, a);                 // [1]
  Sum(Vector(z, 64), Vector(z, 64), {x, {64}, {1}, mended ? 64 : 48}, b);  // [2]
  Link(b, a);
  Replay(Finish(a), a);
}

// The branch joins before its last task is captured, and once more at the end.
MISTAKE(ABranchJoinsTooEarly, "race") {
  Begin(a);
  Link(a, b);
  if (!mended) Link(b, a);
  Fill(x, b);  // [1]
  if (mended) Link(b, a);
  Copy(y, x, a);  // [2]
  Link(b, a);
  Replay(Finish(a), a);
}

MISTAKE(AReplayIsNotWaitedFor, "race") {
  Begin(a);
  Copy(x, y, a);
  aclmdlRI model = Finish(a);
  Launch(model, a);  // [1]
  if (mended) Link(a, b);
  Copy(z, x, b);  // [2]
  End(model, a);
}

MISTAKE(TheInputOfAReplayIsReplacedTooEarly, "race") {
  Begin(a);
  Copy(x, y, a);
  aclmdlRI model = Finish(a);
  Launch(model, a);  // [1]
  if (mended) Wait(a);
  OK(aclrtMemcpy(y, kBytes, host, kBytes, ACL_MEMCPY_HOST_TO_DEVICE));  // [2]
  End(model, a);
}

MISTAKE(TheInputOfAReplayIsNotThereYet, "race") {
  Begin(a);
  Copy(x, y, a);
  aclmdlRI model = Finish(a);
  Fill(y, b);  // [1]
  if (mended) Link(b, a);
  Launch(model, a);  // [2]
  End(model, a);
}

MISTAKE(TheResultOfAReplayIsReadTooEarly, "race") {
  Begin(a);
  Sum(Vector(x), Vector(y), Vector(z), a);
  aclmdlRI model = Finish(a);
  Launch(model, a);  // [1]
  if (mended) Wait(a);
  Read(z);  // [2]
  End(model, a);
}

MISTAKE(OneModelOnTwoStreams, "race") {
  Begin(a);
  Copy(x, y, a);
  aclmdlRI model = Finish(a);
  Launch(model, a);  // [1]
  if (mended) Link(a, b);
  Launch(model, b);  // [2]
  Wait(a);
  End(model, b);
}

MISTAKE(TwoModelsShareAResult, "race") {
  Begin(a);
  Copy(x, y, a);
  aclmdlRI first = Finish(a);
  Begin(b);
  Sum(Vector(x), Vector(x), Vector(z), b);
  aclmdlRI second = Finish(b);
  Launch(first, a);  // [1]
  if (mended) Link(a, b);
  Launch(second, b);  // [2]
  End(first, a);
  End(second, b);
}

// What the capture stream did before the capture is not part of the graph.
MISTAKE(WhatCameBeforeTheCaptureIsNotInIt, "race") {
  Fill(y, a);  // [1]
  Begin(c);
  Copy(x, y, c);
  aclmdlRI model = Finish(c);
  if (mended) Link(a, b);
  Launch(model, b);  // [2]
  End(model, b);
}

MISTAKE(TheMemoryOfAModelIsFreed, "use-after-free") {
  void* block = NewBlock();  // [3]
  Begin(a);
  Copy(x, block, a);
  aclmdlRI model = Finish(a);
  if (!mended) Free(block);              // [2]
  TWIN(aclmdlRIExecuteAsync(model, a));  // [1]
  End(model, a);
  if (mended) Free(block);
}

MISTAKE(MemoryIsFreedDuringAReplay, "free-while-used") {
  void* block = NewBlock();
  Begin(a);
  Copy(x, block, a);
  aclmdlRI model = Finish(a);
  Launch(model, a);  // [2]
  if (mended) Wait(a);
  Free(block);  // [1]
  End(model, a);
}

MISTAKE(AModelIsLaunchedAfterItsEnd, "use-after-destroy") {
  Begin(a);
  Copy(x, y, a);
  aclmdlRI model = Finish(a);
  if (!mended) OK(aclmdlRIDestroy(model));  // [2]
  TWIN(aclmdlRIExecuteAsync(model, a));     // [1]
  Wait(a);
  if (mended) OK(aclmdlRIDestroy(model));
}

// Each join has a record of its own, but the second replaces the first before it is waited for.
MISTAKE(OneEventForTwoJoins, "race") {
  aclrtEvent event = NewEvent();
  Begin(a);
  Record(event, a);
  Await(b, event);
  Await(c, event);
  Fill(x, b);  // [1]
  Record(event, b);
  if (mended) Await(a, event);
  Fill(y, c);
  Record(event, c);
  Await(a, event);
  Copy(z, x, a);  // [2]
  Link(b, a);
  Replay(Finish(a), a);
}

namespace {

// A graph of one operator that updates may replace.
struct Updatable {
  aclrtTaskGrp group = nullptr;
  aclmdlRI model = nullptr;
  Updatable() {
    Begin(a);
    OK(aclmdlRICaptureTaskGrpBegin(a));
    Sum(Vector(x, 256), Vector(x, 256), Vector(y, 256), a);
    OK(aclmdlRICaptureTaskGrpEnd(a, &group));
    model = Finish(a);
  }
  void Update(const View& from, aclrtStream stream) const {
    OK(aclmdlRICaptureTaskUpdateBegin(stream, group));
    Sum(from, from, Vector(y, 256), stream);
    OK(aclmdlRICaptureTaskUpdateEnd(stream));
  }
};

}  // namespace

// The update comes before the launch on the same stream, and nobody waits: it counts all the same.
MISTAKE(TheNewInputOfAGraphIsNotThereYet, "race") {
  const Updatable graph;
  graph.Update({x, {256}, {1}, 512}, a);
  Fill(static_cast<char*>(x) + (mended ? 0 : 2048), b, 1024);  // [1]
  Launch(graph.model, a);                                      // [2]
  End(graph.model, a);
}

MISTAKE(AGraphIsUpdatedWhileItRuns, "race") {
  const Updatable graph;
  Launch(graph.model, a);  // [1]
  if (mended) Link(a, c);
  graph.Update({x, {256}, {1}, 512}, c);  // [2]
  Wait(c);
  End(graph.model, a);
}

MISTAKE(AnUpdateIsNotWaitedFor, "race") {
  const Updatable graph;
  graph.Update({x, {256}, {1}, 512}, c);  // [1]
  if (mended) Link(c, a);
  Launch(graph.model, a);  // [2]
  Wait(c);
  End(graph.model, a);
}

// The launch is accepted, as an update may still come; it fails when the graph gets there.
MISTAKE(TheNewInputOfAGraphIsGone, "use-after-free") {
  void* block = NewBlock();  // [3]
  const Updatable graph;
  graph.Update({block, {256}, {1}}, a);
  Launch(graph.model, a);
  Wait(a);
  if (!mended) Free(block);  // [2]
  Launch(graph.model, a);
  TWIN(aclrtSynchronizeStream(a));  // [1]
  OK(aclmdlRIDestroy(graph.model));
  if (mended) Free(block);
}

MISTAKE(AModelIsDestroyedWhileItRuns, "destroy-while-used") {
  Begin(a);
  Fill(x, a);
  aclmdlRI model = Finish(a);
  Launch(model, b);  // [2]
  if (mended) Wait(b);
  OK(aclmdlRIDestroy(model));  // [1]
}

// What is waited for comes behind another stream's replay.
MISTAKE(AModelIsDestroyedBehindTheWrongWait, "destroy-while-used") {
  Begin(a);
  Copy(y, x, a);
  aclmdlRI model = Finish(a);
  Launch(model, b);  // [2]
  if (mended) Link(b, c);
  Copy(z, x, c);
  Wait(c);
  OK(aclmdlRIDestroy(model));  // [1]
  Wait(b);
}

namespace {

// Fills x, records, and fills y behind that: who waits for the record knows x.
struct Telling {
  aclrtEvent event = nullptr;
  aclmdlRI model = nullptr;
  Telling() {
    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    Begin(a);
    Fill(x, a);
    OK(aclrtRecordEventWithFlag(event, a, ACL_EVENT_RECORD_EXTERNAL));
    Fill(y, a);
    model = Finish(a);
  }
  ~Telling() {
    OK(aclrtSynchronizeDevice());
    OK(aclmdlRIDestroy(model));
    OK(aclrtDestroyEvent(event));
  }
};

}  // namespace

MISTAKE(ARecordInAModelComesTooEarly, "race") {
  Telling telling;
  Launch(telling.model, a);  // [1]
  Await(b, telling.event);
  Copy(z, mended ? x : y, b);  // [2]
}

// By way of another stream.
MISTAKE(ARecordInAModelTellsOfOneBuffer, "race") {
  Telling telling;
  Launch(telling.model, a);  // [1]
  Await(b, telling.event);
  Link(b, c);
  Fill(mended ? x : y, c);  // [2]
}

// The record is the latest launch's.
MISTAKE(ARecordInAModelIsWaitedForBeforeItsLaunch, "race") {
  Telling telling;
  Launch(telling.model, a);
  if (!mended) Await(b, telling.event);
  Launch(telling.model, a);  // [1]
  if (mended) Await(b, telling.event);
  Copy(z, x, b);  // [2]
}

// What the launching stream knew comes before the record, too.
MISTAKE(ARecordInAModelStandsForWhatCameBefore, "race") {
  Telling telling;
  if (mended) Fill(z, a);
  Launch(telling.model, a);
  if (!mended) Fill(z, a);  // [1]
  Await(b, telling.event);
  Copy(static_cast<char*>(x), z, b);  // [2]
}

// The host waits for the record, too, and knows as little.
MISTAKE(TheHostReadsBehindARecordInAModel, "race") {
  Telling telling;
  Launch(telling.model, a);  // [1]
  OK(aclrtSynchronizeEvent(telling.event));
  Read(mended ? x : y);  // [2]
}

MISTAKE(TheHostAsksForARecordInAModelAndGoesOn, "race") {
  Telling telling;
  Launch(telling.model, a);  // [1]
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  while (status != ACL_EVENT_RECORDED_STATUS_COMPLETE) OK(aclrtQueryEventStatus(telling.event, &status));
  Copy(z, mended ? x : y, b);  // [2]
}

// The record tells of x, and the model runs on.
MISTAKE(AModelIsDestroyedBehindARecordInIt, "destroy-while-used") {
  Telling telling;
  aclmdlRI model = nullptr;
  Begin(c);
  Copy(z, x, c);
  OK(aclrtRecordEventWithFlag(telling.event, c, ACL_EVENT_RECORD_EXTERNAL));
  Copy(y, z, c);
  model = Finish(c);
  Launch(model, a);  // [2]
  Await(b, telling.event);
  Wait(mended ? a : b);
  OK(aclmdlRIDestroy(model));  // [1]
}

MISTAKE(MemoryIsFreedBehindARecordInAModel, "free-while-used") {
  aclrtEvent event = nullptr;
  OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
  void *before = NewBlock(), *behind = NewBlock();
  Begin(a);
  Fill(before, a);
  OK(aclrtRecordEventWithFlag(event, a, ACL_EVENT_RECORD_EXTERNAL));
  Fill(behind, a);
  aclmdlRI model = Finish(a);
  Launch(model, a);  // [2]
  Await(b, event);
  Wait(b);
  Free(before);  // the record told of that
  if (mended) Wait(a);
  Free(behind);  // [1]
  Wait(a);
  OK(aclmdlRIDestroy(model));
  OK(aclrtDestroyEvent(event));
}

MISTAKE(AModelIsDestroyedWhileOneOfTwoReplaysRuns, "destroy-while-used") {
  Begin(a);
  Copy(y, x, a);
  aclmdlRI model = Finish(a);
  Launch(model, b);
  Link(b, c);
  Launch(model, c);  // [2]
  Wait(mended ? c : b);
  OK(aclmdlRIDestroy(model));  // [1]
  Wait(c);
}

// The upload is a node, which reads the host's memory at each launch.
MISTAKE(AnUploadInAGraphIsFilledTooEarly, "race") {
  Begin(a);
  OK(aclrtMemcpyAsync(x, kBytes, pinned, kBytes, ACL_MEMCPY_HOST_TO_DEVICE, a));
  Copy(y, x, a);
  aclmdlRI model = Finish(a);
  Launch(model, a);  // [1]
  if (mended) Wait(a);
  OK(aclrtMemcpy(pinned, kBytes, z, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));  // [2]
  End(model, a);
}

// What both have between their first node and their last lies in one block.
MISTAKE(TwoModelsShareABlockBetween, "race") {
  Begin(a);
  Copy(z, x, a);
  Copy(pinned, z, a);
  aclmdlRI first = Finish(a);
  Begin(b);
  Copy(z, y, b);
  Copy(x, z, b);
  aclmdlRI second = Finish(b);
  Launch(first, a);  // [1]
  if (mended) Link(a, b);
  Launch(second, b);  // [2]
  Wait(a);
  End(second, b);
  End(first, a);
}
