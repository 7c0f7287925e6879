// Where in the program a call was made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace belay::layers {

// A stack of a thread, as it was; two that are the same have one number. Each is kept for ever.
struct Stack {
  uint32_t number = 0;  // 0: none
  bool operator==(const Stack&) const = default;
};
struct StackHash {
  size_t operator()(const Stack& stack) const noexcept { return stack.number; }
};

// The calling thread's: its Python frames where an interpreter runs the program's own code on it, else the
// machine's.
Stack ThisStack();

struct Frame {
  std::string file;  // its path; empty: not known
  int line = 0;
  std::string function;       // and its library, where the file is not known
  std::string Words() const;  // "train.py:41 step"
};

// The program's own, innermost first. What lies in Belay's and the system's libraries is left out.
std::vector<Frame> FramesOf(const Stack& stack);

// Whether the program's main function, or Python code of its own, is on the stack: not so in what runs at
// exit.
bool IsInMain(const Stack& stack);

}  // namespace belay::layers
