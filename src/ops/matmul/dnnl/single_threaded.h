// How libbelay_dnnl.so keeps oneDNN on the calling thread.
#pragma once

#include <omp.h>
#include <pthread.h>

#include <memory>
#include <new>

#include <oneapi/dnnl/dnnl.hpp>

namespace belay::ops {

// One thread for oneDNN while this lives. The thread may be the program's own, which helps Belay
// while it waits, so its setting is put back.
class SingleThreaded {
 public:
  SingleThreaded() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
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
  auto made = std::make_unique<T>();
  if (pthread_setspecific(key, made.get()) != 0) throw std::bad_alloc();
  return *made.release();
}

struct StreamOfThread {
  dnnl::stream stream{TheEngine()};
};
inline dnnl::stream& ThisThreadsStream() { return OfThisThread<StreamOfThread>().stream; }

}  // namespace belay::ops
