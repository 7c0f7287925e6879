#include "layers/race/sources.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <vector>

namespace belay::race {
namespace {

constexpr uint64_t kBlock = 1;
const Mark kTask{{0, 1}, 5};

Bytes Of(const std::vector<char>& memory) {
  const auto begin = reinterpret_cast<uintptr_t>(memory.data());
  return {kBlock, begin, begin + memory.size()};
}
int Told(Sources* sources) {
  int told = 0;
  sources->End([](const Mark&) { return true; },
               [&](const Sources::Source& source) {
                 EXPECT_EQ(source.by.site, kTask.site);
                 ++told;
               });
  EXPECT_FALSE(sources->any());
  return told;
}

TEST(Sources, EachByteOfASmallOne) {
  for (const size_t size : {1, 7, 8, 31, 32, 33, 100, 4096, 16384}) {
    std::vector<char> memory(size);
    for (size_t at = 0; at < size; at += 1 + size / 50) {
      for (const bool registered : {false, true}) {
        Sources sources;
        sources.Begin(kTask, Of(memory), registered);
        memory[at] = static_cast<char>(memory[at] + 1);
        EXPECT_EQ(Told(&sources), 1) << "byte " << at << " of " << size;
        sources.Begin(kTask, Of(memory), registered);
        EXPECT_EQ(Told(&sources), 0);
      }
    }
  }
}

TEST(Sources, TheEndsOfALargeOneAndWhatIsLong) {
  std::vector<char> memory((1 << 20) + 77);
  const auto changes = [&](size_t from, size_t to) {
    Sources sources;
    sources.Begin(kTask, Of(memory), false);
    for (size_t at = from; at < to; ++at) memory[at] = static_cast<char>(memory[at] + 1);
    return Told(&sources) == 1;
  };
  EXPECT_TRUE(changes(0, 1));
  EXPECT_TRUE(changes(memory.size() - 1, memory.size()));
  for (size_t at = 0; at + 20000 < memory.size(); at += 7777) EXPECT_TRUE(changes(at, at + 20000)) << at;
}

TEST(Sources, WhatIsNotOverStaysAndWhatOthersWriteIsForgotten) {
  std::vector<char> memory(100);
  Sources sources;
  const Bytes all = Of(memory);
  sources.Begin(kTask, all, false);
  memory[1] = 1;
  sources.End([](const Mark&) { return false; }, [](const Sources::Source&) { ADD_FAILURE(); });
  EXPECT_TRUE(sources.any());
  sources.Forget({kBlock + 1, all.begin, all.end});
  sources.Forget({kBlock, all.end, all.end + 1});
  EXPECT_TRUE(sources.any());
  sources.Forget({kBlock, all.end - 1, all.end + 1});
  EXPECT_FALSE(sources.any());
  EXPECT_EQ(Told(&sources), 0);
}

TEST(Sources, MemoryThatIsGoneIsNotLookedAt) {
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  Sources sources;
  sources.Begin(kTask, {kBlock, begin, begin + 4096}, true);
  ASSERT_EQ(munmap(memory, 4096), 0);
  EXPECT_EQ(Told(&sources), 0);
}

}  // namespace
}  // namespace belay::race
