// Communicators and their operations.
#include <hccl/hccl.h>

#include <cstdint>

#include "piece.h"

namespace {

// A meeting point that has no memory for a rank ends.
int OrMemory(int code) { return code == HCCL_E_REMOTE || code == HCCL_E_TCP_CONNECT ? HCCL_E_MEMORY : code; }
int Meet(const HcclRootInfo& info, HcclComm* comm) {
  return OrMemory(HcclCommInitRootInfo(1, &info, 0, comm));
}

}  // namespace

PIECE(a_rank_alone) {
  HcclRootInfo info;
  TRY(HcclGetRootInfo(&info));
  HcclComm comm = nullptr;
  const int met = Meet(info, &comm);
  if (met != 0) {
    memory_out::Disarm();
    if (Meet(info, &comm) == 0) HcclCommDestroy(comm);  // so that nobody is waited for there
  }
  TRY(met);
  AT_END(HcclCommDestroy(comm));
  void* data = nullptr;
  TRY(aclrtMalloc(&data, 8192, ACL_MEM_MALLOC_HUGE_FIRST));
  AT_END(aclrtFree(data));
  auto* numbers = static_cast<int32_t*>(data);
  numbers[0] = 5, numbers[1024] = 0;
  aclrtStream stream = nullptr;
  TRY(aclrtCreateStream(&stream));
  AT_END(aclrtDestroyStreamForce(stream));
  TRY(HcclAllReduce(numbers, numbers + 1024, 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream));
  TRY(aclrtSynchronizeStream(stream));
  RIGHT(numbers[1024] == 5);
}

PIECE(ranks_of_a_process) {
  int32_t devices[] = {0, 1};
  HcclComm comms[2] = {};
  TRY(OrMemory(HcclCommInitAll(2, devices, comms)));
  AT_END(HcclCommDestroy(comms[0]));
  AT_END(HcclCommDestroy(comms[1]));
  uint32_t rank = 0;
  TRY(HcclGetRankId(comms[1], &rank));
  RIGHT(rank == 1);
}
