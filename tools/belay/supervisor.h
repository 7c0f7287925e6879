// Children of belay launch, and all that they start in turn, which becomes this process's child when its own
// parent ends. A supervisor carries their output, line by line, takes signals, and leaves nobody behind.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <csignal>
#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"

namespace belay::tool {

// Lines on their way to a stream of this process. It never waits for whoever reads them: what a pipe says it
// takes is written, and who asks stops reading from ranks while much is left.
class LineWriter {
 public:
  explicit LineWriter(int file) : file_(file) {}
  void Add(const std::string& text) { waiting_ += text; }
  bool waits() const { return !waiting_.empty() && !broken_; }
  bool full() const { return waits() && waiting_.size() > kEnough; }
  bool broken() const { return broken_; }  // nobody reads any more
  int file() const { return file_; }
  void Write();  // when poll(2) says that it can

 private:
  static constexpr size_t kEnough = size_t{1} << 20;
  const int file_;
  std::string waiting_;
  bool broken_ = false;
};

// What one child writes to one of its streams.
class LineReader {
 public:
  // A line that `notice` knows is not passed on.
  using Notice = std::function<bool(const std::string& line)>;
  LineReader(Descriptor pipe, std::string prefix, LineWriter& to, Notice notice = nullptr)
      : pipe_(std::move(pipe)), prefix_(std::move(prefix)), to_(to), notice_(std::move(notice)) {}
  int file() const { return pipe_.get(); }
  bool open() const { return static_cast<bool>(pipe_); }
  LineWriter& to() const { return to_; }
  bool Read();  // false when there was nothing
  void Close();

 private:
  void Pass(bool all);

  Descriptor pipe_;
  const std::string prefix_;
  LineWriter& to_;
  const Notice notice_;
  std::string line_;
  bool after_return_ = false;
};

class Supervisor {
 public:
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Runs all to their end. `lifeline` is readable when the launcher has gone. `signals` as programs should
  // have them. Returns the exit code.
  int Run(const Descriptor& lifeline, const sigset_t& signals);

 protected:
  explicit Supervisor(size_t children) : children_(children) {}
  virtual ~Supervisor() = default;

  struct Child {
    pid_t process = 0;
    bool ended = false;
  };
  virtual void StartAll(const sigset_t& signals) = 0;
  virtual void PassOn(int signal) = 0;  // one that was sent to the launcher
  virtual void Ended(size_t child, int status) = 0;
  // What else it listens to, and for how many milliseconds at most.
  virtual void Ask(std::vector<pollfd>*) {}
  virtual void Look(std::span<const pollfd>) {}
  virtual int Patience() const { return -1; }

  // `run` is what the child does; `input` becomes its standard input, unless it is -1.
  void Start(size_t child, int input, const sigset_t& signals, const std::string& prefix,
             const LineReader::Notice& notice, const std::function<int()>& run);
  void ReadWhatIsThere(size_t child);
  // The first failure decides about the code. Who has not ended after `grace` seconds is killed.
  void Fail(int code, double grace);
  void GiveUp();  // nobody is there any more to work for
  void SignalAll(int number) const;
  bool failed() const { return failed_; }
  int running() const { return running_; }
  LineWriter& err() { return err_; }
  const std::vector<Child>& children() const { return children_; }

 private:
  bool Round(const Descriptor& lifeline, const Descriptor& signals);
  void TakeSignals(const Descriptor& signals);
  void Collect();
  void KillEverybody();
  void Drain(const Descriptor& lifeline);
  int TimeLeft() const;

  std::vector<Child> children_;
  LineWriter out_{1}, err_{2};
  std::deque<LineReader> readers_;
  int running_ = 0;
  int code_ = 0;
  bool failed_ = false;
  bool alone_ = false;
  double kill_at_ = 0;  // seconds
};

// Throws what errno says of it.
[[noreturn]] void FailBy(const char* what);
double SecondsNow();
std::pair<Descriptor, Descriptor> NewPipe();  // to read from, to write to
std::string HowItEnded(int status);
// A pipe that poll(2) calls ready takes or gives so much without waiting.
constexpr size_t kAtOnce = 4096;

}  // namespace belay::tool
