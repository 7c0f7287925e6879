// How libbelay_dnnl.so keeps oneDNN on the calling thread.
#pragma once

#include <omp.h>
#include <pthread.h>

#include <cstddef>
#include <iterator>
#include <memory>
#include <new>

#include <oneapi/dnnl/dnnl.hpp>

#include "base/spare_memory.h"

namespace belay::ops {

// oneDNN reads what it has not got when memory runs out while it makes something; so there must be some: for
// one primitive, and for the kernels of its products of matrices, which it makes for the first of each form.
inline void RequireRoom() { belay::RequireMemory(size_t{4} << 20); }
inline void RequireRoomForFirst() { belay::RequireMemory(size_t{32} << 20); }

// True when oneDNN has done it; false: it does not take such a one.
inline bool Done(dnnl_status_t status) {
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  return status == dnnl_success;
}

// The T of the calling thread, made when first asked for. Not a thread_local object: to note its destructor
// the C library needs memory, and ends the process when there is none.
template <class T>
T& OfThisThread() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    if (pthread_key_create(&made, [](void* object) { delete static_cast<T*>(object); }) != 0)
      throw std::bad_alloc();
    return made;
  }();
  if (void* known = pthread_getspecific(key)) return *static_cast<T*>(known);
  RequireRoomForFirst();
  auto made = std::make_unique<T>();
  if (pthread_setspecific(key, made.get()) != 0) throw std::bad_alloc();
  return *made.release();
}

// OpenMP keeps some settings for each thread that has its own, and ends the process when it has no memory for
// them. It finds what was taken and given back here; where that is too much to ask the call fails instead.
struct OpenMpOfThread {
  OpenMpOfThread() {
    constexpr size_t kStep = 16, kMost = 1024;
    std::unique_ptr<char[]> taken[kMost / kStep];
    for (size_t i = 0; i < std::size(taken); ++i)
      taken[i] = std::make_unique_for_overwrite<char[]>((i + 1) * kStep - 8);
    for (auto& block : taken) block.reset();
    omp_set_num_threads(omp_get_max_threads());
  }
};

// One thread for oneDNN while this lives. The thread may be the program's own, which helps Belay
// while it waits, so its setting is put back.
class SingleThreaded {
 public:
  SingleThreaded() : before_(omp_get_max_threads()) {
    OfThisThread<OpenMpOfThread>();
    omp_set_num_threads(1);
  }
  ~SingleThreaded() { omp_set_num_threads(before_); }

 private:
  int before_;
};

// One engine for the process, and a stream for each thread. Neither is ever destroyed.
inline const dnnl::engine& TheEngine() {
  static const auto* engine = [] {
    dnnl::set_jit_profiling_flags(DNNL_JIT_PROFILE_NONE);  // telling a profiler of each kernel takes time
    return new dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return *engine;
}

struct StreamOfThread {
  dnnl::stream stream{TheEngine()};
};
inline dnnl::stream& ThisThreadsStream() { return OfThisThread<StreamOfThread>().stream; }

}  // namespace belay::ops
