// The places of a program where it gives work, and where that work lies among the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "layers/support/report.h"
#include "layers/support/stack.h"

namespace belay::race {

// Where a task came from.
struct Site {
  std::string name;  // of the task
  std::string call;  // that submitted it
  uint32_t stream;   // its number; kHost: the calling thread
  layers::Stack stack;
  static constexpr uint32_t kHost = ~0u;
  static constexpr uint32_t kLearns = kHost - 1;  // in keys: the same thread, as it hears that work is over
};

// What tells sites apart.
struct SiteKey {
  uint32_t stack, stream, call;
  bool operator==(const SiteKey&) const = default;
  struct Hash {
    size_t operator()(const SiteKey& key) const noexcept {  // 48 bits
      return (size_t{key.stack} << 32 ^ size_t{key.stream} << 16 ^ key.call) * 0x9e3779b97f4a7c15 >> 16;
    }
  };
};

// The position-th task of a stream, what a thread of the host did as the position-th that is known of the
// program, or a node of a captured graph.
struct Spot {
  char lane = 0;        // s: of a stream, t: of a thread; 0: nowhere
  uint32_t number = 0;  // the stream's or the thread's
  uint64_t position = 0;
  int64_t model = -1;          // the graph's, where it is a node
  std::string Words() const {  // as history.h has them
    if (lane == 0) return "";
    const std::string graph = model < 0 ? "" : "m" + std::to_string(model) + ".";
    return graph + lane + std::to_string(number) + ":" + std::to_string(position);
  }
};

inline std::string Who(const Site& site) {
  return site.stream == Site::kHost ? "the host" : "stream " + std::to_string(site.stream);
}

// As reports name it.
inline layers::Place Told(const char* verb, const Site& site, const Spot& spot) {
  const std::string by = site.call.empty() ? "" : ", by " + site.call;
  return {std::string(verb) + "  " + site.name + ", " + Who(site) + by, site.stack, spot.Words()};
}

}  // namespace belay::race
