// Reading the values of build options.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace belay::graph {

[[noreturn]] void BadOption(std::string_view key, std::string_view value, std::string_view reason);

// Parts between separators; SplitFilled leaves out those that are empty.
std::vector<std::string_view> Split(std::string_view text, char separator);
std::vector<std::string_view> SplitFilled(std::string_view text, char separator);

// Blanks around the number are allowed.
bool ParseInt(std::string_view text, int64_t* value);

}  // namespace belay::graph
