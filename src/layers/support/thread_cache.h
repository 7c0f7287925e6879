// A large object of each thread, made when it is first asked for. Also threads that are about to end may ask.
#pragma once

namespace belay::layers {

template <class T>
T* ThreadCache() {
  struct End {
    T** object;
    ~End() {
      delete *object;
      *object = nullptr;
    }
  };
  static thread_local T* object = nullptr;
  if (object == nullptr) [[unlikely]] {
    object = new T();
    static thread_local End end{&object};
  }
  return object;
}

}  // namespace belay::layers
