#include "layers/trace/file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace belay::trace {
namespace {

uint64_t Varint(const std::string& bytes, size_t* at) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.at((*at)++));
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
}

// The packets of a file, each as its fields of numbers; those that say nothing are left out.
std::vector<std::map<uint64_t, uint64_t>> ReadPackets(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::map<uint64_t, uint64_t>> packets;
  for (size_t at = 0; at < bytes.size();) {
    EXPECT_EQ(bytes.at(at++), 0x0a);
    const size_t length = Varint(bytes, &at), end = at + length;
    std::map<uint64_t, uint64_t> packet;
    while (at < end) {
      const uint64_t tag = Varint(bytes, &at);
      if ((tag & 7) == 0) packet[tag >> 3] = Varint(bytes, &at);
      if ((tag & 7) == 1) at += 8;
      if ((tag & 7) == 2) {
        const size_t inner = Varint(bytes, &at);
        at += inner;
        if (tag >> 3 != fields::kNothing) packet[tag >> 3] = inner;
      }
    }
    EXPECT_EQ(at, end);
    if (!packet.empty()) packets.push_back(packet);
  }
  return packets;
}

class Files : public testing::Test {
 protected:
  Files() {
    path_ = testing::TempDir() + "belay-trace-XXXXXX";
    close(mkstemp(path_.data()));
  }
  ~Files() override { unlink(path_.c_str()); }

  // Packets of growing sizes, with their numbers as times.
  static void Fill(File& file, uint64_t count) {
    Sequence sequence;
    sequence.Begin(file);
    for (uint64_t i = 1; i <= count; ++i) {
      Packet packet;
      packet.Number(fields::kTimestamp, i);
      packet.Number(fields::kSequenceFlags, 2);
      const size_t event = packet.Open(fields::kTrackEvent);
      packet.Text(23, std::string(i % 300, 'x'));
      packet.Close(event);
      sequence.Write(packet);
    }
  }
  std::string path_;
};

TEST_F(Files, HoldEveryPacketOfEveryThreadInItsOrder) {
  File file(path_);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back([&] { Fill(file, 1000); });
  for (std::thread& t : threads) t.join();
  std::map<uint64_t, uint64_t> latest;
  for (auto& packet : ReadPackets(path_)) {
    EXPECT_EQ(packet[fields::kTimestamp], ++latest[packet[fields::kSequence]]);
  }
  EXPECT_EQ(latest.size(), 4u);
  for (const auto& [sequence, last] : latest) EXPECT_EQ(last, 1000u);
}

TEST_F(Files, ProcessesShareOne) {
  for (int p = 0; p < 2; ++p) {
    if (fork() == 0) {
      File file(path_);
      Fill(file, 500);
      _exit(0);
    }
  }
  while (wait(nullptr) > 0) {
  }
  EXPECT_EQ(ReadPackets(path_).size(), 1000u);
}

// Wherever a program is ended.
TEST_F(Files, CanBeReadWhenTheirWriterIsKilled) {
  for (int round = 0; round < 5; ++round) {
    int tell[2];
    ASSERT_EQ(pipe(tell), 0);
    const pid_t child = fork();
    if (child == 0) {
      File file(path_);
      Fill(file, 100);
      [[maybe_unused]] ssize_t told = write(tell[1], "x", 1);
      Fill(file, 20'000);
      pause();
    }
    close(tell[1]);
    char begun;
    ASSERT_EQ(read(tell[0], &begun, 1), 1);
    close(tell[0]);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    std::map<uint64_t, uint64_t> latest;
    for (auto& packet : ReadPackets(path_)) {
      EXPECT_EQ(packet[fields::kTimestamp], ++latest[packet[fields::kSequence]]);
    }
    EXPECT_GE(latest[1], 100u);
    ASSERT_EQ(truncate(path_.c_str(), 0), 0);
  }
}

TEST_F(Files, StopWhereThereIsNoRoomAndSayItOnce) {
  const rlimit limit{3 * File::kPiece + 100, RLIM_INFINITY};
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  testing::internal::CaptureStderr();
  File file(path_);
  setrlimit(RLIMIT_FSIZE, &limit);
  Fill(file, 10'000);
  Fill(file, 10);
  setrlimit(RLIMIT_FSIZE, &before);
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_EQ(told, "belay trace: cannot write to " + path_ +
                      ": File too large; the program goes on, what was written stays\n");
  EXPECT_TRUE(file.stopped());
  EXPECT_EQ(std::filesystem::file_size(path_), 3 * File::kPiece);
  EXPECT_GT(ReadPackets(path_).size(), 300u);
}

TEST_F(Files, ThatCannotBeOpenedAreTold) {
  testing::internal::CaptureStderr();
  File file("/nonexistent/trace");
  Fill(file, 1);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("/nonexistent/trace: No such file"),
            std::string::npos);
}

}  // namespace
}  // namespace belay::trace
