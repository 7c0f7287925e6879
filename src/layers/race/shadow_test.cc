// The map of ranges against one cell a byte.
#include "layers/race/shadow.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace belay::race {
namespace {

constexpr uintptr_t kShadowBytes = 64;

// What Shadow says, told byte by byte: (byte, earlier site, whether that one writes).
using Found = std::set<std::tuple<uintptr_t, uint32_t, bool>>;

struct Cells {
  struct Cell {
    bool written = false;
    Mark write;
    std::vector<Mark> reads;
  };
  std::vector<Cell> cells{kShadowBytes};

  Found Check(const Bytes& bytes, bool writes, const Shadow::Ordered& ordered) const {
    Found found;
    for (uintptr_t b = bytes.begin; b < bytes.end; ++b) {
      const Cell& cell = cells[b];
      if (cell.written && !ordered(cell.write)) found.emplace(b, cell.write.site, true);
      for (const Mark& read : cell.reads) {
        if (writes && !ordered(read)) found.emplace(b, read.site, false);
      }
    }
    return found;
  }
  void Note(const Bytes& bytes, bool writes, const Mark& mark, const Shadow::Ordered& ordered) {
    for (uintptr_t b = bytes.begin; b < bytes.end; ++b) {
      Cell& cell = cells[b];
      if (writes) {
        cell = {true, mark, {}};
      } else {
        std::erase_if(cell.reads, ordered);
        cell.reads.push_back(mark);
      }
    }
  }
};

TEST(Shadow, IsACellForEachByte) {
  std::mt19937 random(7);
  auto upto = [&](uint64_t n) { return std::uniform_int_distribution<uint64_t>(0, n)(random); };
  for (int round = 0; round < 200; ++round) {
    Shadow shadow;
    Cells cells;
    uint64_t positions[3] = {};
    uint64_t learned[3] = {};
    for (uint32_t step = 1; step <= 60; ++step) {
      const auto stream = static_cast<uint32_t>(upto(2));
      const uintptr_t begin = upto(kShadowBytes - 1);
      const Bytes bytes{1, begin, begin + 1 + upto(kShadowBytes - begin - 1)};
      const bool writes = upto(2) == 0;
      if (upto(9) == 0) {
        const uint64_t s = upto(2);
        learned[s] = positions[s];
        if (upto(1) == 0)
          shadow.Forget([](uint64_t, uintptr_t) { return false; },
                        [&](const Mark& m) { return m.by.position <= learned[m.by.stream]; });
      }
      const Mark mark{{stream, ++positions[stream]}, step};
      const Shadow::Ordered ordered = [&](const Mark& before) {
        return before.by.stream == stream || before.by.position <= learned[before.by.stream];
      };
      Found found;
      shadow.Check(bytes, writes, ordered, [&](const Conflict& c) {
        EXPECT_LT(c.bytes.begin, c.bytes.end);
        for (uintptr_t b = c.bytes.begin; b < c.bytes.end; ++b)
          found.emplace(b, c.first.site, c.first_writes);
      });
      ASSERT_EQ(found, cells.Check(bytes, writes, ordered)) << "round " << round << ", step " << step;
      shadow.Note(bytes, writes, mark, ordered,
                  [&](const Mark& m) { return m.by.position <= learned[m.by.stream]; });
      cells.Note(bytes, writes, mark, ordered);
    }
  }
}

// Two that take the same accesses, of which one takes the short way where there is one.
TEST(Shadow, AgainIsCheckAndNote) {
  std::mt19937 random(11);
  auto upto = [&](uint64_t n) { return std::uniform_int_distribution<uint64_t>(0, n)(random); };
  size_t again = 0;
  for (int round = 0; round < 100; ++round) {
    Shadow plain, quick;
    uint64_t positions[3] = {}, learned[3] = {};
    for (uint32_t step = 1; step <= 100; ++step) {
      const auto stream = static_cast<uint32_t>(upto(2));
      const uintptr_t begin = 8 * upto(7);
      const Bytes bytes{1, begin, begin + (upto(9) == 0 ? 12 : 8)};
      const bool writes = upto(2) == 0;
      if (const uint64_t s = upto(2); upto(3) == 0) learned[s] = positions[s];
      const Mark mark{{stream, ++positions[stream]}, step};
      const auto over = [&](const Mark& m) { return m.by.position <= learned[m.by.stream]; };
      const auto ordered = [&](const Mark& before) { return before.by.stream == stream || over(before); };
      std::vector<std::tuple<uintptr_t, uint32_t, bool>> told[2];
      auto tell = [&](int which) {
        return [&, which](const Conflict& c) {
          told[which].emplace_back(c.bytes.begin, c.first.site, c.first_writes);
        };
      };
      plain.Check(bytes, writes, ordered, tell(0));
      plain.Note(bytes, writes, mark, ordered, over);
      if (quick.Again(bytes, writes, mark, ordered)) {
        ++again;
      } else {
        quick.Check(bytes, writes, ordered, tell(1));
        quick.Note(bytes, writes, mark, ordered, over);
      }
      ASSERT_EQ(told[0], told[1]) << "round " << round << ", step " << step;
      ASSERT_EQ(plain.ranges(), quick.ranges());
    }
  }
  EXPECT_GT(again, 1000u);
}

TEST(Shadow, ForgetsBlocksThatAreGone) {
  Shadow shadow;
  const Shadow::Ordered never = [](const Mark&) { return false; };
  shadow.Note({1, 0, 8}, true, {{0, 1}, 1}, never, never);
  shadow.Note({2, 16, 24}, false, {{0, 2}, 2}, never, never);
  EXPECT_EQ(shadow.ranges(), 2u);
  shadow.Forget([](uint64_t block, uintptr_t) { return block == 1; }, never);
  EXPECT_EQ(shadow.ranges(), 1u);
  int told = 0;
  shadow.Check({1, 0, 8}, true, never, [&](const Conflict&) { ++told; });
  EXPECT_EQ(told, 0);
  shadow.Check({2, 16, 17}, true, never, [&](const Conflict&) { ++told; });
  EXPECT_EQ(told, 1);
}

TEST(Shadow, ACopySaysTheSameElsewhere) {
  Shadow shadow;
  const Shadow::Ordered never = [](const Mark&) { return false; };
  shadow.Note({1, 100, 108}, true, {{0, 1}, 1}, never, never);
  shadow.Note({1, 104, 112}, false, {{0, 2}, 2}, never, never);
  shadow.Copy(1, 3, uintptr_t{0} - 100);
  shadow.Copy(5, 7, 0);  // of which nothing was noted
  EXPECT_EQ(shadow.ranges(), 6u);
  std::vector<std::tuple<uintptr_t, uintptr_t, uint32_t>> told;
  shadow.Check({3, 2, 20}, true, never,
               [&](const Conflict& c) { told.emplace_back(c.bytes.begin, c.bytes.end, c.first.site); });
  EXPECT_EQ(told, (decltype(told){{2, 4, 1}, {4, 8, 1}, {4, 8, 2}, {8, 12, 2}}));
}

TEST(Shadow, WhatIsOverAndReadAsAWholeIsOneRange) {
  Shadow shadow;
  const Shadow::Ordered never = [](const Mark&) { return false; }, always = [](const Mark&) { return true; };
  for (uintptr_t at = 0; at < 1000; at += 20)
    shadow.Note({1, at, at + 10}, true, {{0, 1 + at}, 1}, never, never);
  EXPECT_EQ(shadow.ranges(), 50u);
  shadow.Note({1, 0, 1000}, false, {{1, 1}, 2}, never, never);
  EXPECT_EQ(shadow.ranges(), 100u);
  shadow.Note({1, 0, 1001}, false, {{1, 2}, 2}, always, always);
  EXPECT_EQ(shadow.ranges(), 1u);
}

// What an access to some of the bytes meets: what touches them all, before it and behind it.
TEST(Shadow, SomeOfTheBytesMeetWhatTouchesThemAll) {
  const Shadow::Ordered never = [](const Mark&) { return false; };
  using SitesMet = std::vector<std::pair<uint32_t, bool>>;
  const auto after = [&](const std::vector<Bytes>& written, bool writes) {
    Shadow shadow;
    uint32_t site = 0;
    for (const Bytes& bytes : written) shadow.Note(bytes, true, {{0, 1}, ++site}, never, never);
    SitesMet told;
    shadow.CheckSome({1, 10, 20}, writes, never,
                     [&](const Conflict& c) { told.emplace_back(c.first.site, c.first_writes); });
    return told;
  };
  EXPECT_EQ(after({{1, 0, 30}}, false), (SitesMet{{1, true}}));
  EXPECT_EQ(after({{1, 10, 15}, {1, 15, 20}}, false), (SitesMet{{1, true}}));
  EXPECT_EQ(after({{1, 10, 15}, {1, 16, 20}}, true), SitesMet());
  EXPECT_EQ(after({{1, 10, 19}}, true), SitesMet());
  EXPECT_EQ(after({{1, 11, 20}}, true), SitesMet());
  EXPECT_EQ(after({}, true), SitesMet());

  const auto before = [&](bool some_writes, const Bytes& bytes, bool writes) {
    Shadow shadow;
    shadow.NoteSome({1, 10, 20}, some_writes, {{0, 1}, 7}, never);
    SitesMet told;
    shadow.Check(bytes, writes, never,
                 [&](const Conflict& c) { told.emplace_back(c.first.site, c.first_writes); });
    return told;
  };
  EXPECT_EQ(before(false, {1, 10, 20}, true), (SitesMet{{7, false}}));
  EXPECT_EQ(before(true, {1, 0, 30}, false), (SitesMet{{7, true}}));
  EXPECT_EQ(before(false, {1, 0, 30}, false), SitesMet());
  EXPECT_EQ(before(true, {1, 11, 30}, true), SitesMet());
  EXPECT_EQ(before(true, {3, 0, 30}, true), SitesMet());
}

TEST(Shadow, ReadsMeetAWriteOfSomeBytesAndNothingElse) {
  const Shadow::Ordered never = [](const Mark&) { return false; };
  Shadow shadow;
  shadow.Note({1, 0, 30}, false, {{0, 1}, 1}, never, never);
  size_t told = 0;
  shadow.CheckSome({1, 10, 20}, false, never, [&](const Conflict&) { ++told; });
  EXPECT_EQ(told, 0u);
  shadow.CheckSome({1, 10, 20}, true, never, [&](const Conflict&) { ++told; });
  EXPECT_EQ(told, 1u);
}

TEST(Shadow, SomeBytesAreFoundInALoopAndForgottenWhenTheyAreOver) {
  const Shadow::Ordered never = [](const Mark&) { return false; }, always = [](const Mark&) { return true; };
  Shadow shadow;
  shadow.Note({1, 0, 30}, true, {{0, 1}, 1}, never, never);
  EXPECT_TRUE(shadow.Again({1, 0, 30}, true, {{0, 2}, 1}, always));
  shadow.NoteSome({1, 10, 20}, false, {{0, 3}, 2}, never);
  EXPECT_FALSE(shadow.Again({1, 0, 30}, true, {{0, 4}, 1}, always));
  for (uint64_t i = 0; i < 1000; ++i)
    shadow.NoteSome({1, 10, 20}, false, {{0, 5 + i}, static_cast<uint32_t>(3 + i)}, never);
  size_t told = 0;
  shadow.Check({1, 0, 30}, true, never, [&](const Conflict& c) { told += !c.first_writes; });
  EXPECT_EQ(told, 64u);  // those of longer ago are forgotten
  shadow.Forget([](uint64_t, uintptr_t) { return false; }, [](const Mark& mark) { return mark.site != 1; });
  EXPECT_TRUE(shadow.Again({1, 0, 30}, true, {{0, 2000}, 1}, always));
}

}  // namespace
}  // namespace belay::race
