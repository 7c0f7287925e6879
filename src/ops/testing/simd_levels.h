// Tests of vector kernels that run once for each instruction set that the processor has.
#pragma once

#include <gtest/gtest.h>

#include "base/simd_targets.h"

namespace belay::ops::testing {

class SimdLevels : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (simd::SetLevel(GetParam()) != GetParam()) GTEST_SKIP() << "this processor lacks the level";
  }
  void TearDown() override { simd::SetLevel(9); }
};

}  // namespace belay::ops::testing
