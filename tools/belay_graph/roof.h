// What this machine reaches at best: the measure for what a node reaches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belay::graph_tool {

struct Roof {
  double flops = 0;                                // a second, in a product of two large matrices
  std::vector<std::pair<uint64_t, double>> rates;  // bytes a second, of so many that are read and written

  // The rate of the smallest measured size that holds so many bytes: what lies in a cache moves faster.
  double RateFor(uint64_t bytes) const;
  // The least seconds for so many operations and bytes, if either alone decided.
  double SecondsFor(double operations, uint64_t bytes) const;
};

// Where a measured roof is kept, for this user; "" where there is no such place.
std::string RoofPath();

// Measures products and copies with all workers, for half a second. While `Workers` live.
Roof MeasureRoof();

// What was kept there by this version of Belay, for this processor and so many workers.
std::optional<Roof> ReadRoof(const std::string& path, const std::string& machine);
// False where nothing can be written there, which only costs the next run its time.
bool WriteRoof(const std::string& path, const std::string& machine, const Roof& roof);

// The kept one, or one that is measured now and kept; "" keeps nothing.
Roof RoofOfThisMachine(const std::string& path);

}  // namespace belay::graph_tool
