// One page of all reports, for people: it needs nothing but itself, so it can be sent to others or kept by
// CI.
#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/markup.h"
#include "belay/check_explain.h"
#include "belay/check_history.h"
#include "belay/check_reports.h"
#include "check_page_files.h"
#include "layers/support/kinds.h"

namespace belay::tool {
namespace {

constexpr int kAround = 3;                      // lines of source on each side of one
constexpr size_t kFramesWithSource = 2;         // of each place
constexpr size_t kLettersInBox = 52;            // of the picture
constexpr size_t kMostPicturesAndFiles = 2000;  // reports that have more than words

std::string_view MeaningOf(std::string_view kind) {
  for (const layers::Kind& known : layers::kKinds) {
    if (known.id == kind) return known.meaning;
  }
  return "";
}

// The files that frames name, as they are now.
class Sources {
 public:
  // Some lines around this one, itself marked; empty where they cannot be read.
  std::string Around(const std::string& path, int line) {
    const std::vector<std::string>& lines = Read(path);
    if (line < 1 || static_cast<size_t>(line) > lines.size()) return "";
    std::string text = "<pre>";
    const int last = std::min(line + kAround, static_cast<int>(lines.size()));
    for (int at = std::max(1, line - kAround); at <= last; ++at) {
      const std::string number = std::to_string(at);
      const std::string row = std::string(number.size() < 5 ? 5 - number.size() : 0, ' ') + number + "  " +
                              Escaped(lines[static_cast<size_t>(at) - 1]);
      text += at == line ? "<mark>" + row + "</mark>\n" : row + "\n";
    }
    return text + "</pre>\n";
  }

 private:
  const std::vector<std::string>& Read(const std::string& path) {
    const auto [at, fresh] = files_.try_emplace(path);
    if (fresh && !path.empty()) {
      std::ifstream file(path);
      for (std::string line; std::getline(file, line);) at->second.push_back(line);
    }
    return at->second;
  }
  std::map<std::string, std::vector<std::string>> files_;
};

// "stream 5" of "writes  memset, stream 5, by aclrtMemsetAsync".
std::string LaneOf(const std::string& role) {
  const size_t at = role.find(", stream ");
  if (at == std::string::npos) return "the host";
  const size_t end = role.find(',', at + 2);
  return role.substr(at + 2, end == std::string::npos ? end : end - at - 2);
}

// What a box of the picture has room for, in whole letters.
std::string Fitted(std::string_view words) {
  size_t letters = 0, end = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    if ((static_cast<unsigned char>(words[i]) & 0xc0) == 0x80) continue;  // goes on with a letter
    if (letters++ == kLettersInBox - 1) end = i;
  }
  return letters <= kLettersInBox ? std::string(words) : std::string(words.substr(0, end)) + "\u2026";
}

// The two accesses on their lanes, and the edge between them that is missing.
std::string Picture(const CheckReport& report) {
  if (report.kind != "race" || report.places.size() < 2) return "";
  const std::string roles[2] = {report.places[0].role, report.places[1].role};
  std::string text =
      "<svg viewBox=\"0 0 960 150\" width=\"960\" role=\"img\" aria-label=\"two accesses without an edge between "
      "them\">\n";
  for (int i = 0; i < 2; ++i) {
    const int y = 40 + 70 * i, x = i == 0 ? 110 : 500;
    const std::string top = std::to_string(y);
    text += "<text x=\"0\" y=\"" + std::to_string(y + 5) + "\">" + Escaped(LaneOf(roles[i])) + "</text>\n";
    text += "<line class=\"lane\" x1=\"100\" y1=\"" + top + "\" x2=\"950\" y2=\"" + top + "\"/>\n";
    text += "<rect class=\"box\" x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y - 16) +
            "\" width=\"440\" height=\"32\" rx=\"4\"/>\n";
    text += "<text x=\"" + std::to_string(x + 10) + "\" y=\"" + std::to_string(y + 5) + "\">" +
            Escaped(Fitted(roles[i])) + "</text>\n";
  }
  return text +
         "<line class=\"missing\" x1=\"440\" y1=\"56\" x2=\"552\" y2=\"90\"/>\n"
         "<path class=\"head\" d=\"M562 94 l-13 0 l4 -9 z\"/>\n"
         "<text class=\"bad\" x=\"570\" y=\"74\">nothing orders these</text>\n</svg>\n";
}

// "main.cc:31, main.cc:34": where the first two places are.
std::string WhereOf(const CheckReport& report) {
  std::string text;
  for (size_t i = 0; i < report.places.size() && i < 2; ++i) {
    const std::vector<ReportFrame>& frames = report.places[i].frames;
    if (frames.empty() || frames[0].file.empty()) continue;
    text += (text.empty() ? "" : ", ") + frames[0].file.substr(frames[0].file.rfind('/') + 1) + ":" +
            std::to_string(frames[0].line);
  }
  return text;
}

std::string PlaceAsHtml(const ReportPlace& place, Sources* sources) {
  std::string text = "<h3>" + Escaped(place.role) + "</h3>\n<ol>\n";
  size_t shown = 0;
  for (const ReportFrame& frame : place.frames) {
    const std::string where = frame.file.empty() ? "" : frame.file + ":" + std::to_string(frame.line) + " ";
    text += "<li><code>" + Escaped(where + frame.function) + "</code>\n";
    if (sources != nullptr && shown < kFramesWithSource) {
      const std::string lines = sources->Around(frame.file, frame.line);
      shown += lines.empty() ? 0 : 1;
      text += lines;
    }
    text += "</li>\n";
  }
  return text + "</ol>\n";
}

// Its lanes are drawn by the page's script (page/timeline.js) from what the element `history` holds.
std::string TimelineAsHtml(const std::string& history) {
  if (history.empty()) return "";
  return "<section id=\"timeline\">\n<h2>What the program did around the reports</h2>\n"
         "<p><select id=\"group\" aria-label=\"which process or graph\"></select>\n"
         "<button id=\"farther\" aria-label=\"zoom out\">\u2212</button>\n"
         "<button id=\"nearer\" aria-label=\"zoom in\">+</button>\n<button id=\"all\">all</button>\n"
         "<button id=\"previous\" aria-label=\"previous task found\">\u25c0</button>\n"
         "<button id=\"next\" aria-label=\"next task found\">\u25b6</button>\n"
         "<span id=\"found\" role=\"status\"></span></p>\n"
         "<svg id=\"view\" tabindex=\"0\" role=\"application\" aria-label=\"timeline; arrows go from task to task, plus "
         "and minus zoom, 0 shows all\"></svg>\n<div id=\"chosen\" aria-live=\"polite\"></div>\n"
         "<p class=\"where\">In the order of the calls, not in time. The wheel, + and \u2212 zoom, 0 shows all; drag to "
         "move; arrows go from task to task. Arrows are waits and what the host has learned, dashed lines the edges that "
         "are missing.</p>\n</section>\n<script type=\"application/json\" id=\"history\">" +
         history + "</script>\n";
}

std::string ArticleOf(const CheckReport& report, size_t number, bool open, Sources* sources) {
  std::string text = "<article id=\"report-" + std::to_string(number) + "\">\n<details" +
                     std::string(open ? " open" : "") + "><summary><b class=\"kind\">" +
                     (layers::IsNote(report.kind) ? "note: " : "") + Escaped(layers::HeadingOf(report.kind)) +
                     "</b> " + Escaped(report.message) + " <span class=\"where\">" +
                     Escaped(WhereOf(report)) + "</span></summary>\n";
  text += "<p>" + Escaped(MeaningOf(report.kind)) + " <a href=\"#kind-" + Escaped(report.kind) +
          "\">More, and how it is mended</a></p>\n";
  if (sources != nullptr) text += Picture(report);
  for (const ReportPlace& place : report.places) text += PlaceAsHtml(place, sources);
  text += "<p class=\"mend\">To mend it: " + Escaped(report.mend) + "</p>\n";
  return text + "<p>Report " + std::to_string(number + 1) + ", process " + std::to_string(report.process) +
         " <button class=\"show\" data-report=\"" + std::to_string(number) +
         "\" hidden>show in the timeline</button></p>\n</details>\n</article>\n";
}

// What docs/check.md says of the kinds that were found.
std::string ExplanationsAsHtml(const std::vector<CheckReport>& reports) {
  std::set<std::string> kinds;
  for (const CheckReport& report : reports) kinds.insert(report.kind);
  std::string text;
  for (const std::string& kind : kinds) {
    text += "<section id=\"kind-" + Escaped(kind) + "\">\n<h2>" + Escaped(layers::HeadingOf(kind)) +
            "</h2>\n" + ExplanationAsHtml(kind) + "</section>\n";
  }
  return text;
}

}  // namespace

std::string ReportsAsPage(const std::vector<CheckReport>& reports, const std::vector<std::string>& command,
                          int exit_code, const std::string& history) {
  std::string line;
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
  const std::string count = std::to_string(reports.size());
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>belay check</title>\n<style>\n" +
      std::string(kPageStyle) + "</style>\n</head>\n<body>\n";
  page += "<h1>belay check: " + count + (reports.size() == 1 ? " report" : " reports") + "</h1>\n";
  if (!reports.empty()) page += "<p>" + Escaped(CountByKind(reports)) + "</p>\n";
  page += "<p><code>" + Escaped(line) + "</code> ended with " + std::to_string(exit_code) + ".</p>\n";
  page +=
      "<p><input id=\"find\" type=\"search\" placeholder=\"words of a kind, function, file or call\" "
      "aria-label=\"find\"> <span id=\"shown\">" +
      count + "</span> of " + count + " shown</p>\n";
  page += TimelineAsHtml(HistoryAsJson(history, reports));
  Sources sources;
  for (size_t i = 0; i < reports.size(); ++i) {
    page += ArticleOf(reports[i], i, reports.size() <= 20, i < kMostPicturesAndFiles ? &sources : nullptr);
  }
  page += ExplanationsAsHtml(reports);
  return page + "<script>\n'use strict';\n" + kPageScript + "</script>\n</body>\n</html>\n";
}

}  // namespace belay::tool
