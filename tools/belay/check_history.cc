#include "belay/check_history.h"

#include <cstdlib>
#include <map>
#include <sstream>
#include <utility>

#include "base/json.h"
#include "layers/support/report_file.h"

namespace belay::tool {
namespace {

// The calls of a process, or the nodes of a graph that it has captured: what one picture shows.
struct Group {
  std::string name;
  int64_t process;
  Json::List events;
  Json::List reports;
};

struct Site {
  Json::Members members;
  Json::List frames;
};

// "m2.s5:3" is in the graph of model 2; what has no model is among the calls of the process.
std::string GraphOf(const std::string& spot) {
  const size_t dot = spot.find('.');
  return dot == std::string::npos ? "" : spot.substr(1, dot - 1);
}

// Within its group.
std::string Inner(const std::string& spot) { return spot.substr(spot.find('.') + 1); }

class Histories {
 public:
  void Read(const std::string& lines) {
    std::istringstream stream(lines);
    Site* site = nullptr;
    for (std::string line; std::getline(stream, line);) {
      const std::vector<std::string> words = layers::SplitRecord(line);
      if (words[0] == "site" && words.size() == 6) {
        site = &sites_[words[1] + " " + words[2]];
        site->members = {{"kind", words[3]}, {"name", words[4]}, {"call", words[5]}};
      } else if (words[0] == "frame" && words.size() == 4 && site != nullptr) {
        site->frames.emplace_back((words[1].empty() ? "" : words[1] + ":" + words[2] + " ") + words[3]);
      } else if (words[0] == "event" && words.size() >= 6) {
        AddEvent(words);
      }
    }
  }

  // Reports of which the timeline shows a place.
  void Mark(const std::vector<CheckReport>& reports) {
    for (size_t i = 0; i < reports.size(); ++i) {
      Json::List places;
      std::string graph;
      for (const ReportPlace& place : reports[i].places) {
        if (place.spot.empty()) continue;
        graph = GraphOf(place.spot);
        places.emplace_back(Json::Members{{"spot", Inner(place.spot)}, {"role", place.role}});
      }
      const auto group = index_.find(KeyOf(std::to_string(reports[i].process), graph));
      if (places.empty() || group == index_.end()) continue;
      groups_[group->second].reports.emplace_back(
          Json::Members{{"number", i}, {"kind", reports[i].kind}, {"places", std::move(places)}});
    }
  }

  Json AsJson() && {
    Json::List groups;
    for (Group& group : groups_) {
      groups.emplace_back(Json::Members{{"name", group.name},
                                        {"process", group.process},
                                        {"events", std::move(group.events)},
                                        {"reports", std::move(group.reports)}});
    }
    Json::Members sites;
    for (auto& [key, site] : sites_) {
      site.members.emplace("frames", std::move(site.frames));
      sites.emplace(key, std::move(site.members));
    }
    return Json::Members{{"groups", std::move(groups)}, {"sites", std::move(sites)}};
  }
  bool empty() const { return groups_.empty(); }

 private:
  static std::string KeyOf(const std::string& process, const std::string& graph) {
    return process + " " + graph;
  }
  // event <process> <spot> <number> <site> <thread> <spot>...
  void AddEvent(const std::vector<std::string>& words) {
    const std::string graph = GraphOf(words[2]);
    const auto [at, fresh] = index_.try_emplace(KeyOf(words[1], graph), groups_.size());
    if (fresh) {
      const std::string name = "process " + words[1] + (graph.empty() ? "" : ", captured model " + graph);
      groups_.push_back({name, std::atoll(words[1].c_str()), {}, {}});
    }
    Json::List after;
    for (size_t i = 6; i < words.size(); ++i) after.emplace_back(Inner(words[i]));
    groups_[at->second].events.emplace_back(Json::Members{{"spot", Inner(words[2])},
                                                          {"number", std::atoll(words[3].c_str())},
                                                          {"site", words[1] + " " + words[4]},
                                                          {"thread", words[5]},
                                                          {"after", std::move(after)}});
  }

  std::map<std::string, Site> sites_;  // by process and number
  std::map<std::string, size_t> index_;
  std::vector<Group> groups_;
};

}  // namespace

std::string HistoryAsJson(const std::string& lines, const std::vector<CheckReport>& reports) {
  Histories histories;
  histories.Read(lines);
  if (histories.empty()) return "";
  histories.Mark(reports);
  std::string text;
  for (char c : std::move(histories).AsJson().Dump()) {
    if (c == '<') {
      text += "\\u003c";  // nothing in it ends the element that it stands in
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace belay::tool
