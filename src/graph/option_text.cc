#include "graph/option_text.h"

#include "base/error.h"
#include "base/number.h"
#include "graph/codes.h"

namespace belay::graph {

void BadOption(std::string_view key, std::string_view value, std::string_view reason) {
  Fail(kGraphInvalid, "build-option", "E10001: option {} has the value '{}': {}", key, value, reason);
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

std::vector<std::string_view> SplitFilled(std::string_view text, char separator) {
  std::vector<std::string_view> parts = Split(text, separator);
  std::erase(parts, std::string_view());
  return parts;
}

bool ParseInt(std::string_view text, int64_t* value) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  const auto whole = NumberIn<int64_t>(text);
  if (whole) *value = *whole;
  return whole.has_value();
}

}  // namespace belay::graph
