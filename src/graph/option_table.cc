#include "graph/option_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "graph/option_text.h"
#include "graph/size_range.h"

namespace belay::graph {
namespace {

using namespace option_rows;  // NOLINT: the rows are written in its words

constexpr OptionRow kRows[] = {
#include "graph/option_rows.inc"
};

template <class Matches>
const OptionRow* FindRow(Matches matches) {
  auto row = std::find_if(std::begin(kRows), std::end(kRows), matches);
  return row == std::end(kRows) ? nullptr : row;
}

bool HasWord(std::string_view words, std::string_view word) {
  const auto all = Split(words, '|');
  return std::find(all.begin(), all.end(), word) != all.end();
}

bool BeginsAs(std::string_view words, std::string_view name) {
  const auto all = Split(words, '|');
  return std::any_of(all.begin(), all.end(), [&](std::string_view word) { return name.starts_with(word); });
}

// A separator at the end leaves an empty part too.
template <class Fits>
bool EachPart(std::string_view text, char separator, Fits fits) {
  if (text.empty() || text.back() == separator) return false;
  const auto parts = Split(text, separator);
  return std::all_of(parts.begin(), parts.end(), fits);
}

bool IsNumberIn(std::string_view text, std::string_view range) {
  const size_t tilde = range.find('~');
  int64_t number = 0, least = 0, most = INT32_MAX;
  ParseInt(range.substr(0, tilde), &least);
  if (tilde + 1 < range.size()) ParseInt(range.substr(tilde + 1), &most);
  return ParseInt(text, &number) && number >= least && number <= most;
}

bool IsPositive(std::string_view text) { return IsNumberIn(text, "1~"); }
bool IsName(std::string_view text) { return text.find_first_not_of(" \t") != std::string_view::npos; }

std::string WantedPath(OptionForm form, std::string_view value) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(std::filesystem::path(value), error);
  const bool there = std::filesystem::exists(status), folder = std::filesystem::is_directory(status);
  if (form == kFile && (!there || folder)) return "the name of a file that is there";
  if (form == kFolder && there && !folder) return "the name of a folder, not of a file";
  return "";
}

}  // namespace

std::span<const OptionRow> AllOptions() { return kRows; }

const OptionRow* FindOption(std::string_view key) {
  return FindRow([&](const OptionRow& row) { return *row.key != '\0' && key == row.key; });
}
const OptionRow* FindFlag(std::string_view flag) {
  return FindRow([&](const OptionRow& row) { return *row.flag != '\0' && flag == row.flag; });
}
const OptionRow* FindCompileOption(int option) {
  return FindRow([&](const OptionRow& row) { return option >= 0 && option == row.compile; });
}

std::string Wanted(const OptionRow& option, std::string_view value) {
  const std::string_view values = option.values;
  switch (option.form) {
    case kAny:
      return IsName(value) ? "" : "something other than blanks";
    case kWords:
      return HasWord(values, value) ? "" : fmt::format("one of {}", fmt::join(Split(values, '|'), ", "));
    case kWordList:
      if (EachPart(value, ',', [&](std::string_view word) { return HasWord(values, word); })) return "";
      return fmt::format("one or several of {}, with commas between", fmt::join(Split(values, '|'), ", "));
    case kNames:
      return EachPart(value, ',', IsName) ? "" : "names with commas between";
    case kNumber:
      return IsNumberIn(value, values) ? "" : fmt::format("a whole number within {}", values);
    case kCores:
      return EachPart(value, '|', IsPositive) && Split(value, '|').size() <= 2
                 ? ""
                 : "a positive number of cores, or two with | between";
    case kProcessor:
      return BeginsAs(values, value) ? "" : "the name of a processor, like Ascend910B3 or Ascend310P3";
    case kFile:
    case kFolder:
      return WantedPath(option.form, value);
    case kShapes:
      return AreInputShapes(value) ? "" : "shapes: \"name:1,3,-1;other:1~4\"";
    case kGears:
      return EachPart(value, ';', [](std::string_view row) { return EachPart(row, ',', IsPositive); })
                 ? ""
                 : "gears of positive numbers: \"1,2;3,4\"";
  }
  return "";
}

const char* ErrorCodeOf(const OptionRow& option) {
  if (option.form == kShapes) return "E10002";
  if (option.values == std::string_view(kSwitch)) return "E10006";
  if (option.values == std::string_view(kTruth)) return "E10005";
  return option.flag == std::string_view("log") ? "E10010" : "E10001";
}

}  // namespace belay::graph
