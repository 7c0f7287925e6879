#include "belay/explore.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "belay/exit_code.h"
#include "belay/supervisor.h"
#include "layers/explore/log.h"
#include "layers/support/shared_block.h"

namespace belay::tool {
namespace {

using Clock = std::chrono::steady_clock;
using explore::Log;

// What the program writes to one of its streams. No file: those have disks and limits.
class Captured {
 public:
  // For the next run: what it writes to.
  const Descriptor& Prepare() {
    text_.clear();
    std::tie(from_, to_) = NewPipe();
    fcntl(from_.get(), F_SETFL, O_NONBLOCK);
    return to_;
  }
  // The program has its own by now.
  void Started() { to_.Close(); }
  pollfd Asked() const { return {from_.get(), POLLIN, 0}; }
  // Takes what is there.
  void Read() {
    char part[4096];
    ssize_t n = -1;
    while (from_ && ((n = read(from_.get(), part, sizeof part)) > 0 || (n < 0 && errno == EINTR))) {
      if (n > 0) text_.append(part, static_cast<size_t>(n));
    }
    if (n == 0) from_.Close();
  }
  // The run is over. Others may still have it open and write on.
  std::string Rest() {
    Read();
    from_.Close();
    return std::move(text_);
  }

 private:
  Descriptor from_, to_;
  std::string text_;
};

Log& SharedLog() {
  void* log = layers::MakeSharedBlock(Log::kVariable, sizeof(Log));
  if (log == nullptr)
    throw std::system_error(errno, std::generic_category(), "no memory can be shared with the program");
  return *static_cast<Log*>(log);
}

// What one run was.
struct Outcome {
  int code = 0;  // 128 and the number for a signal
  bool ended = true;
  double seconds = 0;
  std::string output;
  std::string errors;
  uint32_t processes = 0;
  uint32_t silences = 0;
  uint64_t tasks = 0;
  uint64_t order = 0;
  uint64_t copies = 0;
  std::vector<uint64_t> digests;
};

class Runner {
 public:
  explicit Runner(const ExploreOptions& options) : options_(options) {}

  // `shown`: its output goes where this command's does. `tell`: the copy that says where it was asked for.
  Outcome Run(uint64_t seed, double limit, bool shown = false, uint64_t tell = 0) {
    log_.Clear();
    const auto begin = Clock::now();
    const pid_t child = Start(seed, shown, tell);
    Outcome outcome;
    outcome.ended = Await(child, limit, &outcome.code);
    outcome.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    outcome.output = output_.Rest();
    outcome.errors = errors_.Rest();
    ReadLog(&outcome);
    return outcome;
  }

 private:
  pid_t Start(uint64_t seed, bool shown, uint64_t tell) {
    std::fflush(nullptr);
    const Descriptor &output = output_.Prepare(), &errors = errors_.Prepare();
    const pid_t self = getpid();
    const pid_t child = fork();
    if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (child != 0) {
      output_.Started();
      errors_.Started();
      return child;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != self) _exit(127);
    setenv("BELAY_EXPLORE", std::to_string(seed).c_str(), 1);
    setenv("BELAY_LAYERS", "explore", 1);
    // torch_npu submits from a thread of its own, which would decide what is submitted when.
    setenv("TASK_QUEUE_ENABLE", "0", 0);
    if (tell != 0) setenv(Log::kTell, std::to_string(tell).c_str(), 1);
    if (!shown) {
      dup2(output.get(), STDOUT_FILENO);
      dup2(errors.get(), STDERR_FILENO);
    }
    _exit(tool::Run(options_.run));
  }

  // False: it did not end within the limit (seconds; 0: none) and was killed.
  bool Await(pid_t child, double limit, int* code) {
    const auto begin = Clock::now();
    int status = 0;
    for (int pause_ms = 1;; pause_ms = std::min(pause_ms * 2, 5)) {
      const pid_t ended = waitpid(child, &status, WNOHANG);
      if (ended == child) break;
      if (ended < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "waitpid");
      if (limit > 0 && Clock::now() - begin > std::chrono::duration<double>(limit)) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        return false;
      }
      pollfd asked[] = {output_.Asked(), errors_.Asked()};  // of those that are closed nothing is heard
      if (poll(asked, std::size(asked), pause_ms) <= 0) continue;
      output_.Read();
      errors_.Read();
    }
    *code = ExitCodeOf(status);
    return true;
  }

  void ReadLog(Outcome* outcome) const {
    outcome->processes = log_.processes;
    outcome->silences = log_.silences;
    outcome->tasks = log_.tasks;
    outcome->order = log_.order;
    outcome->copies = log_.copies;
    for (size_t i = 0; i < log_.kept(); ++i) outcome->digests.push_back(log_.digests[i]);
  }

  const ExploreOptions& options_;
  Log& log_ = SharedLog();
  Captured output_;
  Captured errors_;
};

// What two runs in the plain order have alike, and so every order must have.
struct Expected {
  Outcome plain;
  bool copies = false;            // as many
  bool output = false;            // the same
  std::vector<bool> same_digest;  // copy by copy

  Expected(Outcome first, const Outcome& second) : plain(std::move(first)) {
    copies = plain.copies == second.copies;
    output = plain.output == second.output;
    for (size_t i = 0; i < plain.digests.size(); ++i) {
      same_digest.push_back(i < second.digests.size() && plain.digests[i] == second.digests[i]);
    }
  }

  // The number of the first copy that brought something else, 0: none did.
  uint64_t OtherCopy(const Outcome& run) const {
    for (size_t i = 0; i < std::min(run.digests.size(), plain.digests.size()); ++i) {
      const bool known = same_digest[i] && run.digests[i] != 0 && plain.digests[i] != 0;
      if (known && run.digests[i] != plain.digests[i]) return i + 1;
    }
    return 0;
  }

  // In words; empty: nothing does.
  std::string Difference(const Outcome& run) const {
    if (!run.ended) return "it did not end";
    if (run.code != plain.code) {
      return "its exit code is " + std::to_string(run.code) + " (" + std::to_string(plain.code) +
             " in the plain order)";
    }
    if (const uint64_t copy = OtherCopy(run); copy != 0) {
      return "copy " + std::to_string(copy) + " to the host brings other bytes than in the plain order";
    }
    if (copies && run.copies != plain.copies) {
      return "it makes " + std::to_string(run.copies) + " copies to the host (" +
             std::to_string(plain.copies) + " in the plain order)";
    }
    if (output && run.output != plain.output) return "it prints something else than in the plain order";
    return "";
  }
};

void Say(const std::string& text) { std::fprintf(stderr, "belay explore: %s\n", text.c_str()); }

std::string Count(uint64_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

void SayLastLines(const std::string& text, int lines) {
  size_t at = text.size();
  for (int i = 0; i <= lines && at != std::string::npos && at != 0; ++i) at = text.rfind('\n', at - 1);
  const std::string tail = at == std::string::npos || at == 0 ? text : text.substr(at + 1);
  if (!tail.empty())
    std::fprintf(stderr, "  its last words:\n%s%s", tail.c_str(), tail.back() == '\n' ? "" : "\n");
}

std::string CommandOf(const ExploreOptions& options, uint64_t seed) {
  std::string text = "belay explore --seed " + std::to_string(seed) + " --";
  for (const std::string& word : options.run.command) text += " " + word;
  return text;
}

// A seed made a difference: says which, and whether it does so again.
void Report(const ExploreOptions& options, Runner& runner, const Expected& expected, uint64_t seed,
            const Outcome& run, double limit) {
  const std::string difference = expected.Difference(run);
  Say("seed " + std::to_string(seed) + " differs: " + difference);
  const uint64_t copy = expected.OtherCopy(run);
  const Outcome again = runner.Run(seed, limit, false, copy);
  if (copy != 0) {
    const size_t at = again.errors.find("belay explore: copy " + std::to_string(copy) + " ");
    if (at != std::string::npos) std::fputs(again.errors.substr(at).c_str(), stderr);
  } else if (run.code != expected.plain.code) {
    SayLastLines(run.errors, 8);
  }
  if (expected.Difference(again) != difference) {
    Say("the seed did not do the same again: " +
        std::string(run.silences + again.silences > 0
                        ? "the program made no calls for long, and time decided"
                        : "the program's own threads, or what it reads, differ from run to run"));
  }
  std::fprintf(stderr, "  again: %s\n  the missing wait: belay check -- ...\n",
               CommandOf(options, seed).c_str());
}

std::string Summary(uint64_t runs, size_t orders, const Outcome& plain, uint64_t silences,
                    const Expected& expected) {
  std::string text =
      Count(runs, "run") + " in " + Count(orders, "order") + " of " + Count(plain.tasks, "task") +
      "; compared: " + (plain.copies == 1 ? "1 copy" : std::to_string(plain.copies) + " copies") +
      " to the host" + ", the exit code" + (expected.output ? ", the output" : "");
  if (!expected.output) text += "; the output differs from run to run in the plain order already";
  if (silences != 0)
    text += "; " + Count(silences, "time") + " the program made no calls for long, and time decided";
  if (plain.processes > 1) text += "; only the first process that called aclInit was looked at";
  return text;
}

int ExploreOne(const ExploreOptions& options, Runner& runner) {
  const Outcome run = runner.Run(*options.seed, options.timeout, true);
  if (!run.ended) Say("the program did not end within " + std::to_string(options.timeout) + " s");
  return run.ended ? run.code : options.error_exitcode;
}

}  // namespace

int Explore(const ExploreOptions& options) {
  Runner runner(options);
  if (options.seed) return ExploreOne(options, runner);
  Outcome plain = runner.Run(0, options.timeout);
  std::fputs(plain.output.c_str(), stdout);
  std::fputs(plain.errors.c_str(), stderr);
  std::fflush(stdout);
  if (plain.code != 0 || !plain.ended) {
    Say(plain.ended
            ? "the program fails in the plain order already (exit code " + std::to_string(plain.code) + ")"
            : "the program does not end in the plain order already");
    return plain.ended ? plain.code : options.error_exitcode;
  }
  if (plain.processes == 0) {
    Say("nothing was explored: the program called neither aclInit nor GEInitialize");
    return 0;
  }
  const double limit = options.timeout > 0 ? options.timeout : std::max(10.0, 20 * plain.seconds);
  const Expected expected(plain, runner.Run(0, limit));
  uint64_t silences = plain.silences;
  std::set<uint64_t> orders;
  for (uint64_t seed = 1; seed <= options.runs; ++seed) {
    const Outcome run = runner.Run(seed, limit);
    silences += run.silences;
    orders.insert(run.order);
    if (expected.Difference(run).empty()) continue;
    Report(options, runner, expected, seed, run, limit);
    Say(Summary(seed, orders.size(), plain, silences, expected));
    return run.ended && run.code != 0 ? run.code : options.error_exitcode;
  }
  Say("no difference in " + Summary(options.runs, orders.size(), plain, silences, expected));
  return 0;
}

}  // namespace belay::tool
