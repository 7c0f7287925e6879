// A file descriptor that is closed when its owner goes; errno stays what it was.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace belay {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { Close(); }
  Descriptor(Descriptor&& o) noexcept : number_(std::exchange(o.number_, -1)) {}
  Descriptor& operator=(Descriptor&& o) noexcept {
    std::swap(number_, o.number_);
    return *this;
  }

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  void Close() {
    if (number_ < 0) return;
    const int reason = errno;
    close(std::exchange(number_, -1));
    errno = reason;
  }

 private:
  int number_ = -1;
};

}  // namespace belay
