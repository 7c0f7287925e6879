#include "collective/rank_table.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <set>
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
    if (Number(Member(table, "server_count"), "server_count") != result_.servers.size())
      Refuse(fmt::format("server_count is not {}, the length of server_list", result_.servers.size()));
    if (ranks_.empty()) Refuse("it names no rank");
    if (of_pods_) ReadPods(table);
    CheckDeviceAddresses();
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

  void CheckHead(const Json& table) {
    if (table.is_object() && table.Find("group_list") != nullptr)
      Refuse("group_list is of the older template; write version, server_count and server_list instead");
    const std::string version = Text(table, "version");
    if (version != "1.0" && version != "1.2") Refuse(fmt::format("version is '{}'", version));
    const std::string status = Text(table, "status");
    if (status == "initializing") {
      Fail(codes::kHcclEUnavail, "rank-table-initializing",
           "{} says that it is being made (status initializing); wait until it is completed", where_);
    }
    if (status != "completed") Refuse(fmt::format("status is '{}'", status));
    of_pods_ = version == "1.2";
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
    std::set<uint32_t> numbers, pod_numbers;
    for (const Json& device : devices.list()) {
      ReadDevice(device);
      NeedOnce(&numbers, device, "device_id");
      if (of_pods_) NeedOnce(&pod_numbers, device, "super_device_id");
    }
  }

  // Among the devices of a server.
  void NeedOnce(std::set<uint32_t>* seen, const Json& device, const char* name) const {
    const uint32_t number = Number(Member(device, name), name);
    if (seen->insert(number).second) return;
    Refuse(fmt::format("{} {} stands twice in server '{}'", name, number, result_.servers.back()));
  }

  void ReadDevice(const Json& device) {
    const uint32_t rank = Number(Member(device, "rank_id"), "rank_id");
    if (rank >= kMostRanks) Refuse(fmt::format("rank_id {}; {} ranks at most may meet", rank, kMostRanks));
    const RankTable::Rank entry{static_cast<uint32_t>(result_.servers.size() - 1),
                                Number(Member(device, "device_id"), "device_id")};
    if (!ranks_.emplace(rank, entry).second) Refuse(fmt::format("rank_id {} stands there twice", rank));
    for (const char* name : {"device_port", "host_port", "backup_device_port"}) {
      const Json* port = device.Find(name);
      if (port == nullptr) continue;
      const uint32_t number = Number(*port, name);
      if (number == 0 || number > UINT16_MAX)
        Refuse(fmt::format("{} {} of rank {}; ports go from 1 to 65535", name, number, rank));
    }
    if (device.Find("backup_device_ip") != nullptr) NeedAddress(device, "backup_device_ip", rank);
    if (device.Find("device_ip") == nullptr) {
      without_address_ = rank;
      return;
    }
    const std::string address = NeedAddress(device, "device_ip", rank);
    if (!device_addresses_.insert(address).second)
      Refuse(fmt::format("device_ip '{}' stands there twice", address));
  }

  std::string NeedAddress(const Json& device, const char* name, uint32_t rank) const {
    std::string text = Text(device, name);
    Address address;
    if (!ParseAddress(text, &address))
      Refuse(fmt::format("{} '{}' of rank {} is no address", name, text, rank));
    return text;
  }

  // Nothing here goes to a device's own network, but a card's ranks would not find each other without.
  void CheckDeviceAddresses() const {
    if (of_pods_ || result_.servers.size() == 1 || !without_address_) return;
    Refuse(fmt::format("device_ip of rank {} is missing; with several servers each device has one",
                       *without_address_));
  }

  // Each server is in one pod.
  void ReadPods(const Json& table) const {
    const Json& pods = Member(table, "super_pod_list");
    if (!pods.is_list() || pods.list().empty()) Refuse("super_pod_list names no pod");
    std::set<std::string> ids, seen;
    for (const Json& pod : pods.list()) {
      const std::string id = Text(pod, "super_pod_id");
      if (id.empty() || !ids.insert(id).second)
        Refuse(fmt::format("super_pod_id '{}' is empty or stands there twice", id));
      const Json& servers = Member(pod, "server_list");
      if (!servers.is_list()) Refuse(fmt::format("server_list of super_pod_id '{}' is no list", id));
      for (const Json& server : servers.list()) {
        const std::string name = Text(server, "server_id");
        if (std::find(result_.servers.begin(), result_.servers.end(), name) == result_.servers.end())
          Refuse(fmt::format("super_pod_list names server_id '{}', which server_list does not have", name));
        if (!seen.insert(name).second) Refuse(fmt::format("super_pod_list names server_id '{}' twice", name));
      }
    }
    for (const std::string& name : result_.servers) {
      if (!seen.contains(name)) Refuse(fmt::format("super_pod_list does not name server_id '{}'", name));
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
  bool of_pods_ = false;  // version 1.2
  std::set<std::string> device_addresses_;
  std::optional<uint32_t> without_address_;  // a rank that has none
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
