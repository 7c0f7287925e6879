#include "layers/support/report.h"

#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/quiet_write.h"
#include "layers/support/report_file.h"
#include "layers/support/tally.h"

namespace belay::layers {
namespace {

constexpr size_t kIndent = 12;

// The kind and the places.
bool IsNew(const Report& report) {
  static std::mutex lock;
  static auto* const told = new std::unordered_set<size_t>;  // also for threads that outlive static objects
  size_t key = std::hash<std::string_view>()(report.kind);
  for (const Place& place : report.places) {
    if (!place.beside) key = key * 1'000'003 ^ StackHash()(place.stack);
  }
  std::lock_guard guard(lock);
  return told->insert(key).second;
}

using Frames = std::vector<std::vector<Frame>>;  // of each place

// What the user wants no word of: lines of a kind (or *) and a pattern for one of the frames.
class Suppressions {
 public:
  Suppressions() {
    const char* path = std::getenv(kSuppressVariable);
    if (path == nullptr) return;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      const size_t gap = line.find(' ');
      const size_t pattern = line.find_first_not_of(' ', gap);
      if (line.starts_with('#') || pattern == std::string::npos) continue;
      rules_.emplace_back(line.substr(0, gap), line.substr(pattern));
    }
  }
  bool Match(const Report& report, const Frames& frames) const {
    return std::any_of(rules_.begin(), rules_.end(), [&](const auto& rule) {
      if (rule.first != "*" && rule.first != report.kind.id) return false;
      auto matches = [&](const std::string& text) {
        return fnmatch(rule.second.c_str(), text.c_str(), 0) == 0;
      };
      return std::any_of(frames.begin(), frames.end(), [&](const std::vector<Frame>& place) {
        return std::any_of(place.begin(), place.end(),
                           [&](const Frame& f) { return matches(f.Words()) || matches(f.function); });
      });
    });
  }

 private:
  std::vector<std::pair<std::string, std::string>> rules_;
};

std::string TextOfReport(const Report& report, const Frames& frames) {
  std::string text = "belay check: ";
  if (IsNote(report.kind)) text += "note: ";
  text += HeadingOf(report.kind) + "  " + report.message + "\n";
  for (size_t i = 0; i < report.places.size(); ++i) {
    text += "  " + report.places[i].role + "\n";
    for (const Frame& frame : frames[i]) text += std::string(kIndent, ' ') + frame.Words() + "\n";
  }
  return text + "  mend: " + report.mend + "\n";
}

std::string RecordOf(const Report& report, const Frames& frames) {
  std::string text;
  AddLine(&text, {"report", report.kind, report.message, report.mend, std::to_string(getpid())});
  for (size_t i = 0; i < report.places.size(); ++i) {
    AddWords(&text, {"place", report.places[i].role});
    if (!report.places[i].spot.empty()) AddWord(&text, report.places[i].spot);
    text += '\n';
    for (const Frame& frame : frames[i]) {
      AddLine(&text, {"frame", frame.file, std::to_string(frame.line), frame.function});
    }
  }
  AddLine(&text, {"end"});
  return text;
}

}  // namespace

bool Tell(const Report& report) {
  if (!IsNew(report)) return false;
  static const Suppressions* const suppressions = new Suppressions;
  Frames frames;
  for (const Place& place : report.places) frames.push_back(FramesOf(place.stack));
  if (suppressions->Match(report, frames)) {
    ++TheTally().suppressed;
    return false;
  }
  ++(IsNote(report.kind) ? TheTally().notes : TheTally().reports);
  const std::string text = TextOfReport(report, frames);
  WriteAllQuietly(STDERR_FILENO, text.data(), text.size());
  AddRecord(RecordOf(report, frames));
  return true;
}

}  // namespace belay::layers
