#include "runtime/settings.h"

#include <sched.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include <atomic>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <numeric>
#include <string_view>

#include "base/codes.h"
#include "base/error.h"
#include "base/number.h"
#include "base/whole_file.h"

namespace belay::rt {
namespace {

[[noreturn]] void Refuse(const char* name, std::string_view value, const char* wanted) {
  Fail(codes::kInvalidParam, "setting", "{} = '{}' cannot be used; set it to {}, or unset it", name, value,
       wanted);
}

bool Read(const char* name, std::string_view* value) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return false;
  *value = text;
  return true;
}

uint64_t Number(const char* name, std::string_view value, uint64_t least, uint64_t most) {
  const auto number = NumberIn<uint64_t>(value, least, most);
  if (!number) Refuse(name, value, fmt::format("a whole number from {} to {}", least, most).c_str());
  return *number;
}

void ReadNumber(const char* name, uint64_t least, uint64_t most, auto* out) {
  std::string_view value;
  if (Read(name, &value)) *out = static_cast<std::decay_t<decltype(*out)>>(Number(name, value, least, most));
}

// "1073741824", "512M", "4G".
size_t Bytes(const char* name, std::string_view value, uint64_t least = 1) {
  constexpr std::string_view kSuffixes = "KMGT";
  std::string_view digits = value;
  int shift = 0;
  size_t suffix = kSuffixes.find(static_cast<char>(std::toupper(value.back())));
  if (suffix != std::string_view::npos) {
    shift = 10 * static_cast<int>(suffix + 1);
    digits.remove_suffix(1);
  }
  const auto number = NumberIn<uint64_t>(digits, least, (uint64_t{1} << 46) >> shift);
  if (!number) {
    Refuse(name, value, "a whole number of bytes up to 64T, with K, M, G or T behind it if you like");
  }
  return *number << shift;
}

// What memory limit the control group sets; 0: none.
uint64_t ControlGroupLimit() {
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    const std::string text = ReadWholeFile(path).value_or("");
    uint64_t limit = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), limit).ec == std::errc()) return limit;
  }
  return 0;
}

uint64_t UsableMemory() {
  struct sysinfo info;
  if (sysinfo(&info) != 0) return uint64_t{4} << 30;
  uint64_t ram = uint64_t{info.totalram} * info.mem_unit;
  uint64_t limit = ControlGroupLimit();
  return limit == 0 ? ram : std::min(ram, limit);
}

int UsableCores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) return std::max(1, CPU_COUNT(&cores));
  return std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
}

// As on a card: the list selects and renumbers devices; the first that does not exist ends it.
std::vector<int> VisibleDevices(int devices) {
  std::vector<int> visible(static_cast<size_t>(devices));
  std::iota(visible.begin(), visible.end(), 0);
  std::string_view list;
  if (!Read("ASCEND_RT_VISIBLE_DEVICES", &list)) return visible;
  visible.clear();
  while (!list.empty()) {
    std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), item.size() + 1));
    const int id = NumberIn<int>(item).value_or(-1);
    if (id < 0 || id >= devices || std::find(visible.begin(), visible.end(), id) != visible.end()) break;
    visible.push_back(id);
  }
  return visible;
}

// Never destroyed: destructors of static objects may still call functions of the interface.
struct Kept {
  Settings settings;
  Kept* previous = nullptr;  // programs keep pointers to its texts
};
std::atomic<Kept*>& InForce() {
  static std::atomic<Kept*> settings{new Kept};
  return settings;
}

}  // namespace

Settings ReadSettings() {
  Settings s;
  ReadNumber("BELAY_DEVICES", 1, 64, &s.devices);
  int all = s.devices;
  s.visible = VisibleDevices(s.devices);
  s.devices = static_cast<int>(s.visible.size());
  std::string_view value;
  if (Read("BELAY_DEVICE_MEMORY", &value)) {
    s.device_bytes = Bytes("BELAY_DEVICE_MEMORY", value);
  } else {
    s.device_bytes = UsableMemory() / 2 / static_cast<unsigned>(all) / (2 << 20) * (2 << 20);
  }
  if (Read("BELAY_MODEL_COPY", &value)) s.model_copy = Bytes("BELAY_MODEL_COPY", value, 0);
  uint64_t alias = 0;
  ReadNumber("BELAY_ALIAS_OFFSET", 0, uint64_t{1} << 46, &alias);
  s.alias_offset = static_cast<ptrdiff_t>(alias);
  s.workers = UsableCores();
  s.one_core = UsableCores() == 1;
  ReadNumber("BELAY_WORKERS", 1, 1024, &s.workers);
  ReadNumber("BELAY_STREAM_DEPTH", 1, 1u << 24, &s.stream_depth);
  ReadNumber("BELAY_STREAM_LIMIT", 1, 1u << 20, &s.stream_limit);
  if (Read("BELAY_HELP", &value)) s.help = Number("BELAY_HELP", value, 0, 1) == 1;
  if (Read("BELAY_RUN_MODE", &value)) {
    if (value != "host" && value != "device") Refuse("BELAY_RUN_MODE", value, "host or device");
    s.device_mode = value == "device";
  }
  if (Read("BELAY_SOC", &value)) s.soc = value;
  if (Read("BELAY_EXPLORE", &value)) s.explore = Number("BELAY_EXPLORE", value, 0, UINT64_MAX);
  return s;
}

const Settings& CurrentSettings() { return InForce().load(std::memory_order_acquire)->settings; }
void UseSettings(Settings settings) {
  Kept* last = InForce().load(std::memory_order_acquire);
  if (last->settings == settings) return;
  InForce().store(new Kept{std::move(settings), last}, std::memory_order_release);
}

}  // namespace belay::rt
