#include "base/handle_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace belay {
namespace {

struct Thing {
  explicit Thing(int v) : value(v) {
    if (v < 0) throw std::invalid_argument("negative");
    ++alive;
  }
  ~Thing() { --alive; }
  int value;
  static inline std::atomic<int> alive{0};
};

using Things = HandleTable<Thing, HandleKind::kEvent, 1024>;
using OtherThings = HandleTable<Thing, HandleKind::kStream, 1024>;

TEST(HandleTable, FindsWhatItMade) {
  static Things table;  // its slots are never given back
  HandleBits a = table.Create(1);
  HandleBits b = table.Create(2);
  ASSERT_NE(a, b);
  EXPECT_EQ(table.Find(a)->value, 1);
  EXPECT_EQ(table.Find(b)->value, 2);
  EXPECT_EQ(table.HandleOf(table.Find(b)), b);
  EXPECT_EQ(table.live(), 2u);
  EXPECT_TRUE(table.Destroy(a));
  EXPECT_TRUE(table.Destroy(b));
  EXPECT_EQ(Thing::alive, 0);
}

TEST(HandleTable, HandleIsNoAddressAndNoNegativeNumber) {
  static Things table;  // its slots are never given back
  HandleBits handle = table.Create(1);
  // Canonical user addresses have bits 47-63 clear, kernel ones have them set.
  EXPECT_NE(handle >> 47, 0u);
  EXPECT_EQ(handle >> 63, 0u);
  table.Destroy(handle);
}

TEST(HandleTable, StaleHandleFindsNothingAlsoAfterTheSlotIsReused) {
  static Things table;  // its slots are never given back
  HandleBits first = table.Create(1);
  uint32_t slot = IndexOf(first);
  ASSERT_TRUE(table.Destroy(first));
  EXPECT_EQ(table.Find(first), nullptr);
  EXPECT_FALSE(table.Destroy(first));

  HandleBits second = table.Create(2);
  EXPECT_EQ(IndexOf(second), slot);
  EXPECT_NE(second, first);
  EXPECT_EQ(table.Find(first), nullptr);
  EXPECT_FALSE(table.Destroy(first));
  EXPECT_EQ(table.Find(second)->value, 2);
  table.Destroy(second);
}

TEST(HandleTable, WrongKindFindsNothing) {
  static Things events;
  static OtherThings streams;
  HandleBits event = events.Create(1);
  HandleBits stream = streams.Create(2);
  ASSERT_EQ(IndexOf(event), IndexOf(stream));
  EXPECT_EQ(events.Find(stream), nullptr);
  EXPECT_EQ(streams.Find(event), nullptr);
  EXPECT_EQ(streams.Retire(event), nullptr);
  events.Destroy(event);
  streams.Destroy(stream);
}

TEST(HandleTable, ForeignValuesFindNothing) {
  static Things table;  // its slots are never given back
  HandleBits live = table.Create(1);
  int local = 0;
  const HandleBits foreign[] = {
      0,
      1,
      ~HandleBits{0},
      reinterpret_cast<HandleBits>(&local),
      reinterpret_cast<HandleBits>(table.Find(live)),
      live + 1,                              // a slot never used
      live | 0xffffffffu,                    // far beyond the last slot
      MakeHandle(HandleKind::kEvent, 0, 0),  // a generation that is free by definition
      live + (HandleBits{2} << 32),          // a generation of the future
      live | (HandleBits{1} << 63),
  };
  for (HandleBits value : foreign) EXPECT_EQ(table.Find(value), nullptr) << std::hex << value;
  table.Destroy(live);
}

TEST(HandleTable, SlotOfAThrowingConstructorIsUsedAgain) {
  static Things table;  // its slots are never given back
  EXPECT_THROW(table.Create(-1), std::invalid_argument);
  EXPECT_EQ(table.live(), 0u);
  HandleBits handle = table.Create(1);
  EXPECT_EQ(IndexOf(handle), 0u);
  table.Destroy(handle);
}

TEST(HandleTable, FullTableGivesZeroAndRecovers) {
  static Things table;  // its slots are never given back
  std::vector<HandleBits> handles;
  for (int i = 0; i < 1024; ++i) handles.push_back(table.Create(i));
  EXPECT_EQ(std::set<HandleBits>(handles.begin(), handles.end()).size(), 1024u);
  EXPECT_EQ(table.Create(1), 0u);
  EXPECT_TRUE(table.Destroy(handles.back()));
  handles.back() = table.Create(7);
  EXPECT_NE(handles.back(), 0u);
  for (HandleBits handle : handles) EXPECT_TRUE(table.Destroy(handle));
  EXPECT_EQ(Thing::alive, 0);
}

TEST(HandleTable, RetiredObjectLivesUntilItIsRecycled) {
  static Things table;  // its slots are never given back
  HandleBits handle = table.Create(5);
  Thing* thing = table.Retire(handle);
  ASSERT_NE(thing, nullptr);
  EXPECT_EQ(table.Find(handle), nullptr);
  EXPECT_EQ(table.live(), 0u);
  EXPECT_EQ(thing->value, 5);
  HandleBits next = table.Create(6);
  EXPECT_NE(IndexOf(next), IndexOf(handle)) << "the slot is still held";
  table.Recycle(thing);
  EXPECT_EQ(Thing::alive, 1);
  table.Destroy(next);
}

TEST(HandleTable, ForEachVisitsTheLiveOnes) {
  static Things table;  // its slots are never given back
  HandleBits a = table.Create(1);
  HandleBits b = table.Create(2);
  HandleBits c = table.Create(4);
  table.Destroy(b);
  int sum = 0;
  table.ForEach([&](Thing& thing) { sum += thing.value; });
  EXPECT_EQ(sum, 5);
  table.Destroy(a);
  table.Destroy(c);
}

TEST(HandleTable, ExactlyOneOfRacingRetiresWins) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 2000;
  static Things table;  // its slots are never given back
  std::vector<HandleBits> handles;
  for (int i = 0; i < kRounds; ++i) {
    handles.push_back(table.Create(i));
    if (handles.back() == 0) {
      handles.pop_back();
      break;
    }
  }
  std::atomic<int> wins{0};
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      for (HandleBits handle : handles) wins += table.Destroy(handle) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wins, static_cast<int>(handles.size()));
  EXPECT_EQ(table.live(), 0u);
  EXPECT_EQ(Thing::alive, 0);
}

// Each thread makes and destroys its own objects and keeps asking for its own stale handles. A slot
// travels between the threads, its old handles must not come back to life on the way.
TEST(HandleTable, ChurnFromSeveralThreadsKeepsHandlesApart) {
  static Things table;  // its slots are never given back
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::vector<HandleBits> stale;
      for (int i = 0; i < 3000; ++i) {
        HandleBits handle = table.Create(t * 10000 + i);
        Thing* thing = table.Find(handle);
        if (thing == nullptr || thing->value != t * 10000 + i) ++wrong;
        if (!table.Destroy(handle)) ++wrong;
        stale.push_back(handle);
        if (table.Find(stale[i / 2]) != nullptr) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(table.live(), 0u);
}

}  // namespace
}  // namespace belay
