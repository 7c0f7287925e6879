// Random numbers that depend on a key and a counter only (Philox 4x32-10: Salmon, Moraes, Dror and Shaw,
// "Parallel random numbers: as easy as 1, 2, 3", 2011), so that they can be drawn in any order.
#pragma once

#include <array>
#include <cstdint>

namespace belay::ops {

class Philox {
 public:
  using Words = std::array<uint32_t, 4>;
  static constexpr int kRounds = 10;
  static constexpr uint32_t kFactors[] = {0xD2511F53, 0xCD9E8D57};
  // The counter has 128 bits.
  Philox(uint64_t key, uint64_t low, uint64_t high) : key_(key), low_(low), high_(high) {}

  Words operator[](uint64_t block) const;
  // In [0, 1), with 53 bits.
  double Uniform(uint64_t i) const;

  uint64_t low() const { return low_; }
  uint64_t high() const { return high_; }
  // Two for each round.
  std::array<uint32_t, 2 * kRounds> Keys() const;

 private:
  uint64_t key_, low_, high_;
};

}  // namespace belay::ops
