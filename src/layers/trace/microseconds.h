// Times as tables and timelines have them.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>

namespace belay::trace {

// Nanoseconds as microseconds with three digits behind the point.
inline std::string Us(uint64_t ns) {
  char room[32];
  char* end = std::to_chars(room, room + 24, ns / 1000).ptr;
  const auto rest = static_cast<unsigned>(ns % 1000);
  *end++ = '.';
  *end++ = static_cast<char>('0' + rest / 100);
  *end++ = static_cast<char>('0' + rest / 10 % 10);
  *end++ = static_cast<char>('0' + rest % 10);
  return {room, end};
}

}  // namespace belay::trace
