// belay doctor: what would keep a program from running here, and what to do about it.
#pragma once

#include <string>
#include <vector>

namespace belay::tool {

enum class Verdict { kGood, kNote, kProblem };

struct Finding {
  Verdict verdict;
  std::string what;
  std::string advice;  // what to do; may be empty
};

// The environment, the machine, and each program or library. The exit code: 1 when there is a
// problem.
int Doctor(const std::vector<std::string>& programs);

// Variables that programs and the loader read, as far as they lead to this toolkit or away from it.
std::vector<Finding> ExamineEnvironment(const std::string& home);

// Limits of the system, and whether the runtime starts.
std::vector<Finding> ExamineMachine();

// Without running it: processor, libraries, versions, symbols.
std::vector<Finding> ExamineProgram(const std::string& name, const std::string& home);

// Whether two paths lead to one folder.
bool SameFolder(const std::string& one, const std::string& other);

// What a folder with Ascend libraries is, in words: another toolkit's, or another Belay's.
std::string DescribeForeign(const std::string& folder);

}  // namespace belay::tool
