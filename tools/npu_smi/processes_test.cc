#include "npu_smi/processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace belay::npu_smi {
namespace {

using testing::ElementsAre;
namespace fs = std::filesystem;

constexpr const char* kDeviceMemory =
    "7f0000000000-7f0004000000 rw-p 00000000 00:00 0\nRss:  %KB% kB\nVmFlags: rd wr mr mw me dc nr "
    "hg\n"
    "7f0004000000-7f0008000000 ---p 00000000 00:00 0\nRss:      0 kB\nVmFlags: mr mw me dc nr hg\n"
    "7f0008000000-7f0009000000 rw-p 00000000 00:00 0\nRss:   9999 kB\nVmFlags: rd wr mr mw me nr hg\n";

class Processes : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/belay_proc_XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    proc_ = folder;
    fs::create_directories(proc_ / "self");
  }
  void TearDown() override { fs::remove_all(proc_); }

  void Add(const std::string& pid, const std::string& environment, const std::string& kilobytes,
           const std::string& library = "/opt/lib64/libbelay_core.so") {
    fs::create_directories(proc_ / pid);
    std::string smaps = kDeviceMemory;
    smaps.replace(smaps.find("%KB%"), 4, kilobytes);
    Write(pid, "maps", "7f00-7f01 r-xp 00000000 00:00 0  " + library + "\n");
    Write(pid, "smaps", kilobytes.empty() ? "Rss: 1 kB\nVmFlags: rd wr\n" : smaps);
    Write(pid, "environ", environment);
    Write(pid, "comm", "program_" + pid + "\n");
  }
  void Write(const std::string& pid, const char* name, const std::string& text) {
    std::ofstream(proc_ / pid / name, std::ios::binary) << text;
  }
  std::vector<Process> Read(size_t devices) { return ReadProcesses(devices, proc_.string()); }

  fs::path proc_;
};

TEST_F(Processes, AreThoseWhoseRuntimeRuns) {
  Add("30", "", "65536");
  Add("20", "", "2048");
  Add("40", "", "2048", "/lib/libc.so.6");
  Add("50", "", "");  // loaded, not started
  std::vector<Process> processes = Read(1);
  ASSERT_EQ(processes.size(), 2u);
  EXPECT_EQ(processes[0].pid, 20);
  EXPECT_EQ(processes[1].name, "program_30");
  EXPECT_EQ(processes[1].memory_mb, 64u);
  EXPECT_THAT(processes[1].devices, ElementsAre(0));
}

TEST_F(Processes, SeeTheDevicesOfTheirEnvironment) {
  using namespace std::string_literals;
  Add("1", "", "2048");
  Add("2", "A=1\0ASCEND_RT_VISIBLE_DEVICES=2,0,9\0"s, "2048");
  Add("3", "ASCEND_RT_VISIBLE_DEVICES=1\0"s, "2048");
  Add("4", "BELAY_DEVICES=2\0B=\0"s, "2048");
  std::vector<Process> processes = Read(3);
  ASSERT_EQ(processes.size(), 4u);
  EXPECT_THAT(processes[0].devices, ElementsAre(0, 1, 2));
  EXPECT_THAT(processes[1].devices, ElementsAre(2, 0));
  EXPECT_THAT(processes[2].devices, ElementsAre(1));
  EXPECT_THAT(processes[3].devices, ElementsAre(0, 1));
  EXPECT_EQ(processes[1].memory_mb, 0u) << "in which of the two is not known";
  EXPECT_EQ(processes[2].memory_mb, 2u);

  std::vector<Device> devices(3);
  AddUse(processes, devices);
  EXPECT_EQ(devices[0].used_mb, 0u);
  EXPECT_EQ(devices[1].used_mb, 2u);
}

// A process that ends between the opening of a file and its reading: the first gives a descriptor, the second
// an error, as a folder does.
TEST_F(Processes, ThatEndMeanwhileAreLeftOut) {
  Add("7", "", "2048");
  Add("8", "", "2048");
  Add("9", "", "2048");
  for (const char* gone : {"7/maps", "9/smaps"}) {
    fs::remove(proc_ / gone);
    fs::create_directory(proc_ / gone);
  }
  std::vector<Process> processes = Read(1);
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].pid, 8);
}

TEST_F(Processes, NothingIsThereWhereNothingCanBeRead) {
  EXPECT_TRUE(ReadProcesses(1, "/no/such/folder").empty());
}

}  // namespace
}  // namespace belay::npu_smi
