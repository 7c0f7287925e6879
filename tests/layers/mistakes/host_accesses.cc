// Loads and stores of the host, by no call, while a copy is pending.
#include <fcntl.h>
#include <signal.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <future>
#include <thread>

#include "mistakes.h"

using namespace mistakes;

namespace {

volatile char& At(size_t place, void* block = nullptr) {
  return static_cast<volatile char*>(block == nullptr ? pinned : block)[place];
}

void Check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s is not so: the program gave way\n", what);
  _exit(5);
}

void* Pinned(size_t bytes) {
  void* block = nullptr;
  OK(aclrtMallocHost(&block, bytes));
  std::memset(block, 0, bytes);
  return block;
}

int NullFile(int mode) { return open(mode == O_WRONLY ? "/dev/null" : "/dev/zero", mode); }

}  // namespace

MISTAKE(AStoreToWhatIsBeingUploaded, "race") {
  Copy(x, pinned, a);  // [1]
  if (mended) Wait(a);
  At(100) = 1;  // [2]
  Check(At(100) == 1, "the store");
}

MISTAKE(ALoadOfWhatIsBeingDownloaded, "race") {
  Copy(pinned, x, a);  // [1]
  if (mended) Wait(a);
  host[0] = At(4095);  // [2]
}

MISTAKE(AStoreToWhatIsBeingDownloaded, "race") {
  Copy(pinned, x, a);  // [1]
  if (mended) Wait(a);
  At(0) = 1;  // [2]
}

// What only reads may be read.
MISTAKE(ALoadIsNoStore, "race") {
  Copy(x, pinned, a);  // [1]
  host[0] = At(0);
  if (!mended) At(1) = host[0];  // [2]
}

MISTAKE(MemsetIsManyStores, "race") {
  Copy(x, pinned, a);  // [1]
  if (mended) Wait(a);
  std::memset(pinned, 3, kBytes);  // [2]
}

MISTAKE(AQueryIsNotLookedAt, "race") {
  Copy(pinned, x, a);  // [1]
  aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
  while (mended && status != ACL_STREAM_STATUS_COMPLETE) OK(aclrtStreamQuery(a, &status));
  host[0] = At(7);  // [2]
}

MISTAKE(AnEventOfTheHostComesTooEarly, "race") {
  aclrtEvent event = NewEvent();
  if (!mended) Record(event, a);
  Copy(pinned, x, a);  // [1]
  if (mended) Record(event, a);
  OK(aclrtSynchronizeEvent(event));
  host[0] = At(7);  // [2]
}

MISTAKE(AnotherThreadStores, "race") {
  Copy(x, pinned, a);  // [1]
  if (mended) Wait(a);
  InThread([] {
    At(9) = 1;  // [2]
  });
}

// As a library does that sums up in parallel: the same wait is missing.
MISTAKE(SeveralThreadsLoad, "race") {
  constexpr size_t kPages = 4;
  void *block = Pinned(kPages * kBytes), *from = NewBlock(kPages * kBytes);
  OK(aclrtMemset(from, kPages * kBytes, 7, kPages * kBytes));
  Copy(block, from, a, kPages * kBytes);  // [1]
  if (mended) Wait(a);
  host[0] = At(0, block);  // [2]
  for (size_t page = 1; page < kPages; ++page) {
    InThread([&] { host[page] = At(page * kBytes, block); });
  }
  Wait(a);
  OK(aclrtFreeHost(block));
  Free(from);
}

MISTAKE(TheWrongStreamIsWaitedFor, "race") {
  Copy(pinned, x, a);  // [1]
  Wait(mended ? a : b);
  host[0] = At(0);  // [2]
}

// Two halves of one block, of which one is being uploaded.
MISTAKE(TheOtherHalfIsFree, "race") {
  void* block = Pinned(4 * kBytes);
  Copy(x, block, a);                            // [1]
  At(mended ? kBytes : kBytes - 1, block) = 1;  // [2]
  Wait(a);
  OK(aclrtFreeHost(block));
}

// One of two copies of a buffer is waited for.
MISTAKE(ASecondCopyReadsOn, "race") {
  Copy(y, pinned, a);
  Copy(x, pinned, b);  // [1]
  Wait(a);
  if (mended) Wait(b);
  At(0) = 1;  // [2]
}

MISTAKE(AReplayIsPending, "race") {
  Begin(a);
  Copy(pinned, x, a);
  aclmdlRI model = Finish(a);
  Launch(model, a);  // [1]
  if (mended) Wait(a);
  host[0] = At(0);  // [2]
  End(model, a);
}

MISTAKE(AFileIsReadIntoAnUpload, "race") {
  const int zeros = NullFile(O_RDONLY);
  Copy(x, pinned, a);  // [1]
  if (mended) Wait(a);
  Check(read(zeros, pinned, kBytes) == kBytes, "read");  // [2]
  close(zeros);
}

MISTAKE(ADownloadIsWrittenTooEarly, "race") {
  int ends[2];
  Check(pipe(ends) == 0, "pipe");
  Copy(pinned, x, a);  // [1]
  if (mended) Wait(a);
  const iovec piece{pinned, 16};
  Check(writev(ends[1], &piece, 1) == 16, "writev");  // [2]
  Check(read(ends[0], host, 16) == 16, "read");
  close(ends[0]);
  close(ends[1]);
}

MISTAKE(ADownloadIsWrittenByTheLibrary, "race") {
  std::FILE* file = std::tmpfile();
  Copy(pinned, x, a);  // [1]
  if (mended) Wait(a);
  Check(std::fwrite(pinned, 1, kBytes, file) == kBytes, "fwrite");  // [2]
  std::rewind(file);
  Check(std::fread(host, 1, kBytes, file) == kBytes, "fread");
  std::fclose(file);
}

// The program has a handler of its own, and every signal blocked.
MISTAKE(AHandlerOfTheProgramStays, "race") {
  static volatile sig_atomic_t called = 0;
  struct sigaction own {
  }, old{};
  own.sa_handler = [](int) { called = called + 1; };
  Check(sigaction(SIGSEGV, &own, nullptr) == 0, "sigaction");
  Check(sigaction(SIGSEGV, nullptr, &old) == 0 && old.sa_handler == own.sa_handler, "what sigaction tells");
  sigset_t all;
  sigfillset(&all);
  Check(pthread_sigmask(SIG_BLOCK, &all, nullptr) == 0, "pthread_sigmask");
  Copy(x, pinned, a);  // [1]
  if (mended) Wait(a);
  At(0) = 1;  // [2]
  Check(called == 0, "that the program's handler rests");
  raise(SIGSEGV);
  Check(called == 1, "that the program's handler is called");
  Check(signal(SIGSEGV, SIG_DFL) == own.sa_handler, "what signal tells");
}

MISTAKE(AStackForSignalsIsShort, "race") {
  static char room[16384];
  const stack_t stack{room, 0, sizeof room};
  Check(sigaltstack(&stack, nullptr) == 0, "sigaltstack");
  Copy(x, pinned, a);  // [1]
  if (mended) Wait(a);
  At(0) = 1;  // [2]
  const stack_t none{nullptr, SS_DISABLE, 0};
  Check(sigaltstack(&none, nullptr) == 0, "sigaltstack");
}

// What was touched is looked at again after the next call.
MISTAKE(TheSecondStoreIsSeenToo, "race race") {
  Copy(x, pinned, a);  // [1]
  if (mended) Wait(a);
  At(0) = 1;  // [2]
  Fill(y, b);
  At(0) = 2;
}

// A child has memory of its own, and no copy is pending there.
MISTAKE(AChildHasItsOwn, "race") {
  At(0) = 5;
  Copy(x, pinned, a);  // [1]
  const pid_t child = fork();
  if (child == 0) {
    At(0) = 6;
    const int file = NullFile(O_RDONLY);
    _exit(read(file, pinned, kBytes) == kBytes && At(0) == 0 ? 0 : 1);
  }
  int status = 0;
  Check(waitpid(child, &status, 0) == child && status == 0, "what the child has done");
  Check(At(0) == 5, "that the child has its own");
  if (!mended) At(0) = 1;  // [2]
}

// Which the host knows to be over when the function is called.
MISTAKE(AHostFunctionComesTooEarly, "race") {
  static volatile bool called;
  const auto call = [] {
    OK(aclrtLaunchHostFunc(
        a,
        [](void*) {
          if (mended) host[1] = At(1);
          called = true;
        },
        nullptr));
  };
  if (!mended) call();
  Copy(pinned, x, a);  // [1]
  if (mended) call();
  while (!called) usleep(100);
  host[0] = At(0);  // [2]
}

// The function waits for the store, and what lies behind it on the stream comes later.
MISTAKE(TheGateOpensBeforeTheStore, "race") {
  static std::atomic<bool> open;
  open = false;
  HoldUp(a, &open);
  Copy(x, pinned, a);  // [1]
  if (!mended) open = true;
  At(100) = 1;  // [2]
  open = true;
}

// A thread that has the block from one function of the stream to the next, and hands it on as they wait for
// it.
MISTAKE(AThreadStoresForAFunctionThatGoesOn, "race") {
  static std::atomic<int> asked, answered, submitted;
  asked = answered = submitted = 0;
  const int rounds = mended ? 3 : 1;
  std::thread writer([rounds] {
    for (int round = 1; round <= rounds; ++round) {
      while (asked < round || submitted < round) std::this_thread::yield();
      At(100) = static_cast<char>(round);  // [2]
      answered = round;
    }
  });
  for (int round = 0; round < rounds; ++round) {
    Copy(pinned, x, a);
    OK(aclrtLaunchHostFunc(
        a,
        [](void*) {
          const int round = ++asked;
          while (mended && answered < round) std::this_thread::yield();
        },
        nullptr));
    Copy(y, pinned, a);  // [1]
    ++submitted;
  }
  writer.join();
}

// A word in memory orders: that what was before it is over the host sees when it sees the word. And copies
// arrive as they should, whatever is closed.
MISTAKE(NoWordTellsTheHost, "race") {
  auto* word = static_cast<uint64_t*>(z);
  *word = 0;
  void* block = Pinned(3 * kBytes + 100);
  std::memset(block, 9, 3 * kBytes + 100);
  void* there = NewBlock(3 * kBytes + 100);
  Copy(there, block, a, 3 * kBytes + 100);
  Copy(block, there, a, 3 * kBytes + 100);  // [1]
  if (mended) OK(aclrtValueWrite(word, 1, 0, a));
  while (mended && __atomic_load_n(word, __ATOMIC_ACQUIRE) == 0) usleep(100);
  host[0] = At(kBytes, block);  // [2]
  Wait(a);
  for (size_t i = 0; i < 3 * kBytes + 100; ++i) Check(At(i, block) == 9, "what was copied");
  Free(there);
  OK(aclrtFreeHost(block));
}

MISTAKE(ACounterInADownload, "race") {
  Copy(pinned, x, a);  // [1]
  if (mended) Wait(a);
  __atomic_fetch_add(static_cast<int*>(pinned), 1, __ATOMIC_RELAXED);  // [2]
  Wait(a);
}

MISTAKE(BytesMoveInWhatIsBeingUploaded, "race") {
  Copy(x, pinned, a);  // [1]
  if (mended) Wait(a);
  std::memmove(static_cast<char*>(pinned) + 8, pinned, kBytes - 8);  // [2]
  Wait(a);
}

// A thread of the program takes callbacks, and asks for the next again and again.
MISTAKE(ASubscribedCallbackComesTooEarly, "race") {
  std::atomic<bool> stop = false;
  std::promise<void> done;
  std::thread reporter([&] {
    while (!stop) aclrtProcessReport(1);
  });
  OK(aclrtSubscribeReport(reporter.native_handle(), a));
  const auto call_back = [&] {
    OK(aclrtLaunchCallback([](void* promise) { static_cast<std::promise<void>*>(promise)->set_value(); },
                           &done, ACL_CALLBACK_BLOCK, a));
  };
  if (!mended) call_back();
  Copy(pinned, x, a);  // [1]
  if (mended) call_back();
  done.get_future().wait();
  host[0] = At(0, pinned);  // [2]
  Wait(a);
  OK(aclrtUnSubscribeReport(reporter.native_handle(), a));
  stop = true;
  reporter.join();
}

// --- functions that a stream calls and does not wait for

namespace {

// A thread of the program that takes the callbacks of the first stream.
class Reporter {
 public:
  Reporter() : thread_([this] { Report(); }) { OK(aclrtSubscribeReport(thread_.native_handle(), a)); }
  ~Reporter() {
    OK(aclrtUnSubscribeReport(thread_.native_handle(), a));
    stop_ = true;
    thread_.join();
  }
  void Launch(void (*function)(void*), bool blocks) {
    OK(aclrtLaunchCallback(function, &over_, blocks ? ACL_CALLBACK_BLOCK : ACL_CALLBACK_NO_BLOCK, a));
  }
  void Await() {
    while (!over_) usleep(100);
  }

 private:
  void Report() {
    while (!stop_) aclrtProcessReport(1);
  }

  std::atomic<bool> stop_ = false, over_ = false;
  std::thread thread_;
};

void IsOver(void* over) { *static_cast<std::atomic<bool>*>(over) = true; }

// Where others need the cores a function may be over before the program makes the call that it meets: it
// waits for that call, but in the mended twin, where the call may wait for the function.
std::atomic<bool> g_called;
void AwaitCall() {
  while (!g_called) std::this_thread::yield();
}

}  // namespace

// The upload reads what the function may not have stored.
MISTAKE(ACallbackStoresInTheNextUpload, "race") {
  g_called = mended;
  Reporter reporter;
  reporter.Launch(
      [](void* over) {
        AwaitCall();
        At(0) = 1;  // [2]
        IsOver(over);
      },
      mended);
  Copy(x, pinned, a);  // [1]
  g_called = true;
  Wait(a);
  reporter.Await();
}

// It takes the last results while the next come.
MISTAKE(ACallbackTakesWhatTheNextDownloadReplaces, "race") {
  g_called = mended;
  Reporter reporter;
  Copy(pinned, x, a);
  reporter.Launch(
      [](void* over) {
        AwaitCall();
        host[0] = At(0);  // [2]
        IsOver(over);
      },
      false);
  if (mended) reporter.Await();
  Copy(pinned, y, a);  // [1]
  g_called = true;
  Wait(a);
  reporter.Await();
}

// By a call: the operator behind the callback reads what the call brings.
MISTAKE(ACallbackUploadsForTheNextOperator, "race") {
  g_called = mended;
  Reporter reporter;
  reporter.Launch(
      [](void* over) {
        AwaitCall();
        OK(aclrtSetDevice(0));
        OK(aclrtMemcpy(x, kBytes, host, kBytes, ACL_MEMCPY_HOST_TO_DEVICE));  // [2]
        IsOver(over);
      },
      mended);
  Copy(y, x, a);  // [1]
  g_called = true;
  Wait(a);
  reporter.Await();
}

// Less than a page: what it has stored is seen when the upload is over.
MISTAKE(ACallbackStoresALengthForTheNextUpload, "race") {
  g_called = mended;
  Reporter reporter;
  reporter.Launch(
      [](void* over) {
        AwaitCall();
        At(9) = static_cast<char>(At(9) + 1);
        IsOver(over);
      },
      mended);
  Copy(x, static_cast<char*>(pinned) + 8, a, 16);  // [1]
  g_called = true;
  Wait(a);  // [2]
  reporter.Await();
}

// What comes before the function on its stream is over when it begins.
MISTAKE(ACallbackFreesWhatTheNextReads, "free-while-used") {
  g_called = mended;
  static void* block;
  block = NewBlock();
  Reporter reporter;
  Copy(x, block, a);
  if (mended) Copy(y, block, a);
  reporter.Launch(
      [](void* over) {
        AwaitCall();
        OK(aclrtSetDevice(0));
        Free(block);  // [1]
        IsOver(over);
      },
      false);
  if (!mended) Copy(y, block, a);  // [2]
  g_called = true;
  Wait(a);
  reporter.Await();
}

MISTAKE(ADownloadThatWasGivenUpIsLoaded, "given-up") {
  aclrtStream stream = NewStream();
  Copy(pinned, x, stream);              // [2]
  OK(aclrtDestroyStreamForce(stream));  // [3]
  if (mended) At(0) = 1;
  host[0] = At(0);  // [1]
}

// --- functions that a stream waits for, and another one does not

MISTAKE(ACallbackOfOneStreamStoresForAnother, "race") {
  g_called = mended;
  const auto store = [](void*) {
    AwaitCall();
    static_cast<volatile char*>(pinned)[0] = 9;  // [2]
  };
  OK(aclrtLaunchHostFunc(a, store, nullptr));
  if (mended) Link(a, b);
  Copy(x, pinned, b);  // [1]
  g_called = true;
}

MISTAKE(AFunctionReadsWhatAnotherStreamDownloads, "race") {
  Copy(pinned, x, b);  // [1]
  if (mended) Link(b, a);
  const auto load = [](void*) { host[0] = *static_cast<volatile char*>(pinned); };  // [2]
  OK(aclrtLaunchHostFunc(a, load, nullptr));
  Wait(a);
}

MISTAKE(ACallbackFreesWhatAnotherStreamReads, "free-while-used") {
  static void* block;
  block = NewBlock();
  Copy(y, block, b);  // [2]
  if (mended) Link(b, a);
  const auto free = [](void*) {
    OK(aclrtSetDevice(0));
    Free(block);  // [1]
  };
  OK(aclrtLaunchHostFunc(a, free, nullptr));
  Wait(a);
}
