#include "collective/root.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/hcclresult_codes.h"
#include "collective/bootstrap.h"
#include "collective/sockets.h"
#include "collective/watch.h"
#include "runtime/process.h"

namespace belay::coll {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

class RootTest : public testing::Test {
 protected:
  void SetUp() override { rt::Start(-1); }
  void TearDown() override {
    Watch::Get().End();
    rt::Stop();
  }
  static Meeting MeetingAt(const RootInfo& root, uint32_t rank, uint32_t ranks) {
    Meeting meeting;
    meeting.root = root;
    meeting.rank = rank;
    meeting.ranks = ranks;
    meeting.staging_bytes = 4096;
    meeting.timeout_ns = 60 * kSecond;
    return meeting;
  }
  static Error FailureOf(const Meeting& meeting) {
    try {
      Joining(meeting).Finish();
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "nothing was thrown";
    return Error(0, "", "");
  }
};

TEST_F(RootTest, AllShareOneMemory) {
  const RootInfo root = Root::Start();
  Joining first(MeetingAt(root, 0, 2));
  Joining second(MeetingAt(root, 1, 2));
  std::unique_ptr<Membership> a = first.Finish();
  std::unique_ptr<Membership> b = second.Finish();
  ASSERT_EQ(a->board.bytes, b->board.bytes);
  EXPECT_NE(a->board.memory, b->board.memory);
  a->board.memory[a->board.bytes - 1] = std::byte{42};
  EXPECT_EQ(b->board.memory[a->board.bytes - 1], std::byte{42});
  EXPECT_EQ(a->peers[1].process, getpid());
  EXPECT_EQ(a->root_rank, 0u);
}

// Whoever does not know the secret gets no answer, and does no harm.
TEST_F(RootTest, StrangersGetNoAnswer) {
  const RootInfo root = Root::Start();
  RootInfo guess = root;
  guess.secret[7] ^= 1;
  const Error error = FailureOf(MeetingAt(guess, 0, 1));
  EXPECT_EQ(error.code(), codes::kHcclERemote);
  for (size_t length : {size_t{1}, size_t{12}, size_t{4000}}) {
    Descriptor line = ConnectLocal(LocalNameOf(root.id));
    ASSERT_TRUE(line);
    const std::vector<std::byte> noise(length, std::byte{0x42});
    EXPECT_TRUE(Send(line, noise));
    if (length >= 12) {
      std::array<std::byte, 64> answer;
      size_t count = 0;
      EXPECT_TRUE(AwaitReadable(line, INT64_MAX));
      EXPECT_EQ(Receive(line, answer, &count, nullptr), Received::kEnd);
    }
  }
  EXPECT_EQ(Joining(MeetingAt(root, 0, 1)).Finish()->peers.size(), 1u);
}

// A rank of another machine comes over the internet's socket; so far it is told that this cannot be.
TEST_F(RootTest, RanksOfAnotherMachineAreRefusedByName) {
  RootInfo root = Root::Start();
  Joining here(MeetingAt(root, 0, 2));
  RootInfo elsewhere = root;
  elsewhere.host[0] ^= 1;
  const Error there = FailureOf(MeetingAt(elsewhere, 1, 2));
  EXPECT_EQ(there.code(), codes::kHcclENotSupport);
  EXPECT_THAT(there.sentence(), testing::HasSubstr("rank 1"));
  try {
    here.Finish();
    ADD_FAILURE() << "rank 0 met nobody";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), codes::kHcclENotSupport);
    EXPECT_THAT(error.sentence(), testing::HasSubstr("another machine"));
  }
}

TEST_F(RootTest, TheMeetingPointEndsWithTheLastRank) {
  const RootInfo root = Root::Start();
  { std::unique_ptr<Membership> alone = Joining(MeetingAt(root, 0, 1)).Finish(); }
  while (ConnectLocal(LocalNameOf(root.id))) std::this_thread::yield();
  EXPECT_EQ(FailureOf(MeetingAt(root, 0, 1)).code(), codes::kHcclETcpConnect);
}

TEST_F(RootTest, TheSettingsOfTheListenerAreHonoured) {
  Address address;
  uint16_t port = 0;
  setenv("HCCL_IF_IP", "127.0.0.1", 1);
  setenv("HCCL_HOST_SOCKET_PORT_RANGE", "61234-61299", 1);
  std::vector<Descriptor> all;
  for (int i = 0; i < 3; ++i) {
    all.push_back(ListenTcp(&address, &port));
    EXPECT_TRUE(port >= 61234 && port <= 61299) << port;
    EXPECT_EQ(TextOf(address), "127.0.0.1");
  }
  setenv("HCCL_HOST_SOCKET_PORT_RANGE", std::to_string(port).c_str(), 1);
  EXPECT_THROW(ListenTcp(&address, &port), Error);
  unsetenv("HCCL_HOST_SOCKET_PORT_RANGE");
  setenv("HCCL_IF_IP", "nowhere", 1);
  EXPECT_THROW(ListenTcp(&address, &port), Error);
  unsetenv("HCCL_IF_IP");
  setenv("HCCL_SOCKET_IFNAME", "=lo", 1);
  EXPECT_TRUE(ListenTcp(&address, &port));
  EXPECT_EQ(TextOf(address), "127.0.0.1");
  setenv("HCCL_SOCKET_IFNAME", "=no-such-one", 1);
  EXPECT_THROW(ListenTcp(&address, &port), Error);
  unsetenv("HCCL_SOCKET_IFNAME");
}

}  // namespace
}  // namespace belay::coll
