// One page of all reports, for people: it needs nothing but itself, so it can be sent to others or kept by
// CI.
#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "belay/check_reports.h"
#include "layers/support/kinds.h"

namespace belay::tool {
namespace {

constexpr int kAround = 3;                      // lines of source on each side of one
constexpr size_t kFramesWithSource = 2;         // of each place
constexpr size_t kLettersInBox = 52;            // of the picture
constexpr size_t kMostPicturesAndFiles = 2000;  // reports that have more than words

constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>belay check</title>
<style>
body { font: 15px/1.4 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; color: #222; background: #fff; }
code, pre, svg { font-family: ui-monospace, monospace; font-size: 13px; }
article { border: 1px solid #ccc; border-radius: 6px; margin: 1em 0; padding: .6em 1em; }
summary { cursor: pointer; }
b.kind { color: #b00020; }
h3 { font-size: 15px; margin: 1em 0 .2em; }
ol { margin: 0; padding-left: 2em; }
pre { background: #f5f5f5; margin: .2em 0 .6em; overflow-x: auto; padding: .4em; }
mark { background: #ffe08a; display: inline-block; min-width: 100%; }
input { font: inherit; width: 30em; max-width: 100%; }
.where { color: #666; }
.mend { border-left: 3px solid #2e7d32; padding-left: .6em; }
svg { max-width: 100%; }
</style>
</head>
<body>
)";

constexpr const char* kTail = R"(<script>
const find = document.getElementById('find'), articles = [...document.querySelectorAll('article')];
find.addEventListener('input', () => {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const article of articles) {
    const text = article.textContent.toLowerCase();
    article.hidden = !words.every(word => text.includes(word));
  }
  document.getElementById('shown').textContent = articles.filter(article => !article.hidden).length;
});
</script>
</body>
</html>
)";

std::string Escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return out;
}

std::string Heading(std::string_view kind) {
  std::string text(kind);
  for (char& c : text) c = c == '-' ? ' ' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

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
    text += "<line x1=\"100\" y1=\"" + top + "\" x2=\"950\" y2=\"" + top + "\" stroke=\"#999\"/>\n";
    text += "<rect x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y - 16) +
            "\" width=\"440\" height=\"32\" rx=\"4\" fill=\"#e3edfb\" stroke=\"#336\"/>\n";
    text += "<text x=\"" + std::to_string(x + 10) + "\" y=\"" + std::to_string(y + 5) + "\">" +
            Escaped(Fitted(roles[i])) + "</text>\n";
  }
  return text +
         "<line class=\"missing\" x1=\"440\" y1=\"56\" x2=\"552\" y2=\"90\" stroke=\"#b00020\" stroke-width=\"2\" "
         "stroke-dasharray=\"6 4\"/>\n"
         "<path d=\"M562 94 l-13 0 l4 -9 z\" fill=\"#b00020\"/>\n"
         "<text x=\"570\" y=\"74\" fill=\"#b00020\">nothing orders these</text>\n</svg>\n";
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

}  // namespace

std::string ReportsAsPage(const std::vector<CheckReport>& reports, const std::vector<std::string>& command,
                          int exit_code) {
  std::string line;
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
  const std::string count = std::to_string(reports.size());
  std::string page = kHead;
  page += "<h1>belay check: " + count + (reports.size() == 1 ? " report" : " reports") + "</h1>\n";
  if (!reports.empty()) page += "<p>" + Escaped(CountByKind(reports)) + "</p>\n";
  page += "<p><code>" + Escaped(line) + "</code> ended with " + std::to_string(exit_code) + ".</p>\n";
  page +=
      "<p><input id=\"find\" type=\"search\" placeholder=\"words of a kind, function, file or call\" "
      "aria-label=\"find\"> <span id=\"shown\">" +
      count + "</span> of " + count + " shown</p>\n";
  Sources sources;
  for (size_t i = 0; i < reports.size(); ++i) {
    const CheckReport& report = reports[i];
    const bool whole = i < kMostPicturesAndFiles;
    page += "<article>\n<details" + std::string(reports.size() <= 20 ? " open" : "") +
            "><summary><b class=\"kind\">" + Escaped(Heading(report.kind)) + "</b> " +
            Escaped(report.message) + " <span class=\"where\">" + Escaped(WhereOf(report)) +
            "</span></summary>\n";
    page += "<p>" + Escaped(MeaningOf(report.kind)) + "</p>\n";
    if (whole) page += Picture(report);
    for (const ReportPlace& place : report.places) page += PlaceAsHtml(place, whole ? &sources : nullptr);
    page += "<p class=\"mend\">To mend it: " + Escaped(report.mend) + "</p>\n";
    page += "<p>Process " + std::to_string(report.process) + "</p>\n</details>\n</article>\n";
  }
  return page + kTail;
}

}  // namespace belay::tool
