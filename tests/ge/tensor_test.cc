// Strings, shapes, descriptions and tensors.
#include <gmock/gmock.h>
#include <graph/graph.h>

namespace {

using testing::ElementsAre;

TEST(GeAscendString, ComparesByContents) {
  ge::AscendString none, empty(""), null(nullptr), a("a"), b("b");
  EXPECT_STREQ(none.GetString(), "");
  EXPECT_EQ(none, empty);
  EXPECT_EQ(null, empty);
  EXPECT_TRUE(none < a && a < b && !(b < a) && b > a && a <= a && a >= a && a != b);
  EXPECT_EQ(ge::AscendString("abc", 2), ge::AscendString("ab"));
  EXPECT_EQ(ge::AscendString("abc").Find(ge::AscendString("c")), 2u);
  EXPECT_EQ(ge::AscendString("abc").Find(ge::AscendString("x")), static_cast<size_t>(-1));
  EXPECT_EQ(a.Hash(), ge::AscendString("a").Hash());
  EXPECT_EQ(a.GetLength(), 1u);
}

TEST(GeShape, CountsItsElements) {
  EXPECT_EQ(ge::Shape({2, 3}).GetShapeSize(), 6);
  EXPECT_EQ(ge::Shape().GetShapeSize(), 0);
  EXPECT_EQ(ge::Shape({2, -1}).GetShapeSize(), -1);
  EXPECT_EQ(ge::Shape({-2}).GetShapeSize(), -1);
  EXPECT_EQ(ge::Shape({2, 0}).GetShapeSize(), 0);
  EXPECT_EQ(ge::Shape({INT64_MAX, 4}).GetShapeSize(), 0);
}

TEST(GeShape, HasDimensionsByNumber) {
  ge::Shape shape({2, 3});
  EXPECT_EQ(shape.GetDimNum(), 2u);
  EXPECT_EQ(shape.GetDim(1), 3);
  EXPECT_EQ(shape.GetDim(2), 0);
  EXPECT_EQ(shape.SetDim(0, 5), ge::GRAPH_SUCCESS);
  EXPECT_EQ(shape.SetDim(2, 5), ge::GRAPH_FAILED);
  EXPECT_THAT(shape.GetDims(), ElementsAre(5, 3));
}

TEST(GeTensorDesc, CopiesAreIndependent) {
  ge::TensorDesc desc(ge::Shape({2}), ge::FORMAT_NCHW, ge::DT_FLOAT16);
  ge::TensorDesc copy = desc, assigned;
  assigned = desc;
  copy.SetShape(ge::Shape({3}));
  assigned.SetDataType(ge::DT_INT8);
  EXPECT_THAT(desc.GetShape().GetDims(), ElementsAre(2));
  EXPECT_EQ(desc.GetDataType(), ge::DT_FLOAT16);
  EXPECT_EQ(copy.GetFormat(), ge::FORMAT_NCHW);
  ge::TensorDesc moved = std::move(desc);
  EXPECT_THAT(moved.GetShape().GetDims(), ElementsAre(2));
  desc.SetName("again");  // what was moved from stays usable
  EXPECT_EQ(desc.GetName(), "again");
}

TEST(GeTensorDesc, KeepsWhatItIsGiven) {
  ge::TensorDesc desc;
  EXPECT_EQ(desc.GetDataType(), ge::DT_FLOAT);
  EXPECT_EQ(desc.GetFormat(), ge::FORMAT_ND);
  desc.SetOriginShape(ge::Shape({7}));
  desc.SetOriginFormat(ge::FORMAT_NHWC);
  desc.SetPlacement(ge::kPlacementDevice);
  desc.SetSize(12);
  desc.SetRealDimCnt(3);
  desc.SetExpandDimsRule("1100");
  EXPECT_EQ(desc.SetShapeRange({{1, 4}}), ge::GRAPH_SUCCESS);
  std::vector<std::pair<int64_t, int64_t>> range;
  EXPECT_EQ(desc.GetShapeRange(range), ge::GRAPH_SUCCESS);
  ge::AscendString rule;
  EXPECT_EQ(desc.GetExpandDimsRule(rule), ge::GRAPH_SUCCESS);
  EXPECT_THAT(desc.GetOriginShape().GetDims(), ElementsAre(7));
  EXPECT_EQ(desc.GetOriginFormat(), ge::FORMAT_NHWC);
  EXPECT_EQ(desc.GetPlacement(), ge::kPlacementDevice);
  EXPECT_EQ(desc.GetSize(), 12);
  EXPECT_EQ(desc.GetRealDimCnt(), 3);
  EXPECT_THAT(range, ElementsAre(std::pair<int64_t, int64_t>(1, 4)));
  EXPECT_STREQ(rule.GetString(), "1100");
  EXPECT_EQ(desc.SetUnknownDimNumShape(), ge::GRAPH_SUCCESS);
  EXPECT_THAT(desc.GetShape().GetDims(), ElementsAre(-2));
}

TEST(GeTensorDesc, HoldsConstants) {
  ge::TensorDesc desc;
  uint8_t* data = nullptr;
  size_t bytes = 0;
  EXPECT_FALSE(desc.GetConstData(&data, bytes));
  desc.SetConstData(std::unique_ptr<uint8_t[]>(new uint8_t[2]{3, 4}), 2);
  ASSERT_TRUE(desc.GetConstData(&data, bytes));
  EXPECT_EQ(bytes, 2u);
  EXPECT_EQ(data[1], 4);
}

TEST(GeTensor, CopiesShareAndClonesDoNot) {
  ge::Tensor tensor(ge::TensorDesc(ge::Shape({2}), ge::FORMAT_ND, ge::DT_UINT8), std::vector<uint8_t>{1, 2});
  ge::Tensor copy = tensor, clone = tensor.Clone();
  copy.GetData()[0] = 9;
  EXPECT_EQ(tensor.GetData()[0], 9);
  EXPECT_EQ(clone.GetData()[0], 1);
  EXPECT_EQ(clone.GetDataType(), ge::DT_UINT8);
  EXPECT_EQ(tensor.IsValid(), ge::GRAPH_SUCCESS);
  EXPECT_EQ(tensor.SetShapeDim(0, 3), ge::GRAPH_SUCCESS);
  EXPECT_EQ(tensor.IsValid(), ge::GRAPH_FAILED);
  EXPECT_EQ(tensor.SetShapeDim(1, 3), ge::GRAPH_FAILED);
}

TEST(GeTensor, AdoptsBytesAndGivesThemAway) {
  int freed = 0;
  uint8_t bytes[4] = {1, 2, 3, 4};
  auto count = [&](uint8_t*) { ++freed; };
  {
    ge::Tensor tensor;
    EXPECT_EQ(tensor.SetData(bytes, 4, count), ge::GRAPH_SUCCESS);
    EXPECT_EQ(tensor.GetData(), bytes);
    EXPECT_EQ(tensor.ResetData(bytes, 2, count), ge::GRAPH_SUCCESS);
    EXPECT_EQ(freed, 1);
    auto given = tensor.ResetData();
    EXPECT_EQ(given.get(), bytes);
    EXPECT_EQ(tensor.GetData(), nullptr);
    EXPECT_EQ(tensor.GetSize(), 0u);
    EXPECT_EQ(freed, 1);
  }
  EXPECT_EQ(freed, 2);
}

TEST(GeTensor, HoldsTexts) {
  ge::Tensor tensor;
  EXPECT_EQ(tensor.SetData("ab"), ge::GRAPH_SUCCESS);
  EXPECT_EQ(tensor.GetSize(), 3u);
  EXPECT_EQ(tensor.SetData(std::vector<ge::AscendString>{"x", "yz"}), ge::GRAPH_SUCCESS);
  const auto* heads = reinterpret_cast<const uint64_t*>(tensor.GetData());
  EXPECT_STREQ(reinterpret_cast<const char*>(tensor.GetData()) + heads[2], "yz");
  EXPECT_EQ(heads[3], 2u);
}

TEST(GeTypes, KnowTheirSizesAndNames) {
  EXPECT_EQ(ge::GetSizeInBytes(3, ge::DT_FLOAT16), 6);
  EXPECT_EQ(ge::GetSizeInBytes(3, ge::DT_INT4), 2);
  EXPECT_EQ(ge::GetSizeInBytes(3, ge::DT_UNDEFINED), -1);
  EXPECT_EQ(ge::GetSizeInBytes(INT64_MAX, ge::DT_FLOAT), -1);
  EXPECT_EQ(ge::GetSizeInBytes(-1, ge::DT_FLOAT), -1);
  EXPECT_STREQ(ge::GetFormatName(ge::FORMAT_NC1HWC0), "NC1HWC0");
  EXPECT_STREQ(ge::GetFormatName(static_cast<ge::Format>(1000)), "RESERVED");
}

}  // namespace
