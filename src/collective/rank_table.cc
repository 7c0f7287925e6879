#include "collective/rank_table.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/hcclresult_codes.h"
#include "base/json.h"
#include "base/number.h"
#include "base/system_limit.h"
#include "base/whole_file.h"
#include "collective/environment.h"
#include "collective/wire.h"

namespace belay::coll {
namespace {

constexpr size_t kMostBytes = size_t{16} << 20;
constexpr size_t kMostServerId = 64;
constexpr uint16_t kDefaultPort = 60000;  // where cards listen

class Reader {
 public:
  explicit Reader(const std::string& where) : where_(where) {}

  RankTable Read(const Json& table) {
    CheckHead(table);
    const Json& servers = Member(table, "server_list");
    if (!servers.is_list() || servers.list().empty()) Refuse("server_list names no server");
    for (const Json& server : servers.list()) ReadServer(server);
    if (const Json* count = table.Find("server_count");
        count != nullptr && Number(*count, "server_count") != result_.servers.size())
      Refuse(fmt::format("server_count is not {}, the length of server_list", result_.servers.size()));
    if (ranks_.empty()) Refuse("it names no rank");
    uint32_t wanted = 0;
    for (const auto& entry : ranks_) {
      if (entry.first != wanted) Refuse(fmt::format("rank_id {} is missing; they go from 0 on", wanted));
      ++wanted;
      result_.ranks.push_back(entry.second);
    }
    result_.digest = Digest(table.Dump());
    return std::move(result_);
  }

 private:
  [[noreturn]] void Refuse(const std::string& what) const {
    Fail(codes::kHcclEPara, "rank-table", "{} is no rank table of version 1.0 or 1.2: {}", where_, what);
  }

  const Json& Member(const Json& of, const char* name) const {
    if (!of.is_object()) Refuse(fmt::format("what should have {} is no object", name));
    const Json* found = of.Find(name);
    if (found == nullptr) Refuse(fmt::format("{} is missing", name));
    return *found;
  }

  std::string Text(const Json& of, const char* name) const {
    const Json& found = Member(of, name);
    if (!found.is_text()) Refuse(fmt::format("{} is no text", name));
    return found.text();
  }

  // As a text, which is how tables are written, or as a number.
  uint32_t Number(const Json& from, const char* name) const {
    if (auto number = from.Whole<uint32_t>()) return *number;
    const std::string text = from.is_text() ? from.text() : std::string();
    const auto number = NumberIn<uint32_t>(text);
    if (!number) Refuse(fmt::format("{} is no whole number", name));
    return *number;
  }

  void CheckHead(const Json& table) const {
    const std::string version = Text(table, "version");
    if (version != "1.0" && version != "1.2") Refuse(fmt::format("version is '{}'", version));
    const std::string status = Text(table, "status");
    if (status == "initializing") {
      Fail(codes::kHcclEUnavail, "rank-table-initializing",
           "{} says that it is being made (status initializing); wait until it is completed", where_);
    }
    if (status != "completed") Refuse(fmt::format("status is '{}'", status));
  }

  void ReadServer(const Json& server) {
    std::string id = Text(server, "server_id");
    if (id.empty() || id.size() >= kMostServerId) Refuse("a server_id has 1 to 63 characters");
    auto& servers = result_.servers;
    if (std::find(servers.begin(), servers.end(), id) != servers.end())
      Refuse(fmt::format("server_id '{}' stands there twice", id));
    result_.addresses.push_back(AddressOf(server, id));
    servers.push_back(std::move(id));
    const Json& devices = Member(server, "device");
    if (!devices.is_list()) Refuse("device is no list");
    for (const Json& device : devices.list()) {
      const uint32_t rank = Number(Member(device, "rank_id"), "rank_id");
      if (rank >= kMostRanks) Refuse(fmt::format("rank_id {}; {} ranks at most may meet", rank, kMostRanks));
      const RankTable::Rank entry{static_cast<uint32_t>(servers.size() - 1),
                                  Number(Member(device, "device_id"), "device_id")};
      if (!ranks_.emplace(rank, entry).second) Refuse(fmt::format("rank_id {} stands there twice", rank));
    }
  }

  std::optional<Address> AddressOf(const Json& server, const std::string& id) const {
    Address address;
    if (server.Find("host_ip") == nullptr)
      return ParseAddress(id, &address) ? std::optional(address) : std::nullopt;
    const std::string text = Text(server, "host_ip");
    if (!ParseAddress(text, &address)) Refuse(fmt::format("host_ip '{}' is no address", text));
    return address;
  }

  const std::string& where_;
  RankTable result_;
  std::map<uint32_t, RankTable::Rank> ranks_;
};

}  // namespace

RankTable ParseRankTable(std::string_view text, const std::string& where) {
  try {
    return Reader(where).Read(Json::Parse(text));
  } catch (const JsonError& error) {
    Fail(codes::kHcclEPara, "rank-table", "{} is no rank table: it is no JSON ({})", where, error.what());
  }
}

RankTable ReadRankTable(const std::string& path) {
  std::optional<std::string> text = ReadWholeFile(path, kMostBytes);
  if (!text) {
    Fail(codes::kHcclEOpenFileFailure, "rank-table-file", "the rank table {} cannot be read ({})", path,
         ExplainRefusal(errno));
  }
  return ParseRankTable(*text, path);
}

RootInfo MeetingPointOf(const RankTable& table) {
  RootInfo root;
  const std::string user = fmt::format("{} {}", Hex(table.digest), geteuid());
  root.id = Digest("rank table " + user);
  const Id half = Digest("secret of " + user);
  std::memcpy(root.secret.data(), half.data(), half.size());
  root.host = HostOf(table, 0);
  if (table.servers.size() == 1) return root;
  const uint32_t server = table.ranks[0].server;
  if (!table.addresses[server].has_value()) {
    Fail(
        codes::kHcclEPara, "rank-table-address",
        "the rank table does not say where server '{}' is, to which the ranks of others come; give it a host_ip, or "
        "an address as its server_id",
        table.servers[server]);
  }
  root.addresses.push_back(*table.addresses[server]);
  const PortRanges ports = Ports();
  root.port = ports.empty() ? kDefaultPort : ports[0].first;
  return root;
}

Id HostOf(const RankTable& table, uint32_t rank) {
  if (table.servers.size() == 1) return ThisHost();
  return Digest("server " + Hex(table.digest) + table.servers[table.ranks[rank].server]);
}

}  // namespace belay::coll
