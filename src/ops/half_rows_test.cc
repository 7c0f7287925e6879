#include "ops/half_rows.h"

#include <gtest/gtest.h>

#include <cstring>

#include "ops/kernels.h"
#include "ops/norm/normalise.h"
#include "ops/testing/sample.h"
#include "tensor/convert.h"

namespace belay::ops {
namespace {

using testing::Sample;

constexpr DType kHalfTypes[] = {DType::kF16, DType::kBF16};

Sample InFloats(const Sample& halves) {
  Sample floats(DType::kF32, halves.tensor.shape);
  tensor::Convert(DType::kF32, floats.tensor.data, halves.tensor.dtype, halves.tensor.data,
                  halves.tensor.count());
  return floats;
}

// The same as the kernel of floats gives, rounded once.
void ExpectRounded(const Sample& floats, const Sample& halves) {
  Sample want(halves.tensor.dtype, halves.tensor.shape);
  tensor::Convert(want.tensor.dtype, want.tensor.data, DType::kF32, floats.tensor.data,
                  floats.tensor.count());
  EXPECT_EQ(std::memcmp(want.tensor.data, halves.tensor.data, static_cast<size_t>(want.tensor.count()) * 2),
            0)
      << NameOf(halves.tensor.dtype) << ' ' << halves.tensor.shape.ToString();
}

using Kernel = std::function<void(Plan&, DType, std::vector<Operand>& in, const Operand& out)>;

void RunOn(std::vector<Sample>& in, Sample& out, const Kernel& kernel) {
  PlanRef plan = testing::NewPlan();
  std::vector<Operand> operands;
  for (Sample& sample : in) operands.push_back(sample.BoundTo(*plan, Access::kRead, "x"));
  kernel(*plan, out.tensor.dtype, operands, out.BoundTo(*plan, Access::kWrite, "y"));
  testing::RunPlan(*plan);
}

void CheckRounded(const std::vector<Shape>& shapes, const Kernel& kernel) {
  for (DType type : kHalfTypes) {
    std::mt19937 rng(3);
    std::vector<Sample> halves, floats;
    for (const Shape& shape : shapes) {
      halves.emplace_back(type, shape).Randomise(rng, 3);
      floats.push_back(InFloats(halves.back()));
    }
    Sample y(type, shapes[0]), wide(DType::kF32, shapes[0]);
    RunOn(halves, y, kernel);
    RunOn(floats, wide, kernel);
    ExpectRounded(wide, y);
  }
}

TEST(HalfRows, LayersAreNormalisedAsFloats) {
  for (const Shape& shape : {Shape{700, 64}, Shape{3, 5, 192}, Shape{2, 7001}, Shape{40, 3}, Shape{1, 9}}) {
    const Shape row{shape.back(0)};
    CheckRounded({shape, row, row},
                 [&](Plan& plan, DType type, std::vector<Operand>& in, const Operand& out) {
                   const Tensor weight = Spread(*in[1].tensor, shape, shape.rank() - 1),
                                bias = Spread(*in[2].tensor, shape, shape.rank() - 1);
                   in[1].tensor = &weight, in[2].tensor = &bias;
                   PlanNormalise(plan, {.statistic = Statistic::kMoments, .epsilon = 1e-5}, type,
                                 {in[0], out, in[1], in[2], {}, {}}, 1u << (shape.rank() - 1));
                 });
  }
}

// What is told of each row is that of floats, in the type that is asked for.
TEST(HalfRows, StatisticsOfLayersAreTold) {
  for (DType type : kHalfTypes) {
    for (const Shape& shape : {Shape{700, 64}, Shape{3, 5, 192}, Shape{2, 7001}, Shape{1, 9}}) {
      const int64_t last = shape.back(0);
      Shape each = shape;
      each[shape.rank() - 1] = 1;
      std::mt19937 rng(5);
      std::vector<Sample> halves, floats;
      halves.emplace_back(type, shape).Randomise(rng, 3);
      floats.push_back(InFloats(halves.back()));
      Sample y(type, shape), wide(DType::kF32, shape), mean(DType::kF32, each), root(type, each),
          wide_mean(DType::kF32, each), wide_root(DType::kF32, each);
      const auto normalise = [&](Sample& shift, Sample& factor) {
        return [&](Plan& plan, DType compute, std::vector<Operand>& in, const Operand& out) {
          kernels::LayerNorm(plan, compute, in[0], std::span(&last, 1), {}, {}, 1e-5, out,
                             shift.BoundTo(plan, Access::kWrite, "mean"),
                             factor.BoundTo(plan, Access::kWrite, "rstd"));
        };
      };
      RunOn(halves, y, normalise(mean, root));
      RunOn(floats, wide, normalise(wide_mean, wide_root));
      ExpectRounded(wide, y);
      ExpectRounded(wide_root, root);
      EXPECT_EQ(std::memcmp(mean.tensor.data, wide_mean.tensor.data,
                            static_cast<size_t>(mean.tensor.count()) * sizeof(float)),
                0);
    }
  }
}

TEST(HalfRows, PixelsAreNormalisedAsFloats) {
  for (const Shape& shape : {Shape{2, 30, 40, 64}, Shape{5, 7, 3}, Shape{900, 96}}) {
    const Shape row{shape.back(0)};
    CheckRounded({shape, row, row, row, row},
                 [&](Plan& plan, DType type, std::vector<Operand>& in, const Operand& out) {
                   ChannelOperands channels{in[0], out, in[1], in[2], in[3], in[4]};
                   channels.inverse = true;  // any number may be that
                   PlanChannelNorm(plan, 1e-5, type, channels, shape.rank() - 1);
                 });
  }
}

TEST(HalfRows, SoftmaxIsThatOfFloats) {
  for (const Shape& shape : {Shape{500, 64}, Shape{3, 4, 197}, Shape{2, 9000}, Shape{300, 5}, Shape{6, 1}}) {
    CheckRounded({shape}, [](Plan& plan, DType type, std::vector<Operand>& in, const Operand& out) {
      kernels::Softmax(plan, type, in[0], -1, out);
    });
    CheckRounded({shape}, [](Plan& plan, DType type, std::vector<Operand>& in, const Operand& out) {
      kernels::LogSoftmax(plan, type, in[0], 1, out);
    });
  }
}

TEST(HalfRows, ARowBesideIsWidenedOnce) {
  const std::vector<std::vector<Shape>> cases = {{{64, 768}, {768}},     {{32, 33, 20}, {20}},
                                                 {{9, 7, 5}, {1, 7, 5}}, {{3, 5000}, {1, 5000}},
                                                 {{6, 4, 5}, {4, 1}},    {{6, 4, 5}, {6, 1, 1}}};
  for (const auto& shapes : cases) {
    for (bool swapped : {false, true}) {
      CheckRounded(shapes, [&](Plan& plan, DType type, std::vector<Operand>& in, const Operand& out) {
        kernels::Mul(plan, type, in[swapped ? 1 : 0], in[swapped ? 0 : 1], out);
      });
      CheckRounded(shapes, [&](Plan& plan, DType type, std::vector<Operand>& in, const Operand& out) {
        kernels::RealDiv(plan, type, in[swapped ? 1 : 0], in[swapped ? 0 : 1], out);
      });
    }
  }
}

// The result may lie on what is read.
TEST(HalfRows, InPlace) {
  std::mt19937 rng(9);
  Sample x(DType::kF16, {300, 40}), row(DType::kF16, {40}), y(DType::kF16, {300, 40});
  x.Randomise(rng), row.Randomise(rng);
  std::vector<Sample> in;
  in.push_back(x.Copied()), in.push_back(row.Copied());
  RunOn(in, y, [](Plan& plan, DType type, std::vector<Operand>& all, const Operand& out) {
    kernels::Mul(plan, type, all[0], all[1], out);
    EXPECT_TRUE(plan.may_lie_on(all[0].binding));
  });
  PlanRef plan = testing::NewPlan();
  const Operand own = x.BoundTo(*plan, Access::kReadWrite, "x"),
                beside = row.BoundTo(*plan, Access::kRead, "r");
  kernels::Mul(*plan, DType::kF16, own, beside, own);
  testing::RunPlan(*plan);
  EXPECT_EQ(testing::Distance(x.tensor, y.tensor), 0);
}

}  // namespace
}  // namespace belay::ops
