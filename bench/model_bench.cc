// model_bench MODEL.om... [--runs N]: loads each model and runs it with aclmdlExecute on zeros; prints the
// time to load it, and the median, fastest and slowest run. Not a Google Benchmark: models are files that
// atc has compiled, and peers run theirs in their own processes (docs/performance.md).
#include <acl/acl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

void Check(aclError code, const char* what) {
  if (code == ACL_SUCCESS) return;
  const char* text = aclGetRecentErrMsg();
  std::fprintf(stderr, "%s: %d\n%s", what, code, text == nullptr ? "" : text);
  std::exit(1);
}

double Ms(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

aclmdlDataset* Buffers(size_t count, size_t (*bytes)(aclmdlDesc*, size_t), aclmdlDesc* desc) {
  aclmdlDataset* dataset = aclmdlCreateDataset();
  for (size_t i = 0; i < count; ++i) {
    size_t size = bytes(desc, i);
    void* data = nullptr;
    Check(aclrtMalloc(&data, std::max<size_t>(size, 1), ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    Check(aclrtMemset(data, size, 0, size), "aclrtMemset");
    Check(aclmdlAddDatasetBuffer(dataset, aclCreateDataBuffer(data, size)), "aclmdlAddDatasetBuffer");
  }
  return dataset;
}

void Run(const char* path, int runs) {
  auto begin = std::chrono::steady_clock::now();
  uint32_t id = 0;
  Check(aclmdlLoadFromFile(path, &id), path);
  double load = Ms(begin);
  aclmdlDesc* desc = aclmdlCreateDesc();
  Check(aclmdlGetDesc(desc, id), "aclmdlGetDesc");
  aclmdlDataset* in = Buffers(aclmdlGetNumInputs(desc), aclmdlGetInputSizeByIndex, desc);
  aclmdlDataset* out = Buffers(aclmdlGetNumOutputs(desc), aclmdlGetOutputSizeByIndex, desc);
  std::vector<double> times;
  for (int i = 0; i < runs + 3; ++i) {
    begin = std::chrono::steady_clock::now();
    Check(aclmdlExecute(id, in, out), "aclmdlExecute");
    if (i >= 3) times.push_back(Ms(begin));
  }
  std::sort(times.begin(), times.end());
  std::printf("%-48s load %7.1f ms   run %8.3f ms (%.3f .. %.3f)\n", path, load, times[times.size() / 2],
              times.front(), times.back());
  Check(aclmdlUnload(id), "aclmdlUnload");
}

}  // namespace

int main(int count, char** arguments) {
  int runs = 20;
  Check(aclInit(nullptr), "aclInit");
  Check(aclrtSetDevice(0), "aclrtSetDevice");
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(arguments[i], "--runs") == 0 && i + 1 < count) {
      runs = std::atoi(arguments[++i]);
    } else {
      Run(arguments[i], runs);
    }
  }
  Check(aclrtResetDevice(0), "aclrtResetDevice");
  Check(aclFinalize(), "aclFinalize");
}
