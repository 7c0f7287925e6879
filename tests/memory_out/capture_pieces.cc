// Captures, what they become, and groups of tasks in them.
#include <aclnnop/aclnn_add.h>
#include <aclnnop/aclnn_cat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "piece.h"

namespace {

using memory_out::Run;

struct Memory {
  int32_t* word(int i) const { return static_cast<int32_t*>(data) + 16 * i; }
  void* data = nullptr;
};

aclError Copy(int32_t* to, const int32_t* from, aclrtStream stream) {
  return aclrtMemcpyAsync(to, 4, from, 4, ACL_MEMCPY_DEVICE_TO_DEVICE, stream);
}

// A capture that a call did not end: what it has is dropped.
void EndAnyhow(Run& run, aclrtStream stream) {
  aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_NONE;
  aclmdlRI model = nullptr;
  run.Free([&] { return aclmdlRICaptureGetInfo(stream, &status, &model); }, "aclmdlRICaptureGetInfo");
  if (status == ACL_MODEL_RI_CAPTURE_STATUS_NONE) return;
  memory_out::Disarm();
  if (aclmdlRICaptureEnd(stream, &model) == ACL_SUCCESS) {
    run.Free([&] { return aclmdlRIDestroy(model); }, "aclmdlRIDestroy");
  }
  aclGetRecentErrMsg();
}

// The stream takes and runs work as if nothing had been.
void Works(Run& run, aclrtStream stream, const Memory& memory) {
  memory_out::Disarm();
  *memory.word(6) = 7;
  *memory.word(7) = 0;
  run.Free([&] { return Copy(memory.word(7), memory.word(6), stream); }, "a copy after a failed capture");
  run.Free([&] { return aclrtSynchronizeStream(stream); }, "aclrtSynchronizeStream after a failed capture");
  run.Right(*memory.word(7) == 7, "the copy after a failed capture");
}

struct Streams {
  Memory memory;
  aclrtStream main = nullptr, side = nullptr;
  aclrtEvent event = nullptr;
};

void Fork(Run& run, const Streams& s) {
  TRY(aclrtRecordEvent(s.event, s.main));
  TRY(aclrtStreamWaitEvent(s.side, s.event));
  TRY(Copy(s.memory.word(1), s.memory.word(0), s.side));
  TRY(aclrtRecordEvent(s.event, s.side));
  TRY(Copy(s.memory.word(2), s.memory.word(0), s.main));
  TRY(aclrtStreamWaitEvent(s.main, s.event));
  for (int i = 0; i < 12; ++i) TRY(Copy(s.memory.word(3), s.memory.word(1), s.main));
}

void CaptureAndReplay(Run& run, const Streams& s) {
  AT_END((EndAnyhow(run, s.main), 0));
  TRY(aclmdlRICaptureBegin(s.main, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  Fork(run, s);
  if (run.failed()) return;
  aclmdlRI model = nullptr;
  TRY(aclmdlRICaptureEnd(s.main, &model));
  AT_END(aclmdlRIDestroy(model));
  TRY(aclmdlRISetName(model, "a model with a name that no small string holds"));
  aclrtCallback note = [](void*) {};
  TRY(aclmdlRIDestroyRegisterCallback(model, note, nullptr));
  *s.memory.word(0) = 41;
  for (int i = 0; i < 3; ++i) TRY(aclmdlRIExecuteAsync(model, i == 1 ? s.side : s.main));
  TRY(aclrtSynchronizeStream(s.main));
  TRY(aclrtSynchronizeStream(s.side));
  RIGHT(*s.memory.word(3) == 41 && *s.memory.word(2) == 41);
  uint32_t streams = 0;
  TRY(aclmdlRIGetStreams(model, nullptr, &streams));
  RIGHT(streams == 2);
}

}  // namespace

PIECE(capture) {
  Streams s;
  TRY(aclrtMalloc(&s.memory.data, 1024, ACL_MEM_MALLOC_HUGE_FIRST));
  AT_END(aclrtFree(s.memory.data));
  std::memset(s.memory.data, 0, 1024);
  TRY(aclrtCreateStream(&s.main));
  AT_END(aclrtDestroyStreamForce(s.main));
  TRY(aclrtCreateStream(&s.side));
  AT_END(aclrtDestroyStreamForce(s.side));
  TRY(aclrtCreateEvent(&s.event));
  AT_END(aclrtDestroyEvent(s.event));
  CaptureAndReplay(run, s);
  Works(run, s.main, s.memory);
  Works(run, s.side, s.memory);
}

// A capture that is spoiled, one that does not come back, and one whose stream dies.
PIECE(captures_that_fail) {
  Memory memory;
  TRY(aclrtMalloc(&memory.data, 1024, ACL_MEM_MALLOC_HUGE_FIRST));
  AT_END(aclrtFree(memory.data));
  for (int i = 0; i < 3; ++i) {
    aclrtStream main = nullptr, side = nullptr;
    aclrtEvent event = nullptr;
    TRY(aclrtCreateStream(&main));
    AT_END(aclrtDestroyStreamForce(main));
    TRY(aclrtCreateStream(&side));
    AT_END(aclrtDestroyStreamForce(side));
    TRY(aclrtCreateEvent(&event));
    AT_END(aclrtDestroyEvent(event));
    TRY(aclmdlRICaptureBegin(main, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    TRY(Copy(memory.word(1), memory.word(0), main));
    if (i == 2) continue;
    AT_END((EndAnyhow(run, main), 0));
    aclmdlRI model = nullptr;
    if (i == 0 && !run.Ok(aclrtSynchronizeStream(main), "a synchronise in a capture", 107027)) return;
    if (i == 1) {
      TRY(aclrtRecordEvent(event, main));
      TRY(aclrtStreamWaitEvent(side, event));
      TRY(Copy(memory.word(1), memory.word(0), side));
    }
    if (!run.Ok(aclmdlRICaptureEnd(main, &model), "the end", i == 0 ? 107033 : 107025)) return;
    Works(run, main, memory);
    Works(run, side, memory);
  }
}

namespace {

constexpr int64_t kElements = 4;

// out = x + y through both stages.
void AddTensors(Run& run, float* x, float* y, float* out, aclrtStream stream) {
  auto tensor = [](float* data) {
    return aclCreateTensor(&kElements, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &kElements, 1, data);
  };
  TRY_MADE(tx, tensor(x));
  AT_END(aclDestroyTensor(tx));
  TRY_MADE(ty, tensor(y));
  AT_END(aclDestroyTensor(ty));
  TRY_MADE(to, tensor(out));
  AT_END(aclDestroyTensor(to));
  float one = 1;
  TRY_MADE(alpha, aclCreateScalar(&one, ACL_FLOAT));
  AT_END(aclDestroyScalar(alpha));
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  TRY(aclnnAddGetWorkspaceSize(tx, ty, alpha, to, &size, &executor));
  int code = aclnnAdd(nullptr, 0, executor, stream);
  TRY(code);
}

void CaptureGroup(Run& run, aclrtStream stream, float* x, float* y, float* out) {
  TRY(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
  TRY(aclmdlRICaptureTaskGrpBegin(stream));
  AddTensors(run, x, y, out, stream);
  if (!run.failed()) AddTensors(run, out, y, out, stream);
}

}  // namespace

PIECE(task_groups) {
  void* data = nullptr;
  TRY(aclrtMalloc(&data, 1024, ACL_MEM_MALLOC_HUGE_FIRST));
  AT_END(aclrtFree(data));
  auto* x = static_cast<float*>(data);
  float *y = x + 16, *out = x + 32;
  for (int i = 0; i < kElements; ++i) x[i] = 1, y[i] = 10, out[i] = 0;
  aclrtStream stream = nullptr, side = nullptr;
  TRY(aclrtCreateStream(&stream));
  AT_END(aclrtDestroyStreamForce(stream));
  TRY(aclrtCreateStream(&side));
  AT_END(aclrtDestroyStreamForce(side));
  AT_END((EndAnyhow(run, stream), 0));
  CaptureGroup(run, stream, x, y, out);
  if (run.failed()) return;
  aclrtTaskGrp group = nullptr;
  TRY(aclmdlRICaptureTaskGrpEnd(stream, &group));
  aclmdlRI model = nullptr;
  TRY(aclmdlRICaptureEnd(stream, &model));
  AT_END(aclmdlRIDestroy(model));
  TRY(aclmdlRIExecuteAsync(model, stream));
  TRY(aclrtSynchronizeStream(stream));
  RIGHT(out[3] == 21);
  TRY(aclmdlRICaptureTaskUpdateBegin(side, group));
  AddTensors(run, y, y, out, side);
  if (!run.failed()) AddTensors(run, out, x, out, side);
  if (run.failed()) return;
  TRY(aclmdlRICaptureTaskUpdateEnd(side));
  TRY(aclrtSynchronizeStream(side));
  TRY(aclmdlRIExecuteAsync(model, stream));
  TRY(aclrtSynchronizeStream(stream));
  RIGHT(out[3] == 21);
}

namespace {

// Tensors of one number each, which a list owns; null where there is no memory for them.
aclTensorList* ListOf(const Memory& memory, int count) {
  const int64_t dims[] = {1}, strides[] = {1};
  std::array<aclTensor*, 64> tensors{};
  bool all = true;
  for (int i = 0; i < count && all; ++i) {
    tensors[i] = aclCreateTensor(dims, 1, ACL_INT32, strides, 0, ACL_FORMAT_ND, dims, 1, memory.word(i));
    all = tensors[i] != nullptr;
  }
  aclTensorList* list = all ? aclCreateTensorList(tensors.data(), static_cast<uint64_t>(count)) : nullptr;
  for (int i = 0; i < count && list == nullptr; ++i) {
    if (tensors[i] != nullptr) aclDestroyTensor(tensors[i]);
  }
  return list;
}

// A replay takes no memory, however many tensors its operators have; but the stream's queue may grow by one.
void ReplayTakesNothing(Run& run, aclmdlRI model, aclrtStream stream) {
  int64_t least = INT64_MAX;
  for (int i = 0; i < 4; ++i) {
    const bool watched = !memory_out::Armed();
    if (watched) memory_out::Arm(INT64_MAX - 1, memory_out::Mode::kOne);
    const int launched = aclmdlRIExecuteAsync(model, stream), waited = aclrtSynchronizeStream(stream);
    if (watched) {
      least = std::min(least, memory_out::Asked());
      memory_out::Disarm();
    }
    TRY(launched);
    TRY(waited);
  }
  RIGHT(least == 0 || least == INT64_MAX);
}

}  // namespace

PIECE(an_operator_of_many_tensors) {
  constexpr int kCount = 40;
  Memory memory;
  TRY(aclrtMalloc(&memory.data, 8192, ACL_MEM_MALLOC_HUGE_FIRST));
  AT_END(aclrtFree(memory.data));
  for (int i = 0; i < kCount; ++i) *memory.word(i) = i;
  aclrtStream stream = nullptr;
  TRY(aclrtCreateStream(&stream));
  AT_END(aclrtDestroyStreamForce(stream));
  TRY_MADE(list, ListOf(memory, kCount));
  AT_END(aclDestroyTensorList(list));
  const int64_t dims[] = {kCount}, strides[] = {1};
  TRY_MADE(out, aclCreateTensor(dims, 1, ACL_INT32, strides, 0, ACL_FORMAT_ND, dims, 1, memory.word(kCount)));
  AT_END(aclDestroyTensor(out));
  AT_END((EndAnyhow(run, stream), 0));
  TRY(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  TRY(aclnnCatGetWorkspaceSize(list, 0, out, &size, &executor));
  AT_END(aclDestroyAclOpExecutor(executor));  // one that has not run is there still
  RIGHT(size == 0);
  TRY(aclnnCat(nullptr, 0, executor, stream));
  aclmdlRI model = nullptr;
  TRY(aclmdlRICaptureEnd(stream, &model));
  AT_END(aclmdlRIDestroy(model));
  ReplayTakesNothing(run, model, stream);
  if (!run.failed()) RIGHT(memory.word(kCount)[kCount - 1] == kCount - 1);
}
