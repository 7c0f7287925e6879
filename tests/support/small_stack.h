// Work on a thread whose stack would not hold a call for each node of a long chain.
#pragma once

#include <pthread.h>

#include <functional>

namespace conformance {

// In the time of sanitizers' larger frames, too, `kManyNodes` calls take more.
constexpr size_t kSmallStack = size_t{1} << 20;
constexpr int kManyNodes = 20000;

inline bool OnSmallStack(std::function<void()> work) {
  pthread_attr_t attributes;
  pthread_t thread;
  if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstacksize(&attributes, kSmallStack) != 0)
    return false;
  const auto run = [](void* argument) -> void* {
    (*static_cast<std::function<void()>*>(argument))();
    return nullptr;
  };
  const bool started = pthread_create(&thread, &attributes, run, &work) == 0;
  pthread_attr_destroy(&attributes);
  return started && pthread_join(thread, nullptr) == 0;
}

}  // namespace conformance
