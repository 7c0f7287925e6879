// What tests of models share: compiling an ONNX model, loading it, buffers and datasets.
#pragma once

#include <acl/acl_mdl.h>

#include <cstdlib>
#include <deque>
#include <fstream>

#include "../support/onnx_builder.h"
#include "../support/temp_folder.h"
#include "runtime_fixture.h"

namespace conformance {

constexpr uint32_t kModelIdInvalid = 145003;
constexpr uint32_t kNoModel = 545001;

// Of the test that runs; they go with it.
inline std::deque<TempFolder>& Folders() {
  static std::deque<TempFolder> folders;
  return folders;
}
inline std::string NewFolder() { return Folders().emplace_back().path(); }

// What atc says of the bytes: its exit status and its output.
struct Compiled {
  int status;
  std::string om, text;
};
inline Compiled RunAtc(const std::string& onnx, const std::string& options) {
  std::string base = NewFolder() + "/m";
  std::ofstream(base + ".onnx", std::ios::binary) << onnx;
  std::string command = std::string(BELAY_ATC) + " --framework=5 --model=" + base + ".onnx --output=" + base +
                        " " + options + " >" + base + ".txt";
  int status = std::system(command.c_str());
  std::ifstream text(base + ".txt");
  return {status, base + ".om", {std::istreambuf_iterator<char>(text), {}}};
}

// Compiles the bytes; the path of the .om.
inline std::string Compile(const std::string& onnx, const std::string& options = "") {
  Compiled compiled = RunAtc(onnx, options);
  EXPECT_EQ(compiled.status, 0) << compiled.text;
  return compiled.om;
}

inline std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Device memory with its data buffer.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t bytes) : bytes_(bytes) {
    EXPECT_EQ(aclrtMalloc(&data_, std::max<size_t>(bytes, 1), ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    buffer_ = aclCreateDataBuffer(data_, bytes);
  }
  ~DeviceBuffer() {
    EXPECT_EQ(aclDestroyDataBuffer(buffer_), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(data_), ACL_SUCCESS);
  }
  aclDataBuffer* buffer() { return buffer_; }
  size_t bytes() const { return bytes_; }
  float* floats() { return static_cast<float*>(data_); }
  uint8_t* at() { return static_cast<uint8_t*>(data_); }

 private:
  void* data_ = nullptr;
  size_t bytes_;
  aclDataBuffer* buffer_;
};

class Dataset {
 public:
  Dataset() : dataset_(aclmdlCreateDataset()) {}
  explicit Dataset(aclDataBuffer* buffer) : Dataset() { Add(buffer); }
  ~Dataset() { EXPECT_EQ(aclmdlDestroyDataset(dataset_), ACL_SUCCESS); }
  void Add(aclDataBuffer* buffer) { EXPECT_EQ(aclmdlAddDatasetBuffer(dataset_, buffer), ACL_SUCCESS); }
  aclmdlDataset* get() { return dataset_; }

 private:
  aclmdlDataset* dataset_;
};

class ModelTest : public RuntimeTest {
 public:
  void SetUp() override {
    RuntimeTest::SetUp();
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    desc_ = aclmdlCreateDesc();
  }
  void TearDown() override {
    EXPECT_EQ(aclmdlDestroyDesc(desc_), ACL_SUCCESS);
    RuntimeTest::TearDown();
    Folders().clear();
  }
  uint32_t Load(const std::string& path) {
    uint32_t id = 0;
    EXPECT_EQ(aclmdlLoadFromFile(path.c_str(), &id), ACL_SUCCESS) << aclGetRecentErrMsg();
    EXPECT_EQ(aclmdlGetDesc(desc_, id), ACL_SUCCESS);
    return id;
  }
  aclmdlDesc* desc_ = nullptr;
};

}  // namespace conformance
