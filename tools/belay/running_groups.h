// The groups of ranks that are at work on this machine, as their meeting points show them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay::tool {

struct RunningGroup {
  std::string id;            // of the meeting point; parts of the group meet there, too
  int process = 0;           // that has it; 0: of somebody else
  std::string program;       // of that process
  uint32_t connections = 0;  // one for each rank of this machine in the group or a part of it
  uint64_t socket = 0;
};

// From what /proc/net/unix says, without the processes.
std::vector<RunningGroup> GroupsIn(std::string_view sockets);
std::vector<RunningGroup> RunningGroups();

}  // namespace belay::tool
