// Pieces of a ParallelFor that throw, on the caller, on workers, on several at once and nested: the first
// exception comes out of the call, and the workers have left what lies on the caller's stack.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <new>
#include <thread>

#include "base/error.h"
#include "base/parallel.h"
#include "base/thread.h"
#include "runtime/ring_support.h"
#include "runtime/thread_engine.h"

namespace belay::rt::rings {
namespace {

constexpr int kWorkers = 4;

class ParallelFailure : public testing::Test {
 protected:
  void SetUp() override {
    TheDevice();
    engine_ = std::make_unique<ThreadEngine>(ThreadEngineConfig{kWorkers, true});
    InstallThreadEngine(engine_.get());
  }
  void TearDown() override {
    engine_->Stop();
    InstallThreadEngine(nullptr);
  }
  // The backend still hands out each element once.
  static void ExpectUsable() {
    std::array<std::atomic<int>, 1000> seen{};
    ParallelFor(1000, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
    });
    for (const std::atomic<int>& count : seen) ASSERT_EQ(count, 1);
  }

  std::unique_ptr<ThreadEngine> engine_;
};

// Returns once `count` threads are in a piece at the same time.
class Meeting {
 public:
  explicit Meeting(int count) : left_(count) {}
  void Come() {
    left_.fetch_sub(1);
    while (left_.load() > 0) std::this_thread::yield();
  }

 private:
  std::atomic<int> left_;
};

TEST_F(ParallelFailure, OfTheCallerComesOut) {
  const std::thread::id caller = std::this_thread::get_id();
  for (int round = 0; round < 30; ++round) {
    std::atomic<bool> came{false};
    EXPECT_EQ(CodeOf([&] {
                ParallelFor(64, 1, [&](int64_t, int64_t) {
                  if (std::this_thread::get_id() == caller) {
                    came = true;
                    Fail(507899, "a-test", "the caller's");
                  }
                  while (!came.load()) std::this_thread::yield();
                });
              }),
              507899);
  }
  ExpectUsable();
}

TEST_F(ParallelFailure, OfAWorkerComesOutOfTheCallersCall) {
  const std::thread::id caller = std::this_thread::get_id();
  for (int round = 0; round < 30; ++round) {
    std::atomic<bool> caller_came{false}, worker_came{false};
    EXPECT_THROW(ParallelFor(16, 1,
                             [&](int64_t, int64_t) {
                               bool called = std::this_thread::get_id() == caller;
                               (called ? caller_came : worker_came) = true;
                               const std::atomic<bool>& other = called ? worker_came : caller_came;
                               while (!other.load()) std::this_thread::yield();
                               if (!called) throw std::bad_alloc();
                             }),
                 std::bad_alloc);
  }
  ExpectUsable();
}

TEST_F(ParallelFailure, OfAllAtOnceIsOneOfThem) {
  for (int round = 0; round < 30; ++round) {
    Meeting meeting(2);
    std::atomic<int> begun{0};
    EXPECT_EQ(CodeOf([&] {
                ParallelFor(1000, 1, [&](int64_t, int64_t) {
                  int number = begun.fetch_add(1);
                  if (number < 2) meeting.Come();
                  Fail(507800 + number, "a-test", "piece {}", number);
                });
              }) / 100,
              5078);
    EXPECT_LE(begun.load(), kWorkers) << "pieces that nobody had begun are left out";
  }
  ExpectUsable();
}

TEST_F(ParallelFailure, ComesThroughNestedCalls) {
  for (int round = 0; round < 30; ++round) {
    std::atomic<int> inner{0};
    EXPECT_EQ(CodeOf([&] {
                ParallelFor(16, 1, [&](int64_t, int64_t) {
                  ParallelFor(16, 1, [&](int64_t begin, int64_t) {
                    ++inner;
                    if (begin >= 8) Fail(507899, "a-test", "of an inner piece");
                  });
                });
              }),
              507899);
    EXPECT_GT(inner.load(), 0);
  }
  ExpectUsable();
}

TEST_F(ParallelFailure, OfOneCallIsNoFailureOfAnother) {
  std::array<std::thread, 3> threads;
  for (size_t t = 0; t < threads.size(); ++t) {
    threads[t] = std::thread([t] {
      for (int round = 0; round < 200; ++round) {
        std::atomic<int64_t> sum{0};
        int code = CodeOf([&] {
          ParallelFor(100, 1, [&](int64_t begin, int64_t end) {
            if (t == 0 && begin <= 50 && 50 < end) Fail(507899, "a-test", "of the first thread");
            sum += end - begin;
          });
        });
        ASSERT_EQ(code, t == 0 ? 507899 : 0);
        if (t != 0) {
          ASSERT_EQ(sum.load(), 100);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ExpectUsable();
}

// A thing that is no std::exception ends neither the process nor the worker.
TEST_F(ParallelFailure, MayBeAnything) {
  EXPECT_THROW(ParallelFor(64, 1, [](int64_t, int64_t) { throw 7; }), int);
  ExpectUsable();
}

}  // namespace
}  // namespace belay::rt::rings
