// The way of programs that compile their operators ahead: atc --singleop, aclopSetModelDir, aclopExecute and
// aclblas.
#include <acl/acl_op.h>
#include <acl/ops/acl_cblas.h>

#include <array>
#include <cstdlib>
#include <fstream>

#include "../support/temp_folder.h"
#include "runtime_fixture.h"

namespace conformance {
namespace {

constexpr const char* kOps = R"([
  {"op": "GEMM",
   "input_desc": [{"format": "ND", "shape": [16, 8], "type": "float16"}, {"format": "ND", "shape": [8, 4], "type": "float16"},
                  {"format": "ND", "shape": [16, 4], "type": "float16"}, {"format": "ND", "shape": [], "type": "float16"},
                  {"format": "ND", "shape": [], "type": "float16"}],
   "output_desc": [{"format": "ND", "shape": [16, 4], "type": "float16"}],
   "attr": [{"name": "transpose_a", "type": "bool", "value": false}, {"name": "transpose_b", "type": "bool", "value": false}]},
  {"op": "Cast", "input_desc": [{"format": "ND", "shape": [-1], "type": "float16"}],
   "output_desc": [{"format": "ND", "shape": [-1], "type": "float"}],
   "attr": [{"name": "dst_type", "type": "data_type", "value": "float"}]},
  {"op": "Conv2D", "input_desc": [{"format": "NHWC", "shape": [1, 1, 1, 2], "type": "float16"},
                                  {"format": "NCHW", "shape": [3, 2, 1, 1], "type": "float16"}],
   "output_desc": [{"format": "NHWC", "shape": [1, 1, 1, 3], "type": "float16"}],
   "attr": [{"name": "strides", "type": "list_int", "value": [1, 1, 1, 1]},
            {"name": "pads", "type": "list_int", "value": [0, 0, 0, 0]}]}])";

class CompiledAhead : public RuntimeTest {
 public:
  void SetUp() override {
    RuntimeTest::SetUp();
    std::ofstream(folder_ / "ops.json") << kOps;
    std::string command = std::string(BELAY_ATC) + " --singleop=" + (folder_ / "ops.json").string() +
                          " --output=" + (folder_ / "op_models").string() + " --soc_version=Ascend310 >" +
                          (folder_ / "log").string();
    ASSERT_EQ(std::system(command.c_str()), 0) << std::ifstream(folder_ / "log").rdbuf();
    ASSERT_EQ(aclopSetModelDir((folder_ / "op_models").c_str()), ACL_SUCCESS) << LastMessage();
    ASSERT_EQ(aclrtMalloc(&memory_, 5 * kBlock, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    for (int i = 0; i < 5; ++i) Fill(i, 1);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtFree(memory_), ACL_SUCCESS);
    RuntimeTest::TearDown();
  }

 protected:
  static constexpr size_t kBlock = 1024;
  aclFloat16* At(int i) {
    return reinterpret_cast<aclFloat16*>(static_cast<char*>(memory_) + static_cast<size_t>(i) * kBlock);
  }
  void Fill(int i, float value) { std::fill_n(At(i), kBlock / 2, aclFloatToFloat16(value)); }
  aclError Gemm(aclTransType trans_a, int m, int n, int k) {
    return aclblasHgemm(trans_a, ACL_TRANS_N, ACL_TRANS_N, m, n, k, At(3), At(0), -1, At(1), -1, At(4), At(2),
                        -1, ACL_COMPUTE_HIGH_PRECISION, nullptr);
  }

  TempFolder folder_;
  void* memory_ = nullptr;
};

TEST_F(CompiledAhead, ProductsRunWhereTheyWereCompiledFor) {
  Fill(4, 2);
  ASSERT_EQ(Gemm(ACL_TRANS_N, 16, 4, 8), ACL_SUCCESS) << LastMessage();
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclFloat16ToFloat(At(2)[63]), 10.0f) << "eight products, and twice what was there";
  EXPECT_EQ(Gemm(ACL_TRANS_N, 8, 4, 8), ACL_ERROR_OP_NOT_FOUND);
  EXPECT_EQ(Gemm(ACL_TRANS_T, 16, 4, 8), ACL_ERROR_OP_NOT_FOUND) << "another attribute and another shape";
  EXPECT_THAT(LastMessage(), testing::HasSubstr("[8, 16]"));
}

TEST_F(CompiledAhead, AFilterIsFoundAsItIsDescribed) {
  const int64_t image[] = {1, 1, 1, 2}, kernel[] = {3, 2, 1, 1}, result[] = {1, 1, 1, 3},
                ones[] = {1, 1, 1, 1}, none[4] = {};
  const aclTensorDesc* in[] = {aclCreateTensorDesc(ACL_FLOAT16, 4, image, ACL_FORMAT_NHWC),
                               aclCreateTensorDesc(ACL_FLOAT16, 4, kernel, ACL_FORMAT_NCHW)};
  const aclTensorDesc* out[] = {aclCreateTensorDesc(ACL_FLOAT16, 4, result, ACL_FORMAT_NHWC)};
  aclDataBuffer* from[] = {aclCreateDataBuffer(At(0), 4), aclCreateDataBuffer(At(1), 12)};
  aclDataBuffer* to[] = {aclCreateDataBuffer(At(2), 6)};
  aclopAttr* attributes = aclopCreateAttr();
  aclopSetAttrListInt(attributes, "strides", 4, ones);
  aclopSetAttrListInt(attributes, "pads", 4, none);
  Fill(0, 3);
  At(1)[5] = aclFloatToFloat16(7);
  EXPECT_EQ(aclopExecute("Conv2D", 2, in, from, 1, out, to, attributes, nullptr), ACL_SUCCESS)
      << LastMessage();
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclFloat16ToFloat(At(2)[1]), 6.0f);
  EXPECT_EQ(aclFloat16ToFloat(At(2)[2]), 24.0f);
  aclopDestroyAttr(attributes);
  for (aclDataBuffer* buffer : {from[0], from[1], to[0]})
    EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_SUCCESS);
  for (const aclTensorDesc* desc : {in[0], in[1], out[0]}) aclDestroyTensorDesc(desc);
}

TEST_F(CompiledAhead, SizesThatWereLeftOpenServeAll) {
  for (int64_t count : {5, 17}) {
    Fill(0, static_cast<float>(count));
    std::array<int64_t, 1> dims = {count};
    aclTensorDesc* half = aclCreateTensorDesc(ACL_FLOAT16, 1, dims.data(), ACL_FORMAT_ND);
    aclTensorDesc* single = aclCreateTensorDesc(ACL_FLOAT, 1, dims.data(), ACL_FORMAT_ND);
    aclDataBuffer* from = aclCreateDataBuffer(At(0), kBlock);
    aclDataBuffer* to = aclCreateDataBuffer(At(1), kBlock);
    ASSERT_EQ(aclopCast(half, from, single, to, 0, nullptr), ACL_SUCCESS) << LastMessage();
    ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
    EXPECT_EQ(reinterpret_cast<float*>(At(1))[count - 1], static_cast<float>(count));
    EXPECT_EQ(aclopCast(single, from, half, to, 0, nullptr), ACL_ERROR_OP_NOT_FOUND)
        << "the other way was not compiled";
    for (aclDataBuffer* buffer : {from, to}) aclDestroyDataBuffer(buffer);
    for (aclTensorDesc* desc : {half, single}) aclDestroyTensorDesc(desc);
  }
}

}  // namespace
}  // namespace conformance
