// Spectra.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "graph/ops/node_samples.h"

namespace belay::graph {
namespace {

// Half of a spectrum brings the numbers back, along any dimension; what is left out of it is nothing.
TEST(DFT, RealsFromHalfOfTheirSpectrum) {
  for (int64_t length : {10, 9, 2, 1}) {
    for (int64_t axis : {0, 1}) {
      const Shape shape = axis == 0 ? Shape{length, 3, 1} : Shape{3, length, 1};
      auto x = std::make_shared<HostTensor>(DType::kF64, shape);
      for (int64_t i = 0; i < x->count(); ++i) x->as<double>()[i] = std::sin(static_cast<double>(i * i));
      const Constant half = samples::Apply("DFT", {x}, {{"axis", axis}, {"onesided", true}}).at(0);
      const Attributes back{{"axis", axis}, {"onesided", true}, {"inverse", true}};
      const Constant y = samples::Apply("DFT", {half, samples::Ints({length})}, back).at(0);
      ASSERT_EQ(y->shape(), shape);
      for (int64_t i = 0; i < x->count(); ++i)
        EXPECT_NEAR(y->as<double>()[i], x->as<double>()[i], 1e-12) << length;
      if (length == 10) EXPECT_EQ(samples::Apply("DFT", {half}, back).at(0)->shape(), shape);
    }
  }
  const Constant reals = samples::Counting({4, 3, 1});
  EXPECT_THROW(samples::Apply("DFT", {reals}, {{"inverse", true}, {"onesided", true}}), Error);
}

}  // namespace
}  // namespace belay::graph
