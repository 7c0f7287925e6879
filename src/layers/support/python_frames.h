// The Python frames of the calling thread, by reading what the interpreter keeps of them: neither its lock
// nor its words are needed for each look. Words are made once, when a place of a program is seen first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace belay::layers {

// A place in a Python program.
struct PythonPlace {
  std::string file;
  int line = 0;
  std::string function;

  bool own() const;           // the program's: no library's, and it has a file
  std::string Words() const;  // "train.py:41 step"
  auto operator<=>(const PythonPlace&) const = default;
};

// The innermost frames of the calling thread, as numbers of places. None where no interpreter runs it, and
// where its frames cannot be read.
class PythonFrames {
 public:
  static constexpr size_t kMost = 64;
  PythonFrames();
  std::span<const uint64_t> places() const { return {places_, count_}; }
  bool any_own() const { return any_own_; }

 private:
  void Add(uint64_t number);

  size_t count_ = 0;
  bool any_own_ = false;
  uint64_t places_[kMost];
};

PythonPlace PlaceOf(uint64_t number);

// The places in what an interpreter writes of a thread, innermost first.
std::vector<PythonPlace> ParseTraceback(const std::string& text);

}  // namespace belay::layers
