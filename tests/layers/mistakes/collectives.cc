// Collective operations, which torch puts on a stream of its own, beside the one that computes. There are two
// ranks in this process; the other one does its part in a thread.
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
