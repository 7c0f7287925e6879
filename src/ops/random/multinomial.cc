#include "ops/random/multinomial.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/random/checks.h"
#include "ops/random/over_packed.h"
#include "ops/scratch.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

struct WeightedBody {
  RandomSource source;
  bool again;
  int64_t rows, classes, samples;
  int weights, out;
  int64_t weights_at, out_at;
  Scratch<double> numbers;
  Scratch<int64_t> order;

  void operator()(const Frame& frame) const {
    const auto most = static_cast<uint64_t>(std::max(classes, samples));
    const Philox philox = source.Take(frame, (static_cast<uint64_t>(rows) * most + 1) / 2);
    const auto* row = reinterpret_cast<const double*>(frame.at[weights] + weights_at);
    auto* to = reinterpret_cast<int64_t*>(frame.at[out] + out_at);
    for (int64_t r = 0; r < rows; ++r, row += classes, to += samples) {
      Check(row);
      const uint64_t first = static_cast<uint64_t>(r) * most;
      again ? DrawAgain(frame, philox, first, row, to) : DrawDifferent(frame, philox, first, row, to);
    }
  }

  void Check(const double* row) const {
    int64_t possible = 0;
    for (int64_t c = 0; c < classes; ++c) {
      if (!(row[c] >= 0) || std::isinf(row[c]))
        Fail(tensor::kRuntimeFailure, "multinomial-weights",
             "weight {} is {}; weights are finite and not negative", c, row[c]);
      possible += row[c] > 0 ? 1 : 0;
    }
    if (possible < (again ? std::min<int64_t>(samples, 1) : samples)) {
      Fail(tensor::kRuntimeFailure, "multinomial-weights",
           "{} classes of a row have a weight, and {} are to be drawn", possible, samples);
    }
  }

  void DrawAgain(const Frame& frame, const Philox& philox, uint64_t first, const double* row,
                 int64_t* to) const {
    double* sums = numbers.At(frame);
    std::partial_sum(row, row + classes, sums);
    const double whole = classes > 0 ? sums[classes - 1] : 0;
    const double* last = std::lower_bound(sums, sums + classes, whole);
    for (int64_t s = 0; s < samples; ++s) {
      const double at = philox.Uniform(first + static_cast<uint64_t>(s)) * whole;
      to[s] = std::min<const double*>(std::upper_bound(sums, sums + classes, at), last) - sums;
    }
  }

  // The classes with the largest u^(1 / weight) (Efraimidis and Spirakis).
  void DrawDifferent(const Frame& frame, const Philox& philox, uint64_t first, const double* row,
                     int64_t* to) const {
    double* keys = numbers.At(frame);
    int64_t* places = order.At(frame);
    std::iota(places, places + classes, int64_t{0});
    for (int64_t c = 0; c < classes; ++c) {
      const double u = 1 - philox.Uniform(first + static_cast<uint64_t>(c));
      keys[c] = row[c] > 0 ? std::log(u) / row[c] : -std::numeric_limits<double>::infinity();
    }
    std::partial_sort(places, places + samples, places + classes,
                      [&](int64_t a, int64_t b) { return keys[a] != keys[b] ? keys[a] > keys[b] : a > b; });
    std::copy_n(places, samples, to);
  }
};

}  // namespace

void PlanWeighted(Plan& plan, const Operand& weights, bool again, const RandomSource& source,
                  const Operand& out) {
  if (out.tensor->empty()) return;
  const Shape shape = weights.shape();
  const int64_t classes = shape.back(0), samples = out.shape().back(0);
  plan.SetCost(500 + static_cast<uint64_t>(weights.tensor->count() + out.tensor->count()) * 40);
  plan.SetBody(WeightedBody{source, again, shape.rank() == 1 ? 1 : shape[0], classes, samples,
                            weights.binding, out.binding, OffsetOf(*weights.tensor), OffsetOf(*out.tensor),
                            Scratch<double>(plan, classes), Scratch<int64_t>(plan, again ? 0 : classes)});
}

namespace kernels {
namespace {

void CheckDrawn(const Operand& self, int64_t samples, bool again, const Operand& out) {
  Shape wanted = self.shape();
  if (wanted.rank() < 1 || wanted.rank() > 2 || wanted.back(0) == 0 || samples < 1) {
    Fail(
        tensor::kInvalidArgument, "op-multinomial",
        "{} has the shape {}, and {} classes are to be drawn; it has one dimension or two, with classes, and one or "
        "more are drawn",
        self.name, wanted.ToString(), samples);
  }
  if (!again && samples > wanted.back(0)) {
    Fail(tensor::kInvalidArgument, "op-multinomial", "{} classes are to be drawn, each once, of {}", samples,
         wanted.back(0));
  }
  wanted[wanted.rank() - 1] = samples;
  CheckShape(out, wanted);
}

// make(part, inputs) is what is drawn from; the inputs are weights, and then `seeds`.
template <class Make>
void DrawWeighted(Plan& plan, const Operand& self, const std::vector<const Operand*>& seeds, bool again,
                  const Make& source, const Operand& out) {
  std::vector<const Operand*> given = {&self};
  given.insert(given.end(), seeds.begin(), seeds.end());
  PlanThrough(
      plan, tensor::PackedOf(DType::kF64, self.shape()), given, out,
      [&](Plan& part, const auto& in, const Operand& weights) { Copy(part, DType::kF64, in[0], weights); },
      [&](Plan& part, const auto& in, const Operand& weights, const Operand& to) {
        std::vector<const Operand*> further = {&weights};
        for (size_t i = 0; i < seeds.size(); ++i) further.push_back(&in[i + 1]);
        OverPacked(part, further, to, [&](Plan& draw, const auto& from, const Operand& packed) {
          PlanWeighted(draw, from[0], again, source(from), packed);
        });
      });
}

}  // namespace

void Multinomial(Plan& plan, DType, const Operand& self, int64_t numsamples, bool replacement, int64_t seed,
                 int64_t offset, const Operand& out) {
  CheckDrawn(self, numsamples, replacement, out);
  const RandomSource source = SeededAt(static_cast<uint64_t>(seed), static_cast<uint64_t>(offset));
  DrawWeighted(
      plan, self, {}, replacement, [&](const auto&) { return source; }, out);
}

void MultinomialSeeded(Plan& plan, DType, const Operand& self, int64_t numsamples, bool replacement,
                       const Operand& seedTensor, const Operand& offsetTensor, int64_t offset,
                       const Operand& out) {
  CheckDrawn(self, numsamples, replacement, out);
  CheckSeed(seedTensor);
  CheckSeed(offsetTensor);
  DrawWeighted(
      plan, self, {&seedTensor, &offsetTensor}, replacement,
      [&](const ThroughBody::Inputs& from) {
        return RandomSource(SeedTensors{from[1].binding, from[2].binding, OffsetOf(*from[1].tensor),
                                        OffsetOf(*from[2].tensor), static_cast<uint64_t>(offset)});
      },
      out);
}

}  // namespace kernels
}  // namespace belay::ops
