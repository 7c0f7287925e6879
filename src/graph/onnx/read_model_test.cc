#include "graph/onnx/read_model.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace belay::graph::onnx {
namespace {

using External = std::map<std::string, std::string>;

// A folder beside which lies a file that no model in it may read.
class ExternalData : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "belay_external_XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr) << path;
    around_ = path;
    std::filesystem::create_directories(folder() / "inner");
    const std::vector<float> values{0, 1, 2, 3, 4, 5, 6, 7};
    for (const auto& file : {folder() / "w.bin", around_ / "secret.bin"}) {
      std::ofstream(file, std::ios::binary)
          .write(reinterpret_cast<const char*>(values.data()),
                 static_cast<std::streamsize>(values.size() * 4));
    }
    std::filesystem::create_symlink(around_ / "secret.bin", folder() / "link.bin");
    std::filesystem::create_symlink("..", folder() / "up");
    std::filesystem::create_symlink("w.bin", folder() / "same.bin");
    ASSERT_EQ(mkfifo((folder() / "pipe").c_str(), 0600), 0);
  }
  void TearDown() override { std::filesystem::remove_all(around_); }

  std::filesystem::path folder() const { return around_ / "model"; }

  // The second of four floats, or "refused" with the id.
  std::string Second(const External& external) {
    TensorData data;
    data.name = "w";
    data.type = 1;
    data.dims = {4};
    data.external = external;
    try {
      return std::to_string(static_cast<int>(TensorOf(data, nullptr, folder())->as<float>()[1]));
    } catch (const Error& error) {
      return std::string("refused: ") + error.id();
    }
  }

  std::filesystem::path around_;
};

TEST_F(ExternalData, LiesInTheFolderOfTheModel) {
  EXPECT_EQ(Second({{"location", "w.bin"}}), "1");
  EXPECT_EQ(Second({{"location", "./inner/../w.bin"}, {"offset", "16"}, {"length", "16"}}), "5");
  EXPECT_EQ(Second({{"location", "same.bin"}, {"offset", "4"}}), "2");
}

TEST_F(ExternalData, LiesNowhereElse) {
  for (const char* location :
       {"../secret.bin", "inner/../../secret.bin", "/etc/passwd", "link.bin", "up/secret.bin", "", "."}) {
    const std::string said = Second({{"location", location}});
    EXPECT_TRUE(said == "refused: onnx-external-path" || said == "refused: onnx-external-file")
        << location << ": " << said;
  }
  EXPECT_EQ(Second({{"offset", "0"}}), "refused: onnx-external-path");
}

TEST_F(ExternalData, IsAnOrdinaryFileOfEnoughBytes) {
  for (const char* location : {"pipe", "inner", "absent.bin"}) {
    EXPECT_EQ(Second({{"location", location}}), "refused: onnx-external-file") << location;
  }
  EXPECT_EQ(Second({{"location", "w.bin"}, {"offset", "20"}}), "refused: onnx-external");
  EXPECT_EQ(Second({{"location", "w.bin"}, {"offset", "-4"}}), "refused: onnx-external");
  EXPECT_EQ(Second({{"location", "w.bin"}, {"offset", "4 or so"}}), "refused: onnx-external");
  EXPECT_EQ(Second({{"location", "w.bin"}, {"offset", "18446744073709551615"}}), "refused: onnx-external");
  EXPECT_EQ(Second({{"location", "w.bin"}, {"length", "12"}}), "refused: onnx-external");
  EXPECT_EQ(Second({{"location", "w.bin"}, {"length", "1099511627776"}}), "refused: onnx-external");
}

// A field of protobuf's wire format that holds bytes, all of fewer than 128.
std::string Field(int number, const std::string& bytes) {
  const int tag = number << 3 | 2;
  std::string field;
  if (tag < 128) field = std::string(1, static_cast<char>(tag));
  if (tag >= 128) field = {static_cast<char>(tag | 0x80), static_cast<char>(tag >> 7)};
  return field + static_cast<char>(bytes.size()) + bytes;
}

TEST(ReadModel, FunctionsHaveParameters) {
  const std::string alpha = Field(1, "alpha") + Field(21, "slope");
  const std::string slope =
      Field(1, "slope") + std::string("\x15\0\0\0\x3f\xa0\x01\x01", 8);  // f: 0.5, FLOAT
  const std::string function = Field(1, "F") + Field(6, "gain") +
                               Field(7, Field(4, "Elu") + Field(5, alpha)) + Field(11, slope) +
                               Field(10, "local");
  const std::string model = Field(7, Field(2, "g")) + Field(25, function);
  const FunctionData read = ReadModel(model).functions.at(0);
  EXPECT_EQ(read.parameters, std::vector<std::string>{"gain"});
  ASSERT_EQ(read.defaulted.size(), 1u);
  EXPECT_EQ(read.defaulted[0].name, "slope");
  EXPECT_EQ(read.defaulted[0].type, kFloatAttribute);
  EXPECT_EQ(read.defaulted[0].f, 0.5);
  EXPECT_EQ(read.nodes.at(0).attributes.at(0).parameter, "slope");
}

}  // namespace
}  // namespace belay::graph::onnx
