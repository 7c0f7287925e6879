#include "layers/race/host_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace belay::race {
namespace {

constexpr int kPages = 8;

// What the system says of a page: 0: closed, 1: may be read, 2: may be written as well.
class Pages : public testing::Test {
 protected:
  void SetUp() override {
    page_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void* room = mmap(nullptr, kPages * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(room, MAP_FAILED);
    base_ = reinterpret_cast<uintptr_t>(room);
    ASSERT_EQ(pipe(ends_), 0);
  }
  void TearDown() override {
    munmap(reinterpret_cast<void*>(base_), kPages * page_);
    for (int end : ends_) close(end);
  }
  int Open(int page) {
    void* at = reinterpret_cast<void*>(At(page));
    char byte = 0;
    if (write(ends_[1], at, 1) != 1) {
      EXPECT_EQ(errno, EFAULT);
      return 0;
    }
    if (read(ends_[0], at, 1) == 1) return 2;
    EXPECT_EQ(read(ends_[0], &byte, 1), 1);
    return 1;
  }
  uintptr_t At(int page, int more = 0) const {
    return base_ + static_cast<size_t>(page) * page_ + static_cast<uintptr_t>(more);
  }
  static Mark By(uint64_t position) { return {{0, position}, 0}; }

  HostPages pages_;
  size_t page_ = 0;
  uintptr_t base_ = 0;
  int ends_[2] = {};
};

TEST_F(Pages, OnlyWholeOnesAreClosed) {
  pages_.Close(At(1, 1), At(4, 1), true, By(1));
  for (int page = 0; page < kPages; ++page) EXPECT_EQ(Open(page), page == 2 || page == 3 ? 0 : 2) << page;
  pages_.Close(At(5, 1), At(6, 100), true, By(2));
  EXPECT_EQ(Open(5), 2);
  EXPECT_FALSE(pages_.Find(At(5), At(6), true));
}

TEST_F(Pages, WhatOnlyReadsLetsLoadsPass) {
  pages_.Close(At(0), At(2), false, By(1));
  EXPECT_EQ(Open(0), 1);
  EXPECT_FALSE(pages_.Find(At(0), At(0, 1), false));
  EXPECT_TRUE(pages_.Find(At(0), At(0, 1), true));
}

TEST_F(Pages, WhatWasPassedIsClosedAgain) {
  pages_.Close(At(0), At(3), true, By(1));
  EXPECT_TRUE(pages_.Pass(At(1, 77)));
  EXPECT_EQ(Open(1), 2);
  EXPECT_EQ(Open(2), 0);
  pages_.CloseAgain();
  EXPECT_EQ(Open(1), 0);
}

TEST_F(Pages, MoreThanOneIsPassedAsFarAsTheyAreClosed) {
  pages_.Close(At(0), At(5), true, By(1));
  EXPECT_TRUE(pages_.Pass(At(1, 9), 2));
  for (int page = 0; page < 5; ++page) EXPECT_EQ(Open(page), page == 1 || page == 2 ? 2 : 0) << page;
  pages_.Close(At(6), At(7), true, By(2));
  EXPECT_TRUE(pages_.Pass(At(3), 64));
  EXPECT_EQ(Open(4), 2);
  EXPECT_EQ(Open(6), 0);
  pages_.CloseAgain();
  for (int page = 0; page < 5; ++page) EXPECT_EQ(Open(page), 0) << page;
}

TEST_F(Pages, WhatWasPassedAndIsOverStaysOpen) {
  pages_.Close(At(0), At(3), true, By(1));
  EXPECT_TRUE(pages_.Pass(At(1)));
  pages_.Open([](const HostPages::Closed&) { return true; });
  pages_.CloseAgain();
  for (int page = 0; page < 3; ++page) EXPECT_EQ(Open(page), 2);
  EXPECT_FALSE(pages_.any());
}

TEST_F(Pages, AChildIsNotWatched) {
  pages_.Close(At(0), At(3), true, By(1));
  pages_.BeforeFork();
  pages_.AfterFork(true);
  EXPECT_EQ(Open(1), 2);
  EXPECT_FALSE(pages_.any());
}

// Who copies there by another way is told when that is needed, and only then.
TEST_F(Pages, ItIsToldToWhatTheyAreClosed) {
  using enum rt::PinnedClosed;
  static std::vector<rt::PinnedClosed> told;
  told.clear();
  pages_.SetTell([](rt::PinnedClosed closed) noexcept { told.push_back(closed); });
  const auto open = [&](uint64_t position) {
    pages_.Open([&](const HostPages::Closed& c) { return c.by.by.position == position; });
  };
  pages_.Close(At(0), At(1), false, By(1));
  pages_.Close(At(2), At(3), false, By(2));
  pages_.Close(At(4), At(5), true, By(3));
  open(1);
  open(3);
  open(2);
  EXPECT_EQ(told, (std::vector{kToStores, kToAll, kToStores, kToNothing}));
  told.clear();
  pages_.Close(At(0), At(1), true, By(4));
  pages_.Leave(At(0), At(1));
  EXPECT_EQ(told, (std::vector{kToAll, kToNothing}));
}

TEST_F(Pages, WhatItTakesIsCounted) {
  pages_.Close(At(0, 1), At(1, 1), true, By(1));
  EXPECT_EQ(pages_.spent_ns(), 0);
  pages_.Close(At(0), At(1), false, By(1));
  const int64_t closing = pages_.spent_ns();
  EXPECT_GT(closing, 0);
  pages_.Open([](const HostPages::Closed&) { return true; });
  EXPECT_GT(pages_.spent_ns(), closing);
}

// A page that is closed to loads stays so when another task reads from it.
TEST_F(Pages, AReaderOpensNothing) {
  pages_.Close(At(1), At(2), true, By(1));
  pages_.Close(At(0), At(3), false, By(2));
  EXPECT_EQ(Open(0), 1);
  EXPECT_EQ(Open(1), 0);
  EXPECT_EQ(Open(2), 1);
}

// Against a list of what is closed on each page.
TEST_F(Pages, AreAsTheStrictestOfAllWants) {
  std::mt19937 random(7);
  std::vector<HostPages::Closed> model;
  for (uint64_t step = 1; step < 400; ++step) {
    const int first = static_cast<int>(random() % kPages);
    const int end = first + 1 + static_cast<int>(random() % static_cast<unsigned>(kPages - first));
    const bool writes = random() % 2 == 0;
    if (random() % 3 != 0) {
      pages_.Close(At(first), At(end), writes, By(step));
      for (int page = first; page < end; ++page) model.push_back({At(page), At(page + 1), writes, By(step)});
    } else if (random() % 2 == 0) {
      const uint64_t over = random() % step;
      const auto is_over = [&](const HostPages::Closed& c) { return c.by.by.position <= over; };
      pages_.Open(is_over);
      std::erase_if(model, is_over);
    } else {
      pages_.Leave(At(first, 5), At(end - 1, 6));
      std::erase_if(model, [&](const auto& c) { return c.begin >= At(first) && c.end <= At(end); });
    }
    for (int page = 0; page < kPages; ++page) {
      int open = 2;
      for (const auto& c : model) {
        if (c.begin == At(page)) open = std::min(open, c.writes ? 0 : 1);
      }
      ASSERT_EQ(Open(page), open) << "step " << step << ", page " << page;
      ASSERT_EQ(pages_.Find(At(page), At(page + 1), true).has_value(), open < 2);
    }
  }
}

}  // namespace
}  // namespace belay::race
