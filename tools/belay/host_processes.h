// The connections of belay launch to its parts on other hosts: each is a process, ssh for example, whose
// standard input is the way there (launch_job.h).
#pragma once

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "belay/launch_job.h"
#include "belay/supervisor.h"

namespace belay::tool {

struct HostToStart {
  std::string command;  // for a shell
  LaunchJob job;
};

class HostProcesses final : public Supervisor {
 public:
  explicit HostProcesses(std::vector<HostToStart> hosts);

 private:
  struct Connection {
    Descriptor pipe;
    LineWriter writer;
  };
  void StartAll(const sigset_t& signals) override;
  void PassOn(int signal) override;
  void Ended(size_t child, int status) override;
  void Ask(std::vector<pollfd>* to) override;
  void Look(std::span<const pollfd> came) override;
  int Patience() const override;
  bool TakeNotice(const std::string& line);
  void Failed(int code, const std::string& who);
  void TellAll(const LaunchFrame& frame);

  const std::vector<HostToStart> hosts_;
  std::deque<Connection> connections_;
  const double beat_;  // seconds
  double beat_at_ = 0;
};

}  // namespace belay::tool
