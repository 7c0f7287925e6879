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
  EXPECT_EQ(Second({{"location", "w.bin"}, {"offset", "18446744073709551615"}}), "refused: onnx-external");
  EXPECT_EQ(Second({{"location", "w.bin"}, {"length", "12"}}), "refused: onnx-external");
  EXPECT_EQ(Second({{"location", "w.bin"}, {"length", "1099511627776"}}), "refused: onnx-external");
}

}  // namespace
}  // namespace belay::graph::onnx
