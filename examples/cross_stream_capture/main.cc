// Capture across streams: work on two streams becomes one model, which then runs as often as asked for.
//
// One step of the model computes y = 3x + 0.5 on eight numbers, in two halves at the same time:
//
//   main stream   fetch x, double = x * 2 .............. wait, y = double + shifted, store y
//   side stream          wait, shifted = x + 0.5 .......
//
// The side stream joins the capture by waiting for an event of the main stream, and leaves it when the
// main stream waits for an event of the side stream. x is fetched from the host at each replay, not at
// capture, so feeding y back into x makes the replays count upwards.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "../check.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_mul.h"

namespace {

constexpr int64_t kCount = 8;
constexpr size_t kBytes = kCount * sizeof(float);

// Eight floats on the device, as the operators take them.
struct Vector {
  void* data = nullptr;
  aclTensor* tensor = nullptr;

  Vector() {
    const int64_t shape[] = {kCount};
    const int64_t stride[] = {1};
    CHECK(aclrtMalloc(&data, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    tensor = aclCreateTensor(shape, 1, ACL_FLOAT, stride, 0, ACL_FORMAT_ND, shape, 1, data);
    CHECK(tensor == nullptr);
  }
  ~Vector() {
    CHECK(aclDestroyTensor(tensor));
    CHECK(aclrtFree(data));
  }
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;
};

// The second stage of an operator, ready to be submitted.
struct Operation {
  aclOpExecutor* executor = nullptr;
  uint64_t workspace_bytes = 0;
  void* workspace = nullptr;

  void GetWorkspace() {
    if (workspace_bytes == 0) return;
    CHECK(aclrtMalloc(&workspace, workspace_bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  }
  ~Operation() {
    if (workspace != nullptr) CHECK(aclrtFree(workspace));
  }
};

// What the captured work uses: all of it must live as long as the model.
struct Step {
  Vector x, twos, halves, doubled, shifted, y;
  Operation times, plus, sum;
  aclScalar* one = nullptr;
  aclrtEvent fetched = nullptr;
  aclrtEvent side_done = nullptr;

  Step() {
    CHECK(aclrtCreateEvent(&fetched));
    CHECK(aclrtCreateEvent(&side_done));
    Set(twos, 2.0f);
    Set(halves, 0.5f);
    float value = 1.0f;
    one = aclCreateScalar(&value, ACL_FLOAT);
    CHECK(one == nullptr);
    CHECK(aclnnMulGetWorkspaceSize(x.tensor, twos.tensor, doubled.tensor, &times.workspace_bytes,
                                   &times.executor));
    CHECK(aclnnAddGetWorkspaceSize(x.tensor, halves.tensor, one, shifted.tensor, &plus.workspace_bytes,
                                   &plus.executor));
    CHECK(aclnnAddGetWorkspaceSize(doubled.tensor, shifted.tensor, one, y.tensor, &sum.workspace_bytes,
                                   &sum.executor));
    for (Operation* operation : {&times, &plus, &sum}) operation->GetWorkspace();
  }
  ~Step() {
    CHECK(aclDestroyScalar(one));
    CHECK(aclrtDestroyEvent(side_done));
    CHECK(aclrtDestroyEvent(fetched));
  }

  static void Set(Vector& vector, float value) {
    std::vector<float> values(kCount, value);
    CHECK(aclrtMemcpy(vector.data, kBytes, values.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
  }
};

// Submits one step to two streams while the main one is being captured.
aclmdlRI Capture(Step& step, float* host, aclrtStream main_stream, aclrtStream side_stream) {
  CHECK(aclmdlRICaptureBegin(main_stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  CHECK(aclrtMemcpyAsync(step.x.data, kBytes, host, kBytes, ACL_MEMCPY_HOST_TO_DEVICE, main_stream));
  CHECK(aclrtRecordEvent(step.fetched, main_stream));

  CHECK(aclrtStreamWaitEvent(side_stream, step.fetched));  // the side stream joins
  CHECK(aclnnAdd(step.plus.workspace, step.plus.workspace_bytes, step.plus.executor, side_stream));
  CHECK(aclrtRecordEvent(step.side_done, side_stream));

  CHECK(aclnnMul(step.times.workspace, step.times.workspace_bytes, step.times.executor, main_stream));
  CHECK(aclrtStreamWaitEvent(main_stream, step.side_done));  // the side stream is back
  CHECK(aclnnAdd(step.sum.workspace, step.sum.workspace_bytes, step.sum.executor, main_stream));
  CHECK(aclrtMemcpyAsync(host, kBytes, step.y.data, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, main_stream));
  aclmdlRI model = nullptr;
  CHECK(aclmdlRICaptureEnd(main_stream, &model));
  return model;
}

double MicrosecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

void Replay(aclmdlRI model, aclrtStream stream, const float* host) {
  for (int replay = 1; replay <= 8; ++replay) {
    auto begin = std::chrono::steady_clock::now();
    CHECK(aclmdlRIExecuteAsync(model, stream));
    CHECK(aclrtSynchronizeStream(stream));
    double time = MicrosecondsSince(begin);
    std::printf("replay %d: ", replay);
    for (int64_t i = 0; i < kCount; ++i) std::printf(" %8.1f", host[i]);
    std::printf("   %6.1f us\n", time);
  }
}

void TimeManyReplays(aclmdlRI model, aclrtStream stream) {
  constexpr int kReplays = 10000;
  auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kReplays; ++i) CHECK(aclmdlRIExecuteAsync(model, stream));
  CHECK(aclrtSynchronizeStream(stream));
  std::printf("\n%d replays, one behind the other: %.2f us each\n", kReplays,
              MicrosecondsSince(begin) / kReplays);
}

void Run() {
  void* pinned = nullptr;
  CHECK(aclrtMallocHost(&pinned, kBytes));
  float* host = static_cast<float*>(pinned);
  for (int64_t i = 0; i < kCount; ++i) host[i] = static_cast<float>(i);
  aclrtStream main_stream = nullptr;
  aclrtStream side_stream = nullptr;
  CHECK(aclrtCreateStream(&main_stream));
  CHECK(aclrtCreateStream(&side_stream));
  {
    Step step;
    aclmdlRI model = Capture(step, host, main_stream, side_stream);
    std::printf("Captured from two streams, y = 3x + 0.5:\n\n");
    std::fflush(stdout);
    CHECK(aclmdlRIDebugPrint(model));
    std::printf("\nEach replay starts from the result of the one before:\n\n");
    Replay(model, main_stream, host);
    std::fill(host, host + kCount, 0.0f);
    TimeManyReplays(model, main_stream);
    CHECK(aclmdlRIDestroy(model));
  }
  CHECK(aclrtDestroyStream(side_stream));
  CHECK(aclrtDestroyStream(main_stream));
  CHECK(aclrtFreeHost(pinned));
}

}  // namespace

int main() {
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(0));
  Run();
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
}
