// What layers found, as they wrote it down (src/layers/support/report.cc), and the files that are made of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace belay::tool {

struct ReportFrame {
  std::string file;  // empty: not known
  int line = 0;
  std::string function;
};

struct ReportPlace {
  std::string role;
  std::vector<ReportFrame> frames;  // innermost first
  std::string spot;                 // in the history of the program (layers/support/history.h)
};

struct CheckReport {
  std::string kind;
  std::string message;
  std::string mend;
  int64_t process = 0;
  std::vector<ReportPlace> places;
};

// The whole ones among these records: of a process that was killed while it wrote the last may have no end.
std::vector<CheckReport> ReadReports(const std::string& records);

// "error" or "note".
const char* LevelOf(const CheckReport& report);

// "2 races, 1 use-after-free, 1 note"; "0 reports" of none.
std::string CountByKind(const std::vector<CheckReport>& reports);

// One object with a list of reports.
std::string ReportsAsJson(const std::vector<CheckReport>& reports, const std::vector<std::string>& command,
                          int exit_code);
// For code scanning. Files below `root` are named as seen from there.
std::string ReportsAsSarif(const std::vector<CheckReport>& reports, const std::string& root);
// For people: a page that needs no other file, with the lines of source that frames name, and a timeline of
// what the program did around the reports (layers/support/history.h).
std::string ReportsAsPage(const std::vector<CheckReport>& reports, const std::vector<std::string>& command,
                          int exit_code, const std::string& history);

}  // namespace belay::tool
