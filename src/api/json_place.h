// Where a value stands in the text of a JSON file, for messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace belay::api {

// "line:column" of the value behind the keys, outermost first; the last of equal keys counts, as in the
// parser. The text must be valid JSON. Empty when there is none.
std::string PlaceOf(std::string_view text, const std::vector<std::string>& keys);

// The same for a byte of the text.
std::string PlaceOf(std::string_view text, size_t at);

}  // namespace belay::api
