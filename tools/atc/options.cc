#include "atc/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "graph/option_table.h"

namespace atc {
namespace {

using belay::graph::AllOptions;
using belay::graph::AtcUse;
using belay::graph::ErrorCodeOf;
using belay::graph::FindFlag;
using belay::graph::OptionRow;
using belay::graph::Wanted;

void Add(Options& options, const std::string& name, const std::string& value) {
  const OptionRow* row = FindFlag(name);
  if (row == nullptr) {
    belay::Fail(100000, "atc-option", "E10001: there is no option --{}; see atc --help", name);
  }
  if (row->use == AtcUse::kRefused) {
    belay::Fail(200001, "atc-option-refused", "E10001: option --{} ({}) is not supported by this version",
                name, row->help);
  }
  if (value.empty()) belay::Fail(100000, "atc-option-empty", "E10004: option --{} has no value", name);
  if (const std::string wanted = Wanted(*row, value); !wanted.empty()) {
    belay::Fail(100000, "atc-option-value", "{}: option --{} is '{}'; it must be {}", ErrorCodeOf(*row), name,
                value, wanted);
  }
  if (row->use == AtcUse::kWithoutEffect) options.without_effect.push_back(name);
  options.values[name] = value;
}

}  // namespace

std::string Options::Get(const std::string& name) const {
  auto it = values.find(name);
  if (it != values.end()) return it->second;
  const OptionRow* row = FindFlag(name);
  return row == nullptr ? "" : row->fallback;
}

Options Parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    std::string text = arguments[i];
    size_t dashes = text.find_first_not_of('-');
    if (dashes == std::string::npos || dashes > 2) dashes = 0;
    size_t equals = text.find('=');
    std::string name = text.substr(dashes, equals == std::string::npos ? equals : equals - dashes);
    std::replace(name.begin(), name.end(), '-', '_');
    if (name == "help" || name == "h") {
      options.help = true;
    } else if (equals != std::string::npos) {
      Add(options, name, text.substr(equals + 1));
    } else {
      Add(options, name, i + 1 < count ? arguments[++i] : "");
    }
  }
  return options;
}

void PrintHelp() {
  std::puts(
      "atc compiles an ONNX model to a .om file, which aclmdlLoadFromFile runs.\n\n"
      "  atc --framework=5 --model=net.onnx --output=net --soc_version=Ascend910B3\n\nOptions:");
  for (const OptionRow& row : AllOptions()) {
    if (row.use != AtcUse::kUsed || *row.flag == '\0') continue;
    std::puts(fmt::format("  --{:<22} {}{}", row.flag, row.help,
                          *row.fallback == '\0' ? "" : fmt::format(" (default {})", row.fallback))
                  .c_str());
  }
  std::puts("\nAccepted for the sake of command lines, without effect:");
  std::string line = " ";
  for (const OptionRow& row : AllOptions()) {
    if (row.use != AtcUse::kWithoutEffect || *row.flag == '\0') continue;
    if (line.size() + std::string(row.flag).size() > 96) std::puts(line.c_str()), line.assign(1, ' ');
    line += fmt::format(" --{}", row.flag);
  }
  std::puts(line.c_str());
}

}  // namespace atc
