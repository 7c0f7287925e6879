// A folder of the test's own, gone with it: ctest runs the variants of a test program side by side.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace conformance {

class TempFolder {
 public:
  TempFolder() {
    std::string path = testing::TempDir() + "belay_test_XXXXXX";
    EXPECT_NE(mkdtemp(path.data()), nullptr) << path;
    path_ = path;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace conformance
