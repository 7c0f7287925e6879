// What is shared goes when its last user has gone, and is used again only then.
#include <sys/mman.h>
#include <sys/resource.h>

#include <set>

#include "two_processes.h"

namespace {

using namespace conformance;

class SharedLife : public Sharing {
 protected:
  // Blocks of the size, with a value in them, that stay.
  static std::vector<int*> NewBlocks(int count, size_t bytes, int value) {
    std::vector<int*> blocks;
    for (int i = 0; i < count; ++i) blocks.push_back(NewBlock(bytes, value));
    return blocks;
  }
  static void FreeAll(const std::vector<int*>& blocks) {
    for (int* block : blocks) EXPECT_OK(aclrtFree(block));
  }
  // Whether an export that is freed brings the resting bytes at `where` back.
  static bool ComesBack(int* where) {
    EXPECT_OK(aclrtFree([] {
      int* other = NewBlock(1 << 20, 0);
      Export(other, 64);
      return other;
    }()));
    std::vector<int*> blocks = NewBlocks(2000, 64, 0);
    bool back = std::find(blocks.begin(), blocks.end(), where) != blocks.end();
    FreeAll(blocks);
    return back;
  }
};

TEST_F(SharedLife, ImportsLeaveNothing) {
  OtherProcess other([](Channel& channel) {
    channel.Send(HandleOf(NewIpcEvent()));
    channel.Send(KeyOf(NewNotify()));
    channel.Send(Export(NewBlock(64, 1), 64));
    channel.Send(Export(NewBlock(1 << 20, 1), 1 << 20));
    channel.Receive<bool>();
  });
  Start();
  auto event = other.channel.Receive<aclrtIpcEventHandle>();
  Key notify = other.channel.Receive<Key>();
  Key small = other.channel.Receive<Key>();
  Key large = other.channel.Receive<Key>();
  auto cycle = [&](int times) {
    for (int i = 0; i < times; ++i) {
      EXPECT_OK(aclrtDestroyEvent(Open(event)));
      EXPECT_OK(aclrtDestroyNotify(OpenNotify(notify)));
      if (i % 4 != 0) continue;
      Import(small);
      EXPECT_OK(aclrtIpcMemClose(small.text));
      Import(large);
      EXPECT_OK(aclrtIpcMemClose(large.text));
    }
  };
  cycle(5);
  {
    NothingStays check;
    cycle(kSanitized ? 100 : 1000);
  }
  other.channel.Send(true);
}

TEST_F(SharedLife, ExportsLeaveNothing) {
  Start();
  auto cycle = [&](int times) {
    for (int i = 0; i < times; ++i) {
      for (size_t bytes : {64, 5000, 200'000}) {
        int* block = NewBlock(bytes, 1);
        Key key = Export(block, bytes);
        Export(block, 8);
        if (i % 2 == 0) EXPECT_OK(aclrtIpcMemClose(key.text));
        EXPECT_OK(aclrtFree(block));
      }
      int* kept = NewBlock(64, 1);
      EXPECT_OK(aclrtIpcMemClose(Export(kept, 64).text));
      EXPECT_OK(aclrtFree(kept));
    }
  };
  cycle(5);
  NothingStays check;
  cycle(kSanitized ? 50 : 250);
}

// Blocks that are freed while others have them: their files go once those close them.
TEST_F(SharedLife, FilesOfFreedBlocksGoWithTheirImports) {
  constexpr int kRounds = 30;
  OtherProcess other([](Channel& channel) {
    for (int round = 0; round < kRounds; ++round) {
      Key small = channel.Receive<Key>(), large = channel.Receive<Key>();
      Import(small), Import(large);
      channel.Send(true);
      channel.Receive<bool>();
      EXPECT_OK(aclrtIpcMemClose(small.text));
      EXPECT_OK(aclrtIpcMemClose(large.text));
      channel.Send(true);
    }
  });
  Start();
  const auto round = [&] {
    int* small = NewBlock(200, 1);
    int* large = NewBlock(1 << 20, 1);
    other.channel.Send(Export(small, 200));
    other.channel.Send(Export(large, 1 << 20));
    other.channel.Receive<bool>();
    EXPECT_OK(aclrtFree(small));
    EXPECT_OK(aclrtFree(large));
    other.channel.Send(true);
    other.channel.Receive<bool>();
    EXPECT_OK(aclrtFree(NewBlock(64, 0)));  // any call that frees looks who has gone
  };
  round();
  {
    NothingStays check;
    for (int i = 1; i < kRounds; ++i) round();
  }
  other.Join();
}

// A live block's file is open while an export of its page is in use.
TEST_F(SharedLife, TheFileOfABlockGoesWithItsLastExport) {
  OtherProcess other([](Channel& channel) {
    Key key = channel.Receive<Key>();
    int* shared = Import(key);
    channel.Send(true);
    channel.Receive<bool>();
    EXPECT_EQ(*shared, 3);
    EXPECT_OK(aclrtIpcMemClose(key.text));
    shared = Import(channel.Receive<Key>());
    EXPECT_EQ(*shared, 3);
  });
  Start();
  int* block = NewBlock(1 << 20, 1);
  EXPECT_OK(aclrtIpcMemClose(Export(block, 64).text));  // makes the file of offers
  size_t files = CountFiles();
  Key key = Export(block, 64);
  EXPECT_EQ(CountFiles(), files + 1);
  other.channel.Send(key);
  other.channel.Receive<bool>();
  EXPECT_OK(aclrtIpcMemClose(key.text));
  EXPECT_EQ(CountFiles(), files + 1) << "the importer's view is still on it";
  Key again = Export(block, 64);
  *block = 3;
  other.channel.Send(true);
  other.channel.Send(again);
  other.Join();
  EXPECT_OK(aclrtIpcMemClose(again.text));
  EXPECT_EQ(CountFiles(), files);
}

// More notifies and events than there are words to count in.
TEST_F(SharedLife, ExportsCanBeMadeWithoutEnd) {
  Start();
  constexpr int kPart = kSanitized ? 50 : 1;
  for (int i = 0; i < 131'100 / kPart; ++i) {
    aclrtNotify notify = nullptr;
    Key key;
    ASSERT_EQ(aclrtCreateNotify(&notify, 0), ACL_SUCCESS) << i << TakeMessage();
    ASSERT_EQ(aclrtNotifyGetExportKey(notify, key.text, 65, 1), ACL_SUCCESS);
    ASSERT_EQ(aclrtDestroyNotify(notify), ACL_SUCCESS);
  }
  for (int i = 0; i < 66'000 / kPart; ++i) {
    aclrtEvent event = nullptr;
    aclrtIpcEventHandle handle;
    ASSERT_EQ(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC), ACL_SUCCESS) << i << TakeMessage();
    ASSERT_EQ(aclrtIpcGetEventHandle(event, &handle), ACL_SUCCESS);
    ASSERT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  }
}

// Who holds on to a notify of which the owner has made an end does not set the next one.
TEST_F(SharedLife, TheWordsOfAnImportedNotifyAreNotUsedAgain) {
  OtherProcess other([](Channel& channel) {
    aclrtNotify notify = OpenNotify(channel.Receive<Key>());
    channel.Send(true);
    channel.Receive<bool>();
    aclrtStream stream = NewStream();
    EXPECT_OK(aclrtRecordNotify(notify, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    channel.Send(true);
    channel.Receive<bool>();
    EXPECT_OK(aclrtDestroyNotify(notify));
  });
  Start();
  aclrtNotify first = NewNotify();
  other.channel.Send(KeyOf(first));
  other.channel.Receive<bool>();
  EXPECT_OK(aclrtDestroyNotify(first));
  std::vector<aclrtNotify> next;
  for (int i = 0; i < 100; ++i) next.push_back(NewNotify());
  other.channel.Send(true);
  other.channel.Receive<bool>();
  for (aclrtNotify notify : next) {
    aclrtStream stream = NewStream();
    EXPECT_OK(aclrtWaitAndResetNotify(notify, stream, 0));
    aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
    EXPECT_OK(aclrtStreamQuery(stream, &status));
    EXPECT_EQ(status, ACL_STREAM_STATUS_NOT_READY) << "set by a process that never had it";
    aclrtStream setter = NewStream();
    EXPECT_OK(aclrtRecordNotify(notify, setter));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(setter));
  }
  other.channel.Send(true);
}

// What queued tasks need stays: the importer destroys its event, and its stream waits for it still.
TEST_F(SharedLife, AnImportedEventIsDestroyedWhileAStreamWaits) {
  OtherProcess other([](Channel& channel) {
    aclrtEvent event = Open(channel.Receive<aclrtIpcEventHandle>());
    aclrtStream stream = NewStream();
    EXPECT_OK(aclrtStreamWaitEvent(stream, event));
    EXPECT_OK(aclrtDestroyEvent(event));
    channel.Send(true);
    EXPECT_OK(aclrtSynchronizeStream(stream));
  });
  Start();
  aclrtStream stream = NewStream();
  aclrtEvent event = NewIpcEvent();
  {
    Hold hold(stream);
    EXPECT_OK(aclrtRecordEvent(event, stream));
    other.channel.Send(HandleOf(event));
    EXPECT_OK(aclrtDestroyEvent(NewIpcEvent()));
    other.channel.Receive<bool>();
    EXPECT_OK(aclrtDestroyEvent(event)) << "and so does the exporter, before its record is reached";
  }
  other.Join();
}

TEST_F(SharedLife, TheBytesOfASmallBlockRestWhileOthersHaveThem) {
  for (bool killed : {false, true}) {
    SCOPED_TRACE(killed);
    OtherProcess other([](Channel& channel) {
      Key key = channel.Receive<Key>();
      int* shared = Import(key);
      channel.Send(true);
      channel.Receive<bool>();
      std::fill(shared, shared + 16, 9);
      channel.Send(true);
      channel.Receive<bool>();
      EXPECT_OK(aclrtIpcMemClose(key.text));
      channel.Send(true);
    });
    Start();
    int* block = NewBlock(64, 1);
    other.channel.Send(Export(block, 64));
    other.channel.Receive<bool>();
    EXPECT_OK(aclrtFree(block));
    EXPECT_REFUSED(100000, aclrtFree(block), "freed already");
    EXPECT_REFUSED(100000, aclrtMemset(block, 4, 0, 4), "was freed");
    std::vector<int*> next = NewBlocks(2000, 64, 4);
    other.channel.Send(true);
    other.channel.Receive<bool>();
    for (int* one : next) {
      ASSERT_NE(one, block);
      ASSERT_EQ(one[0], 4);
      ASSERT_EQ(one[15], 4);
    }
    FreeAll(next);
    EXPECT_FALSE(ComesBack(block));
    if (killed) {
      other.Kill();
    } else {
      other.channel.Send(true);
      other.channel.Receive<bool>();
    }
    EXPECT_TRUE(ComesBack(block)) << "nobody has it any more";
    aclFinalize();
  }
}

TEST_F(SharedLife, ADeviceIsReleasedWhileBytesRest) {
  OtherProcess other([](Channel& channel) {
    int* shared = Import(channel.Receive<Key>());
    channel.Send(true);
    channel.Receive<bool>();
    std::fill(shared, shared + 16, 9);
    channel.Send(true);
    channel.Receive<bool>();
  });
  Start();
  int* block = NewBlock(64, 1);
  other.channel.Send(Export(block, 64));
  other.channel.Receive<bool>();
  EXPECT_OK(aclrtFree(block));
  EXPECT_OK(aclrtResetDevice(0));
  EXPECT_OK(aclrtSetDevice(0));
  std::vector<int*> next = NewBlocks(2000, 64, 4);
  other.channel.Send(true);
  other.channel.Receive<bool>();
  for (int* one : next) ASSERT_EQ(one[0], 4);
  FreeAll(next);
  EXPECT_TRUE(ComesBack(block)) << "its page is fresh memory";
  other.channel.Send(true);
}

// Pages of exported small blocks are given back, and come to lie in large blocks, which are exported whole.
TEST_F(SharedLife, PagesOfOtherSizesAreSharedWhole) {
  constexpr size_t kLarge = 600 << 10;
  constexpr int kBlocks = 8;
  setenv("BELAY_DEVICE_MEMORY", "64M", 1);  // of the child
  OtherProcess other([](Channel& channel) {
    std::vector<int*> small = NewBlocks(200, 20'000, 1);
    for (int* block : small) EXPECT_OK(aclrtIpcMemClose(Export(block, 64).text));
    FreeAll(small);
    void* all = nullptr;  // takes the room of what is freed, which is given back for it
    EXPECT_OK(aclrtMalloc(&all, 62 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_OK(aclrtFree(all));
    for (int* block : NewBlocks(kBlocks, kLarge, 6)) channel.Send(Export(block, kLarge));
    channel.Receive<bool>();
  });
  unsetenv("BELAY_DEVICE_MEMORY");
  Start();
  for (int i = 0; i < kBlocks; ++i) {
    Key key = other.channel.Receive<Key>();
    int* shared = Import(key);
    ASSERT_NE(shared, nullptr);
    EXPECT_EQ(shared[kLarge / sizeof(int) - 1], 6);
  }
  other.channel.Send(true);
}

// Pages that could not be moved back when their block was freed come to lie in several blocks: each of these
// is freed alone.
TEST_F(SharedLife, PagesThatStayedSharedBelongToTheirNextBlocks) {
  constexpr size_t kWhole = 40 << 20, kFirst = 28 << 20, kSecond = 8 << 20;
  setenv("BELAY_DEVICE_MEMORY", "64M", 1);  // of the child
  setenv("BELAY_ALIAS_OFFSET", "4294967296", 1);
  OtherProcess other([](Channel&) {
    int* const whole = NewBlock(kWhole, 1);
    EXPECT_OK(aclrtIpcMemClose(Export(whole, 64).text));
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlimit none{0, limit.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    EXPECT_OK(aclrtFree(whole));
    setrlimit(RLIMIT_NOFILE, &limit);
    int* const first = NewBlock(kFirst, 2);  // there is room only where the other was
    int* const second = NewBlock(kSecond, 3);
    EXPECT_EQ(first, whole);
    EXPECT_LT(second, whole + kWhole / sizeof(int));
    EXPECT_OK(aclrtFree(first));
    EXPECT_EQ(second[0], 3);
    EXPECT_EQ(second[kSecond / sizeof(int) - 1], 3);
  });
  unsetenv("BELAY_DEVICE_MEMORY");
  unsetenv("BELAY_ALIAS_OFFSET");
}

// At the system's limit of mappings, what fails says so.
TEST_F(SharedLife, TheLimitOfMappingsIsNamed) {
  size_t most = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> most;
  if (kSanitized) GTEST_SKIP() << "a sanitizer ends the process when it gets no mapping itself";
  if (most == 0 || most > 300'000) GTEST_SKIP() << "vm.max_map_count is " << most << ": too many to make";
  OtherProcess exporter([](Channel& channel) {
    channel.Send(KeyOf(NewNotify()));
    channel.Receive<bool>();
  });
  OtherProcess other([](Channel& channel) {
    Key key = channel.Receive<Key>();
    EXPECT_OK(aclrtDestroyNotify(NewNotify()));
    EXPECT_OK(aclrtSetDevice(1));  // whose memory is not opened yet
    EXPECT_REFUSED(100000, aclrtFree(nullptr), "null");
    size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    auto room = std::make_unique<char[]>(100'000);  // of the heap, which does not grow at the limit either
    // Every other page of a range is another mapping.
    size_t bytes = 400'000 * page;
    auto* range = static_cast<char*>(
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    size_t at = 0;
    while (at < bytes && mprotect(range + at, page, PROT_READ) == 0) at += 2 * page;
    // The last ones: pages that do not join what lies beside them.
    std::vector<void*> rest;
    rest.reserve(64);
    for (int protection = PROT_READ;; protection ^= PROT_READ ^ PROT_EXEC) {
      void* last = mmap(nullptr, page, protection, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
      if (last == MAP_FAILED) break;
      rest.push_back(last);
    }
    room.reset();
    aclrtNotify notify = nullptr;
    EXPECT_REFUSED(207001, aclrtNotifyImportByKey(&notify, key.text, 0), "vm.max_map_count");
    void* p = nullptr;
    EXPECT_REFUSED(207001, aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST),
                   "though .* are free: .*vm.max_map_count");
    for (void* last : rest) EXPECT_EQ(munmap(last, page), 0);
    EXPECT_EQ(munmap(range, bytes), 0);
    EXPECT_OK(aclrtNotifyImportByKey(&notify, key.text, 0));
    EXPECT_OK(aclrtFree(NewBlock(64, 0)));
  });
  other.channel.Send(exporter.channel.Receive<Key>());
  other.Join();
  exporter.channel.Send(true);
}

}  // namespace
