// How libbelay_dnnl.so keeps oneDNN on the calling thread.
#pragma once

#include <omp.h>

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

inline dnnl::stream& ThisThreadsStream() {
  thread_local dnnl::stream stream{TheEngine()};
  return stream;
}

}  // namespace belay::ops
