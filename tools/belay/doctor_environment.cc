// What belay doctor finds in the environment.
#include <cstdlib>
#include <filesystem>

#include "belay/doctor.h"
#include "belay/toolkit.h"

namespace belay::tool {
namespace {

std::string Value(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string Source(const std::string& home) {
  return "source " + home +
         "/set_env.sh (last, if others are sourced as well), or start the program with belay run";
}

// Each of the variables that lead programs to the toolkit.
void ExamineHomes(const std::string& home, std::vector<Finding>& findings) {
  std::string unset;
  std::string wrong;
  for (const char* name :
       {"ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH", "ASCEND_AICPU_PATH", "ASCEND_OPP_PATH"}) {
    std::string value = Value(name);
    if (value.empty()) {
      unset += (unset.empty() ? "" : ", ") + std::string(name);
    } else if (!SameFolder(value, std::string(name) == "ASCEND_OPP_PATH" ? home + "/opp" : home)) {
      bool exists = std::filesystem::exists(value);
      wrong += (wrong.empty() ? "" : ", ") + std::string(name) + " leads to " + value +
               (exists ? "" : " (which does not exist)");
    }
  }
  if (!wrong.empty()) findings.push_back({Verdict::kProblem, wrong + ", not to this toolkit", Source(home)});
  if (!unset.empty())
    findings.push_back(
        {Verdict::kNote, "not set, though programs and build scripts read them: " + unset, Source(home)});
  if (unset.empty() && wrong.empty())
    findings.push_back({Verdict::kGood, "the variables ASCEND_* lead to this toolkit", ""});
}

void ExamineLibraryPath(const std::string& home, std::vector<Finding>& findings) {
  bool found = false;
  for (const std::string& folder : ListOf("LD_LIBRARY_PATH")) {
    bool has_libraries = std::filesystem::exists(folder + "/libascendcl.so") ||
                         std::filesystem::exists(folder + "/libbelay_core.so");
    if (!has_libraries) continue;
    if (SameFolder(folder, home + "/lib64")) {
      if (!found)
        findings.push_back({Verdict::kGood, "LD_LIBRARY_PATH leads to this toolkit's libraries", ""});
      found = true;
    } else if (!found) {
      findings.push_back({Verdict::kProblem,
                          "LD_LIBRARY_PATH leads to " + DescribeForeign(folder) + ", before this one",
                          Source(home)});
      return;
    } else {
      findings.push_back({Verdict::kNote,
                          "LD_LIBRARY_PATH also has " + DescribeForeign(folder) + ", behind this one",
                          "what Belay lacks would be taken from there, which cannot work: take it out of the "
                          "list"});
    }
  }
  if (!found) {
    findings.push_back({Verdict::kNote,
                        "LD_LIBRARY_PATH does not lead to this toolkit: only programs that know "
                        "where its libraries are find them",
                        Source(home)});
  }
}

void ExaminePreload(const std::string& home, std::vector<Finding>& findings) {
  for (const std::string& library : ListOf("LD_PRELOAD")) {
    std::filesystem::path path = library;
    if (path.filename().string().rfind("libascend", 0) != 0 && path.filename() != "libbelay_core.so")
      continue;
    if (SameFolder(path.parent_path().string(), home + "/lib64")) continue;
    findings.push_back(
        {Verdict::kProblem, "LD_PRELOAD loads " + library + " of another toolkit", "unset LD_PRELOAD"});
  }
}

}  // namespace

std::vector<Finding> ExamineEnvironment(const std::string& home) {
  std::vector<Finding> findings;
  ExamineHomes(home, findings);
  ExamineLibraryPath(home, findings);
  ExaminePreload(home, findings);
  return findings;
}

}  // namespace belay::tool
