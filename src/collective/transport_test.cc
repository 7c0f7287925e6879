// What each engine promises to a link. Both sides are of this process.
#include "collective/transport.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/hcclresult_codes.h"
#include "collective/sockets.h"

namespace belay::coll {
namespace {

using Result = Transport::Result;

struct Side {
  Descriptor socket;
  std::unique_ptr<Transport> transport;
};

class Transports : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    setenv("BELAY_COLLECTIVE_ENGINE", GetParam(), 1);
    try {
      engine_ = &EngineOfEnvironment();
    } catch (const Error& error) {
      GTEST_SKIP() << error.sentence();
    }
    Address address;
    uint16_t port = 0;
    const Descriptor listener = ListenTcp(&address, &port);
    sides_[0].socket = ConnectTcp(address, port, NowNs() + int64_t{60} * 1'000'000'000);
    ASSERT_TRUE(AwaitReadable(listener, INT64_MAX));
    sides_[1].socket = Descriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    ASSERT_TRUE(sides_[0].socket && sides_[1].socket);
    std::string why;
    for (Side& side : sides_) {
      side.transport = engine_->Open(side.socket.get(), &why);
      ASSERT_NE(side.transport, nullptr) << why;
    }
    for (int i : {0, 1})
      ASSERT_TRUE(sides_[i].transport->Connect(sides_[1 - i].transport->address(), &why)) << why;
  }
  ~Transports() override { unsetenv("BELAY_COLLECTIVE_ENGINE"); }

  const Engine* engine_ = nullptr;
  std::array<Side, 2> sides_;
};

// All of it, by parts of different lengths.
bool SendAll(Transport& over, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const size_t half = bytes.size() / 2;
    const iovec parts[] = {{const_cast<uint8_t*>(bytes.data()), half},
                           {const_cast<uint8_t*>(bytes.data()) + half, bytes.size() - half}};
    size_t sent = 0;
    const Result result = half == 0 ? over.Send(parts + 1, 1, &sent) : over.Send(parts, 2, &sent);
    if (result == Result::kEnd) return false;
    if (result == Result::kNothing) over.AwaitRoom();
    if (result == Result::kSome) bytes = bytes.subspan(sent);
  }
  return true;
}

void AwaitSomething(Transport& over) {
  over.Arm();
  pollfd wait{over.descriptor(), POLLIN, 0};
  poll(&wait, 1, -1);
}

// As much as there is room for; less when the other side has ended.
size_t ReceiveAll(Transport& over, std::span<uint8_t> to) {
  std::array<uint8_t, 8> none;
  for (size_t done = 0;;) {
    const iovec parts[] = {{to.data() + done, to.size() - done}, {none.data(), none.size()}};
    size_t came = 0;
    if (done == to.size()) return done;
    const Result result = over.Receive(parts, 1, &came);
    if (result == Result::kEnd) return done;
    if (result == Result::kNothing) AwaitSomething(over);
    done += came;
  }
}

std::vector<uint8_t> PatternOf(size_t bytes, uint8_t seed) {
  std::vector<uint8_t> made(bytes);
  for (size_t i = 0; i < bytes; ++i) made[i] = static_cast<uint8_t>(seed + i * 31 + (i >> 8) * 7);
  return made;
}

// In both directions at once, of all sizes, with one thread for each of the four ends.
TEST_P(Transports, BytesComeInTheirOrder) {
  const std::vector<size_t> sizes = {1, 24, 8, 4000, 70'000, 3, 600'000, 24};
  std::vector<std::thread> threads;
  for (int i : {0, 1}) {
    Transport& over = *sides_[i].transport;
    threads.emplace_back([&, i] {
      for (size_t bytes : sizes)
        EXPECT_TRUE(SendAll(over, PatternOf(bytes, static_cast<uint8_t>(i + bytes))));
      over.EndSending();
    });
    threads.emplace_back([&, i] {
      std::vector<uint8_t> got;
      for (size_t bytes : sizes) {
        got.assign(bytes, 0);
        ASSERT_EQ(ReceiveAll(over, got), bytes);
        EXPECT_EQ(got, PatternOf(bytes, static_cast<uint8_t>(1 - i + bytes)));
      }
      got.assign(1, 0);
      EXPECT_EQ(ReceiveAll(over, got), 0u);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (Side& side : sides_) {
    while (!side.transport->AllWasTaken()) std::this_thread::yield();
  }
}

// Whoever sleeps wakes up, turn by turn.
TEST_P(Transports, AnAnswerToEachQuestion) {
  std::thread answers([&] {
    for (uint8_t turn = 0; turn < 200; ++turn) {
      std::array<uint8_t, 1> got{};
      EXPECT_EQ(ReceiveAll(*sides_[1].transport, got), 1u);
      EXPECT_EQ(got[0], turn);
      EXPECT_TRUE(SendAll(*sides_[1].transport, got));
    }
  });
  for (uint8_t turn = 0; turn < 200; ++turn) {
    std::array<uint8_t, 1> said{turn};
    EXPECT_TRUE(SendAll(*sides_[0].transport, said));
    said[0] = 255;
    EXPECT_EQ(ReceiveAll(*sides_[0].transport, said), 1u);
    EXPECT_EQ(said[0], turn);
  }
  answers.join();
}

// What was sent before a side ended comes all the same; then its end is told.
TEST_P(Transports, AProcessThatEnds) {
  const std::vector<uint8_t> said = PatternOf(100, 1);
  std::atomic<bool> came{false};
  std::thread waits([&] {
    std::vector<uint8_t> got(100);
    EXPECT_EQ(ReceiveAll(*sides_[1].transport, got), 100u);
    EXPECT_EQ(got, said);
    came = true;
    EXPECT_EQ(ReceiveAll(*sides_[1].transport, got), 0u);
  });
  EXPECT_TRUE(SendAll(*sides_[0].transport, said));
  while (!came) std::this_thread::yield();
  sides_[0].socket.Close();
  waits.join();
  while (SendAll(*sides_[1].transport, said)) std::this_thread::yield();
  EXPECT_TRUE(sides_[1].transport->AllWasTaken());
}

// Nobody takes it, until the socket is shut down.
TEST_P(Transports, WhoWaitsForRoomIsToldOfTheEnd) {
  std::atomic<bool> waited{false};
  std::thread sends([&] {
    const std::vector<uint8_t> much = PatternOf(1 << 20, 1);
    for (;;) {
      const iovec part{const_cast<uint8_t*>(much.data()), much.size()};
      size_t sent = 0;
      const Result result = sides_[0].transport->Send(&part, 1, &sent);
      if (result == Result::kEnd) return;
      if (result == Result::kNothing) waited = true;
      if (result == Result::kNothing) sides_[0].transport->AwaitRoom();
    }
  });
  while (!waited) std::this_thread::yield();
  std::thread receives([&] {
    std::vector<uint8_t> none(1);
    EXPECT_EQ(ReceiveAll(*sides_[0].transport, none), 0u);
  });
  shutdown(sides_[0].socket.get(), SHUT_RDWR);
  sends.join();
  receives.join();
}

// What the system's functions begin with: who wants to know of each mapping writes another beginning there.
std::vector<uint8_t> Beginnings() {
  std::vector<uint8_t> all;
  for (const char* name :
       {"mmap", "munmap", "mremap", "madvise", "brk", "sbrk", "shmat", "shmdt", "malloc"}) {
    const auto* code = static_cast<const uint8_t*>(dlsym(RTLD_DEFAULT, name));
    all.insert(all.end(), code, code + 16);
  }
  return all;
}
const std::vector<uint8_t> g_beginnings = Beginnings();

std::vector<void*> SignalsOfACrash() {
  std::vector<void*> all;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    struct sigaction now;
    EXPECT_EQ(sigaction(signal, nullptr, &now), 0);
    all.push_back(reinterpret_cast<void*>(now.sa_handler));
  }
  return all;
}
const std::vector<void*> g_signals = SignalsOfACrash();

// A program's own ways stay its own, and a child that it forks ends as ever.
TEST_P(Transports, TheProcessStaysAsItWas) {
  EXPECT_EQ(Beginnings(), g_beginnings);
  EXPECT_EQ(SignalsOfACrash(), g_signals);
  const pid_t child = fork();
  if (child == 0) {
    std::string why;
    const bool opened = engine_->Open(sides_[0].socket.get(), &why) != nullptr;
    sides_ = {};
    std::exit(opened == (engine_->number() == TcpEngine().number()) ? 7 : 8);  // UCX has no thread there
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  std::array<uint8_t, 3> said{1, 2, 3}, got{};
  std::thread sends([&] { EXPECT_TRUE(SendAll(*sides_[0].transport, said)); });
  EXPECT_EQ(ReceiveAll(*sides_[1].transport, got), 3u);
  sends.join();
  EXPECT_EQ(got, said);
}

INSTANTIATE_TEST_SUITE_P(By, Transports, ::testing::Values("tcp", "ucx"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Engines, UnknownOnesAreRefused) {
  setenv("BELAY_COLLECTIVE_ENGINE", "pigeon", 1);
  try {
    EngineOfEnvironment();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), codes::kHcclEPara);
    EXPECT_THAT(error.sentence(), ::testing::HasSubstr("BELAY_COLLECTIVE_ENGINE = 'pigeon' cannot be used"));
  }
  unsetenv("BELAY_COLLECTIVE_ENGINE");
  EXPECT_STREQ(EngineOfEnvironment().name(), "tcp");
}

}  // namespace
}  // namespace belay::coll
