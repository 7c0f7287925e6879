#include "collective/algorithm.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <set>
#include <span>

#include "base/error.h"
#include "base/hcclresult_codes.h"

namespace belay::coll {
namespace {

constexpr std::string_view kOperations[] = {"allgather", "reducescatter", "allreduce", "broadcast",
                                            "reduce",    "scatter",       "alltoall"};
constexpr std::string_view kBetweenServers[] = {"ring", "H-D_R", "NHR",      "NHR_V1",
                                                "NB",   "AHC",   "pipeline", "pairwise"};
constexpr std::string_view kBetweenPods[] = {"ring", "H-D_R", "NHR", "NB", "AHC"};
constexpr std::string_view kNone[] = {"NA"};

struct Level {
  std::string_view name;
  std::span<const std::string_view> algorithms;
};
constexpr Level kLevels[] = {{"level0", kNone}, {"level1", kBetweenServers}, {"level2", kBetweenPods}};

// Those that double distances do so in another order each.
WayKind WayOf(std::string_view algorithm) {
  if (algorithm == "ring") return WayKind::kRing;
  if (algorithm == "pairwise") return WayKind::kDirect;
  return algorithm == "AHC" || algorithm == "pipeline" ? WayKind::kUnsaid : WayKind::kDoubling;
}

const char* TextOfWay(WayKind way) {
  switch (way) {
    case WayKind::kRing:
      return "from each machine to the next";
    case WayKind::kDoubling:
      return "over machines 1, 2, 4 and so on apart";
    case WayKind::kDirect:
      return "from each machine to each";
    default:
      return "as without it";
  }
}

bool IsIn(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string WaysNamed(std::span<const std::string_view> names) {
  std::string list;
  for (std::string_view name : names) list += fmt::format("{}{}", list.empty() ? "" : ", ", name);
  return list;
}

// Up to the separator, which goes as well.
std::string_view TakePart(std::string_view* text, char separator) {
  const size_t end = text->find(separator);
  const std::string_view part = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return part;
}

class SettingReader {
 public:
  SettingReader(std::string_view text, const char* setting) : text_(text), setting_(setting) {}

  Algorithms Read() {
    if (text_.find('=') == std::string_view::npos) {
      ReadLevels(text_, "");
      return result_;
    }
    for (std::string_view rest = text_; !rest.empty();) {
      std::string_view levels = TakePart(&rest, '/');
      const bool named = levels.find('=') != std::string_view::npos;
      const std::string_view operation = TakePart(&levels, '=');
      if (!named || !IsIn(kOperations, operation))
        Refuse(fmt::format("'{}' is none of the operations {}", operation, WaysNamed(kOperations)));
      if (!operations_.insert(operation).second) Refuse(fmt::format("{} stands there twice", operation));
      ReadLevels(levels, operation);
    }
    return result_;
  }

 private:
  [[noreturn]] void Refuse(const std::string& why) const {
    Fail(codes::kHcclEPara, "collective-algorithm",
         "{} = '{}' cannot be used: {}; write it like level0:NA;level1:ring, or "
         "allreduce=level0:NA;level1:ring/broadcast=level0:NA;level1:NHR",
         setting_, text_, why);
  }

  void ReadLevels(std::string_view text, std::string_view operation) {
    std::set<std::string_view> seen;
    if (text.empty()) Refuse("no level is named");
    while (!text.empty()) {
      std::string_view algorithm = TakePart(&text, ';');
      const std::string_view name = TakePart(&algorithm, ':');
      const auto* level = std::find_if(std::begin(kLevels), std::end(kLevels),
                                       [&](const Level& each) { return each.name == name; });
      if (level == std::end(kLevels))
        Refuse(fmt::format("'{}' is no level; there are level0 to level2", name));
      if (!seen.insert(name).second) Refuse(fmt::format("{} stands there twice", name));
      if (!IsIn(level->algorithms, algorithm))
        Refuse(fmt::format("{} has no '{}', it is one of {}", name, algorithm, WaysNamed(level->algorithms)));
      if (algorithm == "pairwise" && !operation.empty() && operation != "alltoall")
        Refuse(fmt::format("pairwise is for alltoall, not for {}", operation));
      if (algorithm != kNone[0]) Add(algorithm, operation);
    }
  }

  void Add(std::string_view algorithm, std::string_view operation) {
    const WayKind way = WayOf(algorithm);
    if (result_.way == WayKind::kUnsaid) result_.way = way;
    if (way != WayKind::kUnsaid && way == result_.way) return;
    std::string& list = result_.not_there;
    const std::string_view what = operation.empty() ? "all operations" : operation;
    list += fmt::format("{}{} for {}", list.empty() ? "" : ", ", algorithm, what);
  }

  const std::string_view text_;
  const char* const setting_;
  Algorithms result_;
  std::set<std::string_view> operations_;
};

}  // namespace

Algorithms AlgorithmsIn(std::string_view text, const char* setting) {
  return text.empty() ? Algorithms{} : SettingReader(text, setting).Read();
}

Algorithms AlgorithmsOfEnvironment() {
  const char* text = std::getenv("HCCL_ALGO");
  return AlgorithmsIn(text == nullptr ? "" : text, "HCCL_ALGO");
}

void SayThatNotHere(const Algorithms& algorithms) {
  static std::mutex lock;
  static auto& said = *new std::set<std::string>;
  std::lock_guard guard(lock);
  if (!said.insert(algorithms.not_there).second) return;
  std::fprintf(stderr,
               "belay: HCCL_ALGO asks for %s: not there; a communicator has one way for all, here %s, and "
               "results are the same bit for bit\n",
               algorithms.not_there.c_str(), TextOfWay(algorithms.way));
}

}  // namespace belay::coll
