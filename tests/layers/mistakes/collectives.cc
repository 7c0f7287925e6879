// Collective operations, which torch puts on a stream of its own, beside the one that computes. There are two
// ranks in this process; the other one does its part in a thread.
#include <atomic>

#include "hccl/hccl.h"
#include "mistakes.h"

using namespace mistakes;

namespace {

constexpr uint64_t kCount = kBytes / 4;

struct Ranks {
  Ranks() {
    int32_t devices[] = {0, 1};
    OK(HcclCommInitAll(2, devices, comms));
    OK(aclrtSetDevice(0));
  }
  // What the other rank does is over then.
  void Other(int (*call)(HcclComm comm, void* block, aclrtStream stream)) const {
    InThread([&] {
      OK(aclrtSetDevice(1));
      aclrtStream stream = NewStream();
      void* block = NewBlock();
      OK(call(comms[1], block, stream));
      Wait(stream);
      Read(block);
      Free(block);
    });
  }
  void OtherSums() const {
    Other([](HcclComm comm, void* block, aclrtStream stream) -> int {
      return HcclAllReduce(block, block, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream);
    });
  }
  HcclComm comms[2] = {};
};

void SumUp(HcclComm comm, void* block, aclrtStream stream) {
  OK(HcclAllReduce(block, block, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
}

}  // namespace

MISTAKE(ACollectiveRunsAheadOfItsInput, "race") {
  const Ranks ranks;
  Fill(x, a);  // [1]
  if (mended) Link(a, b);
  OK(HcclAllReduce(x, y, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, ranks.comms[0], b));  // [2]
  ranks.OtherSums();
}

MISTAKE(TheResultOfACollectiveIsReadTooEarly, "race") {
  const Ranks ranks;
  OK(HcclAllReduce(x, y, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, ranks.comms[0], b));  // [1]
  if (mended) Link(b, a);
  Copy(z, y, a);  // [2]
  ranks.OtherSums();
}

MISTAKE(TheHostReadsBeforeTheCollectiveIsOver, "race") {
  const Ranks ranks;
  OK(HcclAllReduce(x, y, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, ranks.comms[0], b));  // [1]
  if (mended) ranks.OtherSums();
  if (mended) Wait(b);
  Read(y);  // [2]
  if (!mended) ranks.OtherSums();
}

MISTAKE(WhatIsSentIsReplacedTooEarly, "race") {
  const Ranks ranks;
  OK(HcclSend(x, kCount, HCCL_DATA_TYPE_FP32, 1, ranks.comms[0], b));  // [1]
  if (mended) Link(b, a);
  Fill(x, a);  // [2]
  ranks.Other([](HcclComm comm, void* block, aclrtStream stream) -> int {
    return HcclRecv(block, kCount, HCCL_DATA_TYPE_FP32, 0, comm, stream);
  });
}

MISTAKE(ABufferOfACollectiveIsFreed, "free-while-used") {
  const Ranks ranks;
  void* block = NewBlock();
  OK(HcclAllReduce(block, y, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, ranks.comms[0], b));  // [2]
  if (mended) ranks.OtherSums();
  if (mended) Wait(b);
  Free(block);  // [1]
  if (!mended) ranks.OtherSums();
}

MISTAKE(WhatACollectiveShouldBring, "undefined-bytes") {
  const Ranks ranks;
  void* block = nullptr;
  OK(aclrtMalloc(&block, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  void* to = mended ? block : y;
  OK(HcclAllReduce(x, to, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, ranks.comms[0], b));
  ranks.OtherSums();
  Wait(b);
  Read(block);  // [1]
  Free(block);
}

MISTAKE(ACollectiveInAGraphRunsAheadOfItsInput, "race") {
  const Ranks ranks;
  Begin(a);
  Link(a, b);
  Fill(x, a);  // [1]
  if (mended) Link(a, b);
  OK(HcclAllReduce(x, y, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, ranks.comms[0], b));  // [2]
  Link(b, a);
  aclmdlRI model = Finish(a);
  Launch(model, a);
  ranks.OtherSums();
  End(model, a);
}

MISTAKE(ACommunicatorIsAtWorkOnTwoStreams, "race") {
  const Ranks ranks;
  OK(HcclAllReduce(x, x, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, ranks.comms[0], a));  // [1]
  if (mended) Link(a, b);
  OK(HcclAllReduce(y, y, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, ranks.comms[0], b));  // [2]
  ranks.OtherSums();
  ranks.OtherSums();
}

MISTAKE(MessagesToARankOvertakeEachOther, "race") {
  const Ranks ranks;
  OK(HcclSend(x, kCount, HCCL_DATA_TYPE_FP32, 1, ranks.comms[0], a));  // [1]
  if (mended) Link(a, b);
  OK(HcclSend(y, kCount, HCCL_DATA_TYPE_FP32, 1, ranks.comms[0], b));  // [2]
  ranks.Other([](HcclComm comm, void* block, aclrtStream stream) -> int {
    OK(HcclRecv(block, kCount, HCCL_DATA_TYPE_FP32, 0, comm, stream));
    return HcclRecv(block, kCount, HCCL_DATA_TYPE_FP32, 0, comm, stream);
  });
}

// --- what comes after collective operations

MISTAKE(WhatFollowsACollectiveIsNotAwaited, "race") {
  const Ranks ranks;
  OK(HcclAllReduce(x, y, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, ranks.comms[0], b));
  Link(b, a);
  Link(b, c);
  Fill(z, a);  // [1]
  if (mended) Link(a, c);
  Copy(y, z, c);  // [2]
  ranks.OtherSums();
}

MISTAKE(OnlyTheFirstOfTwoCollectivesIsAwaited, "race") {
  const Ranks ranks;
  OK(HcclAllReduce(x, x, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, ranks.comms[0], b));
  Link(b, a);
  OK(HcclAllReduce(x, y, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, ranks.comms[0], b));  // [1]
  if (mended) Link(b, a);
  Copy(z, y, a);  // [2]
  ranks.OtherSums();
  ranks.OtherSums();
}

MISTAKE(ACollectiveIsNoWaitForAnotherStream, "race") {
  const Ranks ranks;
  Fill(z, c);  // [1]
  OK(HcclAllReduce(x, x, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, ranks.comms[0], b));
  Link(b, a);
  if (mended) Link(c, a);
  Copy(y, z, a);  // [2]
  ranks.OtherSums();
}

// The other rank takes part when it has the message.
MISTAKE(AMessageThatOrdersGoesTooEarly, "race") {
  const Ranks ranks;
  aclrtStream sends = NewStream();
  Fill(z, c);  // [1]
  if (mended) Link(c, sends);
  OK(HcclSend(x, kCount, HCCL_DATA_TYPE_FP32, 1, ranks.comms[0], sends));
  OK(HcclBarrier(ranks.comms[0], b));
  Link(b, a);
  Copy(y, z, a);  // [2]
  ranks.Other([](HcclComm comm, void* block, aclrtStream stream) -> int {
    OK(HcclRecv(block, kCount, HCCL_DATA_TYPE_FP32, 0, comm, stream));
    return HcclBarrier(comm, stream);
  });
  End(sends);
}

MISTAKE(ABufferThatACollectiveOrdersIsFreed, "free-while-used") {
  const Ranks ranks;
  void* block = NewBlock();
  OK(HcclAllReduce(x, y, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, ranks.comms[0], b));
  Fill(block, b);  // [2]
  if (mended) ranks.OtherSums();
  if (mended) Wait(b);
  Free(block);  // [1]
  if (!mended) ranks.OtherSums();
}

MISTAKE(WhatFollowsACollectiveInAGraphIsNotAwaited, "race") {
  const Ranks ranks;
  Begin(a);
  OK(HcclAllReduce(x, y, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, ranks.comms[0], a));
  Link(a, b);
  Fill(z, a);  // [1]
  if (mended) Link(a, b);
  Copy(y, z, b);  // [2]
  Link(b, a);
  aclmdlRI model = Finish(a);
  Launch(model, a);
  ranks.OtherSums();
  End(model, a);
}

MISTAKE(WhatIsBroadcastIsReplacedTooEarly, "race") {
  const Ranks ranks;
  OK(HcclBroadcast(x, kCount, HCCL_DATA_TYPE_FP32, 0, ranks.comms[0], b));  // [1]
  if (mended) Link(b, a);
  Fill(x, a);  // [2]
  ranks.Other([](HcclComm comm, void* block, aclrtStream stream) -> int {
    return HcclBroadcast(block, kCount, HCCL_DATA_TYPE_FP32, 0, comm, stream);
  });
}

MISTAKE(ThePartOfTheOtherRankIsReadTooEarly, "race") {
  const Ranks ranks;
  OK(HcclAllGather(x, y, kCount / 2, HCCL_DATA_TYPE_FP32, ranks.comms[0], b));  // [1]
  if (mended) Link(b, a);
  Copy(z, static_cast<char*>(y) + kBytes / 2, a, kBytes / 2);  // [2]
  ranks.Other([](HcclComm comm, void* block, aclrtStream stream) -> int {
    char* own = static_cast<char*>(block);
    return HcclAllGather(own, own, kCount / 2, HCCL_DATA_TYPE_FP32, comm, stream);
  });
}

// A bucket of gradients that is filled for the next round while its sum is still made.
MISTAKE(ABucketIsFilledAgainTooEarly, "race") {
  const Ranks ranks;
  Copy(x, y, a);
  Link(a, b);
  OK(HcclAllReduce(x, x, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, ranks.comms[0], b));  // [1]
  if (mended) Link(b, a);
  Copy(x, z, a);  // [2]
  ranks.OtherSums();
}

// --- communicators that go too early: the call is refused where the operation has begun

MISTAKE(ACommunicatorIsDestroyedDuringItsOperation, "destroy-while-used") {
  const Ranks ranks;
  OK(HcclAllReduce(x, y, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, ranks.comms[0], b));  // [2]
  if (mended) ranks.OtherSums();
  if (mended) Wait(b);
  HcclCommDestroy(ranks.comms[0]);  // [1]
  if (!mended) ranks.OtherSums();
}

MISTAKE(ACommunicatorIsDestroyedBeforeItsMessage, "destroy-while-used") {
  const Ranks ranks;
  std::atomic<bool> open = false;
  HoldUp(b, &open);
  OK(HcclSend(x, kCount, HCCL_DATA_TYPE_FP32, 1, ranks.comms[0], b));  // [2]
  if (mended) open = true;
  const auto receive = [&] {
    ranks.Other([](HcclComm comm, void* block, aclrtStream stream) -> int {
      return HcclRecv(block, kCount, HCCL_DATA_TYPE_FP32, 0, comm, stream);
    });
  };
  if (mended) receive();
  Wait(mended ? b : a);
  HcclCommDestroy(ranks.comms[0]);  // [1]
  open = true;
  if (!mended) receive();
}

// Each rank waits in the call that the other one makes second.
MISTAKE(TwoGroupsAreCalledInOtherOrders, "hang") {
  const Ranks one, other;
  SumUp(one.comms[0], x, a);  // [1]
  SumUp(other.comms[0], y, a);
  OK(aclrtSetDevice(1));
  aclrtStream stream = NewStream();
  void* block = NewBlock();
  SumUp((mended ? one : other).comms[1], block, stream);  // [2]
  SumUp((mended ? other : one).comms[1], block, stream);
  Wait(stream);
  Free(block);
  OK(aclrtSetDevice(0));
}

MISTAKE(AMessageIsNeverSent, "hang") {
  const Ranks ranks;
  OK(HcclRecv(x, kCount, HCCL_DATA_TYPE_FP32, 1, ranks.comms[0], b));  // [1]
  if (mended) {
    ranks.Other([](HcclComm comm, void* block, aclrtStream stream) -> int {
      return HcclSend(block, kCount, HCCL_DATA_TYPE_FP32, 0, comm, stream);
    });
  }
  Wait(b);
}
