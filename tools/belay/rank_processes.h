// The processes of belay launch: a supervisor whose children are the ranks, so that what they start in turn
// becomes its child when they end. It carries their output, line by line, passes signals on, and leaves
// nobody behind.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstddef>
#include <deque>
#include <functional>
#include <string>
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

// What one rank writes to one of its streams.
class LineReader {
 public:
  LineReader(Descriptor pipe, std::string prefix, LineWriter& to)
      : pipe_(std::move(pipe)), prefix_(std::move(prefix)), to_(to) {}
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
  std::string line_;
  bool after_return_ = false;
};

class RankProcesses {
 public:
  // `start` becomes the program of a rank, or returns an exit code.
  RankProcesses(int ranks, double grace, std::function<int(int)> start);

  // Runs all to their end. `lifeline` is readable when the launcher has gone. `signals` as the program should
  // have them.
  int Run(const Descriptor& lifeline, const sigset_t& signals);

 private:
  struct Rank {
    pid_t process = 0;
    bool ended = false;
  };
  void Start(int number, const sigset_t& signals);
  bool Round(const Descriptor& lifeline, const Descriptor& signals);
  void TakeSignals(const Descriptor& signals);
  void PassOn(int number);
  void Collect();
  void Ended(int number, int status);
  void SignalAll(int number) const;
  void KillEverybody();
  void Drain(const Descriptor& lifeline);
  int TimeLeft() const;

  const double grace_;
  const std::function<int(int)> start_;
  std::vector<Rank> ranks_;
  LineWriter out_{1}, err_{2};
  std::deque<LineReader> readers_;
  int running_ = 0;
  int code_ = 0;
  bool failed_ = false;
  double kill_at_ = 0;  // seconds
};

}  // namespace belay::tool
