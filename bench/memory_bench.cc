// Memory through the public functions: allocation, copies beside memcpy, the price of a small copy.
// Compare rates inside one run only: other programs share the memory.
#include <acl/acl.h>
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void Check(aclError code) {
  if (code == ACL_SUCCESS) return;
  const char* text = aclGetRecentErrMsg();
  std::fprintf(stderr, "error %d: %s\n", code, text == nullptr ? "" : text);
  std::abort();
}

// --- allocate and free, reused

void AllocateAndFree(benchmark::State& state) {
  auto bytes = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    void* p = nullptr;
    Check(aclrtMalloc(&p, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    benchmark::DoNotOptimize(p);
    Check(aclrtFree(p));
  }
}
BENCHMARK(AllocateAndFree)->Arg(32)->Arg(4 << 10)->Arg(1 << 20)->Arg(64 << 20)->Arg(1 << 30);
BENCHMARK(AllocateAndFree)->Arg(4 << 10)->Threads(2);

void PeerMallocAndFree(benchmark::State& state) {
  auto bytes = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    void* p = std::malloc(bytes);
    benchmark::DoNotOptimize(p);
    std::free(p);
  }
}
BENCHMARK(PeerMallocAndFree)->Arg(32)->Arg(4 << 10)->Arg(1 << 20)->Arg(64 << 20)->Arg(1 << 30);

void FirstTouch(benchmark::State& state) {
  // Blocks that were never used: the cost of their pages.
  auto bytes = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    void* p = nullptr;
    Check(aclrtMalloc(&p, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    for (size_t i = 0; i < bytes; i += 4096) static_cast<volatile char*>(p)[i] = 1;
  }
  Check(aclrtResetDevice(0));
  Check(aclrtSetDevice(0));
}
BENCHMARK(FirstTouch)->Arg(64 << 20)->Iterations(8)->Unit(benchmark::kMicrosecond);

// --- copies

struct Buffers {
  explicit Buffers(size_t bytes) {
    Check(aclrtMalloc(&from, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    Check(aclrtMalloc(&to, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    std::memset(from, 1, bytes);
    std::memset(to, 2, bytes);
  }
  ~Buffers() {
    Check(aclrtFree(from));
    Check(aclrtFree(to));
  }
  void* from = nullptr;
  void* to = nullptr;
};

void Sizes(benchmark::internal::Benchmark* b) {
  for (int64_t bytes : {32, 4 << 10, 64 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20, 16 << 20,
                        32 << 20, 64 << 20, 256 << 20}) {
    b->Arg(bytes);
  }
  b->UseRealTime();
}

void Copy(benchmark::State& state) {
  auto bytes = static_cast<size_t>(state.range(0));
  Buffers buffers(bytes);
  for (auto _ : state) {
    Check(aclrtMemcpy(buffers.to, bytes, buffers.from, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE));
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(Copy)->Apply(Sizes);

void PeerMemcpy(benchmark::State& state) {
  auto bytes = static_cast<size_t>(state.range(0));
  Buffers buffers(bytes);
  for (auto _ : state) {
    std::memcpy(buffers.to, buffers.from, bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(PeerMemcpy)->Apply(Sizes);

// Submitted in batches, so that the stream never fills up; the wait is inside the time.
void CopyAsync(benchmark::State& state) {
  auto bytes = static_cast<size_t>(state.range(0));
  Buffers buffers(bytes);
  aclrtStream stream = nullptr;
  Check(aclrtCreateStream(&stream));
  int64_t batch = bytes < (1 << 20) ? 1000 : 1;
  while (state.KeepRunningBatch(batch)) {
    for (int64_t i = 0; i < batch; ++i) {
      Check(aclrtMemcpyAsync(buffers.to, bytes, buffers.from, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    }
    Check(aclrtSynchronizeStream(stream));
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
  Check(aclrtDestroyStream(stream));
}
BENCHMARK(CopyAsync)->Apply(Sizes);

void Fill(benchmark::State& state) {
  auto bytes = static_cast<size_t>(state.range(0));
  Buffers buffers(bytes);
  for (auto _ : state) Check(aclrtMemset(buffers.to, bytes, 3, bytes));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(Fill)->Apply(Sizes);

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  Check(aclInit(nullptr));
  Check(aclrtSetDevice(0));
  benchmark::RunSpecifiedBenchmarks();
  Check(aclFinalize());
}
