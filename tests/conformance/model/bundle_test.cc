// Several models in one file, and what the description says of the chosen gear.
#include "model_fixture.h"

namespace conformance {
namespace {

class Bundle : public ModelTest {
 public:
  void Expect(uint32_t id, size_t count) {
    DeviceBuffer x(4 * count), y(4 * count);
    for (size_t i = 0; i < count; ++i) x.floats()[i] = static_cast<float>(i);
    Dataset in(x.buffer()), out(y.buffer());
    ASSERT_EQ(aclmdlExecute(id, in.get(), out.get()), ACL_SUCCESS) << LastMessage();
    EXPECT_EQ(y.floats()[count - 1], 6.0f * static_cast<float>(count - 1));
  }
};

TEST_F(Bundle, HoldsItsModelsInOrder) {
  std::string bytes =
      ReadAll(Compile(onnx_builder::SixTimes({3}))) + ReadAll(Compile(onnx_builder::SixTimes({2, 4})));
  std::string path = NewFolder() + "/both.om";
  std::ofstream(path, std::ios::binary) << bytes;
  uint32_t bundles[2] = {};
  ASSERT_EQ(aclmdlBundleLoadFromFile(path.c_str(), &bundles[0]), ACL_SUCCESS) << LastMessage();
  ASSERT_EQ(aclmdlBundleLoadFromMem(bytes.data(), bytes.size(), &bundles[1]), ACL_SUCCESS) << LastMessage();
  bytes.assign(bytes.size(), 'x');
  for (uint32_t bundle : bundles) {
    size_t count = 0;
    ASSERT_EQ(aclmdlBundleGetModelNum(bundle, &count), ACL_SUCCESS);
    EXPECT_EQ(count, 2u);
    uint32_t first = 0, second = 0, none = 0;
    ASSERT_EQ(aclmdlBundleGetModelId(bundle, 0, &first), ACL_SUCCESS);
    ASSERT_EQ(aclmdlBundleGetModelId(bundle, 1, &second), ACL_SUCCESS);
    EXPECT_EQ(aclmdlBundleGetModelId(bundle, 2, &none), ACL_ERROR_INVALID_PARAM);
    Expect(first, 3);
    Expect(second, 8);
    ASSERT_EQ(aclmdlUnload(first), ACL_SUCCESS) << "one by itself";
    ASSERT_EQ(aclmdlBundleUnload(bundle), ACL_SUCCESS);
    EXPECT_EQ(aclmdlUnload(second), kModelIdInvalid);
    EXPECT_EQ(aclmdlBundleUnload(bundle), kModelIdInvalid);
    EXPECT_EQ(aclmdlBundleGetModelNum(bundle, &count), kModelIdInvalid);
    EXPECT_EQ(aclmdlBundleGetModelId(bundle, 0, &first), kModelIdInvalid);
  }
}

TEST_F(Bundle, OneModelIsABundleToo) {
  uint32_t bundle = 0, id = 0;
  ASSERT_EQ(aclmdlBundleLoadFromFile(Compile(onnx_builder::SixTimes({3})).c_str(), &bundle), ACL_SUCCESS);
  ASSERT_EQ(aclmdlBundleGetModelId(bundle, 0, &id), ACL_SUCCESS);
  Expect(id, 3);
}

TEST_F(Bundle, AllOrNothing) {
  std::string model = ReadAll(Compile(onnx_builder::SixTimes({3})));
  ASSERT_EQ(model.size() % 64, 0u) << "so that files can be put one behind the other";
  uint32_t bundle = 0;
  for (const std::string& bytes :
       {model + "and more", model + model.substr(0, model.size() / 2), std::string(200, 'x')}) {
    EXPECT_EQ(aclmdlBundleLoadFromMem(bytes.data(), bytes.size(), &bundle), kNoModel);
  }
  EXPECT_EQ(aclmdlBundleLoadFromFile("/no/such/file", &bundle), 145002u);
  EXPECT_EQ(aclmdlBundleLoadFromFile(nullptr, &bundle), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlBundleLoadFromMem(model.data(), 0, &bundle), kNoModel);
  EXPECT_EQ(aclmdlBundleLoadFromMem(model.data(), model.size(), nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlBundleGetModelNum(1, nullptr), ACL_ERROR_INVALID_PARAM);
}

TEST_F(Bundle, CurrentSizesAreThoseOfTheChosenGear) {
  uint32_t id = Load(Compile(onnx_builder::SixTimes({-1, 2}), "--dynamic_batch_size=1,4,8"));
  aclmdlIODims dims;
  ASSERT_EQ(aclmdlGetCurOutputDims(desc_, 0, &dims), ACL_SUCCESS);
  EXPECT_EQ(dims.dims[0], 8) << "the largest, as none was chosen";
  DeviceBuffer x(64), gear(8);
  Dataset in(x.buffer());
  in.Add(gear.buffer());
  ASSERT_EQ(aclmdlSetDynamicBatchSize(id, in.get(), 1, 4), ACL_SUCCESS);
  ASSERT_EQ(aclmdlGetCurOutputDims(desc_, 0, &dims), ACL_SUCCESS);
  EXPECT_EQ(dims.dims[0], 4);
  EXPECT_EQ(dims.dims[1], 2);
  EXPECT_STREQ(dims.name, "y");
  ASSERT_EQ(aclmdlGetOutputDims(desc_, 0, &dims), ACL_SUCCESS);
  EXPECT_EQ(dims.dims[0], 8);
  EXPECT_EQ(aclmdlGetCurOutputDims(desc_, 1, &dims), ACL_ERROR_INVALID_PARAM);
  ASSERT_EQ(aclmdlUnload(id), ACL_SUCCESS);
  ASSERT_EQ(aclmdlGetCurOutputDims(desc_, 0, &dims), ACL_SUCCESS);
  EXPECT_EQ(dims.dims[0], 8) << "the description outlives the model";
}

TEST_F(Bundle, WhatIsRefusedNamesItself) {
  uint32_t id = 0, queue = 0;
  EXPECT_EQ(aclmdlLoadFromFileWithQ("m.om", &id, &queue, 1, &queue, 1), ACL_ERROR_API_NOT_SUPPORT);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("aclmdlLoadFromFileWithQ"));
  EXPECT_EQ(aclmdlLoadFromMemWithQ("m", 1, &id, &queue, 1, &queue, 1), ACL_ERROR_API_NOT_SUPPORT);
  EXPECT_EQ(aclmdlInitDump(), ACL_ERROR_API_NOT_SUPPORT);
  EXPECT_EQ(aclmdlSetDump("acl.json"), ACL_ERROR_API_NOT_SUPPORT);
  EXPECT_EQ(aclmdlFinalizeDump(), ACL_ERROR_API_NOT_SUPPORT);
}

}  // namespace
}  // namespace conformance
