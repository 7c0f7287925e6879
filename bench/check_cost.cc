// What the submitting thread takes for small pieces of work: a line each with a name and the least of some
// rounds in nanoseconds of processor time. check_cost.py runs it by `belay run` and `belay check` in turns.
#include <acl/acl.h>
#include <aclnnop/aclnn_add.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kRounds = 20;

void Need(int code, const char* call) {
  if (code == 0) return;
  std::fprintf(stderr, "%s gives %d: %s\n", call, code, aclGetRecentErrMsg());
  std::exit(1);
}
#define OK(call) Need(call, #call)

int64_t ThreadNs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

template <class Body>
void Measure(const char* name, int times, const Body& body, aclrtStream stream) {
  int64_t least = INT64_MAX;
  for (int round = 0; round < kRounds; ++round) {
    const int64_t begin = ThreadNs();
    for (int i = 0; i < times; ++i) body();
    least = std::min(least, ThreadNs() - begin);
    OK(aclrtSynchronizeStream(stream));
  }
  std::printf("%s\t%.1f\n", name, static_cast<double>(least) / times);
}

void* New(size_t bytes) {
  void* block = nullptr;
  OK(aclrtMalloc(&block, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMemset(block, bytes, 0, bytes));
  return block;
}

aclmdlRI Captured(int nodes, void* to, void* from, aclrtStream stream) {
  aclmdlRI model = nullptr;
  OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
  for (int i = 0; i < nodes; ++i) OK(aclrtMemcpyAsync(to, 32, from, 32, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
  OK(aclmdlRICaptureEnd(stream, &model));
  return model;
}

void MeasureStreams(void* x, void* y, aclrtStream a, aclrtStream b) {
  const auto copy = [&](aclrtStream stream) {
    OK(aclrtMemcpyAsync(y, 32, x, 32, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
  };
  Measure(
      "copy of 32 bytes", 10'000, [&] { copy(a); }, a);
  aclrtEvent event = nullptr;
  OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
  aclrtStream from = a, to = b;
  Measure(
      "record, wait, copy", 5'000,
      [&] {
        OK(aclrtRecordEvent(event, from));
        OK(aclrtStreamWaitEvent(to, event));
        copy(to);
        std::swap(from, to);
      },
      a);
  OK(aclrtSynchronizeStream(b));
}

void MeasureModels(void* x, void* y, aclrtStream a) {
  aclmdlRI large = Captured(1000, y, x, a), small = Captured(1, y, x, a);
  const auto launch = [&](aclmdlRI model) { OK(aclmdlRIExecuteAsync(model, a)); };
  Measure(
      "1000 nodes", 100,
      [&] {
        launch(large);
        OK(aclrtSynchronizeStream(a));
      },
      a);
  Measure(
      "launch of a node", 5'000, [&] { launch(small); }, a);
  Measure(
      "launch of a node, waited for", 5'000,
      [&] {
        launch(small);
        OK(aclrtSynchronizeStream(a));
      },
      a);
  OK(aclmdlRIDestroy(large));
  OK(aclmdlRIDestroy(small));
}

void MeasureAdd(const char* name, int64_t size, void* x, void* y, aclrtStream stream) {
  const int64_t stride = 1;
  const auto tensor = [&](void* block) {
    return aclCreateTensor(&size, 1, ACL_FLOAT, &stride, 0, ACL_FORMAT_ND, &size, 1, block);
  };
  aclTensor *left = tensor(x), *out = tensor(y);
  float one = 1;
  aclScalar* alpha = aclCreateScalar(&one, ACL_FLOAT);
  Measure(
      name, 1'000,
      [&] {
        uint64_t bytes = 0;
        aclOpExecutor* executor = nullptr;
        OK(aclnnAddGetWorkspaceSize(left, left, alpha, out, &bytes, &executor));
        OK(aclnnAdd(nullptr, 0, executor, stream));
      },
      stream);
  OK(aclDestroyTensor(left));
  OK(aclDestroyTensor(out));
  OK(aclDestroyScalar(alpha));
}

void MeasureUpload(const char* name, size_t bytes, void* x, aclrtStream stream) {
  void* pinned = nullptr;
  OK(aclrtMallocHost(&pinned, bytes));
  Measure(
      name, bytes > (64 << 10) ? 100 : 1'000,
      [&] {
        OK(aclrtMemcpyAsync(x, bytes, pinned, bytes, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        OK(aclrtSynchronizeStream(stream));
      },
      stream);
  OK(aclrtFreeHost(pinned));
}

}  // namespace

int main() {
  OK(aclInit(nullptr));
  OK(aclrtSetDevice(0));
  aclrtStream a = nullptr, b = nullptr;
  OK(aclrtCreateStream(&a));
  OK(aclrtCreateStream(&b));
  void *x = New(1 << 20), *y = New(1 << 20);
  MeasureStreams(x, y, a, b);
  MeasureModels(x, y, a);
  MeasureAdd("aclnnAdd of 8", 8, x, y, a);
  MeasureAdd("aclnnAdd of 16384", 16'384, x, y, a);
  MeasureUpload("upload of 64 B", 64, x, a);
  MeasureUpload("upload of 4 KiB", 4 << 10, x, a);
  MeasureUpload("upload of 64 KiB", 64 << 10, x, a);
  MeasureUpload("upload of 1 MiB", 1 << 20, x, a);
  OK(aclrtFree(x));
  OK(aclrtFree(y));
  OK(aclrtDestroyStream(a));
  OK(aclrtDestroyStream(b));
  OK(aclrtResetDevice(0));
  return aclFinalize();
}
