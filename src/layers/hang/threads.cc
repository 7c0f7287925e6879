#include "layers/hang/threads.h"

#include <dirent.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/whole_file.h"

namespace belay::hang {
namespace {

// Empty where there is no such file, and of a thread that has just ended.
std::string Read(const std::string& path) { return ReadWholeFile(path).value_or(""); }

// The words of a line, as numbers with or without 0x; false at one that is none.
bool Numbers(std::string_view line, std::vector<uint64_t>* numbers) {
  for (size_t at = 0; at < line.size();) {
    const size_t end = std::min(line.find_first_of(" \n", at), line.size());
    std::string_view word = line.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    const bool hex = word.starts_with("0x");
    if (hex) word.remove_prefix(2);
    uint64_t number = 0;
    const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), number, hex ? 16 : 10);
    if (error != std::errc() || rest != word.data() + word.size()) return false;
    numbers->push_back(number);
  }
  return true;
}

struct Look {
  std::string syscall;
  std::string switches;  // that the thread has made
  bool operator==(const Look&) const = default;
};

std::string LineOf(const std::string& text, std::string_view name) {
  const size_t at = text.find(name);
  return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
}

std::map<int, Look> LookAtAll() {
  std::map<int, Look> looks;
  const int self = static_cast<int>(syscall(SYS_gettid));
  for (int id : ThreadIds()) {
    const std::string folder = "/proc/self/task/" + std::to_string(id);
    const std::string status = Read(folder + "/status");
    const std::string state = LineOf(status, "State:");
    const bool over = status.empty() || state.find('Z') != std::string::npos;
    if (id == self || over) continue;
    looks[id] = {Read(folder + "/syscall"), LineOf(status, "voluntary_ctxt_switches:")};
  }
  return looks;
}

// A timer may set off a handler that does anything.
bool AnyTimer() {
  itimerval timer{};
  for (auto which : {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF}) {
    if (getitimer(which, &timer) == 0 && (timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0))
      return true;
  }
  return !Read("/proc/self/timers").empty();
}

}  // namespace

std::optional<FutexSleep> ParseFutexSleep(std::string_view syscall) {
  std::vector<uint64_t> words;  // the number, six arguments, stack, place
  if (!Numbers(syscall, &words) || words.size() < 7 || words[0] != SYS_futex) return std::nullopt;
  const uint64_t command = words[2] & static_cast<uint64_t>(FUTEX_CMD_MASK) & 0x7f;
  if (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET) return std::nullopt;
  return FutexSleep{words[1], words[4] != 0};
}

SharedRanges::SharedRanges(std::string_view maps) {
  for (size_t at = 0; at < maps.size();) {
    const size_t end = std::min(maps.find('\n', at), maps.size());
    const std::string_view line = maps.substr(at, end - at);
    at = end + 1;
    Range range{};
    const char* const last = line.data() + line.size();
    const auto first = std::from_chars(line.data(), last, range.begin, 16);
    if (first.ec != std::errc() || first.ptr == last || *first.ptr != '-') continue;
    const auto second = std::from_chars(first.ptr + 1, last, range.end, 16);
    if (second.ec != std::errc() || last - second.ptr < 5) continue;
    if (second.ptr[4] == 's') ranges_.push_back(range);
  }
}

bool SharedRanges::Has(uintptr_t address) const {
  return std::ranges::any_of(ranges_, [&](const Range& r) { return address >= r.begin && address < r.end; });
}

std::vector<int> ThreadIds() {
  std::vector<int> ids;
  DIR* folder = opendir("/proc/self/task");
  if (folder == nullptr) return ids;
  while (const dirent* entry = readdir(folder)) {
    if (const int id = std::atoi(entry->d_name); id > 0) ids.push_back(id);
  }
  closedir(folder);
  return ids;
}

std::string ThreadName(int id) {
  std::string name = Read("/proc/self/task/" + std::to_string(id) + "/comm");
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

Awake LookForAwake(const IsThread& waits, const IsThread& aside) {
  constexpr int kMostNamed = 4;
  Awake awake;
  const std::map<int, Look> before = LookAtAll();
  const SharedRanges shared(Read("/proc/self/maps"));
  const std::map<int, Look> after = LookAtAll();
  awake.unknown = after.empty() || AnyTimer() || before.size() != after.size();
  int named = 0;
  for (const auto& [id, look] : after) {
    const auto earlier = before.find(id);
    const std::optional<FutexSleep> sleep = ParseFutexSleep(look.syscall);
    if (aside(id)) continue;
    if (look.syscall.empty() || earlier == before.end()) {
      awake.unknown = true;
    } else if (sleep && waits(id) && ParseFutexSleep(earlier->second.syscall)) {
      continue;
    } else if (!sleep || sleep->limited || shared.Has(sleep->word) || earlier->second != look) {
      if (++named > kMostNamed) continue;
      awake.names += (named == 1 ? "" : ", ") + ThreadName(id) + " (" + std::to_string(id) + ")";
    }
  }
  if (named > kMostNamed) awake.names += " and " + std::to_string(named - kMostNamed) + " more";
  return awake;
}

}  // namespace belay::hang
