// What a carrier believes of who connects to it, and of what comes then.
#include "collective/carrier.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "collective/sockets.h"

namespace belay::coll {
namespace {

constexpr size_t kStaging = 4096;
constexpr int64_t kMinute = int64_t{60} * 1'000'000'000;

// Rank 0 here, whose process carries, and rank 1 on another host, which is the test; so are those of more
// hosts.
class CarrierTest : public ::testing::Test {
 protected:
  CarrierTest() : CarrierTest({0, 1}, WayKind::kDirect) {}
  CarrierTest(const std::vector<uint32_t>& ranks, WayKind way) {
    Hosts hosts;
    hosts.of = hosts.leaders = ranks;
    hosts.kind = way;
    bytes_ = Board::Bytes(hosts.ranks(), kStaging) + Outbox::Bytes(hosts);
    memory_ = static_cast<std::byte*>(
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    plan_.shared = {memory_, bytes_, kStaging};
    plan_.hosts = std::make_shared<const Hosts>(hosts);
    plan_.name = "g";
    board_ = std::make_unique<Board>(memory_, 0, hosts.ranks(), kStaging, "g", plan_.hosts);
  }
  ~CarrierTest() override {
    carrier_.reset();
    board_.reset();
    munmap(memory_, bytes_);
  }
  void Connect() {
    std::vector<Descriptor> sockets(plan_.hosts->count());
    for (uint32_t host = 1; host < sockets.size(); ++host) {
      int pair[2] = {-1, -1};
      ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
      sockets[host] = Descriptor(pair[0]);
      (host == 1 ? test_ : third_) = Descriptor(pair[1]);
    }
    carrier_ = std::make_shared<Carrier>(std::move(plan_), std::move(sockets));
  }
  void Say(const Frame& frame) { SayBy(test_, frame); }
  static void SayBy(const Descriptor& socket, const Frame& frame) {
    Send(socket, std::as_bytes(std::span(&frame, 1)));
  }
  uint64_t Offset(const void* at) const {
    return static_cast<uint64_t>(static_cast<const std::byte*>(at) - memory_);
  }
  std::string Failure() {
    while (!board_->failed()) std::this_thread::yield();
    return board_->Failure().sentence();
  }
  Frame Next() {
    std::array<std::byte, sizeof(Frame)> bytes;
    for (size_t done = 0, count = 0; done < bytes.size(); done += count) {
      EXPECT_TRUE(AwaitReadable(test_, NowNs() + kMinute));
      if (Receive(test_, std::span(bytes).subspan(done), &count) != Received::kBytes) return {};
    }
    Frame frame;
    std::memcpy(&frame, bytes.data(), sizeof frame);
    return frame;
  }

  size_t bytes_ = 0;
  std::byte* memory_ = nullptr;
  CarrierPlan plan_;
  std::unique_ptr<Board> board_;
  std::shared_ptr<Carrier> carrier_;
  Descriptor test_;
  Descriptor third_;  // of host 2
};

class StrangeFrames : public CarrierTest, public ::testing::WithParamInterface<int> {};

TEST_P(StrangeFrames, EndTheGroup) {
  const uint64_t own = Offset(board_->staging(0, 0)), theirs = Offset(board_->staging(1, 0));
  const uint64_t words = Offset(&board_->counters(1));
  const Frame frames[] = {
      {static_cast<FrameKind>(0), 0, 0, 0},
      {static_cast<FrameKind>(99), 0, 0, 0},
      {FrameKind::kBytes, 8, own, 0},
      {FrameKind::kBytes, 8, own - 4, 0},
      {FrameKind::kBytes, 1u << 30, theirs, 0},
      {FrameKind::kBytes, 8, bytes_, 0},
      {FrameKind::kBytes, 8, UINT64_MAX - 3, 0},
      {FrameKind::kWord, 0, words + 4, 1},
      {FrameKind::kWord, 0, 0, 1},
      {FrameKind::kWord, 0, Offset(&board_->channel(1, 0).receiver.moved), 1},
      {FrameKind::kLeft, 0, 0, 0},
      {FrameKind::kLeft, 2, 0, 0},
      {FrameKind::kFailed, 5000, 0, 0},
      {FrameKind::kFailed, 0, 3, 0},
      {FrameKind::kAddress, 0, 0, 0},
      {FrameKind::kBytes, 8, theirs, 1},
      {FrameKind::kBytes, 8, theirs, UINT64_MAX},
      {FrameKind::kWord, 3, words, 1},
  };
  ASSERT_EQ(std::size(frames), 18u);
  Connect();
  Say(frames[GetParam()]);
  EXPECT_THAT(Failure(), ::testing::HasSubstr("rank 1 of communicator \"g\", on another machine, sent what"));
}

INSTANTIATE_TEST_SUITE_P(Each, StrangeFrames, ::testing::Range(0, 18));

// Whatever comes, nothing is written but what the ranks there own.
TEST_F(CarrierTest, RandomFrames) {
  Connect();
  std::mt19937_64 random(1);
  const uint64_t places[] = {Offset(board_->staging(1, 0)),  Offset(board_->staging(0, 0)),
                             Offset(&board_->counters(1)),   Offset(&board_->announcement(1, 0)),
                             Offset(&board_->channel(1, 0)), Offset(&board_->channel(0, 1))};
  std::memset(board_->staging(0, 0), 0x5a, 2 * board_->half_bytes());
  for (int i = 0; i < 5000 && !board_->failed(); ++i) {
    const bool bytes = random() % 2 == 0;  // most of them for the host here, or for all
    Frame frame{bytes ? FrameKind::kBytes : FrameKind::kWord,
                static_cast<uint32_t>(random() % (bytes ? 64 : 3)),
                places[random() % std::size(places)] + random() % 128 * 4, bytes ? random() % 3 : random()};
    Say(frame);
    const std::vector<std::byte> body(frame.kind == FrameKind::kBytes ? frame.bytes : 0);
    if (!body.empty()) Send(test_, body);
  }
  Failure();
  for (size_t i = 0; i < 2 * board_->half_bytes(); ++i)
    ASSERT_EQ(board_->staging(0, 0)[i], std::byte{0x5a}) << i;
}

TEST_F(CarrierTest, FramesComeInPieces) {
  Connect();
  std::vector<std::byte> all;
  const auto add = [&](const auto& what) {
    const auto bytes = std::as_bytes(std::span(what));
    all.insert(all.end(), bytes.begin(), bytes.end());
  };
  std::vector<uint8_t> body(3000);
  for (size_t i = 0; i < body.size(); ++i) body[i] = static_cast<uint8_t>(i * 7);
  const std::string sentence = "it rains";
  for (uint64_t word : {1, 2}) {
    add(std::array{Frame{FrameKind::kBytes, 3000, Offset(board_->staging(1, 0)), 0}});
    add(body);
    add(std::array{Frame{FrameKind::kWord, 0, Offset(&board_->counters(1).taken), word}});
  }
  add(std::array{Frame{FrameKind::kFailed, static_cast<uint32_t>(sentence.size()), 1, 2}});
  add(sentence);
  for (size_t at = 0; at < all.size(); at += 7) {
    while (!Send(test_, std::span(all).subspan(at, std::min<size_t>(7, all.size() - at))))
      std::this_thread::yield();  // until it takes more
  }
  EXPECT_EQ(Failure(), sentence);
  EXPECT_EQ(board_->counters(1).taken.load(), 2u);
  EXPECT_EQ(std::memcmp(board_->staging(1, 0), body.data(), body.size()), 0);
}

TEST_F(CarrierTest, ARankCarriesWhileItLooks) {
  Connect();
  board_->SetCourier(carrier_);
  const std::atomic<uint64_t>& word = board_->counters(1).taken;
  for (uint64_t turn = 1; turn < 50; ++turn) {
    board_->BeginLooking();
    Say({FrameKind::kWord, 0, Offset(&word), 3 * turn});
    while (word.load() != 3 * turn) board_->Look();
    Say({FrameKind::kWord, 0, Offset(&word), 3 * turn + 1});
    EXPECT_TRUE(board_->SleepLooking(1));
    board_->Publish(board_->counters(0).taken, turn, 1);
    board_->Flush();
    const Frame frame = Next();
    EXPECT_EQ(frame.kind, FrameKind::kWord);
    EXPECT_EQ(frame.value, turn);
    carrier_->EndLooking(turn % 2 == 0);
    while (word.load() != 3 * turn + 1) std::this_thread::yield();  // by itself
    Say({FrameKind::kWord, 0, Offset(&word), 3 * turn + 2});
    while (word.load() != 3 * turn + 2) std::this_thread::yield();
  }
  EXPECT_FALSE(board_->failed());
}

// More than the connection takes at once: the rest goes when there is room, whether the rank looks or not.
TEST_F(CarrierTest, WhatTheConnectionDoesNotTakeGoesLater) {
  for (const bool looks : {true, false}) {
    if (carrier_ == nullptr) Connect();
    board_->SetCourier(carrier_);
    std::vector<std::byte> got(sizeof(Frame) + 4000);
    constexpr int kParcels = 60;
    board_->BeginLooking();
    for (int i = 0; i < kParcels; ++i) board_->Share(board_->staging(0, 0), 4000, 1);
    board_->Publish(board_->counters(0).taken, 1, 1);
    board_->Flush();
    if (!looks) board_->EndLooking();
    for (size_t done = 0, count = 0; done < kParcels * got.size() + sizeof(Frame);) {
      if (looks) board_->Look();
      const Received received = Receive(test_, got, &count);
      ASSERT_NE(received, Received::kEnd);
      if (received == Received::kBytes) done += count;
    }
    if (looks) board_->EndLooking();
  }
}

// In a ring all comes from host 2 and goes on to host 1.
class RingOfThree : public CarrierTest {
 protected:
  RingOfThree() : CarrierTest({0, 1, 2}, WayKind::kRing) { Connect(); }
};

TEST_F(RingOfThree, WhatIsForAnotherHostGoesOnAndIsNotForThis) {
  const std::atomic<uint64_t>& word = board_->counters(2).taken;
  for (const uint32_t to : {1u, 3u}) {  // host 1, all
    SayBy(third_, {FrameKind::kWord, to, Offset(&word), 7});
    const Frame frame = Next();
    EXPECT_EQ(frame.kind, FrameKind::kWord);
    EXPECT_EQ(frame.at, Offset(&word));
    EXPECT_EQ(frame.value, 7u);
    if (to == 1) EXPECT_EQ(word.load(), 0u);
  }
  while (word.load() != 7) std::this_thread::yield();
  EXPECT_FALSE(board_->failed());
}

TEST_F(RingOfThree, WhatComesAnotherWayEndsTheGroup) {
  Say({FrameKind::kWord, 3, Offset(&board_->counters(1).taken), 7});
  EXPECT_THAT(Failure(), ::testing::HasSubstr("rank 1 of communicator \"g\", on another machine, sent what"));
}

TEST_F(RingOfThree, WhatHasComePastItsHostEndsTheGroup) {
  SayBy(third_, {FrameKind::kWord, 2, Offset(&board_->counters(1).taken), 7});
  EXPECT_THAT(Failure(), ::testing::HasSubstr("rank 2 of communicator \"g\", on another machine, sent what"));
}

// Once all ranks here have left, who carries sends what there is, and ends. So a goodbye is said when it has
// been put, which takes until there is room for it.
TEST_F(CarrierTest, AGoodbyeIsPutBeforeItIsSaid) {
  struct MakesRoom final : Courier {
    explicit MakesRoom(Board& of) : board(of) {}
    bool Push(uint32_t host) noexcept override {
      left_before |= board.SaidGoodbye(0);
      return board.outbox().Take(0, host, &last);
    }
    void BeginLooking() noexcept override {}
    bool Look() noexcept override { return false; }
    void EndLooking(bool) noexcept override {}
    bool Sleep(int64_t) noexcept override { return false; }
    Board& board;
    bool left_before = false;
    Parcel last;
  };
  while (board_->outbox().Put(0, 1, {ParcelKind::kWord, 1, Offset(&board_->counters(0)), 1})) {
  }
  const auto courier = std::make_shared<MakesRoom>(*board_);
  board_->SetCourier(courier);
  board_->SayGoodbye();
  EXPECT_FALSE(courier->left_before);
  EXPECT_TRUE(board_->SaidGoodbye(0));
  while (courier->Push(1)) {
  }
  EXPECT_EQ(courier->last.kind, ParcelKind::kLeft);
}

// A goodbye alone is no reason to make a connection.
TEST_F(CarrierTest, AGoodbyeAloneIsNotWantedThere) {
  board_->SayGoodbye();
  EXPECT_FALSE(board_->outbox().Wants(1));
  Parcel goodbye;
  EXPECT_TRUE(board_->outbox().Take(0, 1, &goodbye));
  board_->ShareWord(board_->counters(0).taken, 1, 1);
  EXPECT_TRUE(board_->outbox().Wants(1));
}

// A host that this one reaches: its word is still to come when the meeting point says that its rank has left.
class CarrierThatBegins : public CarrierTest {
 protected:
  CarrierThatBegins() {
    Address address;
    Place there;
    plan_.places.resize(2);
    const Descriptor listener = ListenTcp(&address, &there.port);
    there.is_v6 = address.is_v6 ? 1 : 0;
    there.address = address.bytes;
    plan_.places[1].place = there;
    uint16_t port = 0;
    plan_.listener = ListenTcp(&address, &port);
    plan_.timeout_ns = kMinute;
    carrier_ = std::make_shared<Carrier>(std::move(plan_));
    board_->Publish(board_->counters(0).taken, 1, 1);
    EXPECT_TRUE(AwaitReadable(listener, NowNs() + kMinute));
    test_ = Descriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    EXPECT_TRUE(AwaitReadable(test_, NowNs() + kMinute));  // its hello
  }
};

TEST_F(CarrierThatBegins, HearsTheWordBeforeTheGoodbye) {
  board_->HeardLeft(1);
  EXPECT_FALSE(board_->left(1));
  const std::string sentence = "it hails";
  const std::array answer{std::byte{1}};
  Send(test_, answer);
  Say({FrameKind::kFailed, static_cast<uint32_t>(sentence.size()), 1, 2});
  Send(test_, std::as_bytes(std::span(sentence)));
  EXPECT_EQ(Failure(), sentence);
}

TEST_F(CarrierThatBegins, HearsTheGoodbyeWhereNoWordComes) {
  board_->HeardLeft(1);
  test_.Close();
  while (!board_->left(1)) std::this_thread::yield();
}

// Only its number is another one.
class OtherEngine final : public Engine {
 public:
  const char* name() const noexcept override { return "other"; }
  uint32_t number() const noexcept override { return 99; }
  std::unique_ptr<Transport> Open(int socket, std::string* why) const noexcept override {
    return TcpEngine().Open(socket, why);
  }
};

// Both connect at once, each with its engine, and whichever is told first leaves at once.
TEST(CarriersThatMeet, AreToldOfDifferentEnginesBeforeGoodbyes) {
  const OtherEngine other;
  Hosts hosts;
  hosts.of = hosts.leaders = {0, 1};
  const size_t bytes = Board::Bytes(2, kStaging) + Outbox::Bytes(hosts);
  for (int round = 0; round < 200; ++round) {
    std::array<CarrierPlan, 2> plans;
    std::vector<WelcomeHost> places(2);
    for (uint32_t host : {0, 1}) {
      hosts.own = host;
      CarrierPlan& plan = plans[host];
      void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
      plan.shared = {static_cast<std::byte*>(memory), bytes, kStaging};
      plan.owned = true;
      plan.hosts = std::make_shared<const Hosts>(hosts);
      plan.name = "g";
      plan.timeout_ns = kMinute;
      if (host == static_cast<uint32_t>(round % 2)) plan.engine = &other;
      plan.listener = ListenForCarriers({}, &places[host].place);
    }
    std::vector<std::unique_ptr<Board>> boards;
    std::vector<std::shared_ptr<Carrier>> carriers;
    for (uint32_t host : {0, 1}) {
      plans[host].places = places;
      boards.push_back(
          std::make_unique<Board>(plans[host].shared.memory, host, 2, kStaging, "g", plans[host].hosts));
      carriers.push_back(std::make_shared<Carrier>(std::move(plans[host])));
    }
    std::atomic<bool> go{false};
    std::vector<std::thread> ranks;
    for (uint32_t r : {0, 1}) {
      ranks.emplace_back([&, r] {
        while (!go) std::this_thread::yield();
        boards[r]->Publish(boards[r]->counters(r).taken, 1, 1 - r);
        while (!boards[r]->failed() && !boards[r]->left(1 - r)) std::this_thread::yield();
        EXPECT_FALSE(boards[r]->left(1 - r) && !boards[r]->failed()) << "rank " << r << " in round " << round;
        if (boards[r]->failed())
          EXPECT_THAT(boards[r]->Failure().sentence(), ::testing::HasSubstr("by different engines"));
        boards[1 - r]->HeardLeft(r);
      });
    }
    go = true;
    for (std::thread& rank : ranks) rank.join();
    for (const auto& carrier : carriers) carrier->End();
    boards.clear();
  }
}

TEST_F(CarrierTest, StrangersAreNotListenedTo) {
  Address address;
  uint16_t port = 0;
  plan_.places.resize(2);
  plan_.listener = ListenTcp(&address, &port);
  plan_.secret[3] = 7;
  plan_.timeout_ns = kMinute;
  const Secret secret = plan_.secret;
  carrier_ = std::make_shared<Carrier>(std::move(plan_));
  Secret other = secret;
  other[31] ^= 1;
  Id group{};
  group[0] = 1;
  const Bytes hellos[] = {Bytes(3),
                          Bytes(kLinkHelloBytes),
                          Encode(Hello{}),
                          Encode(LinkHello{other, {}, 1, 0}),
                          Encode(LinkHello{secret, group, 1, 0}),
                          Encode(LinkHello{secret, {}, 0, 0}),
                          Encode(LinkHello{secret, {}, 2, 0})};
  for (const Bytes& hello : hellos) {
    test_ = ConnectTcp(address, port, NowNs() + kMinute);
    ASSERT_TRUE(test_);
    EXPECT_TRUE(Send(test_, hello));
    shutdown(test_.get(), SHUT_WR);
    std::array<std::byte, 8> answer;
    size_t count = 0;
    EXPECT_TRUE(AwaitReadable(test_, NowNs() + kMinute));
    EXPECT_EQ(Receive(test_, answer, &count), Received::kEnd);
  }
  EXPECT_FALSE(board_->failed());
  test_ = ConnectTcp(address, port, NowNs() + kMinute);
  EXPECT_TRUE(Send(test_, Encode(LinkHello{secret, {}, 1, 0})));
  Say({FrameKind::kWord, 0, Offset(&board_->counters(1).taken), 5});
  while (board_->counters(1).taken.load() != 5) std::this_thread::yield();
  board_->SayGoodbye();
  const Frame left = Next();
  EXPECT_EQ(left.kind, FrameKind::kLeft);
  EXPECT_EQ(left.bytes, 0u);
  Say({FrameKind::kLeft, 1, 0, 0});
  test_.Close();
  while (!carrier_->ended()) std::this_thread::yield();
  EXPECT_FALSE(board_->failed());
  EXPECT_TRUE(board_->left(1));
}

}  // namespace
}  // namespace belay::coll
