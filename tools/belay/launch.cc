#include "belay/launch.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/descriptor.h"
#include "belay/exit_code.h"
#include "belay/host_processes.h"
#include "belay/launch_hosts.h"
#include "belay/launch_job.h"
#include "belay/rank_processes.h"
#include "belay/supervisor.h"
#include "belay/toolkit.h"

namespace belay::tool {
namespace {

constexpr int kMostDevices = 64;
constexpr int kJobMs = 60'000;  // until it is there

// Of the environment, what ranks on other hosts get; see docs/commands.md.
constexpr std::string_view kPassed[] = {"ASCEND_*", "BELAY_*",    "HCCL_*",    "LD_LIBRARY_PATH", "OMP_*",
                                        "PATH",     "PYTHONPATH", "PYTORCH_*", "TORCH_*"};
constexpr std::string_view kOfOneHost = "HCCL_IF_IP";

void Set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }
void SetElse(const char* name, const std::string& value) { setenv(name, value.c_str(), 0); }

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

uint64_t RandomNumber() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) FailBy("getrandom");
  return number;
}

// On another host nobody can look; below where systems take ports from by themselves.
int RandomPort() { return 20000 + static_cast<int>(RandomNumber() % 12000); }

// A table of several servers has one for each device. Nothing goes there: it is of a range for tests.
std::string DeviceAddress(int rank) {
  return "198.18." + std::to_string(rank / 256) + "." + std::to_string(rank % 256);
}

// No two runs may have the same table, for it is by the table that ranks find each other.
std::string MakeRankTable(const std::vector<LaunchHost>& hosts) {
  std::string text = R"({"version": "1.0", "status": "completed", "server_count": ")" +
                     std::to_string(hosts.size()) + R"(", "server_list": [)";
  const std::string run = std::to_string(RandomNumber());
  for (size_t host = 0; host < hosts.size(); ++host) {
    text.append(host == 0 ? "" : ", ")
        .append(R"({"server_id": "belay-launch-)" + run + "-" + std::to_string(host) + R"(", )");
    if (hosts.size() > 1) text += R"("host_ip": ")" + hosts[host].address + R"(", )";
    text += R"("device": [)";
    for (int i = 0; i < hosts[host].count; ++i) {
      const int rank = hosts[host].first + i;
      text.append(i == 0 ? "" : ", ").append(R"({"device_id": ")" + std::to_string(i) + R"(", )");
      if (hosts.size() > 1) text += R"("device_ip": ")" + DeviceAddress(rank) + R"(", )";
      text += R"("rank_id": ")" + std::to_string(rank) + R"("})";
    }
    text += "]}";
  }
  return text + "]}\n";
}

// A file of memory, which goes with the processes that hold it.
Descriptor FileWith(const std::string& text) {
  Descriptor file(memfd_create("rank table", MFD_CLOEXEC));
  if (!file || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    FailBy("the rank table");
  return file;
}

// What is the same for all ranks here. What torchrun sets, and what MindSpore's programs read.
void SetForAll(const LaunchJob& job, const std::string& rank_table) {
  for (const auto& [name, value] : job.environment) Set(name.c_str(), value);
  const std::string ranks = std::to_string(job.ranks);
  for (const char* name : {"WORLD_SIZE", "ROLE_WORLD_SIZE", "RANK_SIZE"}) Set(name, ranks);
  Set("LOCAL_WORLD_SIZE", std::to_string(job.here));
  Set("GROUP_RANK", std::to_string(job.group));
  Set("GROUP_WORLD_SIZE", std::to_string(job.groups));
  Set("ROLE_NAME", "default");
  Set("MASTER_ADDR", job.master);
  Set("MASTER_PORT", std::to_string(job.port));
  if (!rank_table.empty()) Set("RANK_TABLE_FILE", rank_table);
  SetElse("OMP_NUM_THREADS", "1");
  if (job.run.devices.empty()) SetElse("BELAY_DEVICES", std::to_string(std::min(job.here, kMostDevices)));
  // Ranks of other hosts come here; without a word about where to listen that would be loopback.
  if (!job.address.empty() && getenv("HCCL_SOCKET_IFNAME") == nullptr) SetElse("HCCL_IF_IP", job.address);
}

int StartRank(const LaunchJob& job, int rank) {
  const std::string number = std::to_string(rank), here = std::to_string(rank - job.first);
  for (const char* name : {"RANK", "ROLE_RANK", "RANK_ID"}) Set(name, number);
  Set("LOCAL_RANK", here);
  for (const char* name : {"DEVICE_ID", "ASCEND_DEVICE_ID"})
    Set(name, std::to_string((rank - job.first) % kMostDevices));
  return Run(job.run);
}

int RunRanks(const LaunchJob& job, LaunchInbox inbox, const Descriptor& lifeline, const sigset_t& signals) {
  const Descriptor table = job.rank_table.empty() ? Descriptor() : FileWith(job.rank_table);
  std::string path;
  if (table) path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(table.get());
  SetForAll(job, path);
  RankProcesses processes({job.first, job.here, job.ranks, job.grace, job.host, job.lost_after},
                          std::move(inbox), [&job](int rank) { return StartRank(job, rank); });
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

// `work` in a child, which has a process group of its own, so that a terminal's signals reach it once, and
// whose lifeline tells when this process has gone.
int Supervise(const std::function<int(const Descriptor& lifeline, const sigset_t& signals)>& work) {
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
    setpgid(0, 0);
    code = work(lifeline, before);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "belay launch: %s\n", error.what());
  }
  _exit(code);
}

// --- several hosts

bool Fits(std::string_view name, std::string_view pattern) {
  if (!pattern.ends_with('*')) return name == pattern;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

// What the user named goes last, and so wins. Throws for a name that is not set.
std::vector<std::pair<std::string, std::string>> Environment(const LaunchOptions& options) {
  std::vector<std::pair<std::string, std::string>> all, result;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text = *each;
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos) all.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  const auto add = [&](std::string_view pattern) {
    const size_t before = result.size();
    for (const auto& entry : all) {
      if (Fits(entry.first, pattern)) result.push_back(entry);
    }
    return result.size() > before;
  };
  if (!options.hosts.empty()) {
    for (std::string_view pattern : kPassed) add(pattern);
    std::erase_if(result, [](const auto& entry) { return entry.first == kOfOneHost; });
  }
  for (const std::string& wanted : options.env) {
    const size_t equals = wanted.find('=');
    if (equals != std::string::npos && equals > 0) {
      result.emplace_back(wanted.substr(0, equals), wanted.substr(equals + 1));
    } else if (equals == 0 || (!add(wanted) && !wanted.ends_with('*'))) {
      throw std::runtime_error("--env: " + wanted + " is not set here; give NAME, NAME=value or PREFIX*");
    }
  }
  return result;
}

std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Whatever leads there takes one more argument: a command line for the shell there.
std::string CommandFor(std::string over, const std::string& host) {
  constexpr std::string_view kHost = "{host}";
  for (size_t at; (at = over.find(kHost)) != std::string::npos;) over.replace(at, kHost.size(), host);
  return over + " " + Quoted("exec " + Quoted(ToolkitHome() + "/bin/belay") + " launch-part");
}

LaunchJob JobOf(const LaunchOptions& options) {
  LaunchJob job;
  job.run = options.run;
  job.master = options.master.empty() ? "127.0.0.1" : options.master;
  job.port = options.port;
  job.here = job.ranks = options.ranks;
  job.grace = options.grace;
  job.lost_after = options.lost_after;
  job.environment = Environment(options);
  return job;
}

std::vector<HostToStart> Hosts(const LaunchOptions& options) {
  const std::vector<LaunchHost> hosts = ReadHosts(options.hosts, options.ranks);
  LaunchJob job = JobOf(options);
  char* directory = getcwd(nullptr, 0);
  if (directory == nullptr)
    throw std::runtime_error("the folder that this is called in does not exist any more");
  job.directory = directory;
  std::free(directory);
  const LaunchHost& first = hosts[0];
  if (options.master.empty()) job.master = first.address.empty() ? first.name : first.address;
  if (job.port == 0) job.port = RandomPort();
  for (const LaunchHost& host : hosts) {
    if (!host.address.empty()) continue;
    const std::string lacks = "--hosts: '" + host.name + "' has no address that this machine knows";
    if (options.rank_table) throw std::runtime_error(lacks + ", which a rank table needs; name its address");
    std::fprintf(stderr, "belay launch: %s; say by HCCL_SOCKET_IFNAME where ranks listen\n", lacks.c_str());
  }
  if (options.rank_table) job.rank_table = MakeRankTable(hosts);
  job.groups = static_cast<int>(hosts.size());
  std::vector<HostToStart> result;
  for (const LaunchHost& host : hosts) {
    job.host = host.name;
    job.address = host.address;
    job.first = host.first;
    job.here = host.count;
    result.push_back({CommandFor(options.over, host.name), job});
    ++job.group;
  }
  return result;
}

// The inbox keeps what came after it.
LaunchJob AwaitJob(LaunchInbox* inbox) {
  for (;;) {
    pollfd wait{0, POLLIN, 0};
    std::array<char, kAtOnce> bytes;
    const ssize_t count = poll(&wait, 1, kJobMs) == 1 ? read(0, bytes.data(), bytes.size()) : 0;
    if (count <= 0) throw std::runtime_error("no job came; only belay launch --hosts starts this");
    inbox->Append({bytes.data(), static_cast<size_t>(count)});
    if (std::optional<LaunchFrame> frame = inbox->Take()) return DecodeLaunchJob(frame->body);
  }
}

}  // namespace

int Launch(const LaunchOptions& options) {
  if (!options.hosts.empty()) {
    std::vector<HostToStart> hosts;
    try {
      hosts = Hosts(options);
    } catch (const std::runtime_error& error) {
      std::fprintf(stderr, "belay launch: %s\n", error.what());
      return 2;
    }
    return Supervise([&hosts](const Descriptor& lifeline, const sigset_t& signals) {
      return HostProcesses(std::move(hosts)).Run(lifeline, signals);
    });
  }
  LaunchJob job = JobOf(options);
  if (job.port == 0) job.port = FreePort();
  if (options.rank_table) job.rank_table = MakeRankTable({{"", "", 0, options.ranks}});
  return Supervise([&job](const Descriptor& lifeline, const sigset_t& signals) {
    return RunRanks(job, {}, lifeline, signals);
  });
}

int LaunchPart() {
  LaunchInbox inbox;
  const LaunchJob job = AwaitJob(&inbox);
  if (chdir(job.directory.c_str()) != 0)
    throw std::runtime_error("host " + job.host + " has no directory " + job.directory +
                             ", where belay launch was called");
  return Supervise([&job, &inbox](const Descriptor& lifeline, const sigset_t& signals) {
    return RunRanks(job, inbox, lifeline, signals);
  });
}

}  // namespace belay::tool
