// Functions of the program that streams call and wait for (aclrtLaunchHostFunc, aclrtLaunchCallback). Such a
// function may wait for another thread of the program, by means that nobody sees. So what the host does while
// one of them has not returned may come before all that lies behind it, and no race is told then. That a
// function did not wait for the host is known when it returns while the host stands still.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "layers/race/clock.h"
#include "runtime/stream.h"

namespace belay::race {

struct Gate {
  const rt::Stream* stream;
  uint64_t position;  // on it
  Epoch at;
  uint32_t site;
};

// Those that have not returned, after the calling thread has stood still for them for as long as something
// goes on.
std::vector<Gate> StandStillFor(std::vector<Gate> gates);

class Gates {
 public:
  bool any() const { return !pending_.empty(); }
  void Add(const Gate& gate) { pending_.push_back(gate); }
  // These the host knows to be over.
  template <class Over>
  void Forget(const Over& over) {
    std::erase_if(pending_, [&](const Gate& gate) { return over(gate.at); });
  }
  // Those that have not returned and that come before what knows so much.
  std::vector<Gate> Before(const Clock& clock) const;

  // One has waited for the host: those from the same place will, too.
  void WaitsForHost(const Gate& gate) { waiting_.insert(gate.site); }
  bool WaitForHost(const std::vector<Gate>& gates) const {
    return std::ranges::any_of(gates, [&](const Gate& gate) { return waiting_.contains(gate.site); });
  }

 private:
  std::vector<Gate> pending_;
  std::set<uint32_t> waiting_;
};

}  // namespace belay::race
