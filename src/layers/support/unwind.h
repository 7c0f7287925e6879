// The calling thread's frames without an interpreter's help: what backtrace(3) gives, and cheap where a
// thread comes back to where it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace belay::layers {

class Unwound {
 public:
  static constexpr size_t kMost = 48;
  Unwound();
  // Where each call returns to, innermost first.
  std::span<const uint64_t> frames() const { return {frames_, count_}; }
  // Room for the number that whoever asks gives these frames; 0 where they were unwound just now.
  uint32_t& number() const { return *number_; }

 private:
  const uint64_t* frames_;  // the thread's: until it unwinds again
  size_t count_;
  uint32_t* number_;  // the thread's, too
};

}  // namespace belay::layers
