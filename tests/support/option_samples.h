// Values for the options of graph/option_table.h: some that each may have, and some that mean nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/option_table.h"

namespace option_samples {

using belay::graph::OptionForm;
using belay::graph::OptionRow;

namespace rows {
using namespace belay::graph::option_rows;  // NOLINT: the rows are written in its words
inline constexpr OptionRow kAll[] = {
#include "graph/option_rows.inc"
};
}  // namespace rows

inline std::vector<std::string> Parts(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = text.find('|');
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

// Each listed value.
inline std::vector<std::string> Good(const OptionRow& row) {
  const std::vector<std::string> words = Parts(row.values);
  std::vector<std::string> good;
  switch (row.form) {
    case OptionForm::kWords:
      return words;
    case OptionForm::kWordList:
      good = words;
      good.push_back(words.front() + "," + words.back());
      return good;
    case OptionForm::kProcessor:
      for (const std::string& word : words) good.push_back(word + "B3");
      return good;
    case OptionForm::kAny:
      return {"x"};
    case OptionForm::kNames:
      return {"Add", "Add,Conv2D"};
    case OptionForm::kNumber:
      good = {row.values};
      good[0].resize(good[0].find('~'));  // the least
      good.push_back(std::to_string(std::stol(good[0]) + 1));
      return good;
    case OptionForm::kCores:
      return {"1", "10", "10|20"};
    case OptionForm::kFile:
      return {"/dev/null"};
    case OptionForm::kFolder:
      return {"/tmp", "/no/such/folder"};
    case OptionForm::kShapes:
      return {"x:1,3", "x:-1,1~4;y:2", "scalar"};
    case OptionForm::kGears:
      return {"1,2", "1,2;3,4"};
  }
  return good;
}

inline std::vector<std::string> Meaningless(const OptionRow& row) {
  switch (row.form) {
    case OptionForm::kAny:
      return {" "};
    case OptionForm::kWords:
    case OptionForm::kWordList:
      return {"bogus", " ", Parts(row.values).front() + "x", Parts(row.values).front() + ","};
    case OptionForm::kProcessor:
      return {"Ascned910B3", "x"};
    case OptionForm::kNames:
      return {",", "Add,", "Add,,Conv2D"};
    case OptionForm::kNumber:
      return {"x", "1.5", "-7", "1x", "99999999999"};
    case OptionForm::kCores:
      return {"x", "0", "-1", "1|", "1|2|3"};
    case OptionForm::kFile:
      return {"/no/such/file", "/tmp"};
    case OptionForm::kFolder:
      return {"/dev/null"};
    case OptionForm::kShapes:
      return {"x:one", "x:1,two", "x:-2"};
    case OptionForm::kGears:
      return {"x", "1,0", "1;x", "-1"};
  }
  return {};
}

}  // namespace option_samples
