#include "ops/layout/shuffled_block.h"

#include <algorithm>
#include <array>

namespace belay::ops {
namespace {

constexpr uint8_t kNowhere = 0x80;
constexpr int64_t kMostSteps = 8;  // of a vector: more are no faster than elements one by one

// What lies between the first and the last byte of a source is there; nothing beside it may be read.
struct Extent {
  int64_t low = std::numeric_limits<int64_t>::max(), high = std::numeric_limits<int64_t>::min();

  Extent(const std::vector<int64_t>& sources, int64_t element) {
    for (int64_t source : sources) {
      if (source == ShuffledBlock::kNone) continue;
      low = std::min(low, source), high = std::max(high, source + element);
    }
  }
  bool readable() const {
    constexpr int64_t kFar = std::numeric_limits<int32_t>::max();
    return low < high && low >= -kFar && high <= kFar && high - low >= kShuffled;
  }
};

using Bytes = ShuffledBlock::Bytes;

// The bytes of the result from `at` on.
Bytes BytesAt(const std::vector<int64_t>& sources, int64_t element, int64_t at) {
  Bytes bytes;
  for (int64_t i = 0; i < kShuffled; ++i) {
    const int64_t source = sources[static_cast<size_t>((at + i) / element)];
    bytes[static_cast<size_t>(i)] = source == ShuffledBlock::kNone ? source : source + (at + i) % element;
  }
  return bytes;
}

// The vector of the source that holds the first of the bytes that are left, and what it gives; those are
// not left then.
ShuffledBlock::Step TakeStep(Bytes& left, const Extent& extent) {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (int64_t byte : left) {
    if (byte != ShuffledBlock::kNone) first = std::min(first, byte);
  }
  first = std::min(first, extent.high - kShuffled);
  ShuffledBlock::Step step{static_cast<int32_t>(first), {}};
  for (size_t i = 0; i < left.size(); ++i) {
    const bool seen = left[i] != ShuffledBlock::kNone && left[i] - first < kShuffled;
    step.places[i] = seen ? static_cast<uint8_t>(left[i] - first) : kNowhere;
    if (seen) left[i] = ShuffledBlock::kNone;
  }
  return step;
}

bool AnyLeft(const Bytes& left) {
  return std::any_of(left.begin(), left.end(), [](int64_t byte) { return byte != ShuffledBlock::kNone; });
}

}  // namespace

ShuffledBlock::ShuffledBlock(const std::vector<int64_t>& sources, int64_t element, const char* fill)
    : loop_(BestShuffleLoop()), bytes_(std::ssize(sources) * element) {
  const Extent extent(sources, element);
  if (loop_ == nullptr || bytes_ < kShuffled || !extent.readable()) return;
  const bool gaps = std::find(sources.begin(), sources.end(), kNone) != sources.end();
  std::vector<std::vector<Step>> vectors;
  for (int64_t i = 0; i < bytes_; i += kShuffled) {
    const int64_t at = std::min(i, bytes_ - kShuffled);
    Bytes left = BytesAt(sources, element, at);
    if (gaps) AddOthers(left, at, element, fill);
    vectors.emplace_back();
    while (AnyLeft(left)) vectors.back().push_back(TakeStep(left, extent));
    steps_ = std::max(steps_, std::ssize(vectors.back()));
    if (steps_ > kMostSteps) return;
  }
  for (const std::vector<Step>& vector : vectors) Add(vector, extent.low);
}

void ShuffledBlock::AddOthers(const Bytes& sources, int64_t at, int64_t element, const char* fill) {
  for (int64_t i = 0; i < kShuffled; ++i) {
    const bool none = sources[static_cast<size_t>(i)] == kNone && fill != nullptr;
    others_.push_back(none ? static_cast<uint8_t>(fill[(at + i) % element]) : uint8_t{0});
  }
}

// As many steps as any vector has: those that it lacks give nothing.
void ShuffledBlock::Add(const std::vector<Step>& vector, int64_t readable) {
  for (int64_t k = 0; k < steps_; ++k) {
    const bool more = k < std::ssize(vector);
    const Step* step = more ? &vector[static_cast<size_t>(k)] : nullptr;
    offsets_.push_back(more ? step->offset : static_cast<int32_t>(readable));
    for (int64_t i = 0; i < kShuffled; ++i)
      places_.push_back(more ? step->places[static_cast<size_t>(i)] : kNowhere);
  }
}

}  // namespace belay::ops
