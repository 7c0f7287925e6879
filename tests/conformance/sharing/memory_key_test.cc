// Blocks of device memory that another process sees by a key.
#include "two_processes.h"

#include <atomic>
#include <cstddef>
#include <thread>

namespace {

using namespace conformance;

constexpr int kTurns = kSanitized ? 50 : 1000;

class MemoryKey : public Sharing {};

// What one process writes the other sees, in tasks of its streams, too.
TEST_F(MemoryKey, BothProcessesSeeWhatEitherWrites) {
  OtherProcess other([](Channel& channel) {
    for (size_t bytes : {size_t{64}, size_t{5000}, size_t{200'000}, size_t{5} << 20}) {
      Key key = channel.Receive<Key>();
      void* p = nullptr;
      EXPECT_OK(aclrtIpcMemImportByKey(&p, key.text, 0));
      auto* shared = static_cast<int*>(p);
      size_t last = bytes / sizeof(int) - 1;
      EXPECT_EQ(shared[0], 7);
      EXPECT_EQ(shared[last], 7);
      aclrtStream stream = nullptr;
      EXPECT_OK(aclrtCreateStream(&stream));
      EXPECT_OK(aclrtMemsetAsync(shared, bytes, 1, bytes, stream));
      EXPECT_OK(aclrtSynchronizeStream(stream));
      channel.Send(true);
      channel.Receive<bool>();
      EXPECT_EQ(shared[last], 9) << "written by the exporter meanwhile";
      aclrtPtrAttributes attributes = {};
      EXPECT_OK(aclrtPointerGetAttributes(p, &attributes));
      EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
      EXPECT_REFUSED(kBadArgument, aclrtMemset(shared, bytes + 4, 0, bytes + 4), "past its end");
      EXPECT_OK(aclrtIpcMemClose(key.text));
      EXPECT_REFUSED(kBadArgument, aclrtMemset(shared, 4, 0, 4), "no memory is allocated there");
      channel.Send(true);
    }
  });
  Start();
  for (size_t bytes : {size_t{64}, size_t{5000}, size_t{200'000}, size_t{5} << 20}) {
    SCOPED_TRACE(bytes);
    int* neighbour = NewBlock(bytes, 3);
    int* block = NewBlock(bytes, 7);
    size_t last = bytes / sizeof(int) - 1;
    Key key = Export(block, bytes);
    EXPECT_EQ(block[last], 7) << "the address and what is there stay";
    EXPECT_EQ(neighbour[last], 3);
    other.channel.Send(key);
    other.channel.Receive<bool>();
    EXPECT_EQ(block[0], 0x01010101);
    EXPECT_EQ(block[last], 0x01010101);
    EXPECT_EQ(neighbour[0], 3);
    block[last] = 9;
    other.channel.Send(true);
    other.channel.Receive<bool>();
    EXPECT_OK(aclrtIpcMemClose(key.text));
    EXPECT_EQ(block[last], 9) << "closing an export leaves the block alone";
    EXPECT_OK(aclrtFree(block));
    EXPECT_OK(aclrtFree(neighbour));
    EXPECT_OK(aclrtFree(NewBlock(bytes, 1))) << "the allocator goes on with the pages";
  }
}

TEST_F(MemoryKey, APartOfABlockAndSeveralKeys) {
  OtherProcess other([](Channel& channel) {
    Key whole = channel.Receive<Key>();
    Key part = channel.Receive<Key>();
    int* a = nullptr;
    int* b = nullptr;
    EXPECT_OK(aclrtIpcMemImportByKey(reinterpret_cast<void**>(&a), whole.text, 0));
    EXPECT_OK(aclrtIpcMemImportByKey(reinterpret_cast<void**>(&b), part.text, 0));
    EXPECT_EQ(b[0], 5);
    b[1] = 6;
    EXPECT_EQ(a[26], 6) << "the same memory twice";
    EXPECT_REFUSED(kBadArgument, aclrtMemset(b, 12, 0, 12), "past its end");
    channel.Send(true);
  });
  Start();
  int* block = NewBlock(1 << 20, 4);
  block[25] = 5;
  other.channel.Send(Export(block, 1 << 20));
  other.channel.Send(Export(block + 25, 8));
  other.channel.Receive<bool>();
  EXPECT_EQ(block[26], 6);
}

TEST_F(MemoryKey, ATaskUnderWayIsNotDisturbed) {
  Start();
  int* block = NewBlock(8 << 20, 1);
  aclrtStream stream = NewStream();
  for (int i = 0; i < 20; ++i) EXPECT_OK(aclrtMemsetAsync(block, 8 << 20, i, 8 << 20, stream));
  Export(block, 8 << 20);
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(block[0], 0x13131313);
  EXPECT_EQ(block[(8 << 18) - 1], 0x13131313);
}

// What other threads write beside the block arrives, whenever that is: tasks of their streams, those that are
// so small that the thread runs them which submits them, and calls that copy at once.
TEST_F(MemoryKey, WhatIsWrittenBesideTheBlockArrives) {
  constexpr size_t kBytes = 4096;
  Start();
  int* const block = NewBlock(kBytes, 1);
  std::atomic<bool> end{false};
  std::atomic<int> lost{0};
  auto write = [&](auto fill, size_t bytes) {
    EXPECT_OK(aclrtSetDevice(0));
    aclrtStream const stream = NewStream();
    int* const beside = NewBlock(kBytes, 0);
    for (int i = 0; !end; ++i) {
      EXPECT_OK(fill(beside, bytes, i, stream));
      EXPECT_OK(aclrtSynchronizeStream(stream));
      const auto ints = static_cast<std::ptrdiff_t>(bytes / sizeof(int));
      const auto filled = static_cast<int>((static_cast<unsigned>(i) & 0xff) * 0x01010101);
      lost += std::count(beside, beside + ints, filled) != ints;
    }
  };
  auto task = [](int* to, size_t bytes, int value, aclrtStream stream) {
    return aclrtMemsetAsync(to, bytes, value, bytes, stream);
  };
  auto at_once = [](int* to, size_t bytes, int value, aclrtStream) {
    return aclrtMemset(to, bytes, value, bytes);
  };
  std::thread tasks(write, task, kBytes), small(write, task, size_t{64}), calls(write, at_once, kBytes);
  for (int i = 0; i < kTurns; ++i) EXPECT_OK(aclrtIpcMemClose(Export(block, kBytes).text));
  end = true;
  for (std::thread* thread : {&tasks, &small, &calls}) thread->join();
  EXPECT_EQ(lost, 0);
}

TEST_F(MemoryKey, OnlyNamedProcessesImport) {
  OtherProcess other([](Channel& channel) {
    Key key = channel.Receive<Key>();
    void* p = nullptr;
    EXPECT_REFUSED(kBadArgument, aclrtIpcMemImportByKey(&p, key.text, 0), "did not name this process");
    int32_t pid = 0;
    EXPECT_OK(aclrtDeviceGetBareTgid(&pid));
    channel.Send(pid);
    channel.Receive<bool>();
    EXPECT_OK(aclrtIpcMemImportByKey(&p, key.text, 0));
    EXPECT_EQ(*static_cast<int*>(p), 8);
  });
  Start();
  Key key = Export(NewBlock(4096, 8), 4096, ACL_RT_IPC_MEM_EXPORT_FLAG_DEFAULT);
  int32_t nobody = 1;
  EXPECT_OK(aclrtIpcMemSetImportPid(key.text, &nobody, 1));
  other.channel.Send(key);
  auto pid = other.channel.Receive<int32_t>();
  EXPECT_OK(aclrtIpcMemSetImportPid(key.text, &pid, 1));
  other.channel.Send(true);
}

TEST_F(MemoryKey, PeerAccessWithTheImport) {
  OtherProcess other([](Channel& channel) {
    Key key = channel.Receive<Key>();
    void *shared = nullptr, *mine = nullptr;
    EXPECT_OK(aclrtIpcMemImportByKey(&shared, key.text, ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS));
    EXPECT_OK(aclrtMalloc(&mine, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_OK(aclrtMemcpy(mine, 64, shared, 64, ACL_MEMCPY_DEVICE_TO_DEVICE));
    EXPECT_EQ(*static_cast<int*>(mine), 6);
  });
  Start();
  EXPECT_OK(aclrtSetDevice(1));
  other.channel.Send(Export(NewBlock(64, 6), 64));
  other.Join();
}

TEST_F(MemoryKey, TheMemoryOutlivesItsExporter) {
  OtherProcess other([](Channel& channel) {
    void* p = nullptr;
    EXPECT_OK(aclrtMalloc(&p, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    *static_cast<int*>(p) = 77;
    Key key;
    EXPECT_OK(aclrtIpcMemGetExportKey(p, 4096, key.text, 65, 1));
    channel.Send(key);
    channel.Receive<bool>();
  });
  Start();
  Key key = other.channel.Receive<Key>();
  int* shared = Import(key);
  other.channel.Send(true);
  other.Join();
  EXPECT_EQ(*shared, 77);
  EXPECT_OK(aclrtIpcMemClose(key.text));
  void* again = nullptr;
  EXPECT_REFUSED(kStale, aclrtIpcMemImportByKey(&again, key.text, 0), "ended, withdrew it");
}

TEST_F(MemoryKey, ClosedAndFreedExportsAreGone) {
  OtherProcess other([](Channel& channel) {
    void* p = nullptr;
    for (int i = 0; i < 2; ++i) {
      Key key = channel.Receive<Key>();
      EXPECT_REFUSED(kStale, aclrtIpcMemImportByKey(&p, key.text, 0), "ended, withdrew it");
    }
  });
  Start();
  int* block = NewBlock(1 << 20, 1);
  Key closed = Export(block, 64);
  EXPECT_OK(aclrtIpcMemClose(closed.text));
  EXPECT_REFUSED(kStale, aclrtIpcMemClose(closed.text), "closed it already");
  int32_t pid = 1;
  EXPECT_REFUSED(kStale, aclrtIpcMemSetImportPid(closed.text, &pid, 1), "closed it already");
  Key freed = Export(block, 64);
  EXPECT_OK(aclrtFree(block));
  EXPECT_REFUSED(kStale, aclrtIpcMemClose(freed.text), "closed it already");
  other.channel.Send(closed);
  other.channel.Send(freed);
}

TEST_F(MemoryKey, AResetTakesWhatIsLeft) {
  Start();
  Key key = Export(NewBlock(1 << 20, 1), 64);
  EXPECT_OK(aclrtResetDevice(0));
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_REFUSED(kStale, aclrtIpcMemClose(key.text), "closed it already");
  EXPECT_OK(aclrtFree(NewBlock(1 << 20, 2)));
}

TEST_F(MemoryKey, WhatCannotBeExported) {
  Start();
  char key[65];
  int* block = NewBlock(4096, 1);
  int local = 0;
  void* pinned = nullptr;
  EXPECT_OK(aclrtMallocHost(&pinned, 64));
  EXPECT_REFUSED(kBadArgument, aclrtIpcMemGetExportKey(&local, 4, key, 65, 1), "aclrtMalloc can be exported");
  EXPECT_REFUSED(kBadArgument, aclrtIpcMemGetExportKey(pinned, 4, key, 65, 1), "aclrtMalloc can be exported");
  EXPECT_REFUSED(kBadArgument, aclrtIpcMemGetExportKey(block, 0, key, 65, 1), "size is 0");
  EXPECT_REFUSED(kBadArgument, aclrtIpcMemGetExportKey(block, 1 << 20, key, 65, 1), "past its end");
  EXPECT_REFUSED(kBadArgument, aclrtIpcMemGetExportKey(block, 64, key, 64, 1), "65 bytes");
  EXPECT_REFUSED(kBadArgument, aclrtIpcMemGetExportKey(block, 64, key, 65, 2), "flags");
  EXPECT_REFUSED(kBadArgument, aclrtIpcMemGetExportKey(nullptr, 64, key, 65, 1), "devPtr");
  EXPECT_REFUSED(kBadArgument, aclrtIpcMemGetExportKey(block, 64, nullptr, 65, 1), "key");
  EXPECT_OK(aclrtFree(block));
  EXPECT_REFUSED(kBadArgument, aclrtIpcMemGetExportKey(block, 64, key, 65, 1), "no memory is allocated");
}

TEST_F(MemoryKey, WhatCannotBeImported) {
  Start();
  void* p = nullptr;
  Key key = Export(NewBlock(64, 1), 64);
  EXPECT_REFUSED(kBadArgument, aclrtIpcMemImportByKey(&p, key.text, 0), "exported it itself");
  EXPECT_REFUSED(kBadArgument, aclrtIpcMemImportByKey(&p, key.text, 2), "flags");
  EXPECT_REFUSED(kBadArgument, aclrtIpcMemImportByKey(nullptr, key.text, 0), "devPtr");
  EXPECT_REFUSED(kBadArgument, aclrtIpcMemImportByKey(&p, nullptr, 0), "key");
  for (const char* text : {"", "belay", "belay--1-0-1", "belay-1-2", "belay-1-2-3x", "rubbish-1-2-3"}) {
    EXPECT_REFUSED(kStale, aclrtIpcMemImportByKey(&p, text, 0), "not a key");
    EXPECT_REFUSED(kStale, aclrtIpcMemClose(text), "not a key");
  }
  EXPECT_REFUSED(kStale, aclrtIpcMemImportByKey(&p, "belay-4194000-0-1", 0), "offers no such thing");
  int32_t pid = 1;
  EXPECT_REFUSED(kStale, aclrtIpcMemSetImportPid("belay-4194000-0-1", &pid, 1), "has not exported");
  EXPECT_REFUSED(kBadArgument, aclrtIpcMemSetImportPid(key.text, &pid, 0), "no process");
  EXPECT_REFUSED(kBadArgument, aclrtIpcMemSetImportPid(key.text, nullptr, 1), "pid");
  std::vector<int32_t> many(500, 1);
  EXPECT_REFUSED(kBadArgument, aclrtIpcMemSetImportPid(key.text, many.data(), many.size()),
                 "an offer can name");
}

TEST_F(MemoryKey, AnImportIsNotMadeTwiceNorFreed) {
  OtherProcess other([](Channel& channel) {
    Key key = channel.Receive<Key>();
    void *p = nullptr, *again = nullptr;
    EXPECT_OK(aclrtIpcMemImportByKey(&p, key.text, 0));
    EXPECT_REFUSED(kBadArgument, aclrtIpcMemImportByKey(&again, key.text, 0), "imported the key already");
    EXPECT_REFUSED(kBadArgument, aclrtFree(p), "did not come from aclrtMalloc");
    char own[65];
    EXPECT_REFUSED(kBadArgument, aclrtIpcMemGetExportKey(p, 64, own, 65, 1), "aclrtMalloc can be exported");
    EXPECT_OK(aclrtIpcMemClose(key.text));
    EXPECT_OK(aclrtIpcMemImportByKey(&again, key.text, 0));
  });
  Start();
  other.channel.Send(Export(NewBlock(64, 1), 64));
  other.Join();
}

}  // namespace
