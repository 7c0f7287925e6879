#include "belay/run.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "belay/program_file.h"
#include "belay/toolkit.h"

namespace belay::tool {
namespace {

void SetIfGiven(const char* name, const std::string& value) {
  if (!value.empty()) setenv(name, value.c_str(), 1);
}

// A program with an old-style DT_RPATH looks there before LD_LIBRARY_PATH; a library that is already
// loaded under the right name is taken before either.
void Preload(const std::string& home) {
  const char* old = std::getenv("LD_PRELOAD");
  std::string list = old == nullptr ? "" : old;
  for (const auto& entry : std::filesystem::directory_iterator(home + "/lib64")) {
    std::string name = entry.path().filename().string();
    bool linked_by_programs = entry.path().extension() == ".so" && name.rfind("libbelay_", 0) != 0;
    if (!linked_by_programs) continue;
    if (!list.empty()) list += ":";
    list += entry.path().string();
  }
  setenv("LD_PRELOAD", list.c_str(), 1);
}

// Starts it all the same: what it starts in turn may be what uses a card.
void SayWhatWillNotWork(const ProgramFile& program) {
  const char* why = program.kind == ProgramKind::kStatic ? "is statically linked and loads no libraries"
                    : program.changes_user
                        ? "changes its user or group, so the system ignores LD_LIBRARY_PATH for it"
                        : nullptr;
  if (why == nullptr) return;
  std::fprintf(stderr, "belay run: %s %s: Belay has no effect on it\n", program.path.c_str(), why);
}

int Explain(const ProgramFile& program, int error) {
  const char* path = program.path.c_str();
  if (error == ENOEXEC && program.kind == ProgramKind::kForeign) {
    std::fprintf(stderr, "belay run: cannot start %s: it is a program for another processor\n", path);
  } else if (error == ENOENT && program.kind != ProgramKind::kMissing) {
    std::fprintf(
        stderr, "belay run: cannot start %s: the interpreter or loader that it names does not exist\n", path);
    return 126;
  } else {
    std::fprintf(stderr, "belay run: cannot start %s: %s\n", path, std::strerror(error));
  }
  return error == ENOENT ? 127 : 126;
}

}  // namespace

int Run(const RunOptions& options) {
  std::string home = ToolkitHome();
  SetToolkitEnvironment(home);
  SetIfGiven("BELAY_DEVICES", options.devices);
  SetIfGiven("BELAY_DEVICE_MEMORY", options.device_memory);
  SetIfGiven("BELAY_SOC", options.soc);
  SetIfGiven("BELAY_RUN_MODE", options.run_mode);
  SetIfGiven("BELAY_WORKERS", options.workers);
  SetIfGiven("BELAY_FAULTS", options.faults);
  if (options.preload) Preload(home);

  std::vector<char*> arguments;
  for (const std::string& argument : options.command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  ProgramFile program = FindProgram(options.command[0]);
  SayWhatWillNotWork(program);
  // execvp would hand a binary that the system refuses to a shell, as if it were a script.
  if (program.kind == ProgramKind::kForeign) {
    execv(program.path.c_str(), arguments.data());
  } else {
    execvp(arguments[0], arguments.data());
  }
  return Explain(program, errno);
}

}  // namespace belay::tool
