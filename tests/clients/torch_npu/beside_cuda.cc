// On x86-64 PyPI has only the CUDA build of torch, beside which torch_npu does not start: both register two
// settings of the allocator by the same names. Between the two imports `forget` takes torch's away.
#include <dlfcn.h>

#include <string>
#include <unordered_set>

extern "C" int forget(const char* c10) {
  void* library = dlopen(c10, RTLD_NOLOAD | RTLD_NOW);
  if (library == nullptr) return 1;
  using Keys = std::unordered_set<std::string>& (*)();
  auto keys = reinterpret_cast<Keys>(
      dlsym(library, "_ZN3c1016CachingAllocator26AcceleratorAllocatorConfig14getMutableKeysB5cxx11Ev"));
  if (keys == nullptr) return 2;
  keys().erase("pinned_reserve_segment_size_mb");
  keys().erase("per_process_memory_fraction");
  return 0;
}
