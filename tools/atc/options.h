// The command line of atc: what each option means here.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace atc {

struct Options {
  std::map<std::string, std::string> values;  // by name, with underscores
  std::vector<std::string> without_effect;    // given, and of no use here
  bool help = false;

  // What was given, else the default; "" when there is none.
  std::string Get(const std::string& name) const;
  bool Has(const std::string& name) const { return values.count(name) != 0; }
};

// Throws belay::Error with an E100xx sentence for what it does not understand.
Options Parse(int count, char** arguments);
void PrintHelp();

}  // namespace atc
