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

// What a plan draws from: the same numbers each time that it runs, or the next ones of a sequence.
class RandomSource {
 public:
  RandomSource(const Philox& fixed) : from_(fixed) {}
  RandomSource(std::shared_ptr<RandomSequence> sequence) : from_(std::move(sequence)) {}
  Philox Take(uint64_t blocks) const;

 private:
  std::variant<Philox, std::shared_ptr<RandomSequence>> from_;
};

// Element i is made of words of block i / 4 (f64: i / 2). `out` is packed and of a float type.
void PlanRandom(Plan& plan, Distribution distribution, const RandomSource& source, const Operand& out);

// Draws classes for each row of logits [rows, classes] (f32, logarithms up to a constant): out [rows, n] of
// i64.
void PlanMultinomial(Plan& plan, const Operand& logits, const RandomSource& source, const Operand& out);

}  // namespace belay::ops
