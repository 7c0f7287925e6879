// Where in the program a call was made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace belay::layers {

// The calling thread's stack, innermost first, and its Python frames where an interpreter runs it.
struct Stack {
  std::vector<void*> frames;
  std::string python;
  bool operator==(const Stack&) const = default;
};
struct StackHash {
  size_t operator()(const Stack& stack) const noexcept;
};

Stack ThisStack();

// A line for each frame of the program's own, Python first: "train.py:41 step". What lies in Belay's and the
// system's libraries is left out.
std::vector<std::string> Describe(const Stack& stack);

}  // namespace belay::layers
