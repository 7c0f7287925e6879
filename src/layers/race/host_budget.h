// Which tasks close the pages that they touch, so that a program that does little but copy pays a small part
// of its time for it: the first ones of each place always, whatever the time, and more of them while all
// closing and opening has taken less than its share of the time that has passed. Of large ones, which take
// longer, fewer are the first.
#pragma once

#include <cstdint>
#include <vector>

namespace belay::race {

class HostBudget {
 public:
  static constexpr uint32_t kAlways = 256;                      // tasks of each place
  static constexpr uint64_t kAlwaysBytes = uint64_t{64} << 20;  // of those
  static constexpr uint32_t kLargeToo = 4;                      // whatever their size
  static constexpr int64_t kPart = 20;                          // of the time one in so many

  // From now on. Before that all may.
  void Limit(int64_t now_ns) {
    limited_ = true;
    began_ns_ = now_ns;
  }

  bool limited() const { return limited_; }

  // Whether the task of this place, which touches so many bytes, may, when so much was spent.
  bool Allows(uint32_t site, uint64_t bytes, int64_t spent_ns, int64_t now_ns) {
    if (!limited_) return true;
    if (site >= places_.size()) places_.resize(site + 1);
    Place& place = places_[site];
    const bool first = place.tasks < kLargeToo || (place.tasks < kAlways && place.bytes < kAlwaysBytes);
    if (!first && spent_ns * kPart > now_ns - began_ns_) return false;
    ++place.tasks;
    place.bytes += bytes;
    return true;
  }

 private:
  struct Place {  // what was closed for it
    uint32_t tasks = 0;
    uint64_t bytes = 0;
  };
  bool limited_ = false;
  int64_t began_ns_ = 0;
  std::vector<Place> places_;
};

}  // namespace belay::race
