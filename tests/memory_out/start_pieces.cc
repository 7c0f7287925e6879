// From aclInit to aclFinalize, in a fresh process each time: what is made once is made here.
#include <aclnnop/aclnn_add.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "piece.h"

namespace {

using memory_out::Run;

void UseStreams(Run& run) {
  void* memory = nullptr;
  TRY(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  AT_END(aclrtFree(memory));
  aclrtStream first = nullptr, second = nullptr;
  TRY(aclrtCreateStream(&first));
  AT_END(aclrtDestroyStream(first));
  TRY(aclrtCreateStream(&second));
  AT_END(aclrtDestroyStream(second));
  aclrtEvent event = nullptr;
  TRY(aclrtCreateEvent(&event));
  AT_END(aclrtDestroyEvent(event));
  TRY(aclrtMemsetAsync(memory, 4096, 3, 4096, first));
  TRY(aclrtRecordEvent(event, first));
  TRY(aclrtStreamWaitEvent(second, event));
  int called = 0;
  TRY(aclrtLaunchHostFunc(
      second, [](void* number) { ++*static_cast<int*>(number); }, &called));
  TRY(aclrtSynchronizeStream(second));
  RIGHT(called == 1 && static_cast<char*>(memory)[4095] == 3);
}

void UseDevice(Run& run) {
  TRY(aclrtSetDevice(0));
  AT_END(aclrtResetDevice(0));
  UseStreams(run);
}

void Program(Run& run, const char* config) {
  TRY(aclInit(config));
  AT_END(aclFinalize());
  UseDevice(run);
}

}  // namespace

STARTING_PIECE(start) { Program(run, nullptr); }

STARTING_PIECE(start_with_a_file) {
  char path[64];
  std::snprintf(path, sizeof path, "/tmp/memory_out_%d.json", static_cast<int>(getpid()));
  {
    memory_out::Exempt exempt;
    FILE* file = std::fopen(path, "w");
    std::fputs(
        "{\"defaultDevice\": {\"default_device\": \"0\"}, \"err_msg_mode\": \"1\", \"unknown\": [1, 2]}",
        file);
    std::fclose(file);
  }
  Program(run, path);
  unlink(path);
}

STARTING_PIECE(mistakes_first) {
  void* memory = nullptr;
  if (!run.Ok(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST), "before aclInit", ACL_ERROR_UNINITIALIZE))
    return;
  TRY(aclInit(nullptr));
  AT_END(aclFinalize());
  if (!run.Ok(aclrtSetDevice(77), "a device that is none", ACL_ERROR_RT_INVALID_DEVICEID)) return;
  run.Right(aclGetRecentErrMsg() != nullptr, "a text");
}
