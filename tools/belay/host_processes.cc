#include "belay/host_processes.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "belay/exit_code.h"

namespace belay::tool {
namespace {

// For parts to end their ranks and themselves, before their connections are cut.
constexpr double kMoreGrace = 5;

}  // namespace

HostProcesses::HostProcesses(std::vector<HostToStart> hosts)
    : Supervisor(hosts.size()), hosts_(std::move(hosts)), beat_(hosts_[0].job.lost_after / 4) {}

void HostProcesses::StartAll(const sigset_t& signals) {
  for (size_t i = 0; i < hosts_.size(); ++i) {
    auto [theirs, ours] = NewPipe();
    Start(
        i, theirs.get(), signals, "", [this](const std::string& line) { return TakeNotice(line); },
        [&command = hosts_[i].command] {
          execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
          return 127;
        });
    const int file = ours.get();
    connections_.push_back({std::move(ours), LineWriter(file)});
    connections_.back().writer.Add(Encode(LaunchFrame{LaunchFrame::kJob, Encode(hosts_[i].job)}));
  }
  beat_at_ = SecondsNow() + beat_;
}

void HostProcesses::PassOn(int signal) {
  TellAll({LaunchFrame::kSignal, std::string(1, static_cast<char>(signal))});
}

void HostProcesses::TellAll(const LaunchFrame& frame) {
  for (Connection& connection : connections_) connection.writer.Add(Encode(frame));
}

// A part that ends so has said before which rank failed; else the way there is what failed.
void HostProcesses::Ended(size_t child, int status) {
  ReadWhatIsThere(child);
  const int code = ExitCodeOf(status);
  if (code == 0) return;
  Failed(code, "the connection to host " + hosts_[child].job.host + " (process " +
                   std::to_string(children()[child].process) + ") " + HowItEnded(status));
}

bool HostProcesses::TakeNotice(const std::string& line) {
  int code = 0;
  std::string who;
  if (!ReadFailureNotice(line, &code, &who)) return false;
  Failed(code, who);
  return true;
}

void HostProcesses::Failed(int code, const std::string& who) {
  if (failed()) return;
  Fail(code, hosts_[0].job.grace + kMoreGrace);
  err().Add("belay launch: " + who + "; the others are ended\n");
  TellAll({LaunchFrame::kEnd, ""});
}

void HostProcesses::Ask(std::vector<pollfd>* to) {
  for (const Connection& connection : connections_)
    to->push_back({connection.writer.waits() ? connection.pipe.get() : -1, POLLOUT, 0});
}

void HostProcesses::Look(std::span<const pollfd> came) {
  for (size_t i = 0; i < connections_.size(); ++i) {
    if (came[i].revents != 0) connections_[i].writer.Write();
  }
  if (SecondsNow() < beat_at_) return;
  // One that takes nothing needs no more of them.
  for (Connection& connection : connections_) {
    if (!connection.writer.waits()) connection.writer.Add(Encode(LaunchFrame{}));
  }
  beat_at_ = SecondsNow() + beat_;
}

int HostProcesses::Patience() const {
  return static_cast<int>(std::clamp((beat_at_ - SecondsNow()) * 1000 + 1, 1.0, 60'000.0));
}

}  // namespace belay::tool
