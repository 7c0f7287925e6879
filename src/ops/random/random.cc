#include "ops/random/random.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "ops/pipeline.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// A sequence that several runs of a plan share.
class Source {
 public:
  explicit Source(std::optional<uint64_t> seed) : generator_(seed ? *seed : std::random_device()()) {}

  void Draw(Distribution distribution, double* to, int64_t n) {
    std::lock_guard guard(lock_);
    for (int64_t i = 0; i < n; ++i)
      to[i] = distribution == Distribution::kNormal ? normal_(generator_) : uniform_(generator_);
  }

 private:
  std::mutex lock_;
  std::mt19937_64 generator_;
  std::uniform_real_distribution<double> uniform_;
  std::normal_distribution<double> normal_;
};

struct RandomBody {
  std::shared_ptr<Source> source;
  Distribution distribution;
  DType type;
  int64_t count, offset;
  int out;

  void operator()(const Frame& frame) const {
    alignas(64) double block[kBlock];
    char* to = frame.at[out] + offset;
    const auto bytes = static_cast<int64_t>(BytesOf(type));
    for (int64_t i = 0; i < count; i += kBlock) {
      const int64_t n = std::min(kBlock, count - i);
      source->Draw(distribution, block, n);
      tensor::Convert(type, to + i * bytes, DType::kF64, block, n);
    }
  }
};

struct MultinomialBody {
  std::shared_ptr<Source> source;
  int64_t rows, classes, samples;
  int logits, out;

  void operator()(const Frame& frame) const {
    const auto* from = reinterpret_cast<const float*>(frame.at[logits]);
    auto* to = reinterpret_cast<int64_t*>(frame.at[out]);
    std::vector<double> sums(static_cast<size_t>(classes));
    for (int64_t r = 0; r < rows; ++r, from += classes) {
      const double most = *std::max_element(from, from + classes);
      double sum = 0;
      for (int64_t c = 0; c < classes; ++c) sums[static_cast<size_t>(c)] = sum += std::exp(from[c] - most);
      for (int64_t s = 0; s < samples; ++s) {
        double at;
        source->Draw(Distribution::kUniform, &at, 1);
        *to++ = std::min<int64_t>(std::upper_bound(sums.begin(), sums.end(), at * sum) - sums.begin(),
                                  classes - 1);
      }
    }
  }
};

}  // namespace

void PlanRandom(Plan& plan, Distribution distribution, std::optional<uint64_t> seed, const Operand& out) {
  if (out.tensor->empty()) return;
  plan.SetCost(100 + static_cast<uint64_t>(out.tensor->count()) * 10);
  plan.SetBody(RandomBody{std::make_shared<Source>(seed), distribution, out.dtype(), out.tensor->count(),
                          OffsetOf(*out.tensor), out.binding});
}

void PlanMultinomial(Plan& plan, const Operand& logits, std::optional<uint64_t> seed, const Operand& out) {
  if (out.tensor->empty()) return;
  plan.SetCost(500 + static_cast<uint64_t>(logits.tensor->count()) * 4);
  plan.SetBody(MultinomialBody{std::make_shared<Source>(seed), logits.shape()[0], logits.shape()[1],
                               out.shape()[1], logits.binding, out.binding});
}

}  // namespace belay::ops
