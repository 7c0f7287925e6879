// Random numbers that a seed and an offset in its sequence decide.
#include <numbers>

#include "graph/ops/bind.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/forms.h"
#include "ops/random/drop_mask.h"
#include "ops/random/multinomial.h"
#include "ops/random/random.h"

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
  return ops::SeededAt(WordAt(node, seed, 0), WordAt(node, seed + 1, 0));
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
  const DType dtype = node.Type("dtype");
  if (!tensor::CanConvert(dtype, DType::kI64)) node.Refuse("numbers cannot be of this dtype");
  const Tensor out = node.Out(0, dtype, Shape{n});
  node.Step("Randperm",
            [&](ops::Plan& plan) { ops::PlanPermutation(plan, source, WrittenTo(plan, out, "y")); });
}

// Inputs: weights of the classes, one row or several; seed, offset.
void MultinomialWithReplacement(Translation& node) {
  Shape shape = node.shape(0);
  const int64_t samples = node.Int("numsamples");
  if (shape.rank() < 1 || shape.rank() > 2 || samples < 0)
    node.Refuse("x has one or two dimensions, and numsamples is at least 0");
  const bool again = node.Bool("replacement");
  if (!again && samples > shape.back(0))
    node.Refuse("a row has fewer classes that are possible than are to be drawn");
  const Philox source = SourceAt(node, 1);
  const Tensor weights = node.Cast(node.in(0), DType::kF64);
  shape[shape.rank() - 1] = samples;
  const Tensor out = node.Out(0, DType::kI64, shape);
  node.Step("MultinomialWithReplacement", [&](ops::Plan& plan) {
    const ops::Operand from = ReadFrom(plan, weights, "x");
    ops::PlanWeighted(plan, from, again, source, WrittenTo(plan, out, "y"));
  });
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
  constexpr int64_t kMost = int64_t{1} << 40;
  if (!count || *count > kMost) node.Refuse("shape has too many elements");
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
