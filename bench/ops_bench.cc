// Operators: what a call costs, and how fast the kernels are, beside a plain loop and oneDNN called
// directly.
#include <dlfcn.h>

#include <chrono>
#include <cmath>

#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_incre_flash_attention_v4.h"
#include "aclnnop/aclnn_mm.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "aclnnop/aclnn_softmax.h"
#include "common.h"

namespace {

using bench::NewStream;
using Clock = std::chrono::steady_clock;

// A packed tensor with memory of its own, filled so that pages exist.
struct Tensor {
  explicit Tensor(std::vector<int64_t> dims, aclDataType type = ACL_FLOAT) {
    bench::Device::Get();
    int64_t count = 1;
    for (int64_t size : dims) count *= size;
    bytes = static_cast<size_t>(count) * aclDataTypeSize(type);
    CHECK_ACL(aclrtMalloc(&data, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_ACL(aclrtMemset(data, bytes, 0, bytes));
    handle = aclCreateTensor(dims.data(), dims.size(), type, nullptr, 0, ACL_FORMAT_ND, dims.data(),
                             dims.size(), data);
  }
  ~Tensor() {
    aclDestroyTensor(handle);
    aclrtFree(data);
  }
  float* floats() const { return static_cast<float*>(data); }
  void* data = nullptr;
  size_t bytes = 0;
  aclTensor* handle = nullptr;
};

struct One {
  One() {
    float value = 1;
    handle = aclCreateScalar(&value, ACL_FLOAT);
  }
  ~One() { aclDestroyScalar(handle); }
  aclScalar* handle;
};

// Time of `call` alone, without the work behind it: batches, each followed by an untimed wait.
template <class Call>
void TimeSubmission(benchmark::State& state, aclrtStream stream, Call call) {
  constexpr int kBatch = 2000;
  for (auto _ : state) {
    auto start = Clock::now();
    for (int i = 0; i < kBatch; ++i) call();
    std::chrono::duration<double> spent = Clock::now() - start;
    state.SetIterationTime(spent.count() / kBatch);
    CHECK_ACL(aclrtSynchronizeStream(stream));
  }
  CHECK_ACL(aclrtDestroyStream(stream));
}

void AddBothStages(benchmark::State& state) {
  Tensor a({8}), b({8}), c({8});
  One alpha;
  aclrtStream stream = NewStream();
  TimeSubmission(state, stream, [&] {
    uint64_t size;
    aclOpExecutor* executor;
    aclnnAddGetWorkspaceSize(a.handle, b.handle, alpha.handle, c.handle, &size, &executor);
    aclnnAdd(nullptr, 0, executor, stream);
  });
}
BENCHMARK(AddBothStages)->UseManualTime()->Iterations(100);

void AddRepeatable(benchmark::State& state) {
  Tensor a({8}), b({8}), c({8});
  One alpha;
  aclrtStream stream = NewStream();
  uint64_t size;
  aclOpExecutor* executor;
  CHECK_ACL(aclnnAddGetWorkspaceSize(a.handle, b.handle, alpha.handle, c.handle, &size, &executor));
  CHECK_ACL(aclSetAclOpExecutorRepeatable(executor));
  TimeSubmission(state, stream, [&] { aclnnAdd(nullptr, 0, executor, stream); });
  CHECK_ACL(aclDestroyAclOpExecutor(executor));
}
BENCHMARK(AddRepeatable)->UseManualTime()->Iterations(100);

// Runs an executor again and again, waiting each time.
template <class StageOne, class StageTwo>
void TimeRuns(benchmark::State& state, StageOne stage_one, StageTwo stage_two) {
  aclrtStream stream = NewStream();
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK_ACL(stage_one(&size, &executor));
  CHECK_ACL(aclSetAclOpExecutorRepeatable(executor));
  void* workspace = nullptr;
  if (size > 0) CHECK_ACL(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST));
  for (auto _ : state) {
    CHECK_ACL(stage_two(workspace, size, executor, stream));
    CHECK_ACL(aclrtSynchronizeStream(stream));
  }
  CHECK_ACL(aclDestroyAclOpExecutor(executor));
  if (workspace != nullptr) CHECK_ACL(aclrtFree(workspace));
  CHECK_ACL(aclrtDestroyStream(stream));
}

void Add(benchmark::State& state) {
  int64_t n = state.range(0);
  Tensor a({n}), b({n}), c({n});
  One alpha;
  TimeRuns(
      state,
      [&](uint64_t* size, aclOpExecutor** executor) {
        return aclnnAddGetWorkspaceSize(a.handle, b.handle, alpha.handle, c.handle, size, executor);
      },
      aclnnAdd);
  state.SetBytesProcessed(state.iterations() * n * 12);
}
BENCHMARK(Add)->Arg(16 << 10)->Arg(1 << 20)->Arg(64 << 20)->UseRealTime();

void AddHalf(benchmark::State& state) {
  int64_t n = state.range(0);
  Tensor a({n}, ACL_FLOAT16), b({n}, ACL_FLOAT16), c({n}, ACL_FLOAT16);
  One alpha;
  TimeRuns(
      state,
      [&](uint64_t* size, aclOpExecutor** executor) {
        return aclnnAddGetWorkspaceSize(a.handle, b.handle, alpha.handle, c.handle, size, executor);
      },
      aclnnAdd);
  state.SetBytesProcessed(state.iterations() * n * 6);
}
BENCHMARK(AddHalf)->Arg(16 << 10)->Arg(1 << 20)->UseRealTime();

#if defined(__x86_64__)
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3")))
#endif
void PlainLoop(float* c, const float* a, const float* b, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) c[i] = a[i] + b[i];
}

void AddPlainLoop(benchmark::State& state) {
  int64_t n = state.range(0);
  Tensor a({n}), b({n}), c({n});
  for (auto _ : state) {
    PlainLoop(c.floats(), a.floats(), b.floats(), n);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * n * 12);
}
BENCHMARK(AddPlainLoop)->Arg(16 << 10)->Arg(1 << 20)->Arg(64 << 20)->UseRealTime();

void Matmul(benchmark::State& state) {
  int64_t m = state.range(0), n = state.range(1);
  auto type = static_cast<aclDataType>(state.range(2));
  Tensor a({m, n}, type), b({n, n}, type), c({m, n}, type);
  TimeRuns(
      state,
      [&](uint64_t* size, aclOpExecutor** executor) {
        return aclnnMmGetWorkspaceSize(a.handle, b.handle, c.handle, 0, size, executor);
      },
      aclnnMm);
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * static_cast<double>(m * n * n),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(Matmul)
    ->ArgNames({"m", "n", "type"})
    ->Args({1, 1024, ACL_FLOAT})
    ->Args({256, 256, ACL_FLOAT})
    ->Args({1024, 1024, ACL_FLOAT})
    ->Args({1024, 1024, ACL_FLOAT16})
    ->Args({1024, 1024, ACL_BF16})
    ->UseRealTime();

// oneDNN itself, with as many OpenMP threads as it is told.
void MatmulOneDnn(benchmark::State& state) {
  using Sgemm = int (*)(char, char, int64_t, int64_t, int64_t, float, const float*, int64_t, const float*,
                        int64_t, float, float*, int64_t);
  void* dnnl = dlopen("libdnnl.so.2", RTLD_NOW);
  void* gomp = dlopen("libgomp.so.1", RTLD_NOW);
  auto sgemm = dnnl == nullptr ? nullptr : reinterpret_cast<Sgemm>(dlsym(dnnl, "dnnl_sgemm"));
  auto threads =
      gomp == nullptr ? nullptr : reinterpret_cast<void (*)(int)>(dlsym(gomp, "omp_set_num_threads"));
  if (sgemm == nullptr || threads == nullptr) return state.SkipWithError("oneDNN is not installed");
  threads(static_cast<int>(state.range(2)));
  int64_t m = state.range(0), n = state.range(1);
  Tensor a({m, n}), b({n, n}), c({m, n});
  for (auto _ : state) {
    sgemm('N', 'N', m, n, n, 1, a.floats(), n, b.floats(), n, 0, c.floats(), n);
  }
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * static_cast<double>(m * n * n),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(MatmulOneDnn)
    ->ArgNames({"m", "n", "threads"})
    ->ArgsProduct({{1}, {1024}, {1, 2}})
    ->ArgsProduct({{256}, {256}, {1, 2}})
    ->ArgsProduct({{1024}, {1024}, {1, 2}})
    ->UseRealTime();

void Softmax(benchmark::State& state) {
  auto type = static_cast<aclDataType>(state.range(0));
  Tensor x({1024, 1024}, type), y({1024, 1024}, type);
  TimeRuns(
      state,
      [&](uint64_t* size, aclOpExecutor** executor) {
        return aclnnSoftmaxGetWorkspaceSize(x.handle, state.range(1), y.handle, size, executor);
      },
      aclnnSoftmax);
}
BENCHMARK(Softmax)
    ->ArgNames({"type", "dim"})
    ->ArgsProduct({{ACL_FLOAT, ACL_FLOAT16}, {0, 1}})
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();

void Sum(benchmark::State& state) {
  Tensor x({1024, 1024}), y({1024});
  int64_t dim = state.range(0);
  aclIntArray* dims = aclCreateIntArray(&dim, 1);
  TimeRuns(
      state,
      [&](uint64_t* size, aclOpExecutor** executor) {
        return aclnnReduceSumGetWorkspaceSize(x.handle, dims, false, ACL_FLOAT, y.handle, size, executor);
      },
      aclnnReduceSum);
  aclDestroyIntArray(dims);
}
BENCHMARK(Sum)->ArgName("dim")->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond)->UseRealTime();

// One row for each of `batch` sequences against caches of `columns` rows in pages: a step of decoding.
struct Decoding {
  static constexpr int64_t kHeads = 32, kSize = 128, kPageRows = 128;

  Decoding(aclDataType type, int64_t batches, int64_t columns, int64_t shared)
      : query({batches, kHeads, 1, kSize}, ACL_BF16),
        key({batches * columns / kPageRows, kPageRows, shared * kSize}, type),
        value({batches * columns / kPageRows, kPageRows, shared * kSize}, type),
        scales({2, shared * kSize}, ACL_BF16),
        table({batches, columns / kPageRows}, ACL_INT32),
        out({batches, kHeads, 1, kSize}, ACL_BF16),
        lengths(static_cast<size_t>(batches), columns),
        key_heads(shared),
        with_scales(type == ACL_INT8) {
    keys = aclCreateTensorList(&key.handle, 1), values = aclCreateTensorList(&value.handle, 1);
    ends = aclCreateIntArray(lengths.data(), lengths.size());
    auto* page = static_cast<int32_t*>(table.data);
    for (size_t i = 0; i < table.bytes / sizeof(int32_t); ++i) page[i] = static_cast<int32_t>(i);
  }

  void Run(aclrtStream stream) {
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    char layout[] = "BNSD";
    CHECK_ACL(aclnnIncreFlashAttentionV4GetWorkspaceSize(
        query.handle, keys, values, nullptr, nullptr, ends, nullptr, nullptr, nullptr, nullptr, nullptr,
        with_scales ? scales.handle : nullptr, nullptr, table.handle, nullptr, kHeads, 0.088, layout,
        key_heads, kPageRows, 0, out.handle, &size, &executor));
    if (workspace == nullptr) CHECK_ACL(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_ACL(aclnnIncreFlashAttentionV4(workspace, size, executor, stream));
    CHECK_ACL(aclrtSynchronizeStream(stream));
  }

  Tensor query, key, value, scales, table, out;
  std::vector<int64_t> lengths;
  int64_t key_heads;
  bool with_scales;
  aclTensorList *keys, *values;
  aclIntArray* ends;
  void* workspace = nullptr;
};

void DecodeStep(benchmark::State& state) {
  const aclDataType type = state.range(0) == 1 ? ACL_INT8 : ACL_BF16;
  Decoding decoding(type, 4, 1024, state.range(1));
  aclrtStream stream = NewStream();
  for (auto _ : state) decoding.Run(stream);
  CHECK_ACL(aclrtDestroyStream(stream));
}
BENCHMARK(DecodeStep)
    ->ArgNames({"int8", "key_heads"})
    ->ArgsProduct({{0, 1}, {8, 32}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
