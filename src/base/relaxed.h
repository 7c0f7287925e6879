// A value of an object that is never destroyed and may be opened anew while a late reader looks at it: reads
// and writes are whole, and cost what those of a plain variable cost.
#pragma once

#include <atomic>

namespace belay {

template <class T>
class Relaxed {
 public:
  constexpr Relaxed() = default;
  constexpr Relaxed(T value) : value_(value) {}
  Relaxed(const Relaxed& other) : value_(static_cast<T>(other)) {}
  Relaxed& operator=(const Relaxed& other) { return *this = static_cast<T>(other); }
  operator T() const { return value_.load(std::memory_order_relaxed); }
  Relaxed& operator=(T value) {
    value_.store(value, std::memory_order_relaxed);
    return *this;
  }

 private:
  std::atomic<T> value_{};
};

}  // namespace belay
