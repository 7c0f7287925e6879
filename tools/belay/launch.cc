#include "belay/launch.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <system_error>
#include <utility>

#include "base/descriptor.h"
#include "belay/exit_code.h"
#include "belay/rank_processes.h"

namespace belay::tool {
namespace {

constexpr int kMostDevices = 64;

[[noreturn]] void FailBy(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

void Set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

// Nobody listens there now; rank 0 will.
int FreePort() {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (bind(socket.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
    FailBy("a port for MASTER_PORT");
  return ntohs(address.sin_port);
}

// A file of memory, which goes with the processes that hold it. No two runs may have the same table, for it
// is by the table that ranks find each other.
Descriptor MakeRankTable(int ranks) {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) FailBy("getrandom");
  std::string text =
      R"({"version": "1.0", "status": "completed", "server_count": "1", "server_list": [{"server_id": "belay-launch-)" +
      std::to_string(number) + R"(", "device": [)";
  for (int i = 0; i < ranks; ++i) {
    const std::string rank = std::to_string(i);
    text.append(i == 0 ? "" : ", ")
        .append(R"({"device_id": ")" + std::to_string(i % kMostDevices) + R"(", "rank_id": ")" + rank +
                R"("})");
  }
  text += "]}]}\n";
  Descriptor file(memfd_create("rank table", MFD_CLOEXEC));
  if (!file || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    FailBy("the rank table");
  return file;
}

// What is the same for all ranks. What torchrun sets, and what MindSpore's programs read.
void SetForAll(const LaunchOptions& options, const std::string& rank_table) {
  const std::string ranks = std::to_string(options.ranks);
  const std::string devices = std::to_string(std::min(options.ranks, kMostDevices));
  for (const char* name : {"WORLD_SIZE", "LOCAL_WORLD_SIZE", "ROLE_WORLD_SIZE", "RANK_SIZE"})
    Set(name, ranks);
  Set("GROUP_RANK", "0");
  Set("GROUP_WORLD_SIZE", "1");
  Set("ROLE_NAME", "default");
  Set("MASTER_ADDR", "127.0.0.1");
  Set("MASTER_PORT", std::to_string(options.port != 0 ? options.port : FreePort()));
  if (!rank_table.empty()) Set("RANK_TABLE_FILE", rank_table);
  setenv("OMP_NUM_THREADS", "1", 0);
  if (options.run.devices.empty()) setenv("BELAY_DEVICES", devices.c_str(), 0);
}

int StartRank(const LaunchOptions& options, int rank) {
  const std::string number = std::to_string(rank);
  for (const char* name : {"RANK", "LOCAL_RANK", "ROLE_RANK", "RANK_ID"}) Set(name, number);
  for (const char* name : {"DEVICE_ID", "ASCEND_DEVICE_ID"}) Set(name, std::to_string(rank % kMostDevices));
  return Run(options.run);
}

// The child of the launcher. It has a process group of its own, so that a terminal's signals reach it once.
int Supervise(const LaunchOptions& options, const Descriptor& lifeline, const sigset_t& signals) {
  setpgid(0, 0);
  const Descriptor table = options.rank_table ? MakeRankTable(options.ranks) : Descriptor();
  std::string path;
  if (table) path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(table.get());
  SetForAll(options, path);
  RankProcesses processes(options.ranks, options.grace,
                          [&options](int rank) { return StartRank(options, rank); });
  return processes.Run(lifeline, signals);
}

// Hands signals to the supervisor until it has ended.
int PassSignals(pid_t supervisor, const sigset_t& taken) {
  for (;;) {
    int signal = 0;
    if (sigwait(&taken, &signal) != 0) continue;
    if (signal != SIGCHLD) {
      kill(supervisor, signal);
      continue;
    }
    int status = 0;
    if (waitpid(supervisor, &status, WNOHANG) != supervisor) continue;
    return ExitCodeOf(status);
  }
}

}  // namespace

int Launch(const LaunchOptions& options) {
  if (!options.hosts.empty()) {
    std::fputs("belay launch: --hosts: the ranks of a group are processes of one machine so far\n", stderr);
    return 2;
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) FailBy("pipe2");
  Descriptor lifeline(ends[0]), ours(ends[1]);
  sigset_t taken, before;
  sigemptyset(&taken);
  for (int each : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) sigaddset(&taken, each);
  sigprocmask(SIG_BLOCK, &taken, &before);
  signal(SIGCHLD, SIG_DFL);  // who ignores it hears of nobody's end
  const pid_t supervisor = fork();
  if (supervisor < 0) FailBy("fork");
  if (supervisor > 0) return PassSignals(supervisor, taken);
  ours.Close();
  int code = 1;
  try {
    code = Supervise(options, lifeline, before);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "belay launch: %s\n", error.what());
  }
  _exit(code);
}

}  // namespace belay::tool
