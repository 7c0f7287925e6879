// What the tests of profiling share: a program that uses device 0, a folder for its profiles, and their
// tables.
#pragma once

#include <acl/acl_prof.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "../support/temp_folder.h"
#include "runtime_fixture.h"

namespace conformance {

using Row = std::map<std::string, std::string>;

class ProfTest : public RuntimeTest {
 protected:
  void TearDown() override {
    aclprofFinalize();
    RuntimeTest::TearDown();
  }

  aclError Init() { return aclprofInit(folder_.c_str(), folder_.size()); }
  static aclprofConfig* Config(uint64_t data, std::vector<uint32_t> devices = {0}) {
    return aclprofCreateConfig(devices.data(), static_cast<uint32_t>(devices.size()), ACL_AICORE_NONE,
                               nullptr, data);
  }
  // A fill on the stream, which has ended.
  void Work(aclrtStream stream, int times = 1) {
    void* block = nullptr;
    ASSERT_EQ(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    for (int i = 0; i < times; ++i) ASSERT_EQ(aclrtMemsetAsync(block, 4096, i, 4096, stream), ACL_SUCCESS);
    ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    ASSERT_EQ(aclrtFree(block), ACL_SUCCESS);
  }

  // The profiles' folders, in the order in which they were begun.
  std::vector<std::filesystem::path> Profiles() const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
  }
  static std::filesystem::path FileOf(const std::filesystem::path& profile, const std::string& table) {
    for (const auto& file : std::filesystem::recursive_directory_iterator(profile)) {
      if (file.path().filename().string().rfind(table + "_2", 0) == 0) return file.path();
    }
    return {};
  }
  static std::vector<Row> Table(const std::filesystem::path& profile, const std::string& table) {
    std::ifstream in(FileOf(profile, table));
    std::vector<std::string> columns;
    std::vector<Row> rows;
    for (std::string line; std::getline(in, line);) {
      const std::vector<std::string> cells = Split(line);
      if (columns.empty()) {
        columns = cells;
        continue;
      }
      Row row;
      for (size_t i = 0; i < std::min(cells.size(), columns.size()); ++i) row[columns[i]] = cells[i];
      rows.push_back(std::move(row));
    }
    return rows;
  }
  std::vector<Row> Table(const std::string& table) const { return Table(Profiles().at(0), table); }

  const TempFolder room_;
  const std::string folder_ = room_.path();

 private:
  static std::vector<std::string> Split(const std::string& line) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      if (c == ',' && !quoted) {
        cells.emplace_back();
      } else if (c != '"') {
        cells.back() += c;
      }
    }
    return cells;
  }
};

}  // namespace conformance
