// A graph of steps as a drawing for a terminal: one row per lane, time to the right.
//
//   stream 1  memcpy ─┬─ Mul ─┬─ Add ── memcpy
//                     │       │
//   stream 2          └─ Add ─┘
#pragma once

#include <string>
#include <vector>

namespace belay {

struct LaneStep {
  std::string label;       // ASCII
  int lane = 0;            // index into the lane names; steps of a lane follow each other as listed
  std::vector<int> after;  // indices of earlier steps that it waits for beyond its own lane
};

// Lines that end in a newline; empty for a graph too wide, too high or too tangled to be drawn clearly.
std::string DrawLanes(const std::vector<std::string>& lanes, const std::vector<LaneStep>& steps);

}  // namespace belay
