#include "collective/root.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/hcclresult_codes.h"
#include "collective/bootstrap.h"
#include "collective/carrier.h"
#include "collective/sockets.h"
#include "collective/testing.h"
#include "collective/watch.h"
#include "runtime/process.h"

namespace belay::coll {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

class RootTest : public ::testing::Test {
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

// What comes right behind the welcome is for the communicator.
TEST_F(RootTest, WhoEndsAtOnceIsKnownToWhoWakesLater) {
  const RootInfo root = Root::Start();
  std::deque<Joining> all;
  for (uint32_t rank = 0; rank < 3; ++rank) {
    Meeting meeting = MeetingAt(root, rank, 3);
    meeting.host = Digest("another");  // over TCP, where nothing keeps messages apart
    all.emplace_back(meeting);
  }
  all[1].Finish().reset();
  const auto third = all[2].Finish();
  ASSERT_TRUE(AwaitReadable(third->line, NowNs() + 60 * kSecond));  // the first was told before
  const auto first = all[0].Finish();
  std::array<std::byte, 64> bytes;
  size_t count = 0;
  ASSERT_EQ(Receive(first->line, bytes, &count), Received::kBytes);
  Inbox inbox(sizeof(Event));
  inbox.Append(std::span(bytes).first(count));
  const auto message = inbox.Take();
  ASSERT_TRUE(message);
  EXPECT_EQ(DecodeEvent(message->body).rank, 1u);
}

// More than are listened to at once wait, and are not sent away.
TEST_F(RootTest, WhoComesBehindManyOthersIsHeardLater) {
  const RootInfo root = Root::Start();
  std::vector<Descriptor> silent;
  while (silent.size() < 300) {
    Descriptor made = ConnectLocal(LocalNameOf(root.id));
    if (made) silent.push_back(std::move(made));
    if (silent.size() >= 256 && !made) break;  // so many wait already
  }
  Joining rank(MeetingAt(root, 0, 1));
  silent.clear();
  EXPECT_EQ(rank.Finish()->peers.size(), 1u);
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
      EXPECT_EQ(Receive(line, answer, &count), Received::kEnd);
    }
  }
  EXPECT_EQ(Joining(MeetingAt(root, 0, 1)).Finish()->peers.size(), 1u);
}

// As if it were on another machine.
class Elsewhere {
 public:
  explicit Elsewhere(const char* name) { setenv("BELAY_COLLECTIVE_HOST", name, 1); }
  ~Elsewhere() { unsetenv("BELAY_COLLECTIVE_HOST"); }
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;
};

// Ranks of another machine come over the internet's socket. Those of one machine share memory.
TEST_F(RootTest, RanksOfSeveralMachinesMeet) {
  const RootInfo root = Root::Start();
  std::deque<Joining> all;
  const char* const hosts[] = {"b", "", "b", "c"};
  for (uint32_t rank = 0; rank < 4; ++rank) {
    std::optional<Elsewhere> elsewhere;
    if (hosts[rank][0] != 0) elsewhere.emplace(hosts[rank]);
    all.emplace_back(MeetingAt(root, rank, 4));
  }
  std::vector<std::unique_ptr<Membership>> members;
  for (Joining& joining : all) members.push_back(joining.Finish());
  for (const auto& member : members) {
    ASSERT_TRUE(member->hosts);
    EXPECT_EQ(member->hosts->of, (std::vector<uint32_t>{1, 0, 1, 2}));
    EXPECT_EQ(member->hosts->leaders, (std::vector<uint32_t>{1, 0, 3}));
    EXPECT_EQ(member->places.size(), 3u);
    EXPECT_NE(member->places[1].place.port, 0);
    EXPECT_EQ(member->root_is_here, member->rank == 1);
    EXPECT_EQ(bool(member->memory), member->rank != 2);
    EXPECT_EQ(bool(member->listener), member->rank != 2);
  }
  EXPECT_EQ(members[0]->hosts->own, 1u);
  const size_t last = members[0]->board.bytes - 1;
  members[0]->board.memory[last] = std::byte{42};
  EXPECT_EQ(members[2]->board.memory[last], std::byte{42});
  EXPECT_EQ(members[1]->board.memory[last], std::byte{0});
}

// A part of a group, all of whose ranks are on one machine, but not the meeting point's.
TEST_F(RootTest, RanksOfOneMachineMeetElsewhere) {
  const RootInfo root = Root::Start();
  const Elsewhere elsewhere("b");
  Joining first(MeetingAt(root, 0, 2));
  Joining second(MeetingAt(root, 1, 2));
  std::unique_ptr<Membership> a = first.Finish();
  std::unique_ptr<Membership> b = second.Finish();
  EXPECT_FALSE(a->hosts);
  a->board.memory[a->board.bytes - 1] = std::byte{42};
  EXPECT_EQ(b->board.memory[a->board.bytes - 1], std::byte{42});
}

// Machines that have a rank each, and make their connections once they need them.
class ManyMachines : public RootTest, public ::testing::WithParamInterface<uint32_t> {
 protected:
  void Meet() {
    const RootInfo root = Root::Start();
    std::deque<Joining> all;
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      Meeting meeting = MeetingAt(root, rank, ranks_);
      meeting.host = Digest("machine " + std::to_string(rank));
      all.emplace_back(meeting);
    }
    rt::Context* context = rt::Contexts().Find(rt::CreateContext(rt::DeviceAt(0), false));
    for (Joining& joining : all) {
      Membership& made = *members_.emplace_back(joining.Finish());
      ASSERT_TRUE(made.hosts);
      boards_.emplace_back(made.board.memory, made.rank, ranks_, made.board.staging_bytes_per_rank, "g",
                           made.hosts);
      boards_.back().SetCourier(Carrier::Start(made, "g"));
      streams_.push_back(&context->CreateStream({}));
    }
  }
  void Wait(uint32_t rank) {
    rt::TheEngine().WaitFor(*streams_[rank], streams_[rank]->tail(), -1);
    const std::optional<rt::TaskFailure> failure = streams_[rank]->TakeFailure();
    ASSERT_FALSE(failure) << failure->Sentence();
  }
  void Leave(uint32_t first, uint32_t end) {
    for (uint32_t rank = first; rank < end; ++rank) boards_[rank].SayGoodbye();
  }
  // All have left.
  void ExpectWell() {
    Carrier::EndAll();
    for (const Board& board : boards_) EXPECT_FALSE(board.failed());
  }
  void Run(const testing::Case& c) {
    for (uint32_t rank = 0; rank < ranks_; ++rank)
      Submit(boards_[rank], nullptr, *streams_[rank], c.calls[rank]);
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      ASSERT_NO_FATAL_FAILURE(Wait(rank));
      const testing::Bytes& expected = c.expected[rank];
      EXPECT_EQ(std::memcmp(c.calls[rank].receive, expected.data(), expected.size()), 0) << rank;
    }
  }
  const uint32_t ranks_ = GetParam();
  std::vector<std::unique_ptr<Membership>> members_;
  std::deque<Board> boards_;
  std::vector<rt::Stream*> streams_;
};

// More than 16 hand on for others though nobody has asked for it.
TEST_P(ManyMachines, WorkTogether) {
  ASSERT_NO_FATAL_FAILURE(Meet());
  for (const auto& member : members_)
    EXPECT_EQ(member->hosts->kind, ranks_ > 16 ? WayKind::kDoubling : WayKind::kDirect);
  for (const Kind kind : {Kind::kAllReduce, Kind::kAllToAll}) {
    ASSERT_NO_FATAL_FAILURE(
        Run(testing::MakeCase(kind, tensor::DType::kF32, Reduction::kSum, 3000, ranks_, 0, false, 1)));
  }
  const Way way = members_[0]->hosts->way();
  for (uint32_t a = 0; a < ranks_; ++a) {
    for (uint32_t b = 0; b < ranks_; ++b) {
      if (a != b) EXPECT_EQ(boards_[a].outbox().linked(b), way.AreNeighbours(a, b)) << a << " and " << b;
    }
  }
  Leave(0, ranks_);
  ExpectWell();
}

// Those between have left before anybody has come to them, and are needed all the same where they hand on.
TEST_P(ManyMachines, AreReachedOverThoseThatHaveLeft) {
  ASSERT_NO_FATAL_FAILURE(Meet());
  const uint32_t last = ranks_ - 1;
  Leave(1, last);
  std::vector<float> given(3000, 7), got(given.size());
  const auto submit = [&](uint32_t from, uint32_t to, float* data) {
    Operation message;
    message.kind = from == 0 ? Kind::kSend : Kind::kReceive;
    message.count = given.size();
    message.root = to;
    message.messages = {{from == 0, data, given.size(), tensor::DType::kF32, to}};
    Submit(boards_[from], nullptr, *streams_[from], message);
  };
  submit(0, last, given.data());
  submit(last, 0, got.data());
  ASSERT_NO_FATAL_FAILURE(Wait(0));
  ASSERT_NO_FATAL_FAILURE(Wait(last));
  EXPECT_EQ(got, given);
  Leave(0, 1);
  Leave(last, ranks_);
  ExpectWell();
}
INSTANTIATE_TEST_SUITE_P(Of, ManyMachines, ::testing::Values(5u, 18u));

TEST_F(RootTest, WhoComesOverTheNetworkFromHereIsRefused) {
  RootInfo root = Root::Start();
  root.host[0] ^= 1;
  const Error there = FailureOf(MeetingAt(root, 1, 2));
  EXPECT_EQ(there.code(), codes::kHcclEPara);
  EXPECT_THAT(there.sentence(), ::testing::HasSubstr("rank 1"));
}

TEST_F(RootTest, TheMeetingPointEndsWithTheLastRank) {
  const RootInfo root = Root::Start();
  { std::unique_ptr<Membership> alone = Joining(MeetingAt(root, 0, 1)).Finish(); }
  // Until nobody listens: a queue that is full of these calls refuses, too, with EAGAIN.
  while (ConnectLocal(LocalNameOf(root.id)) || errno != ECONNREFUSED)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
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
