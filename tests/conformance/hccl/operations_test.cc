// Every operation by its function of the interface, over the two devices of one process; and what it refuses.
#include <algorithm>
#include <numeric>

#include "ranks.h"

namespace conformance {
namespace {

constexpr uint64_t kCount = 3;

class Operations : public Started {
 protected:
  struct Rank {
    HcclComm comm = nullptr;
    aclrtStream stream = nullptr;
    float* a = nullptr;  // 8 floats each: the rank times 100, and counted up; and -1
    float* b = nullptr;
  };

  void SetUp() override {
    Started::SetUp();
    int32_t devices[] = {0, 1};
    HcclComm comms[2] = {};
    ASSERT_OK(HcclCommInitAll(2, devices, comms));
    for (int i = 0; i < 2; ++i) {
      Use(i);
      ranks_[i].comm = comms[i];
      ranks_[i].stream = NewStream();
      ranks_[i].a = NewFloats();
      ranks_[i].b = NewFloats();
      std::iota(ranks_[i].a, ranks_[i].a + 8, 100.f * static_cast<float>(i));
      std::fill_n(ranks_[i].b, 8, -1.f);
    }
  }
  void TearDown() override {
    for (Rank& rank : ranks_) EXPECT_OK(HcclCommDestroy(rank.comm));
    Started::TearDown();
  }

  static void Use(int device) { EXPECT_OK(aclrtSetDevice(device)); }
  static float* NewFloats() {
    void* p = nullptr;
    EXPECT_OK(aclrtMalloc(&p, 8 * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
    return static_cast<float*>(p);
  }
  // Submits for both ranks, on their devices, and waits for both.
  void ForBoth(const std::function<HcclResult(uint32_t, Rank&)>& submit) {
    for (uint32_t i = 0; i < 2; ++i) {
      Use(static_cast<int>(i));
      EXPECT_OK(submit(i, ranks_[i]));
    }
    for (uint32_t i = 0; i < 2; ++i) {
      Use(static_cast<int>(i));
      EXPECT_OK(aclrtSynchronizeStream(ranks_[i].stream));
    }
  }
  std::vector<float> Of(const float* from, size_t count) { return {from, from + count}; }

  Rank ranks_[2];
};

constexpr HcclDataType kFloat = HCCL_DATA_TYPE_FP32;

TEST_F(Operations, Reductions) {
  ForBoth([](uint32_t, Rank& r) {
    return HcclAllReduce(r.a, r.b, kCount, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream);
  });
  for (Rank& rank : ranks_) EXPECT_EQ(Of(rank.b, 4), (Floats{100, 102, 104, -1}));
  ForBoth([](uint32_t, Rank& r) {
    return HcclReduce(r.a, r.b, kCount, kFloat, HCCL_REDUCE_MAX, 1, r.comm, r.stream);
  });
  EXPECT_EQ(Of(ranks_[0].b, 3), (Floats{100, 102, 104}));
  EXPECT_EQ(Of(ranks_[1].b, 3), (Floats{100, 101, 102}));
  ForBoth([](uint32_t, Rank& r) {
    return HcclReduceScatter(r.a, r.b, kCount, kFloat, HCCL_REDUCE_MIN, r.comm, r.stream);
  });
  EXPECT_EQ(Of(ranks_[0].b, 3), (Floats{0, 1, 2}));
  EXPECT_EQ(Of(ranks_[1].b, 3), (Floats{3, 4, 5}));
  const uint64_t counts[] = {1, 2}, offsets[] = {4, 0};
  ForBoth([&](uint32_t i, Rank& r) {
    return HcclReduceScatterV(r.a, counts, offsets, r.b, counts[i], kFloat, HCCL_REDUCE_SUM, r.comm,
                              r.stream);
  });
  EXPECT_EQ(Of(ranks_[0].b, 2), (Floats{108, 1}));
  EXPECT_EQ(Of(ranks_[1].b, 2), (Floats{100, 102}));
}

TEST_F(Operations, Gathers) {
  ForBoth([](uint32_t, Rank& r) { return HcclAllGather(r.a, r.b, kCount, kFloat, r.comm, r.stream); });
  for (Rank& rank : ranks_) EXPECT_EQ(Of(rank.b, 7), (Floats{0, 1, 2, 100, 101, 102, -1}));
  const uint64_t counts[] = {2, 1}, offsets[] = {5, 0};
  ForBoth([&](uint32_t i, Rank& r) {
    return HcclAllGatherV(r.a, counts[i], r.b, counts, offsets, kFloat, r.comm, r.stream);
  });
  for (Rank& rank : ranks_) EXPECT_EQ(Of(rank.b, 8), (Floats{100, 1, 2, 100, 101, 0, 1, -1}));
}

TEST_F(Operations, FromOneRank) {
  ForBoth([](uint32_t i, Rank& r) {
    return HcclScatter(i == 0 ? nullptr : r.a, r.b, kCount, kFloat, 1, r.comm, r.stream);
  });
  EXPECT_EQ(Of(ranks_[0].b, 4), (Floats{100, 101, 102, -1}));
  EXPECT_EQ(Of(ranks_[1].b, 4), (Floats{103, 104, 105, -1}));
  ForBoth([](uint32_t, Rank& r) { return HcclBroadcast(r.a, kCount, kFloat, 1, r.comm, r.stream); });
  for (Rank& rank : ranks_) EXPECT_EQ(Of(rank.a, 3), (Floats{100, 101, 102}));
}

TEST_F(Operations, AllToAll) {
  ForBoth([](uint32_t, Rank& r) {
    return HcclAlltoAll(r.a, kCount, kFloat, r.b, kCount, kFloat, r.comm, r.stream);
  });
  EXPECT_EQ(Of(ranks_[0].b, 7), (Floats{0, 1, 2, 100, 101, 102, -1}));
  EXPECT_EQ(Of(ranks_[1].b, 7), (Floats{3, 4, 5, 103, 104, 105, -1}));
  const uint64_t matrix[] = {1, 2, 3, 0};  // from 0: one to 0, two to 1; from 1: three to 0
  ForBoth(
      [&](uint32_t, Rank& r) { return HcclAlltoAllVC(r.a, matrix, kFloat, r.b, kFloat, r.comm, r.stream); });
  EXPECT_EQ(Of(ranks_[0].b, 4), (Floats{0, 100, 101, 102}));
  EXPECT_EQ(Of(ranks_[1].b, 2), (Floats{1, 2}));
  const uint64_t one[] = {1, 1}, apart[] = {7, 2};
  ForBoth([&](uint32_t, Rank& r) {
    return HcclAlltoAllV(r.a, one, apart, kFloat, r.b, one, apart, kFloat, r.comm, r.stream);
  });
  EXPECT_EQ(ranks_[0].b[7], 7.f);
  EXPECT_EQ(ranks_[0].b[2], 107.f);
  EXPECT_EQ(ranks_[1].b[7], 2.f);
  EXPECT_EQ(ranks_[1].b[2], 102.f);
  // What is sent may overlap, and a part without elements may lie in another.
  const uint64_t same[] = {0, 0}, near[] = {0, 1}, three[] = {3, 0};
  ForBoth([&](uint32_t, Rank& r) {
    return HcclAlltoAllV(r.a, one, same, kFloat, r.b, one, near, kFloat, r.comm, r.stream);
  });
  for (Rank& rank : ranks_) EXPECT_EQ(Of(rank.b, 2), (Floats{0, 100}));
  ForBoth([&](uint32_t i, Rank& r) {
    return HcclAllGatherV(r.a, three[i], r.b, three, near, kFloat, r.comm, r.stream);
  });
  for (Rank& rank : ranks_) EXPECT_EQ(Of(rank.b, 3), (Floats{0, 1, 2}));
}

TEST_F(Operations, Messages) {
  ForBoth([](uint32_t i, Rank& r) {
    return i == 0 ? HcclSend(r.a, kCount, kFloat, 1, r.comm, r.stream)
                  : HcclRecv(r.b, kCount, kFloat, 0, r.comm, r.stream);
  });
  EXPECT_EQ(Of(ranks_[1].b, 4), (Floats{0, 1, 2, -1}));
  ForBoth([](uint32_t i, Rank& r) {
    HcclSendRecvItem items[] = {{HCCL_SEND, r.a, kCount, kFloat, 1 - i},
                                {HCCL_RECV, r.b, kCount, kFloat, 1 - i}};
    return HcclBatchSendRecv(items, 2, r.comm, r.stream);
  });
  EXPECT_EQ(Of(ranks_[0].b, 3), (Floats{100, 101, 102}));
  EXPECT_EQ(Of(ranks_[1].b, 3), (Floats{0, 1, 2}));
}

// Each rank sends twice before it receives; nothing moves before the group ends.
TEST_F(Operations, MessagesOfAGroupGetOnTogether) {
  ForBoth([](uint32_t i, Rank& r) {
    EXPECT_OK(HcclGroupStart());
    EXPECT_OK(HcclGroupStart());
    EXPECT_OK(HcclSend(r.a, kCount, kFloat, 1 - i, r.comm, r.stream));
    EXPECT_OK(HcclSend(r.a + 3, 1, kFloat, 1 - i, r.comm, r.stream));
    EXPECT_OK(HcclGroupEnd());
    EXPECT_OK(HcclRecv(r.b, kCount, kFloat, 1 - i, r.comm, r.stream));
    EXPECT_OK(HcclRecv(r.b + 4, 1, kFloat, 1 - i, r.comm, r.stream));
    EXPECT_OK(aclrtSynchronizeStream(r.stream));
    EXPECT_EQ(r.b[0], -1.f);
    return HcclGroupEnd();
  });
  EXPECT_EQ(Of(ranks_[0].b, 6), (Floats{100, 101, 102, -1, 103, -1}));
  EXPECT_EQ(Of(ranks_[1].b, 6), (Floats{0, 1, 2, -1, 3, -1}));
}

TEST_F(Operations, CollectivesOfAGroup) {
  ForBoth([](uint32_t, Rank& r) {
    EXPECT_OK(HcclGroupStart());
    EXPECT_OK(HcclAllReduce(r.a, r.b, 1, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
    EXPECT_OK(HcclBroadcast(r.a, 2, kFloat, 1, r.comm, r.stream));
    EXPECT_OK(aclrtSynchronizeStream(r.stream));
    EXPECT_EQ(r.b[0], -1.f);
    return HcclGroupEnd();
  });
  EXPECT_EQ(ranks_[0].b[0], 100.f);
  EXPECT_EQ(Of(ranks_[0].a, 3), (Floats{100, 101, 2}));
}

TEST_F(Operations, WhatDoesNotGoIntoAGroup) {
  Use(0);
  Rank& r = ranks_[0];
  EXPECT_REFUSED(HCCL_E_PARA, HcclGroupEnd(), "no group is open");
  EXPECT_OK(HcclGroupStart());
  EXPECT_REFUSED(HCCL_E_PARA, HcclSend(r.a, 1, kFloat, 0, r.comm, r.stream), "this rank itself");
  HcclSendRecvItem item = {HCCL_SEND, r.a, 1, kFloat, 1};
  EXPECT_REFUSED(HCCL_E_PARA, HcclBatchSendRecv(&item, 1, r.comm, r.stream), "HcclBatchSendRecv");
  aclrtStream other = NewStream();
  EXPECT_OK(HcclSend(r.a, 1, kFloat, 1, r.comm, other));
  EXPECT_REFUSED(HCCL_E_PARA, HcclBarrier(r.comm, r.stream), "end it before");
  EXPECT_OK(aclrtDestroyStream(other));
  EXPECT_REFUSED(HCCL_E_PARA, HcclGroupEnd(), "destroyed before HcclGroupEnd");
  EXPECT_REFUSED(HCCL_E_PARA, HcclGroupEnd(), "no group is open");
}

TEST_F(Operations, NothingToDo) {
  ForBoth([](uint32_t, Rank& r) {
    return HcclAllReduce(nullptr, nullptr, 0, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream);
  });
  ForBoth([](uint32_t, Rank& r) { return HcclBarrier(r.comm, r.stream); });
}

// The call returns although the other rank has not come, and the communicator is busy meanwhile.
TEST_F(Operations, ABusyCommunicatorIsNotDestroyed) {
  Use(0);
  EXPECT_OK(HcclBarrier(ranks_[0].comm, ranks_[0].stream));
  EXPECT_REFUSED(HCCL_E_AGAIN, HcclCommDestroy(ranks_[0].comm), "under way");
  Use(1);
  EXPECT_OK(HcclBarrier(ranks_[1].comm, ranks_[1].stream));
  EXPECT_OK(aclrtSynchronizeStream(ranks_[1].stream));
  Use(0);
  EXPECT_OK(aclrtSynchronizeStream(ranks_[0].stream));
}

TEST_F(Operations, ArgumentsAreChecked) {
  Use(0);
  Rank& r = ranks_[0];
  const auto reduce = [&](void* from, uint64_t count, int type, int op) {
    return HcclAllReduce(from, r.b, count, static_cast<HcclDataType>(type), static_cast<HcclReduceOp>(op),
                         r.comm, r.stream);
  };
  EXPECT_REFUSED(HCCL_E_PTR, HcclAllReduce(nullptr, r.b, 1, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream),
                 "sendBuf");
  EXPECT_EQ(reduce(r.a, 1, 13, 0), HCCL_E_PARA);
  EXPECT_THAT(TakeMessage(), testing::HasSubstr("13 is no HcclDataType"));
  EXPECT_EQ(reduce(r.a, 1, kFloat, 4), HCCL_E_PARA);
  EXPECT_EQ(reduce(r.a, 1, kFloat, -1), HCCL_E_PARA);
  EXPECT_EQ(reduce(r.a, 1, HCCL_DATA_TYPE_INT128, 0), HCCL_E_NOT_SUPPORT);
  EXPECT_EQ(reduce(reinterpret_cast<char*>(r.a) + 1, 1, kFloat, 0), HCCL_E_PARA);
  EXPECT_THAT(TakeMessage(), testing::HasSubstr("not aligned"));
  EXPECT_EQ(reduce(r.a, uint64_t{1} << 62, kFloat, 0), HCCL_E_PARA);
  TakeMessage();
  EXPECT_REFUSED(HCCL_E_PARA, HcclBroadcast(r.a, 1, kFloat, 2, r.comm, r.stream), "root is 2");
  EXPECT_REFUSED(HCCL_E_PARA, HcclSend(r.a, 1, kFloat, 0, r.comm, r.stream), "this rank itself");
  EXPECT_REFUSED(HCCL_E_PARA, HcclRecv(r.a, 1, kFloat, 5, r.comm, r.stream), "srcRank is 5");
  EXPECT_REFUSED(HCCL_E_PARA, HcclAlltoAll(r.a, 1, kFloat, r.b, 2, kFloat, r.comm, r.stream), "recvCount 2");
  EXPECT_REFUSED(HCCL_E_PARA, HcclAlltoAll(r.a, 1, kFloat, r.b, 1, HCCL_DATA_TYPE_INT32, r.comm, r.stream),
                 "same type");
  const uint64_t counts[] = {1, 1};
  EXPECT_REFUSED(HCCL_E_PARA, HcclAllGatherV(r.a, 2, r.b, counts, counts, kFloat, r.comm, r.stream),
                 "sendCount is 2");
  EXPECT_REFUSED(HCCL_E_PTR, HcclAllGatherV(r.a, 1, r.b, nullptr, counts, kFloat, r.comm, r.stream),
                 "recvCounts");
  const uint64_t two[] = {2, 2}, near[] = {1, 0};
  EXPECT_REFUSED(HCCL_E_PARA, HcclAllGatherV(r.a, 2, r.b, two, near, kFloat, r.comm, r.stream),
                 "from ranks 1 and 0 overlap: elements 0 to 1 and 1 to 2 of recvBuf");
  EXPECT_REFUSED(HCCL_E_PARA, HcclAlltoAllV(r.a, two, near, kFloat, r.b, two, near, kFloat, r.comm, r.stream),
                 "HcclAlltoAllV that come from ranks 1 and 0 overlap");
  const uint64_t matrix[] = {1, 1, 1, 1};
  EXPECT_REFUSED(HCCL_E_PARA, HcclAlltoAllVC(r.a, matrix, kFloat, r.a, kFloat, r.comm, r.stream),
                 "two buffers");
  HcclSendRecvItem items[] = {{HCCL_SEND, r.a, 1, kFloat, 1}, {HCCL_SEND, r.b, 1, kFloat, 1}};
  EXPECT_REFUSED(HCCL_E_PARA, HcclBatchSendRecv(items, 2, r.comm, r.stream), "send to rank 1");
  EXPECT_REFUSED(HCCL_E_PARA, HcclBatchSendRecv(items, 0, r.comm, r.stream), "itemNum is 0");
  EXPECT_REFUSED(HCCL_E_PARA, HcclBarrier(reinterpret_cast<HcclComm>(r.stream), r.stream),
                 "not a communicator");
  EXPECT_EQ(AsyncErrorOf(r.comm), HCCL_SUCCESS);
}

TEST_F(Operations, MemoryIsChecked) {
  Use(0);
  const Rank& r = ranks_[0];
  const auto refused = [&](void* from, void* to, uint64_t count, const char* why) {
    EXPECT_REFUSED(HCCL_E_PARA, HcclAllReduce(from, to, count, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream),
                   why);
  };
  float host[kCount] = {};
  refused(host, r.b, kCount, "host memory");
  refused(r.a, host, kCount, "recvBuf");
  refused(reinterpret_cast<void*>(8), r.b, kCount, "not memory of this process");
  void* pinned = nullptr;
  EXPECT_OK(aclrtMallocHost(&pinned, sizeof(host)));
  refused(pinned, r.b, kCount, "pinned");
  EXPECT_OK(aclrtFreeHost(pinned));
  refused(r.a, r.b, 1000, "past its end");
  EXPECT_REFUSED(HCCL_E_PARA, HcclAllGather(r.a, r.b, 1000, kFloat, r.comm, r.stream), "sendBuf");
  EXPECT_REFUSED(HCCL_E_PARA, HcclBroadcast(host, kCount, kFloat, 1, r.comm, r.stream), "buf");
  EXPECT_REFUSED(HCCL_E_PARA, HcclSend(host, kCount, kFloat, 1, r.comm, r.stream), "sendBuf");
  HcclSendRecvItem item = {HCCL_RECV, host, kCount, kFloat, 1};
  EXPECT_REFUSED(HCCL_E_PARA, HcclBatchSendRecv(&item, 1, r.comm, r.stream), "buf");
  float* freed = NewFloats();
  EXPECT_OK(aclrtFree(freed));
  refused(freed, r.b, kCount, "freed");
  ForBoth([](uint32_t, Rank& rank) {
    return HcclAllReduce(rank.a, rank.b, kCount, kFloat, HCCL_REDUCE_SUM, rank.comm, rank.stream);
  });
  EXPECT_EQ(Of(ranks_[0].b, kCount), (Floats{100, 102, 104}));
}

TEST_F(Operations, AStreamOfAnotherDeviceIsRefused) {
  Use(1);
  EXPECT_REFUSED(HCCL_E_PARA, HcclBarrier(ranks_[0].comm, ranks_[1].stream), "stream is of device 1");
  EXPECT_EQ(AsyncErrorOf(ranks_[0].comm), HCCL_SUCCESS);
}

}  // namespace
}  // namespace conformance
