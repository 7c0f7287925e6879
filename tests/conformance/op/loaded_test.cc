// Single-operator models: aclopLoad, aclopSetModelDir, and what may run then.
#include <acl/acl_op.h>
#include <acl/acl_op_compiler.h>

#include <filesystem>
#include <fstream>

#include "../support/om_builder.h"
#include "../support/temp_folder.h"
#include "runtime_fixture.h"

namespace conformance {
namespace {

constexpr uint32_t kNoModel = 545001;

class LoadedOps : public RuntimeTest {
 public:
  void SetUp() override {
    RuntimeTest::SetUp();
    ASSERT_EQ(aclrtMalloc(&memory_, 3 * kBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    for (int i = 0; i < 6; ++i) At(0)[i] = static_cast<float>(i), At(1)[i] = 10;
    for (int i = 0; i < 3; ++i) buffers_[i] = aclCreateDataBuffer(At(i), kBytes);
  }
  void TearDown() override {
    for (aclDataBuffer* buffer : buffers_) EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(memory_), ACL_SUCCESS);
    RuntimeTest::TearDown();
  }

 protected:
  static constexpr size_t kBytes = 64;
  float* At(int i) {
    return reinterpret_cast<float*>(static_cast<char*>(memory_) + static_cast<size_t>(i) * kBytes);
  }

  aclError Load(const std::string& bytes) { return aclopLoad(bytes.data(), bytes.size()); }
  void Write(const std::string& name, const std::string& bytes) {
    std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }
  // The operator on two tensors [2, n].
  aclError Run(const char* type, int64_t n, aclDataType dtype = ACL_FLOAT) {
    int64_t dims[] = {2, n};
    aclTensorDesc* desc = aclCreateTensorDesc(dtype, 2, dims, ACL_FORMAT_ND);
    const aclTensorDesc* in_desc[] = {desc, desc};
    const aclTensorDesc* out_desc[] = {desc};
    aclError error = aclopExecute(type, 2, in_desc, buffers_, 1, out_desc, &buffers_[2], nullptr, nullptr);
    aclDestroyTensorDesc(desc);
    return error != ACL_SUCCESS ? error : aclrtSynchronizeStream(nullptr);
  }

  TempFolder folder_;
  void* memory_ = nullptr;
  aclDataBuffer* buffers_[3] = {};
};

TEST_F(LoadedOps, OnlyWhatWasLoadedRuns) {
  EXPECT_EQ(Run("Mul", 3), ACL_SUCCESS) << "nothing was loaded, so everything runs";
  ASSERT_EQ(Load(om_builder::BinaryOp("Add", "[2,3]")), ACL_SUCCESS) << LastMessage();
  ASSERT_EQ(Run("Add", 3), ACL_SUCCESS) << LastMessage();
  EXPECT_EQ(At(2)[5], 15.0f);
  EXPECT_EQ(Run("Add", 2), ACL_ERROR_OP_NOT_FOUND);
  EXPECT_THAT(LastMessage(), testing::AllOf(testing::HasSubstr("[2, 2]"), testing::HasSubstr("[2, 3]")));
  EXPECT_EQ(Run("Add", 3, ACL_FLOAT16), ACL_ERROR_OP_NOT_FOUND);
  EXPECT_EQ(Run("Sub", 3), ACL_ERROR_OP_NOT_FOUND);
  ASSERT_EQ(Load(om_builder::BinaryOp("Sub", "[2,-1]")), ACL_SUCCESS);
  EXPECT_EQ(Run("Sub", 1), ACL_SUCCESS) << "a size that was left open";
  EXPECT_EQ(Run("Sub", 3), ACL_SUCCESS);
  EXPECT_EQ(At(2)[5], -5.0f);
}

TEST_F(LoadedOps, WhatWasCompiledRunsToo) {
  ASSERT_EQ(Load(om_builder::BinaryOp("Add", "[2,3]")), ACL_SUCCESS);
  EXPECT_EQ(Run("Maximum", 3), ACL_ERROR_OP_NOT_FOUND);
  int64_t dims[] = {2, 3};
  aclTensorDesc* desc = aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND);
  const aclTensorDesc* descs[] = {desc, desc};
  ASSERT_EQ(aclopCompile("Maximum", 2, descs, 1, descs, nullptr, ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr),
            ACL_SUCCESS);
  EXPECT_EQ(Run("Maximum", 3), ACL_SUCCESS);
  EXPECT_EQ(At(2)[5], 10.0f);
  aclopHandle* handle = nullptr;
  EXPECT_EQ(aclopCreateHandle("Minimum", 2, descs, 1, descs, nullptr, &handle), ACL_ERROR_OP_NOT_FOUND);
  EXPECT_EQ(aclopCast(desc, buffers_[0], desc, buffers_[2], 0, nullptr), ACL_ERROR_OP_NOT_FOUND);
  EXPECT_EQ(aclopCreateHandleForCast(desc, desc, 0, &handle), ACL_ERROR_OP_NOT_FOUND);
  ASSERT_EQ(aclopCreateHandle("Add", 2, descs, 1, descs, nullptr, &handle), ACL_SUCCESS);
  aclopDestroyHandle(handle);
  aclDestroyTensorDesc(desc);
}

TEST_F(LoadedOps, AFolderIsSearchedThreeLevelsDeep) {
  Write("add.om", om_builder::BinaryOp("Add", "[2,3]"));
  Write("a/b/sub.om", om_builder::BinaryOp("Sub", "[2,3]"));
  Write("a/b/c/mul.om", om_builder::BinaryOp("Mul", "[2,3]"));
  Write("notes.txt", "no model");
  ASSERT_EQ(aclopSetModelDir(folder_.path().c_str()), ACL_SUCCESS) << LastMessage();
  EXPECT_EQ(Run("Add", 3), ACL_SUCCESS);
  EXPECT_EQ(Run("Sub", 3), ACL_SUCCESS);
  EXPECT_EQ(Run("Mul", 3), ACL_ERROR_OP_NOT_FOUND);
  EXPECT_EQ(aclopSetModelDir(folder_.path().c_str()), ACL_ERROR_REPEAT_INITIALIZE);
}

TEST_F(LoadedOps, ABadFileIsNamed) {
  Write("bad.om", "IMOD of a card");
  EXPECT_EQ(aclopSetModelDir(folder_.path().c_str()), kNoModel);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("bad.om"));
  EXPECT_EQ(aclopSetModelDir("/no/such/folder"), ACL_ERROR_INVALID_FILE);
  EXPECT_EQ(aclopSetModelDir(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(Run("Add", 3), ACL_SUCCESS) << "nothing was loaded";
}

TEST_F(LoadedOps, RefusesWhatIsNoSingleOperator) {
  std::string add = om_builder::BinaryOp("Add", "[2,3]");
  EXPECT_EQ(aclopLoad(nullptr, 8), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopLoad(add.data(), 0), kNoModel);
  EXPECT_EQ(aclopLoad(add.data(), add.size() / 2), kNoModel);
  EXPECT_EQ(
      Load(om_builder::File(R"({"graph":{"name":"n","nodes":[],"inputs":[],"outputs":[]},"options":{}})")),
      kNoModel);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("aclmdlLoadFromFile"));
}

}  // namespace
}  // namespace conformance
