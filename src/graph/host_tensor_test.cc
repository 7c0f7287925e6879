#include "graph/host_tensor.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace belay::graph {
namespace {

TEST(HostTensor, OfAnOpenShapeIsRefusedByItsShape) {
  try {
    HostTensor(DType::kF32, Shape{2, -1});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.sentence().find("[2, -1]"), std::string::npos) << error.sentence();
  }
}

}  // namespace
}  // namespace belay::graph
