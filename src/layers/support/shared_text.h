// Records that several processes add to memory which they share, and which stay when they are gone.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace belay::layers {

template <size_t kMost>
struct SharedText {
  std::atomic<uint64_t> used;
  char text[kMost];

  // False: there is no room any more.
  bool Add(std::string_view record) {
    const uint64_t at = used.fetch_add(record.size());
    if (at > kMost || record.size() > kMost - at) return false;
    std::memcpy(text + at, record.data(), record.size());
    return true;
  }
  // Where a process was killed meanwhile there is an empty line, or half a record.
  std::string All() const {
    std::string records(text, std::min<uint64_t>(used, kMost));
    std::replace(records.begin(), records.end(), '\0', '\n');
    return records;
  }
};

}  // namespace belay::layers
