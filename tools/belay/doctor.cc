#include "belay/doctor.h"

#include <cstdio>
#include <filesystem>

#include "belay/toolkit.h"

namespace belay::tool {
namespace {

bool Print(const std::string& title, const std::vector<Finding>& findings) {
  bool problem = false;
  std::printf("%s\n", title.c_str());
  for (const Finding& finding : findings) {
    bool bad = finding.verdict == Verdict::kProblem;
    const char* mark = bad ? "PROBLEM" : finding.verdict == Verdict::kNote ? "note   " : "ok     ";
    std::printf("  %s  %s\n", mark, finding.what.c_str());
    if (!finding.advice.empty()) std::printf("           %s\n", finding.advice.c_str());
    problem |= bad;
  }
  return problem;
}

}  // namespace

bool SameFolder(const std::string& one, const std::string& other) {
  std::error_code none;
  return std::filesystem::equivalent(one, other, none);
}

std::string DescribeForeign(const std::string& folder) {
  bool belay = std::filesystem::exists(folder + "/libbelay_core.so");
  return (belay ? "another Belay, " : "another toolkit, ") + folder;
}

int Doctor(const std::vector<std::string>& programs) {
  std::string home = ToolkitHome();
  bool problem = Print("environment, for the toolkit at " + home, ExamineEnvironment(home));
  problem |= Print("machine", ExamineMachine());
  for (const std::string& program : programs) problem |= Print(program, ExamineProgram(program, home));
  std::puts(problem ? "There are problems; see above."
                    : "Nothing found that would keep a program from running.");
  return problem ? 1 : 0;
}

}  // namespace belay::tool
