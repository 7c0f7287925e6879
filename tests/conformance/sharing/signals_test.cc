// Events and notifies between processes.
#include "two_processes.h"

namespace {

using namespace conformance;

constexpr int kBadState = 107000;

class SharedSignals : public Sharing {};

// A stream of one process waits for a record of the other, which its own stream reaches later.
TEST_F(SharedSignals, AStreamWaitsForARecordOfAnotherProcess) {
  OtherProcess other([](Channel& channel) {
    aclrtEvent event = nullptr;
    EXPECT_OK(aclrtIpcOpenEventHandle(channel.Receive<aclrtIpcEventHandle>(), &event));
    Key key = channel.Receive<Key>();
    void* p = nullptr;
    EXPECT_OK(aclrtIpcMemImportByKey(&p, key.text, 0));
    auto* shared = static_cast<int*>(p);
    aclrtStream stream = nullptr;
    EXPECT_OK(aclrtCreateStream(&stream));
    EXPECT_OK(aclrtStreamWaitEvent(stream, event));
    EXPECT_OK(aclrtMemcpyAsync(shared + 1, 4, shared, 4, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
    EXPECT_OK(aclrtQueryEventStatus(event, &status));
    EXPECT_EQ(status, ACL_EVENT_RECORDED_STATUS_NOT_READY);
    EXPECT_REFUSED(507047, aclrtSynchronizeEventWithTimeout(event, 5), "time limit");
    channel.Send(true);
    EXPECT_OK(aclrtSynchronizeEvent(event));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_EQ(shared[1], 42);
    aclrtIpcEventHandle own = {};
    EXPECT_REFUSED(kBadState, aclrtIpcGetEventHandle(event, &own), "came from another process");
    // And the other way round.
    EXPECT_OK(aclrtRecordEvent(event, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    channel.Send(true);
    EXPECT_OK(aclrtDestroyEvent(event));
  });
  Start();
  int* block = NewBlock(64, 0);
  aclrtStream stream = NewStream();
  aclrtEvent event = NewIpcEvent();
  {
    Hold hold(stream);
    Call(stream, [block] { *block = 42; });
    EXPECT_OK(aclrtRecordEvent(event, stream));
    other.channel.Send(HandleOf(event));
    other.channel.Send(Export(block, 64));
    other.channel.Receive<bool>();
  }
  other.channel.Receive<bool>();
  EXPECT_OK(aclrtSynchronizeEvent(event)) << "recorded by the other process";
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_OK(aclrtDestroyEvent(event));
  other.Join();
}

TEST_F(SharedSignals, AWaitOnAnUnrecordedEventPasses) {
  Start();
  aclrtStream stream = NewStream();
  EXPECT_OK(aclrtStreamWaitEvent(stream, NewIpcEvent()));
  EXPECT_OK(aclrtSynchronizeStream(stream));
}

TEST_F(SharedSignals, EventsThatCannotBeShared) {
  Start();
  aclrtIpcEventHandle handle = {};
  aclrtEvent plain = nullptr;
  EXPECT_OK(aclrtCreateEvent(&plain));
  EXPECT_REFUSED(kBadState, aclrtIpcGetEventHandle(plain, &handle), "without ACL_EVENT_IPC");
  EXPECT_REFUSED(kBadArgument, aclrtIpcGetEventHandle(nullptr, &handle), "event");
  aclrtEvent event = NewIpcEvent();
  EXPECT_REFUSED(kBadArgument, aclrtIpcGetEventHandle(event, nullptr), "handle");
  handle = HandleOf(event);
  aclrtIpcEventHandle same = HandleOf(event);
  EXPECT_EQ(std::memcmp(&handle, &same, sizeof handle), 0);
  aclrtEvent opened = nullptr;
  EXPECT_REFUSED(kBadArgument, aclrtIpcOpenEventHandle(handle, &opened), "exported it itself");
  EXPECT_REFUSED(kBadArgument, aclrtIpcOpenEventHandle(handle, nullptr), "event");
  EXPECT_REFUSED(kStale, aclrtIpcOpenEventHandle(aclrtIpcEventHandle{}, &opened), "not a key");
  EXPECT_OK(aclrtDestroyEvent(event));
  EXPECT_REFUSED(kStale, aclrtIpcGetEventHandle(event, &handle), "event");
}

TEST_F(SharedSignals, ADestroyedEventIsGone) {
  OtherProcess other([](Channel& channel) {
    aclrtEvent event = nullptr;
    EXPECT_REFUSED(kStale, aclrtIpcOpenEventHandle(channel.Receive<aclrtIpcEventHandle>(), &event),
                   "withdrew it");
  });
  Start();
  aclrtEvent event = NewIpcEvent();
  aclrtIpcEventHandle handle = HandleOf(event);
  EXPECT_OK(aclrtDestroyEvent(event));
  other.channel.Send(handle);
}

TEST_F(SharedSignals, ANotifySetByAnotherProcess) {
  OtherProcess other([](Channel& channel) {
    Key key = channel.Receive<Key>();
    aclrtNotify notify = nullptr;
    EXPECT_REFUSED(kBadArgument, aclrtNotifyImportByKey(&notify, key.text, 0), "did not name this process");
    channel.Send(true);
    channel.Receive<bool>();
    EXPECT_OK(aclrtNotifyImportByKey(&notify, key.text, ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS));
    aclrtStream stream = nullptr;
    EXPECT_OK(aclrtCreateStream(&stream));
    EXPECT_OK(aclrtRecordNotify(notify, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    char own[65];
    EXPECT_REFUSED(kBadState, aclrtNotifyGetExportKey(notify, own, 65, 0), "came from another process");
    EXPECT_OK(aclrtDestroyNotify(notify));
  });
  Start();
  aclrtNotify notify = NewNotify();
  aclrtStream stream = NewStream();
  EXPECT_OK(aclrtWaitAndResetNotify(notify, stream, 0)) << "issued before it is shared";
  Key key;
  EXPECT_OK(aclrtNotifyGetExportKey(notify, key.text, 65, 0));
  other.channel.Send(key);
  other.channel.Receive<bool>();
  int32_t pid = other.pid();
  EXPECT_OK(aclrtNotifySetImportPid(notify, &pid, 1));
  other.channel.Send(true);
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_OK(aclrtDestroyNotify(notify));
  other.Join();
}

TEST_F(SharedSignals, NotifiesThatCannotBeShared) {
  Start();
  aclrtNotify notify = NewNotify();
  aclrtNotify imported = nullptr;
  Key key;
  int32_t pid = 1;
  EXPECT_REFUSED(kBadState, aclrtNotifySetImportPid(notify, &pid, 1), "aclrtNotifyGetExportKey first");
  EXPECT_REFUSED(kBadState, aclrtNotifyGetExportKey(notify, key.text, 64, 0), "65 bytes");
  EXPECT_REFUSED(kBadArgument, aclrtNotifyGetExportKey(notify, key.text, 65, 8), "flags");
  EXPECT_REFUSED(kBadArgument, aclrtNotifyGetExportKey(notify, nullptr, 65, 0), "key");
  EXPECT_REFUSED(kBadArgument, aclrtNotifyGetExportKey(nullptr, key.text, 65, 0), "notify");
  EXPECT_OK(aclrtNotifyGetExportKey(notify, key.text, 65, 0));
  EXPECT_REFUSED(kBadArgument, aclrtNotifySetImportPid(notify, nullptr, 1), "pid");
  EXPECT_REFUSED(kBadArgument, aclrtNotifySetImportPid(notify, &pid, 0), "no process");
  EXPECT_REFUSED(kBadArgument, aclrtNotifyImportByKey(&imported, key.text, 0), "exported it itself");
  EXPECT_REFUSED(kBadArgument, aclrtNotifyImportByKey(&imported, key.text, 1), "flags");
  EXPECT_REFUSED(kBadArgument, aclrtNotifyImportByKey(nullptr, key.text, 0), "notify");
  EXPECT_REFUSED(kBadArgument, aclrtNotifyImportByKey(&imported, nullptr, 0), "key");
  EXPECT_REFUSED(kStale, aclrtNotifyImportByKey(&imported, "rubbish", 0), "not a key");
  EXPECT_OK(aclrtDestroyNotify(notify));
  EXPECT_REFUSED(kStale, aclrtNotifyGetExportKey(notify, key.text, 65, 0), "notify");
  EXPECT_REFUSED(kStale, aclrtNotifySetImportPid(notify, &pid, 1), "notify");
}

}  // namespace
