// Which tasks close the pages that they touch, so that a program that does little but copy pays a small part
// of its time for it: the first ones of each place always, whatever the time, and more of them while all
// closing and opening has taken less than its share of the time that has passed.
#pragma once

#include <cstdint>
#include <vector>

namespace belay::race {

class HostBudget {
 public:
  static constexpr uint32_t kAlways = 256;  // tasks of each place
  static constexpr int64_t kPart = 20;      // of the time one in so many

  // From now on. Before that all may.
  void Limit(int64_t now_ns) {
    limited_ = true;
    began_ns_ = now_ns;
  }

  bool limited() const { return limited_; }

  // Whether the task of this place may, when so much was spent.
  bool Allows(uint32_t site, int64_t spent_ns, int64_t now_ns) {
    if (!limited_) return true;
    if (site >= closed_.size()) closed_.resize(site + 1);
    if (closed_[site] >= kAlways && spent_ns * kPart > now_ns - began_ns_) return false;
    ++closed_[site];
    return true;
  }

 private:
  bool limited_ = false;
  int64_t began_ns_ = 0;
  std::vector<uint32_t> closed_;  // tasks by their place
};

}  // namespace belay::race
