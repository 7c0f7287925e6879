#include "collective/environment.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "base/hcclresult_codes.h"
#include "base/number.h"

namespace belay::coll {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

[[noreturn]] void RefuseSetting(const char* name, std::string_view value, std::string_view wanted) {
  Fail(codes::kHcclEPara, "collective-setting", "{} = '{}' cannot be used; set it to {}, or unset it", name,
       value, wanted);
}

std::string_view ReadVariable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

int64_t Number(const char* name, int64_t least, int64_t most, int64_t otherwise) {
  std::string_view text = ReadVariable(name);
  if (text.empty()) return otherwise;
  const auto number = NumberIn<int64_t>(text, least, most);
  if (!number) RefuseSetting(name, text, fmt::format("a whole number from {} to {}", least, most));
  return *number;
}

// The parts between commas.
std::vector<std::string_view> Parts(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return parts;
}

}  // namespace

// A card takes 120 to 7200; less is for tests of what happens when ranks are missing.
int64_t ConnectTimeoutNs() { return Number("HCCL_CONNECT_TIMEOUT", 1, 7200, 120) * kSecond; }

int64_t ExecTimeoutNs() {
  constexpr const char* kName = "HCCL_EXEC_TIMEOUT";
  std::string_view text = ReadVariable(kName);
  if (text.empty()) return 1836 * kSecond;
  size_t point = text.find('.');
  std::string_view part = point == std::string_view::npos ? "0" : text.substr(point + 1);
  const auto seconds = NumberIn<int64_t>(text.substr(0, point), 0, INT32_MAX);
  const auto digits = NumberIn<int64_t>(part, 0, 99);
  if (!seconds || !digits || part.size() > 2) {
    RefuseSetting(kName, text,
                  "seconds from 0 (for ever) to 2147483647, with at most two digits after the point");
  }
  return *seconds * kSecond + *digits * (kSecond / (part.size() == 1 ? 10 : 100));
}

uint64_t BufferBytes() { return static_cast<uint64_t>(Number("HCCL_BUFFSIZE", 1, INT32_MAX, 200)) << 20; }

int Deterministic() {
  std::string_view text = ReadVariable("HCCL_DETERMINISTIC");
  if (text.empty() || text == "false" || text == "FALSE") return 0;
  if (text == "true" || text == "TRUE") return 1;
  if (text == "strict" || text == "STRICT") return 2;
  RefuseSetting("HCCL_DETERMINISTIC", text, "true, false or strict");
}

PortRanges ParsePorts(const std::string& text, const char* variable) {
  PortRanges ranges;
  for (std::string_view part : Parts(text)) {
    size_t dash = part.find('-');
    const bool one = dash == std::string_view::npos;
    const auto first = NumberIn<uint16_t>(part.substr(0, dash), 1);
    const auto last = one ? first : NumberIn<uint16_t>(part.substr(dash + 1), first.value_or(1));
    if (!first || !last) RefuseSetting(variable, text, "ports such as 60000-60015,61000, or auto");
    ranges.emplace_back(*first, *last);
  }
  return ranges;
}

PortRanges Ports() {
  constexpr const char* kRange = "HCCL_HOST_SOCKET_PORT_RANGE";
  std::string_view range = ReadVariable(kRange);
  if (range == "auto") return {};
  if (!range.empty()) return ParsePorts(std::string(range), kRange);
  int64_t base = Number("HCCL_IF_BASE_PORT", 1024, 65520, 0);
  if (base == 0) return {};
  return {{static_cast<uint16_t>(base), static_cast<uint16_t>(base + 15)}};
}

bool IsMeant(const std::string& wanted, const std::string& interface) {
  std::string_view text = wanted;
  const bool others = text.starts_with('^');
  if (others) text.remove_prefix(1);
  const bool whole = text.starts_with('=');
  if (whole) text.remove_prefix(1);
  std::vector<std::string_view> parts = Parts(text);
  bool named = std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return whole ? part == interface : interface.starts_with(part);
  });
  return named != others;
}

}  // namespace belay::coll
