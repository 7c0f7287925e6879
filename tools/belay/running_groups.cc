#include "belay/running_groups.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

namespace belay::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kName = "@belay-hccl-";
constexpr unsigned long kListens = 0x10000;

bool Holds(const fs::path& process, const std::string& socket) {
  std::error_code error;
  for (fs::directory_iterator file(process / "fd", error), end; !error && file != end;
       file.increment(error)) {
    std::error_code gone;
    if (fs::read_symlink(file->path(), gone) == socket) return true;
  }
  return false;
}

// The lowest of those that have it: a child may have it from a fork.
void FindProcess(RunningGroup* group) {
  const std::string socket = "socket:[" + std::to_string(group->socket) + "]";
  std::error_code error;
  for (fs::directory_iterator process("/proc", error), end; !error && process != end;
       process.increment(error)) {
    const int number = std::atoi(process->path().filename().c_str());
    if (number <= 0 || (group->process != 0 && number > group->process)) continue;
    if (!Holds(process->path(), socket)) continue;
    group->process = number;
    std::ifstream name(process->path() / "comm");
    std::getline(name, group->program);
  }
}

}  // namespace

std::vector<RunningGroup> GroupsIn(std::string_view sockets) {
  struct Line {
    std::string id;
    bool listens;
    uint64_t socket;
  };
  std::vector<Line> lines;
  std::istringstream text{std::string(sockets)};
  for (std::string line; std::getline(text, line);) {
    std::istringstream fields(line);
    std::string number, references, protocol, flags, type, state, name;
    uint64_t socket = 0;
    if (!(fields >> number >> references >> protocol >> flags >> type >> state >> socket >> name)) continue;
    if (!name.starts_with(kName)) continue;
    lines.push_back(
        {name.substr(kName.size()), (std::strtoul(flags.c_str(), nullptr, 16) & kListens) != 0, socket});
  }
  std::vector<RunningGroup> groups;
  for (const Line& line : lines) {
    if (!line.listens) continue;
    RunningGroup& group = groups.emplace_back();
    group.id = line.id;
    group.socket = line.socket;
  }
  for (RunningGroup& group : groups) {
    group.connections = static_cast<uint32_t>(std::count_if(
        lines.begin(), lines.end(), [&](const Line& line) { return !line.listens && line.id == group.id; }));
  }
  return groups;
}

std::vector<RunningGroup> RunningGroups() {
  std::ifstream file("/proc/net/unix");
  std::vector<RunningGroup> groups =
      GroupsIn(std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
  for (RunningGroup& group : groups) FindProcess(&group);
  return groups;
}

}  // namespace belay::tool
