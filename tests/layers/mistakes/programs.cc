// Small programs of the kinds that pages show: threads that pass buffers on, promises, pools, pipelines,
// graphs that are updated.
#include <condition_variable>
#include <cstring>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "mistakes.h"

using namespace mistakes;

namespace {

volatile char& ByteOf(const void* block, size_t place = 0) {
  return static_cast<volatile char*>(const_cast<void*>(block))[place];
}

// What one thread leaves for another.
template <class T>
class Mailbox {
 public:
  void Put(T value) {
    std::lock_guard guard(lock_);
    value_ = value;
    changed_.notify_one();
  }
  T Take() {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [&] { return value_.has_value(); });
    const T value = *value_;
    value_.reset();
    return value;
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::optional<T> value_;
};

void Keep(void* promise) { static_cast<std::promise<void>*>(promise)->set_value(); }

}  // namespace

// Two threads with a stream each. The second says by an event when it has read what the first has filled.
MISTAKE(TheBufferIsNotGivenBack, "race") {
  Mailbox<aclrtEvent> full, empty;
  aclrtEvent filled = NewEvent(), read = NewEvent();
  std::thread reader([&] {
    OK(aclrtSetDevice(0));
    for (int round = 0; round < 2; ++round) {
      Await(b, full.Take());
      Copy(round == 0 ? y : z, x, b);  // [1]
      Record(read, b);
      empty.Put(read);
    }
  });
  for (int round = 0; round < 2; ++round) {
    Fill(x, a);  // [2]
    Record(filled, a);
    full.Put(filled);
    const aclrtEvent given_back = empty.Take();
    if (mended) Await(a, given_back);
  }
  reader.join();
}

MISTAKE(APromiseIsKeptTooEarly, "race") {
  std::promise<void> done;
  if (!mended) OK(aclrtLaunchHostFunc(a, &Keep, &done));
  Copy(pinned, x, a);  // [1]
  if (mended) OK(aclrtLaunchHostFunc(a, &Keep, &done));
  done.get_future().wait();
  host[0] = ByteOf(pinned);  // [2]
}

// How long it took can be told only of what is over.
MISTAKE(TheTimeIsNotAskedFor, "race") {
  aclrtEvent begin = nullptr, end = nullptr;
  for (aclrtEvent* event : {&begin, &end}) OK(aclrtCreateEventWithFlag(event, ACL_EVENT_TIME_LINE));
  Record(begin, a);
  Copy(pinned, x, a);  // [1]
  Record(end, a);
  float took = 0;
  while (mended && aclrtEventElapsedTime(&took, begin, end) != ACL_SUCCESS) aclGetRecentErrMsg();
  host[0] = ByteOf(pinned);  // [2]
  Wait(a);
  for (aclrtEvent event : {begin, end}) OK(aclrtDestroyEvent(event));
}

// A wait that has passed says that the record before it was reached.
MISTAKE(NobodyAsksWhetherTheWaitHasPassed, "race") {
  aclrtEvent copied = nullptr;
  OK(aclrtCreateEventWithFlag(&copied, ACL_EVENT_SYNC));
  Copy(pinned, x, a);  // [1]
  Record(copied, a);
  Await(b, copied);
  aclrtEventWaitStatus status = ACL_EVENT_WAIT_STATUS_NOT_READY;
  while (mended && status != ACL_EVENT_WAIT_STATUS_COMPLETE) OK(aclrtQueryEventWaitStatus(copied, &status));
  host[0] = ByteOf(pinned);  // [2]
  OK(aclrtSynchronizeDevice());
  OK(aclrtDestroyEvent(copied));
}

// The end of a stream waits for what is on it.
MISTAKE(TheStreamEndsBehindTheUse, "race") {
  aclrtStream own = NewStream();
  Copy(pinned, x, own);  // [1]
  if (mended) End(own);
  host[0] = ByteOf(pinned);  // [2]
  if (!mended) End(own);
}

// A part of a pool goes from one stream to another.
MISTAKE(APoolHandsOutAPartTooEarly, "race") {
  auto* pool = static_cast<char*>(x);
  constexpr size_t kPart = 512;
  std::vector<char*> free{pool, pool + kPart, pool + 2 * kPart};
  const auto take = [&] {
    char* part = free.back();
    free.pop_back();
    return part;
  };
  char *first = take(), *second = take();
  Copy(y, first, a, kPart);  // [1]
  Fill(second, c, kPart);
  free.push_back(first);
  if (mended) Link(a, b);
  Fill(take(), b, kPart);  // [2]
}

// Columns of a matrix of 64 x 64 bytes, by copies of rectangles.
MISTAKE(RectanglesOverlap, "race") {
  constexpr size_t kPitch = 64, kRows = 64;
  auto* matrix = static_cast<char*>(x);
  OK(aclrtMemcpy2dAsync(matrix, kPitch, y, kPitch, 24, kRows, ACL_MEMCPY_DEVICE_TO_DEVICE, a));  // [1]
  char* other = matrix + (mended ? 24 : 23);
  OK(aclrtMemcpy2dAsync(other, kPitch, z, kPitch, 40, kRows, ACL_MEMCPY_DEVICE_TO_DEVICE, b));  // [2]
}

// The first of two halves is filled again when its own upload is over; that of the other says nothing.
MISTAKE(TheOtherHalfsEventIsAsked, "race") {
  constexpr size_t kHalves = 2;
  void *block[kHalves] = {NewPinned(), NewPinned()}, *batches[] = {x, y, z};
  aclrtEvent uploaded[kHalves] = {NewEvent(), NewEvent()};
  aclrtStream of[kHalves] = {a, b};
  for (size_t batch = 0; batch < 3; ++batch) {
    const size_t half = batch % kHalves;
    if (batch >= kHalves) OK(aclrtSynchronizeEvent(uploaded[mended ? half : 1 - half]));
    std::memset(block[half], static_cast<int>(batch) + 1, kBytes);  // [2]
    Copy(batches[batch], block[half], of[half]);                    // [1]
    Record(uploaded[half], of[half]);
  }
  OK(aclrtSynchronizeDevice());
  for (void* half : block) OK(aclrtFreeHost(half));
}

MISTAKE(OneThreadHasAStreamOfItsOwn, "race") {
  InThread([] {
    OK(aclrtMemsetAsync(x, kBytes, 1, kBytes, nullptr));  // [1]
  });
  InThread([] {
    Copy(y, x, mended ? nullptr : b);  // [2]
  });
  OK(aclrtSynchronizeStream(nullptr));
}

// An operator in a graph writes elsewhere since the update.
MISTAKE(TheResultOfAnUpdatedGraphIsReadTooEarly, "race") {
  aclrtTaskGrp group = nullptr;
  Begin(a);
  OK(aclmdlRICaptureTaskGrpBegin(a));
  Sum(Vector(x), Vector(x), Vector(y), a);
  OK(aclmdlRICaptureTaskGrpEnd(a, &group));
  aclmdlRI model = Finish(a);
  OK(aclmdlRICaptureTaskUpdateBegin(c, group));
  Sum(Vector(x), Vector(x), Vector(z), c);
  OK(aclmdlRICaptureTaskUpdateEnd(c));
  Wait(c);
  Launch(model, a);                 // [1]
  Copy(pinned, mended ? y : z, b);  // [2]
  Wait(b);
  End(model, a);
}

// In the mode that is for all threads no other one may make such a call, either.
MISTAKE(AnotherThreadSpoilsACapture, "spoiled-capture") {
  OK(aclmdlRICaptureBegin(
      a, mended ? ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL : ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  Copy(y, x, a);
  InThread([] {
    TWIN(aclrtMemcpy(z, kBytes, host, kBytes, ACL_MEMCPY_HOST_TO_DEVICE));  // [1]
  });
  aclmdlRI model = nullptr;
  TWIN(aclmdlRICaptureEnd(a, &model));
  if (mended) Replay(model, a);
}
