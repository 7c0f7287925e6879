#include "belay/check_reports.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <utility>

#include "base/json.h"
#include "layers/support/kinds.h"
#include "layers/support/report_file.h"

namespace belay::tool {
namespace {

using Members = Json::Members;
using List = Json::List;

Members FrameAsJson(const ReportFrame& frame) {
  Members members{{"function", frame.function}};
  if (!frame.file.empty()) {
    members.emplace("file", frame.file);
    members.emplace("line", frame.line);
  }
  return members;
}

}  // namespace

const char* LevelOf(const CheckReport& report) { return layers::IsNote(report.kind) ? "note" : "error"; }

std::vector<CheckReport> ReadReports(const std::string& records) {
  std::vector<CheckReport> reports;
  CheckReport report;
  std::istringstream file(records);
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = layers::SplitRecord(line);
    if (words[0] == "report" && words.size() == 5) {
      report = {words[1], words[2], words[3], std::atoll(words[4].c_str()), {}};
    } else if (words[0] == "place" && (words.size() == 2 || words.size() == 3)) {
      report.places.push_back({words[1], {}, words.size() == 3 ? words[2] : ""});
    } else if (words[0] == "frame" && words.size() == 4 && !report.places.empty()) {
      report.places.back().frames.push_back({words[1], std::atoi(words[2].c_str()), words[3]});
    } else if (words[0] == "end" && !report.kind.empty()) {
      reports.push_back(std::exchange(report, {}));
    }
  }
  return reports;
}

std::string CountByKind(const std::vector<CheckReport>& reports) {
  const auto notes = std::count_if(reports.begin(), reports.end(),
                                   [](const CheckReport& report) { return layers::IsNote(report.kind); });
  std::vector<std::pair<std::string, int>> counts;
  for (const CheckReport& report : reports) {
    if (layers::IsNote(report.kind)) continue;
    auto at =
        std::find_if(counts.begin(), counts.end(), [&](const auto& c) { return c.first == report.kind; });
    if (at == counts.end()) at = counts.insert(counts.end(), {report.kind, 0});
    ++at->second;
  }
  std::string text;
  for (const auto& [kind, count] : counts) {
    const char* plural = count != 1 && kind == "race" ? "s" : "";
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + kind + plural;
  }
  if (text.empty()) text = "0 reports";
  if (notes != 0) text += ", " + std::to_string(notes) + (notes == 1 ? " note" : " notes");
  return text;
}

std::string ReportsAsJson(const std::vector<CheckReport>& reports, const std::vector<std::string>& command,
                          int exit_code) {
  List list;
  for (const CheckReport& report : reports) {
    List places;
    for (const ReportPlace& place : report.places) {
      List frames;
      for (const ReportFrame& frame : place.frames) frames.emplace_back(FrameAsJson(frame));
      places.emplace_back(Members{{"role", place.role}, {"frames", std::move(frames)}});
    }
    list.emplace_back(Members{{"kind", report.kind},
                              {"level", LevelOf(report)},
                              {"page", layers::PageOf(report.kind)},
                              {"message", report.message},
                              {"mend", report.mend},
                              {"process", report.process},
                              {"places", std::move(places)}});
  }
  return Json(
             Members{{"version", 1}, {"command", command}, {"exit", exit_code}, {"reports", std::move(list)}})
             .Dump(2) +
         "\n";
}

}  // namespace belay::tool
