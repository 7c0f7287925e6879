#include "layers/support/report.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <functional>
#include <mutex>
#include <unordered_set>

#include "layers/support/tally.h"

namespace belay::layers {
namespace {

constexpr size_t kIndent = 12;

std::string Heading(std::string_view kind) {
  std::string text(kind);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return c == '-' ? ' ' : static_cast<char>(std::toupper(c)); });
  return text;
}

// The kind and the places.
size_t KeyOf(const Report& report) {
  size_t key = std::hash<std::string_view>()(report.kind);
  for (const Place& place : report.places) key = key * 1'000'003 ^ StackHash()(place.stack);
  return key;
}

bool IsNew(const Report& report) {
  static std::mutex lock;
  static std::unordered_set<size_t> told;
  std::lock_guard guard(lock);
  return told.insert(KeyOf(report)).second;
}

}  // namespace

std::string TextOf(const Report& report) {
  std::string text = "belay check: " + Heading(report.kind) + "  " + report.message + "\n";
  for (const Place& place : report.places) {
    text += "  " + place.role + "\n";
    for (const std::string& line : Describe(place.stack)) text += std::string(kIndent, ' ') + line + "\n";
  }
  return text + "  mend: " + report.mend + "\n";
}

void Tell(const Report& report) {
  if (!IsNew(report)) return;
  ++TheTally().reports;
  const std::string text = TextOf(report);
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace belay::layers
