#include "ops/text/ngrams.h"

#include <algorithm>
#include <map>
#include <memory>

#include "base/error.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

// N-gram -> its number.
using Dictionary = std::map<std::vector<int64_t>, size_t>;

struct NgramBody {
  std::shared_ptr<const Dictionary> dictionary;
  std::shared_ptr<const NgramArgs> args;
  int x, out;
  int64_t rows, length, width;

  void operator()(const Frame& frame) const {
    const auto* from = reinterpret_cast<const int64_t*>(frame.at[x]);
    auto* to = reinterpret_cast<float*>(frame.at[out]);
    std::fill_n(to, rows * width, 0.0f);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t n = args->shortest; n <= args->longest; ++n) {
        // Single items have nothing between them that could be skipped.
        const int64_t most = n == 1 ? 0 : args->most_skipped;
        for (int64_t skipped = 0; skipped <= most; ++skipped)
          Count(from + r * length, n, skipped + 1, to + r * width);
      }
    }
  }

  void Count(const int64_t* row, int64_t n, int64_t step, float* counts) const {
    std::vector<int64_t> items(static_cast<size_t>(n));
    for (int64_t i = 0; i + (n - 1) * step < length; ++i) {
      for (int64_t k = 0; k < n; ++k) items[static_cast<size_t>(k)] = row[i + k * step];
      const auto found = dictionary->find(items);
      if (found == dictionary->end()) continue;
      float& count = counts[args->columns[found->second]];
      const auto weight = static_cast<float>(args->weights.empty() ? 1 : args->weights[found->second]);
      count = args->counted ? count + weight : weight;
    }
  }
};

Dictionary DictionaryOf(const NgramArgs& args) {
  Dictionary dictionary;
  for (size_t i = 0; i < args.starts.size(); ++i) {
    const size_t n = i + 1;
    const auto size = static_cast<int64_t>(args.pool.size());
    const int64_t end = n < args.starts.size() ? args.starts[n] : size;
    const int64_t begin = args.starts[i];
    if (begin < 0 || end < begin || end > size || (end - begin) % static_cast<int64_t>(n) != 0) {
      Fail(tensor::kInvalidArgument, "ngram-pool",
           "the n-grams of {} items begin at {} and end at {} of a pool of {}", n, begin, end, size);
    }
    for (int64_t at = begin; at < end; at += static_cast<int64_t>(n)) {
      dictionary.emplace(
          std::vector<int64_t>(args.pool.begin() + at, args.pool.begin() + at + static_cast<int64_t>(n)),
          dictionary.size());
    }
  }
  return dictionary;
}

}  // namespace

void PlanNgrams(Plan& plan, const NgramArgs& args) {
  auto dictionary = std::make_shared<Dictionary>(DictionaryOf(args));
  const int64_t width = args.out.shape().back(0);
  const bool fits =
      args.columns.size() == dictionary->size() &&
      (args.weights.empty() || args.weights.size() == dictionary->size()) &&
      std::ranges::all_of(args.columns, [&](int64_t column) { return column >= 0 && column < width; });
  if (!fits) {
    Fail(tensor::kInvalidArgument, "ngram-lists",
         "there are {} different n-grams, {} columns below {} and {} weights", dictionary->size(),
         args.columns.size(), width, args.weights.size());
  }
  plan.SetBody(NgramBody{dictionary, std::make_shared<NgramArgs>(args), args.x.binding, args.out.binding,
                         args.x.shape()[0], args.x.shape()[1], width});
}

}  // namespace belay::ops
