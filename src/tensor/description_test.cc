#include "tensor/description.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace belay::tensor {
namespace {

TensorDesc Make(std::vector<int64_t> dims, DType type = DType::kF32) {
  TensorDesc desc;
  desc.dtype = type;
  desc.dims = std::move(dims);
  return desc;
}

TEST(TensorDesc, CountsElementsAndBytes) {
  EXPECT_EQ(Make({}).count(), 1u);
  EXPECT_EQ(Make({2, 3}).bytes(), 24u);
  EXPECT_EQ(Make({3}, DType::kI4).bytes(), 2u) << "half bytes are rounded up";
  EXPECT_EQ(Make({2, 0, 3}).bytes(), 0u);
}

TEST(TensorDesc, UnknownOrTooLargeIsZero) {
  EXPECT_EQ(Make({2, -1}).count(), 0u);
  EXPECT_EQ(Make({-2}).bytes(), 0u);
  EXPECT_EQ(Make({int64_t{1} << 40, int64_t{1} << 40}).count(), 0u);
  EXPECT_EQ(Make({int64_t{1} << 60}, DType::kF64).bytes(), 0u);
}

TEST(TensorDesc, RangesFollowTheDimensions) {
  TensorDesc desc = Make({4, -1});
  EXPECT_EQ(desc.dim_range(0), (Range{4, 4}));
  EXPECT_EQ(desc.dim_range(1), (Range{0, -1}));
  desc.dim_ranges = {{1, 4}, {2, 8}};
  EXPECT_EQ(desc.dim_range(1), (Range{2, 8}));
  EXPECT_THROW(desc.dim_range(2), Error);
  EXPECT_THROW(Make({-2}).dim(0), Error);
}

TEST(CheckedDims, RefusesWhatIsNoShape) {
  int64_t dims[] = {-2, 3};
  EXPECT_THROW(CheckedDims(dims, 2), Error);
  EXPECT_THROW(CheckedDims(nullptr, 1), Error);
  EXPECT_THROW(CheckedDims(dims, -1), Error);
  EXPECT_EQ(CheckedDims(dims, 1), std::vector<int64_t>{-2});
  EXPECT_TRUE(CheckedDims(nullptr, 0).empty());
}

}  // namespace
}  // namespace belay::tensor
