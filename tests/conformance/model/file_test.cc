// What happens to the file of a model that is loaded.
#include <filesystem>

#include "model_fixture.h"

namespace conformance {
namespace {

// y = x + 1000 numbers: constants that are no part of the model's text.
std::string Adding(float value) {
  const std::vector<int64_t> dims{1000};
  onnx_builder::Model model;
  model.inputs = {onnx_builder::Value("x", dims)};
  model.outputs = {onnx_builder::Value("y", dims)};
  model.constants = {onnx_builder::Floats("c", dims, std::vector<float>(1000, value))};
  model.nodes = {onnx_builder::Node("Add", {"x", "c"}, {"y"})};
  return model.Bytes();
}

class ModelFile : public ModelTest {
 public:
  // The element of the result for zeros, or the code of a failure.
  float Run(uint32_t id) {
    DeviceBuffer x(4000), y(4000);
    std::fill_n(x.floats(), 1000, 0.0f);
    Dataset in(x.buffer()), out(y.buffer());
    const aclError code = aclmdlExecute(id, in.get(), out.get());
    return code == ACL_SUCCESS ? y.floats()[999] : static_cast<float>(code);
  }
  // As `cp` does it.
  static void WriteInto(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
};

TEST_F(ModelFile, WhatIsWrittenOverALoadedModelChangesNothing) {
  const std::string om = Compile(Adding(3));
  uint32_t id = Load(om);
  const std::string bytes = ReadAll(om);
  WriteInto(om, std::string(bytes.size(), '\0'));
  EXPECT_EQ(Run(id), 3);
  std::filesystem::resize_file(om, 0);
  EXPECT_EQ(Run(id), 3);
  uint32_t none = 0;
  EXPECT_EQ(aclmdlLoadFromFile(om.c_str(), &none), 145002u);
  std::string torn = bytes;
  torn[torn.size() - 1] ^= 1;
  WriteInto(om, torn);
  EXPECT_EQ(aclmdlLoadFromFile(om.c_str(), &none), kNoModel) << "half of another";
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
}

class MappedModelFile : public ModelFile {
 public:
  void SetUp() override {
    setenv("BELAY_MODEL_COPY", "0", 1);
    ModelFile::SetUp();
  }
  void TearDown() override {
    ModelFile::TearDown();
    unsetenv("BELAY_MODEL_COPY");
  }
};

TEST_F(MappedModelFile, IsReplacedByAtcAndRefusedWhereItWasWrittenInto) {
  const std::string om = Compile(Adding(3)), other = Compile(Adding(5));
  uint32_t id = Load(om);
  EXPECT_EQ(Run(id), 3);
  // atc over the loaded file, and what programs do that write beside it.
  const std::string onnx = om.substr(0, om.size() - 3) + ".onnx";
  WriteInto(onnx, Adding(7));
  const std::string command = std::string(BELAY_ATC) + " --framework=5 --model=" + onnx +
                              " --output=" + om.substr(0, om.size() - 3) + " > /dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(Run(id), 3);
  uint32_t again = Load(om);
  EXPECT_EQ(Run(again), 7);
  std::filesystem::copy_file(other, om, std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(Run(again), kNoModel);
  EXPECT_NE(LastMessage().find("was written to"), std::string::npos);
  std::filesystem::resize_file(om, 100);
  EXPECT_EQ(Run(again), kNoModel) << "without a fault";
  EXPECT_EQ(Run(id), 3);
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
  EXPECT_EQ(aclmdlUnload(again), ACL_SUCCESS);
}

}  // namespace
}  // namespace conformance
