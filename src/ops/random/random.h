// Random numbers, as plans. However many threads draw them, they are the same.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <utility>
#include <variant>

#include "ops/random/deviates.h"
#include "ops/random/philox.h"
#include "ops/schema.h"

namespace belay::ops {

enum class Distribution : uint8_t { kUniform, kNormal };  // in [0, 1); with mean 0 and deviation 1

struct RandomSeed {
  uint64_t first = 0, second = 0;
};

// Where an operator stands in the random numbers that it draws: each of its executions goes on behind the
// last.
class RandomSequence {
 public:
  // Without a seed it begins somewhere else each time.
  explicit RandomSequence(std::optional<RandomSeed> seed);

  // The next `blocks` of it, which nobody else gets.
  Philox Take(uint64_t blocks);

  // The generator that ONNX's own dropout has, from the first half of the seed. Held until the lock goes.
  struct Twister {
    std::unique_lock<std::mutex> lock;
    std::mt19937& generator;
  };
  Twister TakeTwister();

 private:
  RandomSeed seed_;
  std::atomic<uint64_t> next_{0};
  std::mutex lock_;
  std::unique_ptr<std::mt19937> twister_;  // made when first asked for
};

// The generator of a seed at an offset in its numbers.
inline Philox SeededAt(uint64_t seed, uint64_t offset) { return {seed, 0, offset}; }

// The same where both are read when the plan runs: elements (i64 or u64) of its tensors.
struct SeedTensors {
  int seed, offset;            // bindings
  int64_t seed_at, offset_at;  // bytes
  uint64_t further;            // added to the offset
};

// What a plan draws from: the same numbers each time that it runs, those of a seed in memory, or the next
// ones of a sequence.
class RandomSource {
 public:
  RandomSource(const Philox& fixed) : from_(fixed) {}
  RandomSource(const SeedTensors& tensors) : from_(tensors) {}
  RandomSource(std::shared_ptr<RandomSequence> sequence) : from_(std::move(sequence)) {}
  Philox Take(const Frame& frame, uint64_t blocks) const;

 private:
  std::variant<Philox, SeedTensors, std::shared_ptr<RandomSequence>> from_;
};

// Each `out` is packed, and of any type that such numbers are converted to. Element i is made of words of
// block i / 4; f64, whole numbers and what is converted to types of those of block i / 2.
void PlanRandom(Plan& plan, Distribution distribution, const RandomSource& source, const Operand& out,
                const Stretch<double>& spread = {});
// Whole numbers from `least` on, `range` different ones.
void PlanRandomWhole(Plan& plan, const RandomSource& source, int64_t least, uint64_t range,
                     const Operand& out);
// 1 with this chance, else 0.
void PlanChances(Plan& plan, const RandomSource& source, double chance, const Operand& out);
// All numbers below n, in any order; `out` has n elements.
void PlanPermutation(Plan& plan, const RandomSource& source, const Operand& out);

// Draws classes for each row of logits [rows, classes] (f32, logarithms up to a constant): out [rows, n] of
// i64.
void PlanMultinomial(Plan& plan, const Operand& logits, const RandomSource& source, const Operand& out);

}  // namespace belay::ops
