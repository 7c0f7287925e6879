#include "graph/host_tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

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

// A small one holds its elements itself: whoever has its bytes keeps it alive, and through as many as there
// are between them only the first one.
TEST(HostTensor, BytesLiveAsLongAsTheyAreLookedAt) {
  for (int64_t count : {0, 1, 8, 9, 1000}) {
    auto first = std::make_shared<HostTensor>(DType::kF32, Shape{count});
    std::fill_n(first->as<float>(), count, 2.5F);
    const std::weak_ptr<HostTensor> its = first;
    std::shared_ptr<const HostTensor> view = std::move(first);
    for (int64_t k = 0; k < 3; ++k) {
      const std::weak_ptr<const HostTensor> before = view;
      view = std::make_shared<HostTensor>(DType::kF32, Shape{count, 1}, view);
      EXPECT_TRUE(k == 0 || before.expired()) << count << " elements, view " << k;
    }
    EXPECT_TRUE(count > 8 || !its.expired()) << "its bytes lie in it";
    EXPECT_EQ(view->Reals(), std::vector<double>(static_cast<size_t>(count), 2.5));
    view.reset();
    EXPECT_TRUE(its.expired());
  }
}

}  // namespace
}  // namespace belay::graph
