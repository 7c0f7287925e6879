// The ranks of belay launch that are processes of this machine: all of a group, or the part that a launcher
// elsewhere has asked for over standard input (launch_job.h).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "belay/launch_job.h"
#include "belay/supervisor.h"

namespace belay::tool {

struct RanksHere {
  int first = 0;
  int count = 0;
  int all = 0;  // of the group
  double grace = 0;
  std::string host;       // the name that the launcher has for this machine; empty: it is here
  double lost_after = 0;  // seconds without a word from the launcher; only elsewhere
};

class RankProcesses final : public Supervisor {
 public:
  // `inbox` may hold what the launcher has said already; `start` becomes the program of a rank, or returns an
  // exit code.
  RankProcesses(RanksHere ranks, LaunchInbox inbox, std::function<int(int)> start);

 private:
  void StartAll(const sigset_t& signals) override;
  void PassOn(int signal) override;
  void Ended(size_t child, int status) override;
  void Ask(std::vector<pollfd>* to) override;
  void Look(std::span<const pollfd> came) override;
  int Patience() const override;
  void ObeyAll();
  void Obey(const LaunchFrame& frame);

  const RanksHere ranks_;
  const std::function<int(int)> start_;
  LaunchInbox inbox_;
  double heard_at_ = 0;
};

}  // namespace belay::tool
