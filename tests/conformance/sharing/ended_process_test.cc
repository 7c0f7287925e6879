// A process that shares ends without a word: what waits for it fails, and nothing of it stays.
#include <spawn.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdlib>
#include <random>

#include "two_processes.h"

extern char** environ;

namespace {

using namespace conformance;

constexpr int kPeerEnded = ACL_ERROR_RT_IPC_ERROR;

class EndedProcess : public Sharing {
 protected:
  static std::string Process(int pid) { return "process " + std::to_string(pid); }
  // ... that it never sets.
  static void OfferANotify(Channel& channel) {
    channel.Send(KeyOf(NewNotify()));
    channel.Receive<bool>();
  }
};

// A record that its process never reaches.
void RecordBehindAGate(aclrtEvent event) {
  aclrtStream stream = nullptr;
  EXPECT_OK(aclrtCreateStream(&stream));
  static Hold* hold = new Hold(stream);
  hold->AwaitReached();
  EXPECT_OK(aclrtRecordEvent(event, stream));
}

TEST_F(EndedProcess, AnExporterWithARecordPending) {
  OtherProcess other([](Channel& channel) {
    aclrtEvent event = NewIpcEvent();
    RecordBehindAGate(event);
    channel.Send(HandleOf(event));
    channel.Receive<bool>();
  });
  Start();
  int pid = other.pid();
  aclrtEvent event = Open(other.channel.Receive<aclrtIpcEventHandle>());
  aclrtStream stream = NewStream();
  EXPECT_OK(aclrtStreamWaitEvent(stream, event));
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
  EXPECT_OK(aclrtQueryEventStatus(event, &status));
  EXPECT_EQ(status, ACL_EVENT_RECORDED_STATUS_NOT_READY);
  std::thread waits([&] {
    EXPECT_OK(aclrtSetDevice(0));
    EXPECT_REFUSED(kPeerEnded, aclrtSynchronizeEvent(event), Process(pid).c_str());
  });
  other.Kill();
  EXPECT_REFUSED(kPeerEnded, aclrtSynchronizeStream(stream), Process(pid).c_str());
  waits.join();
  EXPECT_REFUSED(kPeerEnded, aclrtQueryEventStatus(event, &status), "has ended");
  EXPECT_REFUSED(kPeerEnded, aclrtSynchronizeEventWithTimeout(event, 60'000), "has ended");
  aclrtStream later = NewStream();
  EXPECT_OK(aclrtStreamWaitEvent(later, event));
  EXPECT_REFUSED(kPeerEnded, aclrtSynchronizeStream(later), "event record");
  // The event goes on to serve this process.
  EXPECT_OK(aclrtRecordEvent(event, later));
  EXPECT_OK(aclrtSynchronizeEvent(event));
  EXPECT_OK(aclrtDestroyEvent(event));
}

TEST_F(EndedProcess, ARecordThatWasReachedStays) {
  OtherProcess other([](Channel& channel) {
    aclrtEvent event = NewIpcEvent();
    aclrtStream stream = NewStream();
    EXPECT_OK(aclrtRecordEvent(event, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    channel.Send(HandleOf(event));
    channel.Receive<bool>();
  });
  Start();
  aclrtEvent event = Open(other.channel.Receive<aclrtIpcEventHandle>());
  other.Kill();
  aclrtStream stream = NewStream();
  EXPECT_OK(aclrtStreamWaitEvent(stream, event));
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_OK(aclrtSynchronizeEvent(event));
}

TEST_F(EndedProcess, AnImporterWithARecordPending) {
  OtherProcess other([](Channel& channel) {
    aclrtEvent event = Open(channel.Receive<aclrtIpcEventHandle>());
    RecordBehindAGate(event);
    channel.Send(true);
    channel.Receive<bool>();
  });
  OtherProcess third([](Channel& channel) {
    aclrtEvent event = Open(channel.Receive<aclrtIpcEventHandle>());
    aclrtStream stream = NewStream();
    EXPECT_OK(aclrtStreamWaitEvent(stream, event));
    channel.Send(true);
    EXPECT_REFUSED(kPeerEnded, aclrtSynchronizeStream(stream), Process(channel.Receive<int>()).c_str());
  });
  Start();
  int pid = other.pid();
  aclrtEvent event = NewIpcEvent();
  other.channel.Send(HandleOf(event));
  other.channel.Receive<bool>();
  third.channel.Send(HandleOf(event));
  third.channel.Receive<bool>();
  aclrtStream stream = NewStream();
  EXPECT_OK(aclrtStreamWaitEvent(stream, event));
  other.Kill();
  third.channel.Send(pid);
  EXPECT_REFUSED(kPeerEnded, aclrtSynchronizeStream(stream), Process(pid).c_str());
  EXPECT_REFUSED(kPeerEnded, aclrtSynchronizeEvent(event), Process(pid).c_str());
  third.Join();
  EXPECT_OK(aclrtRecordEvent(event, stream));
  EXPECT_OK(aclrtSynchronizeEvent(event)) << "the next record counts";
}

TEST_F(EndedProcess, TheOwnerOfANotify) {
  OtherProcess other(&OfferANotify);
  Start();
  int pid = other.pid();
  aclrtNotify notify = OpenNotify(other.channel.Receive<Key>());
  aclrtStream stream = NewStream();
  EXPECT_OK(aclrtWaitAndResetNotify(notify, stream, 0));
  other.Kill();
  EXPECT_REFUSED(kPeerEnded, aclrtSynchronizeStream(stream), Process(pid).c_str());
}

// Whether it had a record of it queued or not.
TEST_F(EndedProcess, TheImporterOfANotify) {
  for (bool queued : {false, true}) {
    SCOPED_TRACE(queued);
    auto body = [queued](Channel& channel) {
      aclrtNotify notify = OpenNotify(channel.Receive<Key>());
      aclrtStream stream = NewStream();
      Hold hold(stream);
      hold.AwaitReached();
      if (queued) EXPECT_OK(aclrtRecordNotify(notify, stream));
      channel.Send(true);
      channel.Receive<bool>();
    };
    OtherProcess other(body);
    OtherProcess next([](Channel& channel) {
      aclrtNotify notify = OpenNotify(channel.Receive<Key>());
      aclrtStream stream = NewStream();
      EXPECT_OK(aclrtRecordNotify(notify, stream));
      EXPECT_OK(aclrtSynchronizeStream(stream));
      EXPECT_OK(aclrtDestroyNotify(notify));
    });
    Start();
    int pid = other.pid();
    aclrtNotify notify = NewNotify();
    Key key = KeyOf(notify);
    other.channel.Send(key);
    other.channel.Receive<bool>();
    aclrtStream stream = NewStream();
    EXPECT_OK(aclrtWaitAndResetNotify(notify, stream, 0));
    other.Kill();
    EXPECT_REFUSED(kPeerEnded, aclrtSynchronizeStream(stream), Process(pid).c_str());
    // Another one takes its place.
    aclrtStream later = NewStream();
    EXPECT_OK(aclrtWaitAndResetNotify(notify, later, 0));
    next.channel.Send(key);
    EXPECT_OK(aclrtSynchronizeStream(later));
    next.Join();
    aclFinalize();
  }
}

// One that was killed has been told of once; that the other gives it back later is no further loss.
TEST_F(EndedProcess, OneImporterOfANotifyOfTwo) {
  OtherProcess other([](Channel& channel) {
    aclrtNotify notify = OpenNotify(channel.Receive<Key>());
    aclrtStream stream = NewStream();
    Hold hold(stream);
    hold.AwaitReached();
    EXPECT_OK(aclrtRecordNotify(notify, stream));
    channel.Send(true);
    channel.Receive<bool>();
  });
  auto opens_and_gives_back = [](Channel& channel) {
    aclrtNotify notify = OpenNotify(channel.Receive<Key>());
    channel.Send(true);
    channel.Receive<bool>();
    EXPECT_OK(aclrtDestroyNotify(notify));
  };
  OtherProcess stays(opens_and_gives_back);
  Start();
  int pid = other.pid();
  aclrtNotify notify = NewNotify();
  Key key = KeyOf(notify);
  for (OtherProcess* importer : {&other, &stays}) {
    importer->channel.Send(key);
    importer->channel.Receive<bool>();
  }
  aclrtStream stream = NewStream(), later = NewStream();
  EXPECT_OK(aclrtWaitAndResetNotify(notify, stream, 0));
  other.Kill();
  EXPECT_REFUSED(kPeerEnded, aclrtSynchronizeStream(stream), Process(pid).c_str());
  EXPECT_OK(aclrtWaitAndResetNotify(notify, later, 0));
  stays.channel.Send(true);
  stays.Join();
  EXPECT_REFUSED(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclrtSynchronizeStreamWithTimeout(later, 50), "notify");
  EXPECT_OK(aclrtRecordNotify(notify, stream));
  EXPECT_OK(aclrtSynchronizeStream(later));
}

TEST_F(EndedProcess, AWaitInsideAModel) {
  OtherProcess other(&OfferANotify);
  Start();
  int pid = other.pid();
  aclrtNotify notify = OpenNotify(other.channel.Receive<Key>());
  aclrtStream stream = NewStream();
  aclmdlRI model = nullptr;
  EXPECT_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
  EXPECT_OK(aclrtWaitAndResetNotify(notify, stream, 0));
  EXPECT_OK(aclmdlRICaptureEnd(stream, &model));
  EXPECT_OK(aclmdlRIExecuteAsync(model, stream));
  other.Kill();
  EXPECT_REFUSED(kPeerEnded, aclrtSynchronizeStream(stream), Process(pid).c_str());
  EXPECT_OK(aclmdlRIDestroy(model));
}

// Memory outlives who exported it: whoever has it imported may still write what a stream waits for.
TEST_F(EndedProcess, AValueInItsMemoryMayStillBeWritten) {
  OtherProcess other([](Channel& channel) {
    channel.Send(Export(NewBlock(64, 0), 64));
    channel.Receive<bool>();
  });
  Start();
  int* block = Import(other.channel.Receive<Key>());
  aclrtStream waits = NewStream(), writes = NewStream();
  EXPECT_OK(aclrtValueWait(block, 7, ACL_STREAM_WAIT_VALUE_EQ, waits));
  other.Kill();
  EXPECT_REFUSED(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclrtSynchronizeStreamWithTimeout(waits, 20),
                 "value in memory");
  EXPECT_OK(aclrtValueWrite(block, 7, 0, writes));
  EXPECT_OK(aclrtSynchronizeStream(waits));
}

// A child that the exporter left behind is not the exporter, though it has inherited its files.
TEST_F(EndedProcess, AChildOfTheExporterIsNotIt) {
  OtherProcess other([](Channel& channel) {
    aclrtEvent event = NewIpcEvent();
    RecordBehindAGate(event);
    int child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    channel.Send(child);
    channel.Send(HandleOf(event));
    channel.Receive<bool>();
  });
  Start();
  int child = other.channel.Receive<int>();
  aclrtEvent event = Open(other.channel.Receive<aclrtIpcEventHandle>());
  int pid = other.pid();
  other.Kill();
  EXPECT_REFUSED(kPeerEnded, aclrtSynchronizeEvent(event), Process(pid).c_str());
  kill(child, SIGKILL);
}

// --- kills at any moment

// This program once more, which works with the test until it is killed.
class Helper {
 public:
  explicit Helper(const char* role) {
    setenv("BELAY_SHARING_ROLE", role, 1);
    setenv("BELAY_SHARING_IN", std::to_string(channel.child_in()).c_str(), 1);
    setenv("BELAY_SHARING_OUT", std::to_string(channel.child_out()).c_str(), 1);
    std::string self = std::filesystem::read_symlink("/proc/self/exe");
    const char* arguments[] = {self.c_str(), "--gtest_filter=KilledHelper.DISABLED_Main",
                               "--gtest_also_run_disabled_tests", "--gtest_brief=1", nullptr};
    EXPECT_EQ(posix_spawn(&pid_, self.c_str(), nullptr, nullptr, const_cast<char**>(arguments), environ), 0);
    channel.IAmTheParent();
  }
  ~Helper() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  int pid() const { return pid_; }
  Channel channel;

 private:
  int pid_ = 0;
};

// What the two have in common, and one round of their work: each lets the other go on by a notify and an
// event, and writes to the block meanwhile. Returns what the synchronise said.
struct Shared {
  int* block = nullptr;
  aclrtEvent event = nullptr;
  aclrtNotify go = nullptr;
  aclrtNotify back = nullptr;

  aclError Round(bool owner, aclrtStream stream) const {
    if (owner) {
      EXPECT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
      EXPECT_EQ(aclrtRecordNotify(go, stream), ACL_SUCCESS);
      EXPECT_EQ(aclrtWaitAndResetNotify(back, stream, 0), ACL_SUCCESS);
      EXPECT_EQ(aclrtStreamWaitEvent(stream, event), ACL_SUCCESS);
    } else {
      EXPECT_EQ(aclrtWaitAndResetNotify(go, stream, 0), ACL_SUCCESS);
      EXPECT_EQ(aclrtStreamWaitEvent(stream, event), ACL_SUCCESS);
      EXPECT_EQ(aclrtMemsetAsync(block, 64, 1, 64, stream), ACL_SUCCESS);
      EXPECT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
      EXPECT_EQ(aclrtRecordNotify(back, stream), ACL_SUCCESS);
    }
    aclError code = aclrtSynchronizeStream(stream);
    return code != ACL_SUCCESS ? code : aclrtSynchronizeEvent(event);
  }
};
struct Keys {
  Key block, go, back;
  aclrtIpcEventHandle event;
};

class KilledHelper : public Sharing {
 protected:
  static Shared Make(Keys* keys) {
    Shared shared{NewBlock(64, 0), NewIpcEvent(), NewNotify(), NewNotify()};
    *keys = {Export(shared.block, 64), KeyOf(shared.go), KeyOf(shared.back), HandleOf(shared.event)};
    return shared;
  }
  // False when the exporter has ended meanwhile.
  static bool TryOpen(const Keys& keys, Shared* shared) {
    void* p = nullptr;
    bool all = aclrtIpcOpenEventHandle(keys.event, &shared->event) == ACL_SUCCESS &&
               aclrtNotifyImportByKey(&shared->go, keys.go.text, 0) == ACL_SUCCESS &&
               aclrtNotifyImportByKey(&shared->back, keys.back.text, 0) == ACL_SUCCESS &&
               aclrtIpcMemImportByKey(&p, keys.block.text, 0) == ACL_SUCCESS;
    shared->block = static_cast<int*>(p);
    return all;
  }
  static void Close(bool owner, const Keys& keys, const Shared& shared) {
    if (shared.event != nullptr) EXPECT_OK(aclrtDestroyEvent(shared.event));
    if (shared.go != nullptr) EXPECT_OK(aclrtDestroyNotify(shared.go));
    if (shared.back != nullptr) EXPECT_OK(aclrtDestroyNotify(shared.back));
    if (shared.block == nullptr) return;
    if (owner) {
      EXPECT_OK(aclrtFree(shared.block));
    } else {
      EXPECT_OK(aclrtIpcMemClose(keys.block.text));
    }
  }

  // A round with a helper that is killed after so long.
  static void Kill(bool owner, std::chrono::microseconds after) {
    Helper helper(owner ? "importer" : "owner");
    Keys keys;
    Shared shared;
    if (owner) {
      shared = Make(&keys);
      helper.channel.Send(keys);
      ASSERT_TRUE(helper.channel.Receive<bool>()) << "it has imported everything";
    } else {
      keys = helper.channel.Receive<Keys>();
    }
    std::thread killer([&] {
      std::this_thread::sleep_for(after);  // any moment will do
      kill(helper.pid(), SIGKILL);
    });
    aclrtStream stream = NewStream();
    if (owner || TryOpen(keys, &shared)) {
      aclError code = ACL_SUCCESS;
      while (code == ACL_SUCCESS) code = shared.Round(owner, stream);
      EXPECT_EQ(code, kPeerEnded) << TakeMessage();
    }
    killer.join();
    TakeMessage();
    EXPECT_OK(aclrtDestroyStream(stream));
    Close(owner, keys, shared);
  }
};

TEST_F(KilledHelper, DISABLED_Main) {
  const char* role = getenv("BELAY_SHARING_ROLE");
  if (role == nullptr) return;  // somebody runs all tests that are disabled
  alarm(600);
  Channel channel(std::atoi(getenv("BELAY_SHARING_IN")), std::atoi(getenv("BELAY_SHARING_OUT")));
  Start();
  bool owner = std::string(role) == "owner";
  Keys keys;
  Shared shared;
  if (owner) {
    shared = Make(&keys);
    channel.Send(keys);
  } else {
    keys = channel.Receive<Keys>();
    ASSERT_TRUE(TryOpen(keys, &shared));
    channel.Send(true);
  }
  aclrtStream stream = NewStream();
  while (shared.Round(owner, stream) == ACL_SUCCESS) {
  }
}

// Either side is killed at any moment; BELAY_TEST_KILLS says how often (CI: 40).
TEST_F(KilledHelper, EitherSideAtAnyMoment) {
  const char* wanted = getenv("BELAY_TEST_KILLS");
  int kills = wanted != nullptr ? std::atoi(wanted) : kSanitized ? 10 : 40;
  Start();
  const char* given = getenv("BELAY_TEST_SEED");
  unsigned seed = given == nullptr ? std::random_device()() : static_cast<unsigned>(std::atoll(given));
  SCOPED_TRACE("BELAY_TEST_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> after(0, 3000);
  for (int i = 0; i < 4; ++i) Kill(i % 2 == 0, std::chrono::microseconds(after(random)));
  NothingStays check;
  for (int i = 0; i < kills && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    Kill(i % 2 == 0, std::chrono::microseconds(after(random)));
  }
  // The stays of those who were killed go with the next block or notify.
  EXPECT_OK(aclrtDestroyNotify(NewNotify()));
}

}  // namespace
