// Data types, half precision, data buffers and tensor descriptions. None of them needs aclInit.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "acl/acl.h"

namespace {

TEST(DataType, Sizes) {
  EXPECT_EQ(aclDataTypeSize(ACL_FLOAT), 4u);
  EXPECT_EQ(aclDataTypeSize(ACL_BF16), 2u);
  EXPECT_EQ(aclDataTypeSize(ACL_BOOL), 1u);
  EXPECT_EQ(aclDataTypeSize(ACL_COMPLEX128), 16u);
  EXPECT_EQ(aclDataTypeSize(ACL_INT4), 0u) << "less than a byte";
  EXPECT_EQ(aclDataTypeSize(ACL_DT_UNDEFINED), 0u);
  EXPECT_EQ(aclDataTypeSize(static_cast<aclDataType>(1000)), 0u);
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(aclFloatToFloat16(1.0f), 0x3c00);
  EXPECT_EQ(aclFloatToFloat16(-2.0f), 0xc000);
  EXPECT_EQ(aclFloatToFloat16(65504.0f), 0x7bff);
  EXPECT_EQ(aclFloatToFloat16(65536.0f), 0x7c00);
  EXPECT_EQ(aclFloatToFloat16(1.0f + 1.0f / 2048), 0x3c00);
  EXPECT_EQ(aclFloatToFloat16(1.0f + 3.0f / 2048), 0x3c02);
  EXPECT_EQ(aclFloatToFloat16(std::ldexp(1.0f, -24)), 0x0001);
}

TEST(Half, EveryValueComesBack) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    auto half = static_cast<aclFloat16>(bits);
    float value = aclFloat16ToFloat(half);
    if (!std::isnan(value)) {
      EXPECT_EQ(aclFloatToFloat16(value), half);
    }
  }
  EXPECT_TRUE(std::isnan(aclFloat16ToFloat(0x7e00)));
}

TEST(DataBuffer, HoldsAnAddressAndASize) {
  char memory[8];
  aclDataBuffer* buffer = aclCreateDataBuffer(memory, 5);
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(aclGetDataBufferAddr(buffer), memory);
  EXPECT_EQ(aclGetDataBufferSize(buffer), 5u);
  EXPECT_EQ(aclGetDataBufferSizeV2(buffer), 5u);
  EXPECT_EQ(aclUpdateDataBuffer(buffer, nullptr, 0), ACL_SUCCESS);
  EXPECT_EQ(aclGetDataBufferAddr(buffer), nullptr);
  EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_SUCCESS);
  EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_ERROR_RT_INVALID_HANDLE) << "destroyed twice";
  EXPECT_EQ(aclGetDataBufferSizeV2(buffer), 0u);
}

class Description : public ::testing::Test {
 protected:
  void TearDown() override { aclDestroyTensorDesc(desc_); }

  int64_t dims_[3] = {2, 3, 4};
  aclTensorDesc* desc_ = aclCreateTensorDesc(ACL_FLOAT16, 3, dims_, ACL_FORMAT_ND);
};

TEST_F(Description, SaysWhatItWasMadeOf) {
  ASSERT_NE(desc_, nullptr);
  dims_[1] = 99;  // it keeps a copy
  int64_t size = 0;
  EXPECT_EQ(aclGetTensorDescType(desc_), ACL_FLOAT16);
  EXPECT_EQ(aclGetTensorDescFormat(desc_), ACL_FORMAT_ND);
  EXPECT_EQ(aclGetTensorDescNumDims(desc_), 3u);
  EXPECT_EQ(aclGetTensorDescDimV2(desc_, 1, &size), ACL_SUCCESS);
  EXPECT_EQ(size, 3);
  EXPECT_EQ(aclGetTensorDescDim(desc_, 2), 4);
  EXPECT_EQ(aclGetTensorDescElementCount(desc_), 24u);
  EXPECT_EQ(aclGetTensorDescSize(desc_), 48u);
  EXPECT_EQ(aclGetTensorDescAddress(desc_), nullptr);
  EXPECT_EQ(aclGetTensorDescByIndex(desc_, 0), desc_);
}

TEST_F(Description, RefusesWhatIsNotThere) {
  int64_t size = 7;
  EXPECT_EQ(aclGetTensorDescDimV2(desc_, 3, &size), ACL_ERROR_INVALID_PARAM);
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("3"), std::string::npos);
  EXPECT_EQ(size, 7);
  EXPECT_EQ(aclGetTensorDescDim(desc_, 3), -1);
  EXPECT_EQ(aclGetTensorDescByIndex(desc_, 1), nullptr);
}

TEST_F(Description, Ranges) {
  int64_t range[2] = {};
  EXPECT_EQ(aclGetTensorDescDimRange(desc_, 0, 2, range), ACL_SUCCESS);
  EXPECT_EQ(range[0], 2);
  EXPECT_EQ(range[1], 2);
  int64_t shapes[3][2] = {{1, 8}, {3, 3}, {0, -1}};
  EXPECT_EQ(aclSetTensorShapeRange(desc_, 3, shapes), ACL_SUCCESS);
  EXPECT_EQ(aclGetTensorDescDimRange(desc_, 0, 2, range), ACL_SUCCESS);
  EXPECT_EQ(range[1], 8);
  EXPECT_EQ(aclGetTensorDescDimRange(desc_, 0, 1, range), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclSetTensorShapeRange(desc_, 2, shapes), ACL_ERROR_INVALID_PARAM);
  int64_t backwards[1][2] = {{5, 2}};
  EXPECT_EQ(aclSetTensorValueRange(desc_, 1, backwards), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclSetTensorValueRange(desc_, 3, shapes), ACL_SUCCESS);
}

TEST_F(Description, NamesFormatsAndConstants) {
  int64_t stored[] = {6, 4};
  float constant[24] = {};
  aclSetTensorDescName(desc_, "weights");
  EXPECT_STREQ(aclGetTensorDescName(desc_), "weights");
  EXPECT_EQ(aclSetTensorFormat(desc_, ACL_FORMAT_FRACTAL_NZ), ACL_SUCCESS);
  EXPECT_EQ(aclGetTensorDescFormat(desc_), ACL_FORMAT_ND) << "the format that it was made with";
  EXPECT_EQ(aclSetTensorStorageFormat(desc_, ACL_FORMAT_ND), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorOriginFormat(desc_, ACL_FORMAT_ND), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorShape(desc_, 2, stored), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorStorageShape(desc_, 2, stored), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorOriginShape(desc_, 2, stored), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorOriginShape(desc_, 2, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclSetTensorPlaceMent(desc_, ACL_MEMTYPE_HOST), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorDynamicInput(desc_, "x"), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorConst(desc_, constant, sizeof constant), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorConst(desc_, nullptr, 4), ACL_ERROR_INVALID_PARAM);
}

TEST(DescriptionOfUnknownShape, Marks) {
  int64_t some[] = {4, -1};
  int64_t none[] = {-2};
  int64_t wrong[] = {-3};
  aclTensorDesc* desc = aclCreateTensorDesc(ACL_FLOAT, 2, some, ACL_FORMAT_ND);
  EXPECT_EQ(aclGetTensorDescNumDims(desc), 2u);
  EXPECT_EQ(aclGetTensorDescSize(desc), 0u);
  aclDestroyTensorDesc(desc);
  desc = aclCreateTensorDesc(ACL_FLOAT, 1, none, ACL_FORMAT_ND);
  EXPECT_EQ(aclGetTensorDescNumDims(desc), ACL_UNKNOWN_RANK);
  aclDestroyTensorDesc(desc);
  desc = aclCreateTensorDesc(ACL_FLOAT, 0, nullptr, ACL_FORMAT_ND);
  EXPECT_EQ(aclGetTensorDescElementCount(desc), 1u) << "a scalar";
  aclDestroyTensorDesc(desc);
  EXPECT_EQ(aclCreateTensorDesc(ACL_FLOAT, 1, wrong, ACL_FORMAT_ND), nullptr);
  EXPECT_EQ(aclCreateTensorDesc(ACL_FLOAT, -1, wrong, ACL_FORMAT_ND), nullptr);
  EXPECT_EQ(aclCreateTensorDesc(ACL_FLOAT, 0x7fffffff, some, ACL_FORMAT_ND), nullptr);
}

TEST(NoDescription, HasNothing) {
  EXPECT_EQ(aclGetTensorDescType(nullptr), ACL_DT_UNDEFINED);
  EXPECT_EQ(aclGetTensorDescFormat(nullptr), ACL_FORMAT_UNDEFINED);
  EXPECT_EQ(aclGetTensorDescSize(nullptr), 0u);
  EXPECT_EQ(aclGetTensorDescElementCount(nullptr), 0u);
  EXPECT_EQ(aclGetTensorDescNumDims(nullptr), 0u);
  EXPECT_NE(aclGetRecentErrMsg(), nullptr);
}

}  // namespace
