// Small packed blocks whose elements come from places all over: what no row of even steps covers.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "ops/layout/shuffle_loops.h"

namespace belay::ops {

class ShuffledBlock {
 public:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::min();  // of an element without a source

  ShuffledBlock() = default;
  // `sources`: where each element of `element` bytes comes from, in bytes. `fill`: those of one that comes
  // from nowhere.
  ShuffledBlock(const std::vector<int64_t>& sources, int64_t element, const char* fill);

  // Whether there is a way at all.
  bool ready() const { return !places_.empty(); }
  // How many vectors of the source each of the result's is made of.
  int64_t steps() const { return steps_; }
  int64_t bytes() const { return bytes_; }
  void Run(char* out, const char* in) const {
    loop_(out, in,
          {bytes_, steps_, offsets_.data(), places_.data(), others_.empty() ? nullptr : others_.data()});
  }

  // One vector of the source, and which of its bytes go where.
  struct Step {
    int32_t offset;
    std::array<uint8_t, kShuffled> places;
  };
  using Bytes = std::array<int64_t, kShuffled>;  // where each comes from

 private:
  void AddOthers(const Bytes& sources, int64_t at, int64_t element, const char* fill);
  void Add(const std::vector<Step>& vector, int64_t readable);

  ShuffleLoop loop_ = nullptr;
  int64_t bytes_ = 0, steps_ = 0;
  std::vector<int32_t> offsets_;
  std::vector<uint8_t> places_, others_;
};

}  // namespace belay::ops
