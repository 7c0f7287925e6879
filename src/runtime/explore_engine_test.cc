#include "runtime/explore_engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "runtime/host_call.h"
#include "runtime/ring_support.h"

namespace belay::rt {
namespace {

// Writes its letter into a text that all tasks share.
struct LetterTask {
  static constexpr const char* kName = "letter";
  static constexpr bool kTouchesNothing = true;
  std::string* text;
  char letter;
  void Run() const { text->push_back(letter); }
};

class Explore : public testing::Test {
 protected:
  // No time decides, however busy the machine is.
  static constexpr ExplorePatience kMuch{3'600'000'000'000, 3'600'000'000'000};

  // Runs `program` in a context of its own under the seed's order, and waits for all of it.
  std::string Under(uint64_t seed, const std::function<void()>& program, ExplorePatience patience = kMuch) {
    rings::TheDevice();
    ExploreEngine engine(seed, patience);
    InstallExploreEngine(&engine);
    context_ = Contexts().Find(CreateContext(rings::TheDevice(), false));
    text_.clear();
    program();
    DestroyContext(*context_, true);
    engine.Stop();
    InstallExploreEngine(nullptr);
    InstallEngine(nullptr);
    return text_;
  }
  Stream& NewStream() { return context_->CreateStream({}); }
  void Letter(Stream& stream, char letter) { stream.Submit(MakeTask(LetterTask{&text_, letter})); }
  static void Wait(Stream& stream) { TheEngine().WaitFor(stream, stream.tail(), -1); }

  Context* context_ = nullptr;
  std::string text_;
};

// --- orders

TEST_F(Explore, ThePlainOrderRunsAtCallsWhatWasSubmitted) {
  const std::string text = Under(0, [&] {
    Stream& a = NewStream();
    Stream& b = NewStream();
    Letter(b, 'b');
    Letter(a, 'a');
    TheExploreEngine()->HostCalls();
    EXPECT_EQ(text_, "ba");
    Letter(a, 'c');
    Wait(a);
  });
  EXPECT_EQ(text, "bac");
}

// What shares memory with the device sees a copy before its next access, in the plain order, and after it in
// others.
TEST_F(Explore, WorkRunsAsACallEndsOrLater) {
  int before = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const std::string text = Under(seed, [&] {
      Stream& a = NewStream();
      TheExploreEngine()->HostCalls();
      Letter(a, 'a');
      TheExploreEngine()->HostReturns();
      text_.push_back('h');
      TheExploreEngine()->HostCalls();
      Wait(a);
    });
    if (seed == 0) EXPECT_EQ(text, "ah");
    before += text == "ah" ? 1 : 0;
  }
  EXPECT_GT(before, 10);
  EXPECT_LT(before, 60);
}

TEST_F(Explore, SeedsWalkAllOrdersOfTwoStreams) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    seen.insert(Under(seed, [&] {
      Stream& a = NewStream();
      Stream& b = NewStream();
      for (char letter : {'a', 'b'}) {
        TheExploreEngine()->HostCalls();
        Letter(a, letter);
        TheExploreEngine()->HostCalls();
        Letter(b, static_cast<char>(letter - 32));
      }
      Wait(a);
      Wait(b);
    }));
  }
  EXPECT_EQ(seen, (std::set<std::string>{"abAB", "aAbB", "aABb", "AabB", "AaBb", "ABab"}));
}

TEST_F(Explore, ASeedGivesTheSameOrderAgain) {
  auto program = [&] {
    Stream* streams[] = {&NewStream(), &NewStream(), &NewStream()};
    for (int i = 0; i < 60; ++i) {
      TheExploreEngine()->HostCalls();
      Letter(*streams[i % 3], static_cast<char>('0' + i));
    }
    for (Stream* stream : streams) Wait(*stream);
  };
  std::set<std::string> seen;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const std::string first = Under(seed, program);
    EXPECT_EQ(first.size(), 60u);
    EXPECT_EQ(Under(seed, program), first) << seed;
    seen.insert(first);
  }
  EXPECT_GT(seen.size(), 25u);
}

TEST_F(Explore, AWaitForAnEventAlwaysHolds) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const std::string text = Under(seed, [&] {
      Stream& a = NewStream();
      Stream& b = NewStream();
      Event& event = rings::NewEvent();
      Letter(a, 'a');
      event.Record(a);
      event.MakeWait(b, 0);
      Letter(b, 'b');
      Wait(b);
      rings::DestroyEvent(event);
    });
    EXPECT_EQ(text, "ab") << seed;
  }
}

// Half of the seeds run for a wait nothing but what it needs, if nothing ran before.
TEST_F(Explore, WhatNobodyWaitsForIsOftenNotDone) {
  int undone = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Under(seed, [&] {
      Stream& a = NewStream();
      Stream& b = NewStream();
      TheExploreEngine()->HostCalls();
      Letter(a, 'a');
      TheExploreEngine()->HostCalls();
      Letter(b, 'b');
      Wait(b);
      undone += text_ == "b" ? 1 : 0;
    });
  }
  EXPECT_GT(undone, 25);
  EXPECT_LT(undone, 95);
}

// --- the program gets on

TEST_F(Explore, WhoAsksAgainAndAgainSeesTheWorkGoOn) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Under(seed, [&] {
      Stream& a = NewStream();
      for (int i = 0; i < 5; ++i) Letter(a, 'a');
      int questions = 0;
      for (; !a.HostSees(a.tail()); ++questions) {
        a.Hurry();
        TheExploreEngine()->HostCalls();
      }
      EXPECT_LE(questions, 6) << seed;
    });
  }
}

TEST_F(Explore, ASilentHostSeesTheWorkGoOn) {
  struct Silence final : Observer {
    std::atomic<int> told{0};
    void HostWasSilent() noexcept override { ++told; }
  };
  static Silence silence;  // stays for the life of the process
  static const bool added = (Observers::Add(silence), true);
  ASSERT_TRUE(added);
  const int before = silence.told;
  const auto program = [&] {
    Stream& a = NewStream();
    Letter(a, 'a');
    while (!a.Reached(a.tail())) std::this_thread::yield();
  };
  Under(1, program, ExplorePatience{});
  EXPECT_GT(silence.told, before);
}

// Who looks at memory for the end of a task sees that the next one is not done.
TEST_F(Explore, ASilentHostSeesOneTaskFirst) {
  const std::string text = Under(
      1,
      [&] {
        Stream& a = NewStream();
        const uint64_t first = a.tail() + 1;
        for (int i = 0; i < 8; ++i) Letter(a, 'a');
        while (!a.Reached(first)) std::this_thread::yield();
        EXPECT_FALSE(a.Reached(a.tail()));
        while (!a.Reached(a.tail())) std::this_thread::yield();
      },
      ExplorePatience{});
  EXPECT_EQ(text, "aaaaaaaa");
}

TEST_F(Explore, CallbacksEndBeforeTheNextChoice) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    std::string both[2];
    for (std::string& text : both) {
      text = Under(seed, [&] {
        Stream& a = NewStream();
        Stream& b = NewStream();
        for (int i = 0; i < 4; ++i) {
          a.Submit(
              MakeTask(HostCallTask([](void* t) { static_cast<std::string*>(t)->push_back('c'); }, &text_)));
          Letter(a, 'a');
          Letter(b, 'b');
        }
        Wait(a);
        Wait(b);
      });
    }
    EXPECT_EQ(both[0], both[1]) << seed;
    EXPECT_EQ(both[0].size(), 12u);
  }
}

// A callback that needs a lock of the caller holds up the end of one call, and no more.
TEST_F(Explore, ACallerMayHoldWhatACallbackNeeds) {
  Under(
      0,
      [&] {
        Stream& a = NewStream();
        std::mutex held;
        for (int call = 0; call < 3; ++call) {
          std::unique_lock lock(held);
          a.Submit(MakeTask(
              HostCallTask([](void* m) { std::lock_guard guard(*static_cast<std::mutex*>(m)); }, &held)));
          TheExploreEngine()->HostReturns();
          EXPECT_EQ(a.parked_at().reason == ParkReason::kCallback, call == 0);
          lock.unlock();
          Wait(a);
        }
      },
      ExplorePatience{.silence_ns = 3'600'000'000'000, .callback_ns = 10'000'000});
}

TEST_F(Explore, ThreadsThatWaitForOneAnothersWork) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Under(seed, [&] {
      Stream& a = NewStream();
      Stream& b = NewStream();
      std::atomic<bool> submitted{false};
      Event& event = rings::NewEvent();
      std::thread other([&] {
        Letter(a, 'a');
        event.Record(a);
        submitted = true;
        Wait(a);
      });
      while (!submitted) std::this_thread::yield();
      event.MakeWait(b, 0);
      Letter(b, 'b');
      Wait(b);
      other.join();
      EXPECT_EQ(text_, "ab");
      rings::DestroyEvent(event);
    });
  }
}

TEST_F(Explore, AWaitWithALimitEnds) {
  Under(5, [&] {
    Stream& a = NewStream();
    std::atomic<bool> go{false};
    a.Submit(MakeTask(HostCallTask(
        [](void* g) {
          while (!*static_cast<std::atomic<bool>*>(g)) std::this_thread::yield();
        },
        &go)));
    EXPECT_FALSE(TheEngine().WaitFor(a, a.tail(), NowNs() + 30'000'000));
    go = true;
    Wait(a);
  });
}

// --- captured models

TEST_F(Explore, BranchesOfALaunchRunInEveryOrder) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    seen.insert(Under(seed, [&] {
      std::vector<CaptureNode> nodes;
      auto add = [&](char letter, std::vector<uint32_t> after) {
        nodes.push_back(
            {CaptureNode::Kind::kTask, MakeTask(LetterTask{&text_, letter}), 0, 0, 0, std::move(after)});
      };
      add('a', {});
      add('b', {0});
      add('c', {0});
      add('d', {1, 2});
      Stream& s = NewStream();
      const HandleBits handle = Models().Create(rings::TheDevice(), 1u);
      ModelRI& model = *Models().Find(handle);
      model.Finish(TaskGraph::Make(std::move(nodes), 2));
      model.Execute(s);
      Wait(s);
      ModelRI::Destroy(model);
    }));
  }
  EXPECT_EQ(seen, (std::set<std::string>{"abcd", "acbd"}));
}

}  // namespace
}  // namespace belay::rt
