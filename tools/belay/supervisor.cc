#include "belay/supervisor.h"

#include <fcntl.h>
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

namespace belay::tool {
namespace {

constexpr size_t kLongest = size_t{1} << 16;  // of a line that is kept until its end

std::string ListOfChildren() { return "/proc/self/task/" + std::to_string(getpid()) + "/children"; }

// The processes whose parent this is; also those whose own parent has ended.
std::vector<pid_t> Children() {
  std::vector<pid_t> children;
  std::ifstream list(ListOfChildren());
  for (pid_t child; list >> child;) children.push_back(child);
  return children;
}

}  // namespace

void FailBy(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

double SecondsNow() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::pair<Descriptor, Descriptor> NewPipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) FailBy("pipe2");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

std::string HowItEnded(int status) {
  if (WIFEXITED(status)) return "ended with code " + std::to_string(WEXITSTATUS(status));
  const char* name = sigabbrev_np(WTERMSIG(status));
  return "was ended by SIG" + std::string(name == nullptr ? "?" : name);
}

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

// A line ends with \n, or with \r, by which progress is drawn. One that has a prefix already is a bit longer.
void LineReader::Pass(bool all) {
  size_t from = 0;
  for (size_t i = 0; i < line_.size(); ++i) {
    const bool rest_of_end = i == from && after_return_ && line_[i] == '\n';
    if (i == from) after_return_ = false;
    if (line_[i] != '\n' && line_[i] != '\r') continue;
    const std::string line = line_.substr(from, i + 1 - from);
    if (notice_ == nullptr || !notice_(line)) to_.Add((rest_of_end ? "" : prefix_) + line);
    after_return_ = line_[i] == '\r';
    from = i + 1;
  }
  line_.erase(0, from);
  if (line_.empty() || (!all && line_.size() < (prefix_.empty() ? 2 * kLongest : kLongest))) return;
  to_.Add(prefix_ + line_ + "\n");
  line_.clear();
}

void Supervisor::Start(size_t number, int input, const sigset_t& signals, const std::string& prefix,
                       const LineReader::Notice& notice, const std::function<int()>& run) {
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
    if (input >= 0) dup2(input, 0);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &signals, nullptr);
    const int code = run();
    std::fflush(nullptr);
    _exit(code);
  }
  setpgid(child, child);  // also here, so that it is one before anything is sent there
  children_[number].process = child;
  ++running_;
  for (auto* end : {&out, &err}) {
    fcntl(end->get(), F_SETFL, O_NONBLOCK);
    readers_.emplace_back(std::move(*end), prefix, end == &out ? out_ : err_, end == &out ? nullptr : notice);
  }
}

int Supervisor::Run(const Descriptor& lifeline, const sigset_t& signals) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  signal(SIGPIPE, SIG_IGN);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  const Descriptor queue(signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!queue) FailBy("signalfd");
  try {
    StartAll(signals);
    while (running_ > 0 && !alone_) {
      if (!Round(lifeline, queue)) GiveUp();
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
bool Supervisor::Round(const Descriptor& lifeline, const Descriptor& signals) {
  std::vector<pollfd> wanted{{lifeline.get(), POLLIN, 0}, {signals.get(), POLLIN, 0}};
  for (LineWriter* writer : {&out_, &err_})
    wanted.push_back({writer->waits() ? writer->file() : -1, POLLOUT, 0});
  for (LineReader& reader : readers_) {
    if (reader.open() && reader.to().broken()) reader.Close();
    wanted.push_back({reader.open() && !reader.to().full() ? reader.file() : -1, POLLIN, 0});
  }
  Ask(&wanted);
  if (poll(wanted.data(), wanted.size(), TimeLeft()) < 0) {
    if (errno == EINTR) return true;
    FailBy("poll");
  }
  if (wanted[0].revents != 0) return false;
  if (wanted[2].revents != 0) out_.Write();
  if (wanted[3].revents != 0) err_.Write();
  for (size_t i = 0; i < readers_.size(); ++i) {
    if (wanted[4 + i].revents != 0) readers_[i].Read();
  }
  Look(std::span(wanted).subspan(4 + readers_.size()));
  if (wanted[1].revents != 0) TakeSignals(signals);
  if (failed_ && running_ > 0 && SecondsNow() >= kill_at_) SignalAll(SIGKILL);
  return true;
}

int Supervisor::TimeLeft() const {
  const int patience = Patience();
  if (!failed_) return patience;
  const int left = std::clamp(static_cast<int>((kill_at_ - SecondsNow()) * 1000) + 1, 1, 60'000);
  return patience < 0 ? left : std::min(left, patience);
}

void Supervisor::TakeSignals(const Descriptor& signals) {
  signalfd_siginfo signal;
  while (read(signals.get(), &signal, sizeof signal) == sizeof signal) {
    if (signal.ssi_signo != SIGCHLD) PassOn(static_cast<int>(signal.ssi_signo));
  }
  Collect();
}

void Supervisor::Collect() {
  int status;
  for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
    for (size_t i = 0; i < children_.size(); ++i) {
      if (children_[i].process != ended) continue;
      children_[i].ended = true;
      --running_;
      Ended(i, status);
    }
  }
}

// A pipe holds no more than that; what it has started may go on to write.
void Supervisor::ReadWhatIsThere(size_t child) {
  for (size_t i = child * 2; i < child * 2 + 2; ++i) {
    for (int reads = 0; reads < 64 && readers_[i].open() && readers_[i].Read(); ++reads) {
    }
  }
}

void Supervisor::Fail(int code, double grace) {
  if (failed_) return;
  failed_ = true;
  code_ = code;
  kill_at_ = SecondsNow() + grace;
}

void Supervisor::GiveUp() {
  code_ = 1;
  alone_ = true;
}

void Supervisor::SignalAll(int number) const {
  for (const Child& child : children_) {
    if (child.process > 0 && !child.ended) kill(-child.process, number);
  }
}

// Children, and whatever they have started and left: once its parent has ended it is a child of this process.
void Supervisor::KillEverybody() {
  SignalAll(SIGKILL);
  if (access(ListOfChildren().c_str(), R_OK) != 0) {  // a kernel that does not have it
    for (const Child& child : children_) {
      if (child.process > 0 && !child.ended) waitpid(child.process, nullptr, 0);
    }
    return;
  }
  for (;;) {
    for (pid_t child : Children()) kill(child, SIGKILL);
    if (waitpid(-1, nullptr, 0) < 0 && errno == ECHILD) return;
  }
}

// Everybody has ended, so what is in the pipes is all.
void Supervisor::Drain(const Descriptor& lifeline) {
  for (LineReader& reader : readers_) {
    while (reader.open() && reader.Read()) {
    }
    if (reader.open()) reader.Close();
  }
  for (LineWriter* writer : {&out_, &err_}) {
    while (writer->waits() && !alone_) {
      std::vector<pollfd> wanted{{writer->file(), POLLOUT, 0}, {lifeline.get(), POLLIN, 0}};
      Ask(&wanted);
      if (poll(wanted.data(), wanted.size(), Patience()) < 0 && errno != EINTR) return;
      if (wanted[1].revents != 0) return;
      if (wanted[0].revents != 0) writer->Write();
      Look(std::span(wanted).subspan(2));
    }
  }
}

}  // namespace belay::tool
