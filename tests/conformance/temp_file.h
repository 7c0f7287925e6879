// A file of the test's own: ctest runs the tests of one program side by side, each in its own process.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace conformance {

class TempFile {
 public:
  explicit TempFile(const std::string& text = "") : path_(testing::TempDir() + "belay_test_XXXXXX") {
    int file = mkstemp(path_.data());
    EXPECT_GE(file, 0) << path_;
    close(file);
    Write(text);
  }
  ~TempFile() { unlink(path_.c_str()); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  const char* path() const { return path_.c_str(); }
  const char* Write(const std::string& text) const {
    std::ofstream(path_) << text;
    return path();
  }
  std::string Read() const {
    std::stringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }

 private:
  std::string path_;
};

}  // namespace conformance
