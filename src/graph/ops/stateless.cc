// Random numbers that a seed and an offset in its sequence decide.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "graph/ops/bind.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/forms.h"
#include "ops/random/drop_mask.h"

namespace belay::graph::translate {
namespace {

using ops::Philox;

Shape ShapeFromInput(const Translation& node, int input) {
  Shape shape;
  for (int64_t size : node.ints(input)) {
    if (size < 0 || shape.rank() == tensor::kMaxRank)
      node.Refuse("shape holds up to eight sizes that are at least 0");
    shape.push_back(size);
  }
  return shape;
}

uint64_t WordAt(const Translation& node, int input, size_t i) {
  const std::vector<int64_t> words = node.ints(input);
  if (i >= words.size()) node.Refuse("input " + std::to_string(input) + " has too few elements");
  return static_cast<uint64_t>(words[i]);
}

// Input `seed` is the seed and the one behind it the offset.
Philox SourceAt(const Translation& node, int seed) {
  return {WordAt(node, seed, 0), 0, WordAt(node, seed + 1, 0)};
}

void FillDrawn(Translation& node, ops::Distribution distribution, const Philox& source, const Tensor& out) {
  node.Step("Philox",
            [&](ops::Plan& plan) { ops::PlanRandom(plan, distribution, source, WrittenTo(plan, out, "y")); });
}

// Normal complex numbers of variance 1: half of it for each part.
void FillComplex(Translation& node, const Philox& source, const Tensor& out) {
  Tensor parts = Translation::View(out, {out.count() * 2}, {1});
  parts.dtype = DType::kF32;
  FillDrawn(node, ops::Distribution::kNormal, source, parts);
  const Scalar share(&std::numbers::sqrt2, DType::kF64);
  node.Run(ops::forms::InplaceDivs, {Arg(&parts), Arg(&share)});
}

// Inputs: shape, key, counter, and which generator.
void FromKeyAndCounter(Translation& node, ops::Distribution distribution) {
  constexpr int64_t kPhilox = 1, kAny = 3;
  const int64_t generator = node.has(3) ? node.ints(3).at(0) : kPhilox;
  if (generator != kPhilox && generator != kAny) node.Refuse("alg is 1 (Philox) or 3 (any)");
  const DType dtype = node.Type("dtype");
  const Philox source(WordAt(node, 1, 0), WordAt(node, 2, 0), WordAt(node, 2, 1));
  if (dtype == DType::kC64 && distribution == ops::Distribution::kNormal) {
    return FillComplex(node, source, node.Out(0, dtype, ShapeFromInput(node, 0)));
  }
  if (!IsFloat(dtype)) node.Refuse("random numbers are of a float type");
  FillDrawn(node, distribution, source, node.Out(0, dtype, ShapeFromInput(node, 0)));
}

// u < p for a fraction u of each element.
Tensor Chosen(Translation& node, const Philox& source, const Shape& shape, const Tensor& p) {
  if (!tensor::BroadcastsTo(p.shape, shape)) node.Refuse("prob does not broadcast to the result");
  const Tensor fractions = node.Temporary(DType::kF32, shape), chosen = node.Temporary(DType::kBool, shape);
  FillDrawn(node, ops::Distribution::kUniform, source, fractions);
  const Tensor limit = node.Cast(p, DType::kF32);
  node.Run(ops::forms::LtTensor, {Arg(&fractions), Arg(&limit), Arg(&chosen)});
  return chosen;
}

}  // namespace

void StatelessRandomUniformV2(Translation& node) { FromKeyAndCounter(node, ops::Distribution::kUniform); }
void StatelessRandomNormalV2(Translation& node) { FromKeyAndCounter(node, ops::Distribution::kNormal); }

// Inputs: shape, prob, seed, offset.
void StatelessBernoulli(Translation& node) {
  const Tensor chosen = Chosen(node, SourceAt(node, 2), ShapeFromInput(node, 0), node.in(1));
  node.Copy(chosen, node.Out(0, node.Type("dtype"), chosen.shape));
}

// Inputs: n, seed, offset.
void StatelessRandperm(Translation& node) {
  constexpr int64_t kMost = int64_t{1} << 32;
  const int64_t n = node.ints(0).at(0);
  if (n < 0 || n > kMost) node.Refuse("n is from 0 to 2^32");
  const Philox source = SourceAt(node, 1);
  std::vector<int64_t> numbers(static_cast<size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0);
  for (size_t i = numbers.size(); i > 1; --i) {  // Fisher and Yates
    const double place = source.Uniform(i - 1) * static_cast<double>(i);
    std::swap(numbers[i - 1], numbers[static_cast<size_t>(place)]);
  }
  const DType dtype = node.Type("dtype");
  auto result = std::make_shared<HostTensor>(dtype, Shape{n});
  if (!tensor::CanConvert(dtype, DType::kI64)) node.Refuse("numbers cannot be of this dtype");
  tensor::Convert(dtype, result->mutable_data(), DType::kI64, numbers.data(), n);
  node.OutValue(0, result);
}

namespace {

// Without replacement: the classes with the largest u^(1/weight) (Efraimidis and Spirakis).
void DrawDifferent(const double* weights, int64_t classes, int64_t samples, const Philox& source,
                   uint64_t first, int64_t* to) {
  std::vector<std::pair<double, int64_t>> keys;
  for (int64_t c = 0; c < classes; ++c) {
    const double u = 1 - source.Uniform(first + static_cast<uint64_t>(c));
    if (weights[c] > 0) keys.emplace_back(std::log(u) / weights[c], c);
  }
  std::sort(keys.rbegin(), keys.rend());
  for (int64_t s = 0; s < samples; ++s) to[s] = keys[static_cast<size_t>(s)].second;
}

void DrawAgain(const double* weights, int64_t classes, int64_t samples, const Philox& source, uint64_t first,
               int64_t* to) {
  std::vector<double> sums(weights, weights + classes);
  std::partial_sum(sums.begin(), sums.end(), sums.begin());
  const auto last = std::lower_bound(sums.begin(), sums.end(), sums.back());
  for (int64_t s = 0; s < samples; ++s) {
    const double at = source.Uniform(first + static_cast<uint64_t>(s)) * sums.back();
    to[s] = std::min(std::upper_bound(sums.begin(), sums.end(), at), last) - sums.begin();
  }
}

}  // namespace

// Inputs: weights of the classes, one row or several; seed, offset.
void MultinomialWithReplacement(Translation& node) {
  Shape shape = node.shape(0);
  const int64_t samples = node.Int("numsamples");
  if (shape.rank() < 1 || shape.rank() > 2 || samples < 0)
    node.Refuse("x has one or two dimensions, and numsamples is at least 0");
  const Philox source = SourceAt(node, 1);
  const std::vector<double> weights = node.value(0).Reals();
  const bool again = node.Bool("replacement");
  const int64_t classes = shape.back(0), rows = shape.rank() == 1 ? 1 : shape[0];
  const auto most = static_cast<uint64_t>(std::max(classes, samples));
  shape[shape.rank() - 1] = samples;
  auto result = std::make_shared<HostTensor>(DType::kI64, shape);
  for (int64_t r = 0; r < rows; ++r) {
    const double* row = weights.data() + r * classes;
    const int64_t possible = std::count_if(row, row + classes, [](double w) { return w > 0; });
    if (possible < (again ? std::min<int64_t>(samples, 1) : samples))
      node.Refuse("a row has fewer classes that are possible than are to be drawn");
    (again ? DrawAgain : DrawDifferent)(row, classes, samples, source, static_cast<uint64_t>(r) * most,
                                        result->as<int64_t>() + r * samples);
  }
  node.OutValue(0, result);
}

namespace {

using ops::MaskUnit;

double KeepFrom(const Translation& node, int input) {
  const double keep = node.value(input).Reals().at(0);
  if (!(keep >= 0 && keep <= 1))
    node.Refuse("a probability of " + std::to_string(keep) + " is not between 0 and 1");
  return keep;
}

void OutMask(Translation& node, MaskUnit unit, const ops::RandomSource& source, const Shape& shape) {
  const double keep = KeepFrom(node, 1);
  const Tensor mask = node.Out(0, DType::kU8, shape);
  node.Step("DropMask", [&](ops::Plan& plan) {
    ops::PlanDropMask(plan, unit, source, keep, WrittenTo(plan, mask, "y"));
  });
}

int64_t AlignedCount(const Translation& node) {
  constexpr int64_t kUnit = 128;
  const auto count = tensor::CheckedCount(node.ints(0));
  if (!count) node.Refuse("shape has too many elements");
  return (*count + kUnit - 1) / kUnit * kUnit;
}

void ApplyMask(Translation& node, MaskUnit unit, int64_t needed) {
  const Tensor &x = node.in(0), &mask = node.in(1);
  if (!IsFloat(x.dtype) || mask.dtype != DType::kU8 || mask.count() < needed)
    node.Refuse("x is of a float type, and mask of uint8 with " + std::to_string(needed) + " elements");
  const double keep = KeepFrom(node, 2);
  const Tensor out = node.Out(0, x.dtype, x.shape);
  node.Step("ApplyMask", [&](ops::Plan& plan) {
    const ops::Operand from = ReadFrom(plan, x, "x"), kept = ReadFrom(plan, mask, "mask");
    ops::PlanApplyMask(plan, unit, from, kept, keep == 0 ? 0 : 1 / keep, WrittenTo(plan, out, "y"));
  });
}

}  // namespace

// Inputs: shape, the probability to keep an element, two halves of a seed, offset.
void StatelessDropOutGenMask(Translation& node) {
  const uint64_t seed = WordAt(node, 2, 0) ^ WordAt(node, 3, 0) << 32;
  const Philox source(seed, node.has(4) ? WordAt(node, 4, 0) : 0, node.has(4) ? WordAt(node, 4, 1) : 0);
  OutMask(node, MaskUnit::kBit, source, {AlignedCount(node) / 8});
}

void DropOutGenMaskV3(Translation& node) {
  OutMask(node, MaskUnit::kByte, node.Sequence(), ShapeFromInput(node, 0));
}

void DropOutDoMask(Translation& node) { ApplyMask(node, MaskUnit::kBit, (node.in(0).count() + 7) / 8); }
void DropOutDoMaskV3(Translation& node) { ApplyMask(node, MaskUnit::kByte, node.in(0).count()); }

}  // namespace belay::graph::translate
