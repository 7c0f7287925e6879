// What layers find: one record a mistake, in one place, however it is shown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "layers/support/stack.h"

namespace belay::layers {

// One of the places in a program that a report names.
struct Place {
  std::string role;  // "writes  memset, stream 1, by aclrtMemsetAsync"
  Stack stack;
};

struct Report {
  std::string_view kind;      // its section in docs/check.md
  std::string message;        // what is wrong, without an end
  std::vector<Place> places;  // the one to look at first comes first
  std::string mend;           // what to do
};

// Tells a mistake once: the same kind at the same places is not told again.
void Tell(const Report& report);

// As Tell shows it.
std::string TextOf(const Report& report);

}  // namespace belay::layers
