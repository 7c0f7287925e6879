#include "ops/scratch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "ops/sequence.h"

namespace belay::ops {
namespace {

// A thread for each piece.
void RunOnThreads(int64_t n, int64_t, RangeBody body) {
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < n; ++i) threads.emplace_back([&body, i] { body(i, i + 1); });
  for (std::thread& thread : threads) thread.join();
}

class Threads {
 public:
  Threads() { SetParallelBackend(&kBackend); }
  ~Threads() { SetParallelBackend(nullptr); }

 private:
  static constexpr ParallelBackend kBackend{3, &RunOnThreads};
};

struct Workspace {
  explicit Workspace(const Plan& plan) : memory(new char[plan.workspace_bytes()]) {}
  Frame frame() const { return {nullptr, memory.get()}; }
  std::unique_ptr<char[]> memory;
};

TEST(Scratch, PiecesAtTheSameTimeHaveArraysOfTheirOwn) {
  const Threads threads;
  Plan plan("test");
  constexpr int64_t kPieces = 1000, kCount = 50;
  const PieceScratch<int64_t> scratch(plan, kPieces, 1, kCount);
  EXPECT_EQ(plan.workspace_bytes(), 3u * WorkspacePart(kCount * 8));
  const Workspace workspace(plan);
  std::vector<std::atomic<int>> times(kPieces);
  std::atomic<int> mixed{0};
  scratch.For(workspace.frame(), [&](int64_t begin, int64_t end, int64_t* array) {
    for (int64_t i = begin; i < end; ++i) {
      std::fill_n(array, kCount, i);
      ++times[static_cast<size_t>(i)];
      for (int64_t k = 0; k < kCount; ++k) mixed += array[k] != i;
    }
  });
  EXPECT_EQ(mixed, 0);
  for (const auto& count : times) EXPECT_EQ(count, 1);
}

TEST(Scratch, NoMoreArraysThanPieces) {
  const Threads threads;
  Plan plan("test");
  const PieceScratch<float> scratch(plan, 100, 60, 1000);
  EXPECT_EQ(plan.workspace_bytes(), 2u * WorkspacePart(4000));
}

TEST(Scratch, WithoutElementsThereIsNoWorkspace) {
  Plan plan("test");
  const PieceScratch<float> scratch(plan, 100, 1, 0);
  EXPECT_EQ(plan.workspace_bytes(), 0u);
  int64_t seen = 0;
  scratch.For({nullptr, nullptr}, [&](int64_t begin, int64_t end, float*) { seen += end - begin; });
  EXPECT_EQ(seen, 100);
}

TEST(Scratch, PartsOfASequenceShareTheWorkspace) {
  Plan plan("test");
  Sequence parts(plan);
  for (int64_t count : {10, 1000, 20}) {
    parts.Add(
        [&](Plan& part) { part.SetWorkspace(static_cast<uint64_t>(Scratch<char>(part, count).count())); });
  }
  parts.Finish();
  EXPECT_EQ(plan.workspace_bytes(), 1000u);
}

}  // namespace
}  // namespace belay::ops
