// Devices, contexts, streams, events, notifies, callbacks, memory, sharing.
#include <pthread.h>
#include <unistd.h>

#include <cstring>

#include "piece.h"

namespace {

void Add(void* number) { ++*static_cast<int*>(number); }
void NoteStream(aclrtStream, aclrtStreamState, void*) {}

}  // namespace

PIECE(contexts_and_streams) {
  aclrtContext mine = nullptr, other = nullptr;
  TRY(aclrtGetCurrentContext(&mine));
  TRY(aclrtSetDevice(1));
  AT_END(aclrtResetDevice(1));
  AT_END(aclrtSetCurrentContext(mine));
  TRY(aclrtSynchronizeDevice());
  TRY(aclrtRegStreamStateCallback("memory_out", &NoteStream, nullptr));
  AT_END(aclrtRegStreamStateCallback("memory_out", nullptr, nullptr));
  TRY(aclrtCreateContext(&other, 1));
  AT_END(aclrtDestroyContext(other));
  for (int i = 0; i < 3; ++i) {
    aclrtStream stream = nullptr;
    TRY(aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_FAST_LAUNCH));
    if (i < 2) TRY(aclrtDestroyStream(stream));  // the third goes with its context
  }
  TRY_MADE(config, aclrtCreateStreamConfigHandle());
  AT_END(aclrtDestroyStreamConfigHandle(config));
  aclrtStream configured = nullptr;
  TRY(aclrtCreateStreamV2(&configured, config));
  AT_END(aclrtDestroyStream(configured));
}

PIECE(copies) {
  void *a = nullptr, *b = nullptr, *host = nullptr;
  char plain[256];
  std::memset(plain, 5, sizeof plain);
  TRY(aclrtMalloc(&a, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  AT_END(aclrtFree(a));
  TRY(aclrtMalloc(&b, 3 << 20, ACL_MEM_MALLOC_NORMAL_ONLY));
  AT_END(aclrtFree(b));
  TRY(aclrtMallocHost(&host, 4096));
  AT_END(aclrtFreeHost(host));
  aclrtStream stream = nullptr;
  TRY(aclrtCreateStream(&stream));
  AT_END(aclrtDestroyStream(stream));
  TRY(aclrtMemcpy(a, 4096, plain, 256, ACL_MEMCPY_HOST_TO_DEVICE));
  TRY(aclrtMemcpyAsync(b, 4096, a, 256, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
  TRY(aclrtMemcpy2dAsync(host, 16, b, 64, 16, 4, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  TRY(aclrtMemsetAsync(static_cast<char*>(b) + 4096, 1 << 20, 9, 1 << 20, stream));
  TRY(aclrtSynchronizeStream(stream));
  RIGHT(static_cast<char*>(host)[63] == 5);
  RIGHT(static_cast<char*>(b)[(1 << 20) + 4095] == 9);
}

PIECE(events) {
  aclrtStream first = nullptr, second = nullptr;
  TRY(aclrtCreateStream(&first));
  AT_END(aclrtDestroyStreamForce(first));
  TRY(aclrtCreateStream(&second));
  AT_END(aclrtDestroyStreamForce(second));
  aclrtEvent plain = nullptr, ex = nullptr, flagged = nullptr;
  TRY(aclrtCreateEvent(&plain));
  AT_END(aclrtDestroyEvent(plain));
  TRY(aclrtCreateEventExWithFlag(&ex, ACL_EVENT_SYNC));
  AT_END(aclrtDestroyEvent(ex));
  TRY(aclrtCreateEventWithFlag(&flagged, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
  AT_END(aclrtDestroyEvent(flagged));
  aclrtNotify notify = nullptr;
  TRY(aclrtCreateNotify(&notify, 0));
  AT_END(aclrtDestroyNotify(notify));
  void* word = nullptr;
  TRY(aclrtMalloc(&word, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  AT_END(aclrtFree(word));
  std::memset(word, 0, 64);
  TRY(aclrtStreamWaitEvent(second, plain));  // before any record: it waits for the first
  TRY(aclrtValueWrite(word, 3, 0, second));
  TRY(aclrtRecordEvent(plain, first));
  TRY(aclrtSynchronizeStream(second));
  TRY(aclrtRecordEvent(flagged, first));
  TRY(aclrtRecordEvent(ex, second));
  TRY(aclrtStreamWaitEventWithTimeout(first, ex, 1000));
  TRY(aclrtWaitAndResetNotify(notify, first, 0));
  TRY(aclrtValueWait(word, 4, 1, first));
  TRY(aclrtRecordNotify(notify, second));
  TRY(aclrtValueWrite(word, 4, 0, second));
  TRY(aclrtSynchronizeStream(first));
  TRY(aclrtSynchronizeEvent(flagged));
  float ms = -1;
  TRY(aclrtRecordEvent(plain, first));
  TRY(aclrtSynchronizeEvent(plain));
  TRY(aclrtEventElapsedTime(&ms, flagged, plain));
  RIGHT(ms >= 0);
  RIGHT(*static_cast<uint64_t*>(word) == 4);
}

PIECE(a_long_queue) {
  aclrtStream stream = nullptr;
  TRY(aclrtCreateStream(&stream));
  AT_END(aclrtDestroyStreamForce(stream));
  aclrtEvent gate = nullptr;
  TRY(aclrtCreateEvent(&gate));
  AT_END(aclrtDestroyEvent(gate));
  void* word = nullptr;
  TRY(aclrtMalloc(&word, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  AT_END(aclrtFree(word));
  TRY(aclrtStreamWaitEvent(stream, gate));
  for (uint64_t i = 1; i <= 1000; ++i) TRY(aclrtValueWrite(word, i, 0, stream));
  TRY(aclrtRecordEvent(gate, nullptr));
  TRY(aclrtSynchronizeStream(stream));
  RIGHT(*static_cast<uint64_t*>(word) == 1000);
}

PIECE(callbacks) {
  int launched = 0, reported = 0;
  aclrtStream stream = nullptr;
  TRY(aclrtCreateStream(&stream));
  AT_END(aclrtDestroyStreamForce(stream));
  TRY(aclrtLaunchHostFunc(stream, &Add, &launched));
  TRY(aclrtSynchronizeStream(stream));
  RIGHT(launched == 1);
  auto self = static_cast<uint64_t>(pthread_self());
  TRY(aclrtSubscribeReport(self, stream));
  AT_END(aclrtUnSubscribeReport(self, stream));
  TRY(aclrtLaunchCallback(&Add, &reported, ACL_CALLBACK_NO_BLOCK, stream));
  int code = aclrtProcessReport(memory_out::Armed() ? 20 : 60'000);
  if (code == ACL_ERROR_RT_WAIT_TIMEOUT && memory_out::HasFailed()) code = aclrtSynchronizeStream(stream);
  TRY(code);
  TRY(aclrtLaunchCallback(&Add, &reported, ACL_CALLBACK_BLOCK, stream));
  code = aclrtProcessReport(memory_out::Armed() ? 20 : 60'000);
  if (code == ACL_ERROR_RT_WAIT_TIMEOUT && memory_out::HasFailed()) code = aclrtSynchronizeStream(stream);
  TRY(code);
  TRY(aclrtSynchronizeStream(stream));
  RIGHT(reported == 2);
}

PIECE(kinds_of_memory) {
  constexpr size_t kBytes = 2 << 20;
  aclrtPhysicalMemProp prop = {};
  prop.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  aclrtDrvMemHandle handle = nullptr;
  TRY(aclrtMallocPhysical(&handle, kBytes, &prop, 0));
  AT_END(aclrtFreePhysical(handle));
  void* range = nullptr;
  TRY(aclrtReserveMemAddress(&range, kBytes, 0, nullptr, 0));
  AT_END(aclrtReleaseMemAddress(range));
  TRY(aclrtMapMem(range, kBytes, 0, handle, 0));
  AT_END(aclrtUnmapMem(range));
  TRY(aclrtMemset(range, kBytes, 7, kBytes));
  RIGHT(static_cast<char*>(range)[kBytes - 1] == 7);
  uint64_t number = 0;
  TRY(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 1, &number));
  alignas(4096) static char registered[8192];
  void* on_device = nullptr;
  TRY(aclrtHostRegister(registered, sizeof registered, ACL_HOST_REGISTER_MAPPED, &on_device));
  AT_END(aclrtHostUnregister(registered));
  TRY(aclrtMemset(on_device, 64, 3, 64));
  RIGHT(registered[63] == 3);
}

PIECE(sharing) {
  void* block = nullptr;
  TRY(aclrtMalloc(&block, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
  AT_END(aclrtFree(block));
  TRY(aclrtMemset(block, 1 << 20, 6, 1 << 20));
  char key[65] = {}, notify_key[65] = {};
  TRY(aclrtIpcMemGetExportKey(block, 4096, key, sizeof key, 0));
  AT_END(aclrtIpcMemClose(key));
  int32_t pid = getpid();
  TRY(aclrtIpcMemSetImportPid(key, &pid, 1));
  RIGHT(static_cast<char*>(block)[4095] == 6);
  aclrtNotify notify = nullptr;
  TRY(aclrtCreateNotify(&notify, 0));
  AT_END(aclrtDestroyNotify(notify));
  TRY(aclrtNotifyGetExportKey(notify, notify_key, sizeof notify_key, 0));
  TRY(aclrtNotifySetImportPid(notify, &pid, 1));
  aclrtEvent event = nullptr;
  TRY(aclrtCreateEventWithFlag(&event, ACL_EVENT_IPC));
  AT_END(aclrtDestroyEvent(event));
  aclrtIpcEventHandle handle = {};
  TRY(aclrtIpcGetEventHandle(event, &handle));
  TRY(aclrtRecordEvent(event, nullptr));
  TRY(aclrtSynchronizeEvent(event));
}

// What fails in any case says so with memory or without, and its text when there is memory for one.
PIECE(mistakes) {
  aclrtStream stream = nullptr;
  TRY(aclrtCreateStream(&stream));
  AT_END(aclrtDestroyStream(stream));
  auto* none = reinterpret_cast<aclrtStream>(0x1234);
  if (!run.Ok(aclrtSynchronizeStream(none), "a handle that is none", ACL_ERROR_RT_INVALID_HANDLE)) return;
  if (!run.Ok(aclrtSetDevice(77), "a device that is none", ACL_ERROR_RT_INVALID_DEVICEID)) return;
  const char* text = aclGetRecentErrMsg();
  if (!memory_out::HasFailed()) RIGHT(text != nullptr && std::strstr(text, "77") != nullptr);
  void* pinned = nullptr;
  TRY(aclrtMallocHost(&pinned, 128));
  AT_END(aclrtFreeHost(pinned));
  aclrtExceptionInfoCallback note = [](aclrtExceptionInfo*) {};
  TRY(aclrtSetExceptionInfoCallback(note));
  AT_END(aclrtSetExceptionInfoCallback(nullptr));
  TRY(aclrtMemcpyAsync(pinned, 64, static_cast<char*>(pinned) + 64, 64, ACL_MEMCPY_HOST_TO_HOST, stream));
  run.Ok(aclrtSynchronizeStream(stream), "a task that fails", ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  TRY(aclrtSynchronizeStream(stream));
}
