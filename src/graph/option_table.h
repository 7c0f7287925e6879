// Every option that a compiler of a card is told, by its names at each door, with what its value may be: GE
// (GEInitialize, sessions, AddGraph, aclgrphBuildInitialize, aclgrphBuildModel), atc, and aclSetCompileopt.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace belay::graph {

enum class OptionForm : uint8_t {
  kAny,        // no page says more than that there is something: a name, or what its user checks
  kWords,      // one of the words in `values`
  kWordList,   // some of them, with commas between
  kNames,      // names with commas between
  kNumber,     // a whole number within `values`, "0~3"; "0~" has no end
  kCores,      // one positive number, or two with | between: of cubes and of vectors
  kProcessor,  // begins like one of `values`
  kFile,       // a file that is there
  kFolder,     // a folder, which may yet be made
  kShapes,     // input_shape
  kGears,      // rows of positive numbers
};

enum class AtcUse : uint8_t { kUsed, kWithoutEffect, kRefused };

struct OptionRow {
  const char* key;   // of GE; "" where it has none
  const char* flag;  // of atc; "" where it has none
  int compile;       // aclCompileOpt; -1 where it has none
  AtcUse use;        // what atc makes of it
  OptionForm form;
  const char* values = "";
  const char* fallback = "";  // of atc
  const char* help = "";      // of atc
};

namespace option_rows {  // names for option_rows.inc
using enum OptionForm;
using enum AtcUse;
inline constexpr const char* kSwitch = "0|1";
inline constexpr const char* kTruth = "true|false";
inline constexpr int kNoNumber = -1;
}  // namespace option_rows

std::span<const OptionRow> AllOptions();

// Null when there is none of that name.
const OptionRow* FindOption(std::string_view key);
const OptionRow* FindFlag(std::string_view flag);
const OptionRow* FindCompileOption(int option);

// What the value must be, if it is not; else empty. The sentence goes on after "it is ": "one of 0, 1".
std::string Wanted(const OptionRow& option, std::string_view value);

// How atc numbers a value that is none: "E10006" where it is 0 or 1.
const char* ErrorCodeOf(const OptionRow& option);

}  // namespace belay::graph
