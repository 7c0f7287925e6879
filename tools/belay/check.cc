#include "belay/check.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "belay/check_reports.h"
#include "layers/support/report_file.h"
#include "layers/support/tally.h"

namespace belay::tool {
namespace {

// A file for the program's processes, whose path they find in the environment.
class SharedFile {
 public:
  SharedFile(const char* variable, size_t bytes)
      : path_(std::filesystem::temp_directory_path() / "belay-check-XXXXXX") {
    const int file = mkstemp(path_.data());
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) {
      throw std::runtime_error("cannot write " + path_ + ": " + std::strerror(errno));
    }
    close(file);
    setenv(variable, path_.c_str(), 1);
  }
  ~SharedFile() { unlink(path_.c_str()); }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

volatile sig_atomic_t g_child = 0;

// What the terminal sends reaches the program anyway.
void PassOn(int signal, siginfo_t* info, void*) {
  if (g_child > 0 && info->si_code != SI_KERNEL) kill(g_child, signal);
}

// The program, in a process of its own to which signals for this one are passed on. None is lost that comes
// before that process is known. What is ignored (nohup) stays so.
pid_t Start(const RunOptions& program) {
  sigset_t passed, before;
  sigemptyset(&passed);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaddset(&passed, signal);
  }
  sigprocmask(SIG_BLOCK, &passed, &before);
  const pid_t child = fork();
  struct sigaction pass_on {};
  pass_on.sa_sigaction = &PassOn;
  pass_on.sa_flags = SA_SIGINFO;
  for (int signal = 1; child > 0 && signal < NSIG; ++signal) {
    if (sigismember(&passed, signal) == 1) sigaction(signal, &pass_on, nullptr);
  }
  if (child > 0) g_child = child;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) _exit(Run(program));
  return child;
}

int Await(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "waitpid");
  }
  return status;
}

void Summarise(const layers::Tally& tally, const std::vector<CheckReport>& reports) {
  if (tally.processes == 0) {
    std::fputs("belay check: nothing was looked at: the program did not call aclInit\n", stderr);
    return;
  }
  const std::string suppressed =
      tally.suppressed == 0 ? "" : ", " + std::to_string(tally.suppressed.load()) + " suppressed,";
  std::fprintf(
      stderr,
      "belay check: %s%s in %llu tasks on %u streams, %llu replays, %u captured graphs, %llu copies and "
      "fills by the host; of %llu tasks not all was judged, because data or values in memory decide\n",
      CountByKind(reports).c_str(), suppressed.c_str(), static_cast<unsigned long long>(tally.tasks.load()),
      tally.streams.load(), static_cast<unsigned long long>(tally.launches.load()), tally.graphs.load(),
      static_cast<unsigned long long>(tally.host_accesses.load()),
      static_cast<unsigned long long>(tally.not_judged.load()));
}

// Says it when the file cannot be written; what was found was told all the same.
void WriteFile(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  std::ofstream file(path, std::ios::trunc);
  file << text;
  if (file.close(); file.fail()) std::fprintf(stderr, "belay check: cannot write %s\n", path.c_str());
}

// What belongs together in version control: the folder above this one that holds .git, or this one.
std::string Checkout() {
  const std::filesystem::path here = std::filesystem::current_path();
  for (std::filesystem::path at = here;; at = at.parent_path()) {
    if (std::filesystem::exists(at / ".git")) return at;
    if (at == at.parent_path()) return here;
  }
}

int ExitCode(int status, bool found, int error_exitcode) {
  if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
  const int code = WEXITSTATUS(status);
  return code == 0 && found ? error_exitcode : code;
}

}  // namespace

int Check(const CheckOptions& options) {
  SharedFile tally_file(layers::Tally::kVariable, sizeof(layers::Tally));
  SharedFile report_file(layers::kReportsVariable, 0);
  const layers::Tally& tally = layers::TheTally();
  setenv("BELAY_LAYERS", "race,memory", 1);
  if (!options.suppress.empty()) {
    setenv(layers::kSuppressVariable, std::filesystem::absolute(options.suppress).c_str(), 1);
  }
  if (options.leaks) setenv(layers::kLeaksVariable, "1", 1);
  // torch_npu submits from a thread of its own, whose stack says nothing of the program.
  if (setenv("TASK_QUEUE_ENABLE", "0", 0) != 0) throw std::runtime_error("no memory for the environment");
  const int status = Await(Start(options.run));
  g_child = 0;
  const std::vector<CheckReport> reports = ReadReports(report_file.path());
  const int code = ExitCode(status, tally.reports != 0, options.error_exitcode);
  Summarise(tally, reports);
  if (!options.json.empty()) WriteFile(options.json, ReportsAsJson(reports, options.run.command, code));
  if (!options.sarif.empty()) WriteFile(options.sarif, ReportsAsSarif(reports, Checkout()));
  if (WIFSIGNALED(status)) {
    std::fprintf(stderr, "belay check: the program was ended by signal %d (%s)\n", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
  }
  return code;
}

}  // namespace belay::tool
