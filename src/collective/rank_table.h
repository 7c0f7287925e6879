// A rank table: a JSON file that names the ranks of a group, the servers they run on and their devices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collective/root_info.h"

namespace belay::coll {

struct RankTable {
  struct Rank {
    uint32_t server = 0;  // in `servers`
    uint32_t device = 0;
  };
  std::vector<Rank> ranks;
  std::vector<std::string> servers;  // their ids
  Id digest{};                       // of what the table says, however it is laid out
};

// Throws HCCL_E_PARA for what is no rank table of version 1.0 or 1.2, HCCL_E_UNAVAIL for one that says it is
// not complete yet. `where` stands in messages.
RankTable ParseRankTable(std::string_view text, const std::string& where);
// Throws HCCL_E_OPEN_FILE_FAILURE, too.
RankTable ReadRankTable(const std::string& path);

// The meeting point of the table's ranks, on this machine. Its secret keeps tables apart, and users by their
// numbers; it is no secret to those who can read the table.
RootInfo MeetingPointOf(const RankTable& table);

}  // namespace belay::coll
