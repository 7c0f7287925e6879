// Numbers in texts.
#pragma once

#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace belay {

// The number that the whole text is, in decimal notation, if it lies between the two.
template <class T>
std::optional<T> NumberIn(std::string_view text, T least = std::numeric_limits<T>::lowest(),
                          T most = std::numeric_limits<T>::max()) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && number >= least && number <= most ? std::optional(number) : std::nullopt;
}

}  // namespace belay
