// What layers find: one record a mistake, in one place, however it is shown.
#pragma once

#include <string>
#include <vector>

#include "layers/support/kinds.h"
#include "layers/support/stack.h"

namespace belay::layers {

// One of the places in a program that a report names.
struct Place {
  std::string role;  // "writes  memset, stream 1, by aclrtMemsetAsync"
  Stack stack;
  std::string spot = {};  // in the history (history.h), where that has it
  bool beside = false;    // says more, and does not make the report another one
};

struct Report {
  KindId kind;
  std::string message;        // what is wrong, without an end
  std::vector<Place> places;  // the one to look at first comes first
  std::string mend;           // what to do
};

// Tells a mistake (or a note, by its kind) once, on the standard error and in the file of reports
// (report_file.h): the same kind at the same places is not told again, and what is suppressed is only
// counted. False: nothing was told.
bool Tell(const Report& report);

}  // namespace belay::layers
