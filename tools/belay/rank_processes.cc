#include "belay/rank_processes.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <system_error>
#include <utility>

#include "belay/exit_code.h"

namespace belay::tool {
namespace {

constexpr size_t kAtOnce = 4096;              // a pipe that poll(2) calls ready takes so much without waiting
constexpr size_t kLongest = size_t{1} << 16;  // of a line that is kept until its end

[[noreturn]] void FailBy(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

double Now() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::pair<Descriptor, Descriptor> NewPipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) FailBy("pipe2");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

std::string NameOf(int status) {
  if (WIFEXITED(status)) return "ended with code " + std::to_string(WEXITSTATUS(status));
  const char* name = sigabbrev_np(WTERMSIG(status));
  return "was ended by SIG" + std::string(name == nullptr ? "?" : name);
}

std::string ListOfChildren() { return "/proc/self/task/" + std::to_string(getpid()) + "/children"; }

// The processes whose parent this is; also those whose own parent has ended.
std::vector<pid_t> Children() {
  std::vector<pid_t> children;
  std::ifstream list(ListOfChildren());
  for (pid_t child; list >> child;) children.push_back(child);
  return children;
}

}  // namespace

void LineWriter::Write() {
  if (!waits()) return;
  const ssize_t written = write(file_, waiting_.data(), std::min(waiting_.size(), kAtOnce));
  if (written >= 0) {
    waiting_.erase(0, static_cast<size_t>(written));
  } else if (errno != EINTR && errno != EAGAIN) {
    broken_ = true;
  }
}

bool LineReader::Read() {
  std::array<char, kAtOnce> bytes;
  const ssize_t count = read(pipe_.get(), bytes.data(), bytes.size());
  if (count < 0) return false;
  if (count == 0) {
    Close();
    return false;
  }
  line_.append(bytes.data(), static_cast<size_t>(count));
  Pass(false);
  return true;
}

void LineReader::Close() {
  Pass(true);
  pipe_.Close();
}

// A line ends with \n, or with \r, by which progress is drawn.
void LineReader::Pass(bool all) {
  size_t from = 0;
  for (size_t i = 0; i < line_.size(); ++i) {
    const bool rest_of_end = i == from && after_return_ && line_[i] == '\n';
    if (i == from) after_return_ = false;
    if (line_[i] != '\n' && line_[i] != '\r') continue;
    to_.Add((rest_of_end ? "" : prefix_) + line_.substr(from, i + 1 - from));
    after_return_ = line_[i] == '\r';
    from = i + 1;
  }
  line_.erase(0, from);
  if (line_.empty() || (!all && line_.size() < kLongest)) return;
  to_.Add(prefix_ + line_ + "\n");
  line_.clear();
}

RankProcesses::RankProcesses(int ranks, double grace, std::function<int(int)> start)
    : grace_(grace), start_(std::move(start)), ranks_(static_cast<size_t>(ranks)) {}

void RankProcesses::Start(int number, const sigset_t& signals) {
  auto [out, out_end] = NewPipe();
  auto [err, err_end] = NewPipe();
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) FailBy("fork");
  if (child == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    dup2(out_end.get(), 1);
    dup2(err_end.get(), 2);
    const int input = number == 0 && isatty(0) == 0 ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (input >= 0) dup2(input, 0);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &signals, nullptr);
    const int code = start_(number);
    std::fflush(nullptr);
    _exit(code);
  }
  setpgid(child, child);  // also here, so that it is one before anything is sent there
  ranks_[static_cast<size_t>(number)].process = child;
  ++running_;
  std::string tag = std::to_string(number);
  tag.insert(0, std::to_string(ranks_.size() - 1).size() - tag.size(), ' ');
  for (auto* end : {&out, &err}) {
    fcntl(end->get(), F_SETFL, O_NONBLOCK);
    readers_.emplace_back(std::move(*end), "[" + tag + "] ", end == &out ? out_ : err_);
  }
}

int RankProcesses::Run(const Descriptor& lifeline, const sigset_t& signals) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  signal(SIGPIPE, SIG_IGN);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  const Descriptor queue(signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!queue) FailBy("signalfd");
  try {
    for (int i = 0; i < static_cast<int>(ranks_.size()); ++i) Start(i, signals);
    while (running_ > 0) {
      if (!Round(lifeline, queue)) break;
    }
  } catch (...) {
    KillEverybody();
    throw;
  }
  KillEverybody();
  Drain(lifeline);
  return code_;
}

// False when the launcher has gone.
bool RankProcesses::Round(const Descriptor& lifeline, const Descriptor& signals) {
  std::vector<pollfd> wanted{{lifeline.get(), POLLIN, 0}, {signals.get(), POLLIN, 0}};
  for (LineWriter* writer : {&out_, &err_})
    wanted.push_back({writer->waits() ? writer->file() : -1, POLLOUT, 0});
  for (LineReader& reader : readers_) {
    if (reader.open() && reader.to().broken()) reader.Close();
    wanted.push_back({reader.open() && !reader.to().full() ? reader.file() : -1, POLLIN, 0});
  }
  if (poll(wanted.data(), wanted.size(), TimeLeft()) < 0) {
    if (errno == EINTR) return true;
    FailBy("poll");
  }
  if (wanted[0].revents != 0) {
    code_ = 1;
    return false;
  }
  if (wanted[2].revents != 0) out_.Write();
  if (wanted[3].revents != 0) err_.Write();
  for (size_t i = 0; i < readers_.size(); ++i) {
    if (wanted[4 + i].revents != 0) readers_[i].Read();
  }
  if (wanted[1].revents != 0) TakeSignals(signals);
  if (failed_ && running_ > 0 && Now() >= kill_at_) SignalAll(SIGKILL);
  return true;
}

int RankProcesses::TimeLeft() const {
  if (!failed_) return -1;
  return std::clamp(static_cast<int>((kill_at_ - Now()) * 1000) + 1, 1, 60'000);
}

void RankProcesses::TakeSignals(const Descriptor& signals) {
  signalfd_siginfo signal;
  while (read(signals.get(), &signal, sizeof signal) == sizeof signal) {
    if (signal.ssi_signo != SIGCHLD) PassOn(static_cast<int>(signal.ssi_signo));
  }
  Collect();
}

// What a terminal sends goes to all that a rank has started, too; the rest to the program itself.
void RankProcesses::PassOn(int number) {
  if (number == SIGUSR1 || number == SIGUSR2) {
    for (const Rank& rank : ranks_) {
      if (!rank.ended) kill(rank.process, number);
    }
  } else if (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT) {
    SignalAll(number);
  }
}

void RankProcesses::Collect() {
  int status;
  for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
    for (size_t i = 0; i < ranks_.size(); ++i) {
      if (ranks_[i].process == ended) Ended(static_cast<int>(i), status);
    }
  }
}

// The process group of a rank stays after it for what it has started.
void RankProcesses::Ended(int number, int status) {
  Rank& rank = ranks_[static_cast<size_t>(number)];
  rank.ended = true;
  --running_;
  const int code = ExitCodeOf(status);
  if (code == 0 || failed_) return;
  // What it had to say comes first. A pipe holds no more than that; what it has started may go on to write.
  for (size_t i = static_cast<size_t>(number) * 2; i < static_cast<size_t>(number) * 2 + 2; ++i) {
    for (int reads = 0; reads < 64 && readers_[i].open() && readers_[i].Read(); ++reads) {
    }
  }
  failed_ = true;
  code_ = code;
  kill_at_ = Now() + grace_;
  err_.Add("belay launch: rank " + std::to_string(number) + " (process " + std::to_string(rank.process) +
           ") " + NameOf(status) + (running_ > 0 ? "; the others are ended\n" : "\n"));
  SignalAll(SIGTERM);
}

void RankProcesses::SignalAll(int number) const {
  for (const Rank& rank : ranks_) {
    if (rank.process > 0 && !rank.ended) kill(-rank.process, number);
  }
}

// Ranks, and whatever they have started and left: once its parent has ended it is a child of this process.
void RankProcesses::KillEverybody() {
  SignalAll(SIGKILL);
  if (access(ListOfChildren().c_str(), R_OK) != 0) {  // a kernel that does not have it
    for (const Rank& rank : ranks_) {
      if (rank.process > 0 && !rank.ended) waitpid(rank.process, nullptr, 0);
    }
    return;
  }
  for (;;) {
    for (pid_t child : Children()) kill(child, SIGKILL);
    if (waitpid(-1, nullptr, 0) < 0 && errno == ECHILD) return;
  }
}

// Everybody has ended, so what is in the pipes is all.
void RankProcesses::Drain(const Descriptor& lifeline) {
  for (LineReader& reader : readers_) {
    while (reader.open() && reader.Read()) {
    }
    if (reader.open()) reader.Close();
  }
  for (LineWriter* writer : {&out_, &err_}) {
    while (writer->waits()) {
      pollfd wanted[] = {{writer->file(), POLLOUT, 0}, {lifeline.get(), POLLIN, 0}};
      if (poll(wanted, 2, -1) < 0 && errno != EINTR) return;
      if (wanted[1].revents != 0) return;
      if (wanted[0].revents != 0) writer->Write();
    }
  }
}

}  // namespace belay::tool
