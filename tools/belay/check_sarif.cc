// SARIF 2.1.0 as code scanning wants it: a rule with all its texts, a place in the checkout, no empty text.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/json.h"
#include "belay/check_explain.h"
#include "belay/check_reports.h"
#include "layers/support/kinds.h"

namespace belay::tool {
namespace {

using Object = Json::Members;
using Array = Json::List;
namespace fs = std::filesystem;

Json Text(const std::string& text) { return Object{{"text", text.empty() ? "-" : text}}; }

std::string Encoded(const std::string& path) {
  std::string text;
  for (char c : path) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                       std::string("/._-~+").find(c) != std::string::npos;
    char code[4];
    std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned char>(c));
    text += plain ? std::string(1, c) : code;
  }
  return text;
}

class Sarif {
 public:
  explicit Sarif(const std::string& root) : root_(fs::weakly_canonical(root)) {}

  Json Result(const CheckReport& report) const {
    Object result{{"ruleId", report.kind},
                  {"level", LevelOf(report)},
                  {"message", Text(report.message + ". To mend it: " + report.mend + ".")}};
    Array related, steps;
    for (const ReportPlace& place : report.places) {
      std::optional<Json> where = Location(place);
      if (!where) continue;
      if (result.find("locations") == result.end()) {
        result.emplace("locations", Array{*where});
      } else {
        related.push_back(*where);
      }
      steps.emplace_back(Object{{"location", *where}});
    }
    if (!related.empty()) result.emplace("relatedLocations", std::move(related));
    if (!steps.empty()) {
      result.emplace("codeFlows",
                     Array{Object{{"threadFlows", Array{Object{{"locations", std::move(steps)}}}}}});
    }
    result.emplace("partialFingerprints", Object{{"primaryLocationLineHash", Fingerprint(report)}});
    return result;
  }

 private:
  // The path below the root; empty: the frame lies elsewhere.
  std::string Below(const ReportFrame& frame) const {
    if (frame.file.empty() || frame.line <= 0) return {};
    std::error_code error;
    const fs::path file = fs::weakly_canonical(root_ / frame.file, error);
    if (error) return {};
    const std::string relative = file.lexically_relative(root_).string();
    return relative.empty() || relative.starts_with("..") ? std::string() : relative;
  }

  std::optional<Json> Location(const ReportPlace& place) const {
    for (const ReportFrame& frame : place.frames) {
      const std::string path = Below(frame);
      if (path.empty()) continue;
      Object region{{"startLine", frame.line}, {"startColumn", 1}, {"endLine", frame.line}, {"endColumn", 2}};
      Object physical{{"artifactLocation", Object{{"uri", Encoded(path)}}}, {"region", std::move(region)}};
      return Object{{"physicalLocation", std::move(physical)}, {"message", Text(place.role)}};
    }
    return std::nullopt;
  }

  // Stays the same when lines move.
  std::string Fingerprint(const CheckReport& report) const {
    uint64_t hash = 0xcbf29ce484222325;
    auto add = [&](const std::string& text) {
      for (char c : text + '\n') hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    };
    add(report.kind);
    for (const ReportPlace& place : report.places) {
      for (const ReportFrame& frame : place.frames) add(Below(frame) + ' ' + frame.function);
    }
    char text[24];
    std::snprintf(text, sizeof text, "%016llx:1", static_cast<unsigned long long>(hash));
    return text;
  }

  const fs::path root_;
};

Json Rules() {
  Array rules;
  for (const layers::Kind& kind : layers::kKinds) {
    const std::string meaning(kind.meaning), id(kind.id);
    const std::string more =
        meaning + " More: `belay explain " + id + "`, or " + layers::PageOf(id) + " of Belay.";
    rules.emplace_back(
        Object{{"id", id},
               {"shortDescription", Text(std::string(kind.title))},
               {"fullDescription", Text(meaning)},
               {"help", Object{{"text", more}, {"markdown", std::string(ExplanationOf(id))}}}});
  }
  return rules;
}

}  // namespace

std::string ReportsAsSarif(const std::vector<CheckReport>& reports, const std::string& root) {
  const Sarif sarif(root);
  Array results;
  for (const CheckReport& report : reports) results.push_back(sarif.Result(report));
  Object driver{{"name", "belay check"}, {"version", BELAY_VERSION}, {"rules", Rules()}};
  Object run{{"tool", Object{{"driver", std::move(driver)}}},
             {"columnKind", "utf16CodeUnits"},
             {"results", std::move(results)}};
  return Json(Object{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                     {"version", "2.1.0"},
                     {"runs", Array{std::move(run)}}})
             .Dump(1) +
         "\n";
}

}  // namespace belay::tool
