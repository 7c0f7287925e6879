#include "belay/rank_processes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/descriptor.h"
#include "belay/exit_code.h"

namespace belay::tool {

RankProcesses::RankProcesses(RanksHere ranks, LaunchInbox inbox, std::function<int(int)> start)
    : Supervisor(static_cast<size_t>(ranks.count)),
      ranks_(std::move(ranks)),
      start_(std::move(start)),
      inbox_(std::move(inbox)),
      heard_at_(SecondsNow()) {}

void RankProcesses::StartAll(const sigset_t& signals) {
  const Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const size_t width = std::to_string(ranks_.all - 1).size();
  for (int i = 0; i < ranks_.count; ++i) {
    const int rank = ranks_.first + i;
    std::string tag = std::to_string(rank);
    tag.insert(0, width - tag.size(), ' ');
    const bool reads = rank == 0 && ranks_.host.empty() && isatty(0) == 0;
    Start(static_cast<size_t>(i), reads ? -1 : nothing.get(), signals, "[" + tag + "] ", nullptr,
          [this, rank] { return start_(rank); });
  }
  ObeyAll();
}

// What a terminal sends goes to all that a rank has started, too; the rest to the program itself.
void RankProcesses::PassOn(int signal) {
  if (signal == SIGUSR1 || signal == SIGUSR2) {
    for (const Child& rank : children()) {
      if (!rank.ended) kill(rank.process, signal);
    }
  } else if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT) {
    SignalAll(signal);
  }
}

// The process group of a rank stays after it for what it has started.
void RankProcesses::Ended(size_t child, int status) {
  const int code = ExitCodeOf(status);
  if (code == 0 || failed()) return;
  ReadWhatIsThere(child);  // what it had to say comes first
  Fail(code, ranks_.grace);
  const std::string rank = std::to_string(ranks_.first + static_cast<int>(child));
  std::string who = "rank " + rank + " (process " + std::to_string(children()[child].process);
  if (!ranks_.host.empty()) who += " on " + ranks_.host;
  who += ") " + HowItEnded(status);
  if (!ranks_.host.empty()) {
    err().Add(FailureNotice(code, who));
  } else {
    err().Add("belay launch: " + who + (running() > 0 ? "; the others are ended\n" : "\n"));
  }
  SignalAll(SIGTERM);
}

void RankProcesses::Ask(std::vector<pollfd>* to) {
  if (!ranks_.host.empty()) to->push_back({0, POLLIN, 0});
}

void RankProcesses::Look(std::span<const pollfd> came) {
  if (ranks_.host.empty()) return;
  if (came[0].revents != 0) {
    std::array<char, kAtOnce> bytes;
    const ssize_t count = read(0, bytes.data(), bytes.size());
    if (count <= 0) return GiveUp();
    heard_at_ = SecondsNow();
    inbox_.Append({bytes.data(), static_cast<size_t>(count)});
    ObeyAll();
  }
  if (SecondsNow() - heard_at_ >= ranks_.lost_after) GiveUp();
}

int RankProcesses::Patience() const {
  if (ranks_.host.empty()) return -1;
  const double left = heard_at_ + ranks_.lost_after - SecondsNow();
  return static_cast<int>(std::clamp(left * 1000 + 1, 1.0, 60'000.0));
}

void RankProcesses::ObeyAll() {
  while (std::optional<LaunchFrame> frame = inbox_.Take()) Obey(*frame);
}

void RankProcesses::Obey(const LaunchFrame& frame) {
  if (frame.kind == LaunchFrame::kSignal) PassOn(frame.body[0]);
  if (frame.kind != LaunchFrame::kEnd) return;
  Fail(0, ranks_.grace);
  SignalAll(SIGTERM);
}

}  // namespace belay::tool
