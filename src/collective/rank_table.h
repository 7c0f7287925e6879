// A rank table: a JSON file that names the ranks of a group, the servers they run on and their devices.
#pragma once

#include <cstdint>
#include <optional>
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
  std::vector<std::string> servers;               // their ids
  std::vector<std::optional<Address>> addresses;  // of the servers: host_ip, or the id
  Id digest{};                                    // of what the table says, however it is laid out
};

// Throws HCCL_E_PARA for what is no rank table of version 1.0 or 1.2, HCCL_E_UNAVAIL for one that says it is
// not complete yet. `where` stands in messages.
RankTable ParseRankTable(std::string_view text, const std::string& where);
// Throws HCCL_E_OPEN_FILE_FAILURE, too.
RankTable ReadRankTable(const std::string& path);

// The meeting point of the table's ranks. Its secret keeps tables apart, and users by their numbers; it is no
// secret to those who can read the table. With several servers it is on that of rank 0, at the first port of
// Ports() or 60000; throws HCCL_E_PARA when the table does not say where that is.
RootInfo MeetingPointOf(const RankTable& table);
// The machine of a rank: with several servers the table says which are the same.
Id HostOf(const RankTable& table, uint32_t rank);

}  // namespace belay::coll
