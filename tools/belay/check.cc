#include "belay/check.h"

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
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/sanitizer.h"
#include "belay/check_reports.h"
#include "belay/exit_code.h"
#include "belay/toolkit.h"
#include "layers/support/history.h"
#include "layers/support/report_file.h"
#include "layers/support/tally.h"

namespace belay::tool {
namespace {

volatile sig_atomic_t g_child = 0;

// What the terminal sends reaches the program anyway.
void PassOn(int signal, siginfo_t* info, void*) {
  if (g_child > 0 && info->si_code != SI_KERNEL) kill(g_child, signal);
}

// The program, in a process of its own to which signals for this one are passed on. None is lost that comes
// before that process is known. What is ignored (nohup) stays so.
pid_t StartChecked(const RunOptions& program) {
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

// The exit code stays the program's, also where nothing can be written any more.
int AwaitProgram(pid_t child) {
  for (int unwanted : {SIGXFSZ, SIGPIPE}) signal(unwanted, SIG_IGN);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "waitpid");
  }
  return status;
}

// " race hang": of these reports.
std::string KindsOf(const std::vector<CheckReport>& reports) {
  std::set<std::string> kinds;
  for (const CheckReport& report : reports) kinds.insert(report.kind);
  std::string text;
  for (const std::string& kind : kinds) text += " " + kind;
  return text;
}

void Summarise(const layers::Tally& tally, const std::vector<CheckReport>& reports) {
  if (tally.processes == 0) {
    std::fputs("belay check: nothing was looked at: the program called neither aclInit nor GEInitialize\n",
               stderr);
    return;
  }
  if (!reports.empty())
    std::fprintf(stderr, "belay check: what is meant, and how it is mended: belay explain%s\n",
                 KindsOf(reports).c_str());
  const std::string suppressed =
      tally.suppressed == 0 ? "" : ", " + std::to_string(tally.suppressed.load()) + " suppressed,";
  const uint32_t not_seen = tally.host_not_seen, processes = tally.processes;
  std::string host;
  if (not_seen != 0) host = "; loads and stores of the host were not looked at";
  if (not_seen != 0 && not_seen < processes)
    host += " in " + std::to_string(not_seen) + " of " + std::to_string(processes) + " processes";
  if (const uint64_t copies = tally.host_not_watched; copies != 0)
    host += "; during " + std::to_string(copies) +
            " copies loads and stores of the host were not looked at, for want of time";
  if (tally.failed != 0)
    host += "; a part of this check has failed, and what came after that was not looked at";
  std::fprintf(
      stderr,
      "belay check: %s%s in %llu tasks on %u streams, %llu replays, %u captured graphs, %llu copies and "
      "fills by the host; of %llu tasks not all was judged, because data or values in memory decide%s\n",
      CountByKind(reports).c_str(), suppressed.c_str(), static_cast<unsigned long long>(tally.tasks.load()),
      tally.streams.load(), static_cast<unsigned long long>(tally.launches.load()), tally.graphs.load(),
      static_cast<unsigned long long>(tally.host_accesses.load()),
      static_cast<unsigned long long>(tally.not_judged.load()), host.c_str());
  if (tally.not_recorded != 0)
    std::fprintf(stderr, "belay check: %u more are not in the files: there are too many\n",
                 tally.not_recorded.load());
}

// Says it when the file cannot be written; what was found was told all the same.
void WriteFile(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  errno = 0;
  std::ofstream file(path, std::ios::trunc);
  file << text;
  if (file.close(); file.fail())
    std::fprintf(stderr, "belay check: cannot write %s: %s\n", path.c_str(), std::strerror(errno));
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
  const int code = ExitCodeOf(status);
  return code == 0 && found ? error_exitcode : code;
}

std::string LayersWithCommas(bool numbers) {
  std::string text;
  for (std::string_view layer : layers::Tally::kLayers)
    if (numbers || layer != layers::Tally::kNumbers) text += (text.empty() ? "" : ",") + std::string(layer);
  return text;
}

// How the program was killed, and whether that may be a mistake of Belay's.
void TellSignal(int signal, const layers::Tally* tally, pid_t process) {
  std::string inside;
  const bool crash =
      signal == SIGSEGV || signal == SIGBUS || signal == SIGABRT || signal == SIGILL || signal == SIGFPE;
  if (crash && tally != nullptr) inside = layers::LayersInside(*tally, process);
  if (!inside.empty())
    inside = " while a part of this check was at work (" + inside +
             "): that may be a mistake of Belay's; belay run tells whether the program ends so without it";
  std::fprintf(stderr, "belay check: the program was ended by signal %d (%s)%s\n", signal, strsignal(signal),
               inside.c_str());
}

}  // namespace

int Check(const CheckOptions& options) {
  const layers::Tally* tally = layers::MakeTally();
  if (tally == nullptr) {
    std::fprintf(
        stderr,
        "belay check: there is no memory to share with the program (%s): what is found is told, but neither "
        "counted nor written to files\n",
        std::strerror(errno));
  }
  if (!options.html.empty() && tally != nullptr && !layers::MakeHistory()) {
    std::fprintf(stderr,
                 "belay check: there is no memory to share for a timeline (%s): the page goes without\n",
                 std::strerror(errno));
  }
  setenv("BELAY_LAYERS", LayersWithCommas(options.nan).c_str(), 1);
  if (!options.suppress.empty()) {
    setenv(layers::kSuppressVariable, std::filesystem::absolute(options.suppress).c_str(), 1);
  }
  if (options.leaks) setenv(layers::kLeaksVariable, "1", 1);
  if (options.notes) setenv(layers::kNotesVariable, "1", 1);
  if (options.undefined) setenv(layers::kUndefinedVariable, "1", 1);
  if (!options.no_host_accesses) {
    setenv(layers::kHostVariable, options.host_accesses ? layers::kHostAll : layers::kHostSome, 1);
#if !defined(BELAY_ASAN) && \
    !defined(BELAY_TSAN)  // which want to be the first; the layer says that it does not look
    // A program with AddressSanitizer would refuse to start behind another library.
    AddToList("ASAN_OPTIONS", "verify_asan_link_order=0", ':');
    AddToList("LD_PRELOAD", ToolkitHome() + "/lib64/libbelay_host.so", ':');
#endif
  }
  if (!options.hang_after.empty()) setenv(layers::kHangAfterVariable, options.hang_after.c_str(), 1);
  if (options.error_exitcode != 0) {
    setenv(layers::kHangExitVariable, std::to_string(options.error_exitcode).c_str(), 1);
  }
  // torch_npu submits from a thread of its own, whose stack says nothing of the program.
  if (setenv("TASK_QUEUE_ENABLE", "0", 0) != 0) throw std::runtime_error("no memory for the environment");
  const pid_t program = StartChecked(options.run);
  const int status = AwaitProgram(program);
  g_child = 0;
  // Without a count, and where a layer has failed, nobody knows that nothing was found.
  const bool found = tally == nullptr || tally->reports != 0 || tally->failed != 0;
  const int code = ExitCode(status, found, options.error_exitcode);
  if (tally != nullptr) {
    const std::vector<CheckReport> reports = ReadReports(layers::RecordsOf(*tally));
    Summarise(*tally, reports);
    if (!options.json.empty()) WriteFile(options.json, ReportsAsJson(reports, options.run.command, code));
    if (!options.html.empty())
      WriteFile(options.html, ReportsAsPage(reports, options.run.command, code, layers::History()));
    if (!options.sarif.empty()) WriteFile(options.sarif, ReportsAsSarif(reports, Checkout()));
  }
  if (WIFSIGNALED(status)) TellSignal(WTERMSIG(status), tally, program);
  return code;
}

}  // namespace belay::tool
