// Memory that the processes of a group read in place is still memory that can be shared, freed and had anew.
#include <algorithm>

#include "ranks.h"

namespace conformance {
namespace {

constexpr uint64_t kNumbers = 100'000;
constexpr uint64_t kNumbersBytes = kNumbers * sizeof(float);
constexpr int kCalls = 10;  // after three, and at the latest after eight, blocks are moved

float* NewNumbers(float value) {
  void* p = nullptr;
  EXPECT_OK(aclrtMalloc(&p, kNumbersBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  std::fill_n(static_cast<float*>(p), kNumbers, value);
  return static_cast<float*>(p);
}

// What all have is doubled by each call.
void Double(HcclComm comm, aclrtStream stream, float* numbers, int calls) {
  for (int i = 0; i < calls; ++i) {
    EXPECT_OK(HcclAllReduce(numbers, numbers, kNumbers, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
  }
}

bool AllAre(const float* numbers, float value) {
  return std::all_of(numbers, numbers + kNumbers, [&](float x) { return x == value; });
}

class InPlace : public Sharing {};

TEST_F(InPlace, ABlockIsExportedAndFreedAndItsImporterKeepsIt) {
  OtherProcess other([](Channel& channel) {
    HcclComm comm = Join(channel.Receive<HcclRootInfo>(), 2, 1);
    aclrtStream stream = nullptr;
    EXPECT_OK(aclrtCreateStream(&stream));
    float* numbers = NewNumbers(1);
    Double(comm, stream, numbers, kCalls);
    const Key key = channel.Receive<Key>();
    void* imported = nullptr;
    EXPECT_OK(aclrtIpcMemImportByKey(&imported, key.text, 0));
    Double(comm, stream, numbers, 1);
    channel.Send(1);
    channel.Receive<int>();  // it has freed the block and has another there
    EXPECT_TRUE(AllAre(static_cast<float*>(imported), 2 << kCalls));
    std::fill_n(numbers, kNumbers, 3.f);
    Double(comm, stream, numbers, kCalls);
    EXPECT_TRUE(AllAre(numbers, 4 << (kCalls - 1)));
    EXPECT_TRUE(AllAre(static_cast<float*>(imported), 2 << kCalls));
    EXPECT_OK(aclrtIpcMemClose(key.text));
    EXPECT_OK(HcclCommDestroy(comm));
  });
  Start();
  const HcclRootInfo root = NewRoot();
  other.channel.Send(root);
  HcclComm comm = Join(root, 2, 0);
  aclrtStream stream = NewStream();
  float* numbers = NewNumbers(1);
  Double(comm, stream, numbers, kCalls);
  EXPECT_TRUE(AllAre(numbers, 1 << kCalls));
  other.channel.Send(Export(numbers, kNumbersBytes));
  Double(comm, stream, numbers, 1);
  other.channel.Receive<int>();
  EXPECT_OK(aclrtFree(numbers));
  numbers = NewNumbers(1);
  other.channel.Send(1);
  Double(comm, stream, numbers, kCalls);
  EXPECT_TRUE(AllAre(numbers, 4 << (kCalls - 1)));
  EXPECT_OK(aclrtFree(numbers));
  EXPECT_OK(HcclCommDestroy(comm));
  other.Join();
}

}  // namespace
}  // namespace conformance
