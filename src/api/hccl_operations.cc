// Operations over the ranks of a communicator (libhccl.so): their arguments. The work is
// collective/operations.h.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "api/convert.h"
#include "api/handlers.h"
#include "base/error.h"
#include "base/hcclresult_codes.h"
#include "collective/communicator.h"
#include "collective/operations.h"
#include "runtime/stream.h"
#include "tensor/dtype.h"

namespace belay::api {
namespace {

using coll::Communicator;
using coll::Kind;
using coll::Operation;
using tensor::DType;

DType ElementType(HcclDataType type) {
  constexpr std::pair<HcclDataType, DType> kTypes[] = {
      {HCCL_DATA_TYPE_INT8, DType::kI8},        {HCCL_DATA_TYPE_INT16, DType::kI16},
      {HCCL_DATA_TYPE_INT32, DType::kI32},      {HCCL_DATA_TYPE_FP16, DType::kF16},
      {HCCL_DATA_TYPE_FP32, DType::kF32},       {HCCL_DATA_TYPE_INT64, DType::kI64},
      {HCCL_DATA_TYPE_UINT64, DType::kU64},     {HCCL_DATA_TYPE_UINT8, DType::kU8},
      {HCCL_DATA_TYPE_UINT16, DType::kU16},     {HCCL_DATA_TYPE_UINT32, DType::kU32},
      {HCCL_DATA_TYPE_FP64, DType::kF64},       {HCCL_DATA_TYPE_BFP16, DType::kBF16},
      {HCCL_DATA_TYPE_INT128, DType::kC128},    {HCCL_DATA_TYPE_HIF8, DType::kHiF8},
      {HCCL_DATA_TYPE_FP8E4M3, DType::kF8E4M3}, {HCCL_DATA_TYPE_FP8E5M2, DType::kF8E5M2},
      {HCCL_DATA_TYPE_FP8E8M0, DType::kF8E8M0},
  };
  for (const auto& [hccl, ours] : kTypes) {
    if (hccl == type) return ours;
  }
  Fail(codes::kHcclEPara, "collective-type", "{} is no HcclDataType", static_cast<int>(type));
}

void SetReduction(Operation* o, HcclReduceOp op) {
  const auto number = static_cast<int>(op);
  if (number < HCCL_REDUCE_SUM || number > HCCL_REDUCE_MIN) {
    Fail(codes::kHcclEPara, "collective-reduction", "op is {}; it is HCCL_REDUCE_SUM, _PROD, _MAX or _MIN",
         number);
  }
  if (!coll::Reduces(o->type)) {
    Fail(codes::kHcclENotSupport, "collective-reduction",
         "there is no arithmetic for {}; reduce integers of 8 to 64 bits, fp16, bfp16, fp32 or fp64",
         coll::HcclNameOf(o->type));
  }
  o->op = static_cast<coll::Reduction>(number);
}

void CheckRank(const Communicator& comm, uint32_t rank, const char* argument) {
  if (rank < comm.ranks()) return;
  Fail(codes::kHcclEPara, "collective-rank", "{} is {}; the communicator has the ranks 0 to {}", argument,
       rank, comm.ranks() - 1);
}

void CheckPeer(const Communicator& comm, uint32_t rank, const char* argument) {
  CheckRank(comm, rank, argument);
  if (rank == comm.rank()) {
    Fail(codes::kHcclEPara, "collective-rank", "{} is {}, this rank itself; copy with aclrtMemcpyAsync",
         argument, rank);
  }
  comm.RefuseWithout(rank);
}

// A buffer that has elements.
void CheckBuffer(const void* buffer, DType type, bool has_elements, const char* argument) {
  if (!has_elements) return;
  if (buffer == nullptr)
    Fail(codes::kHcclEPtr, "null-argument", "{} is null; pass a valid pointer or handle", argument);
  const size_t element = std::min<size_t>(tensor::BytesOf(type), 8);
  if (reinterpret_cast<uintptr_t>(buffer) % element != 0) {
    Fail(codes::kHcclEPara, "collective-alignment", "{} = {} is not aligned to its elements of {} bytes",
         argument, buffer, tensor::BytesOf(type));
  }
}

bool HasAny(const std::vector<uint64_t>& counts) {
  return std::any_of(counts.begin(), counts.end(), [](uint64_t count) { return count != 0; });
}

std::vector<uint64_t> Copy(const void* numbers, size_t count) {
  const auto* from = static_cast<const uint64_t*>(numbers);
  return {from, from + count};
}

void CheckSameType(HcclDataType send, HcclDataType receive) {
  if (send == receive) return;
  Fail(codes::kHcclEPara, "collective-types",
       "sendType is {} and recvType {}; send and receive the same type", static_cast<int>(send),
       static_cast<int>(receive));
}

void CheckOwnCount(uint64_t own, uint64_t listed, const char* argument, const char* array) {
  if (own == listed) return;
  Fail(codes::kHcclEPara, "collective-own-count", "{} is {}, but this rank's element of {} is {}", argument,
       own, array, listed);
}

void SubmitToAll(Communicator& comm, rt::Stream& stream, const Operation& operation) {
  comm.ThrowIfFailed();
  comm.RefuseWithoutAll();
  coll::Submit(comm, stream, operation);
}

Operation Begin(Kind kind, const void* send, const void* receive, uint64_t count, HcclDataType type) {
  Operation o;
  o.kind = kind;
  o.send = send;
  o.receive = const_cast<void*>(receive);
  o.count = count;
  o.type = ElementType(type);
  return o;
}

// Both buffers have `count` elements at least.
void CheckBuffers(const Operation& o) {
  CheckBuffer(o.send, o.type, o.count != 0, "sendBuf");
  CheckBuffer(o.receive, o.type, o.count != 0, "recvBuf");
}

coll::Message MessageOf(const Communicator& comm, bool sends, void* buffer, uint64_t count, HcclDataType type,
                        uint32_t peer, const char* buffer_name, const char* peer_name) {
  coll::Message message{sends, buffer, count, ElementType(type), peer};
  CheckPeer(comm, peer, peer_name);
  CheckBuffer(buffer, message.type, count != 0, buffer_name);
  return message;
}

void SubmitOne(Communicator& comm, rt::Stream& stream, Kind kind, const coll::Message& message) {
  Operation o;
  o.kind = kind;
  o.count = message.count;
  o.type = message.type;
  o.root = message.peer;
  o.messages.push_back(message);
  coll::Submit(comm, stream, o);
}

}  // namespace

void HcclBarrier(Communicator& comm, rt::Stream& stream) { SubmitToAll(comm, stream, {}); }

void HcclAllReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op,
                   Communicator& comm, rt::Stream& stream) {
  Operation o = Begin(Kind::kAllReduce, sendBuf, recvBuf, count, dataType);
  SetReduction(&o, op);
  CheckBuffers(o);
  SubmitToAll(comm, stream, o);
}

void HcclReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op,
                uint32_t root, Communicator& comm, rt::Stream& stream) {
  Operation o = Begin(Kind::kReduce, sendBuf, recvBuf, count, dataType);
  SetReduction(&o, op);
  CheckRank(comm, root, "root");
  CheckBuffer(sendBuf, o.type, count != 0, "sendBuf");
  CheckBuffer(recvBuf, o.type, count != 0 && comm.rank() == root, "recvBuf");
  o.root = root;
  SubmitToAll(comm, stream, o);
}

void HcclBroadcast(void* buf, uint64_t count, HcclDataType dataType, uint32_t root, Communicator& comm,
                   rt::Stream& stream) {
  Operation o = Begin(Kind::kBroadcast, buf, buf, count, dataType);
  CheckRank(comm, root, "root");
  CheckBuffer(buf, o.type, count != 0, "buf");
  o.root = root;
  SubmitToAll(comm, stream, o);
}

void HcclAllGather(void* sendBuf, void* recvBuf, uint64_t sendCount, HcclDataType dataType,
                   Communicator& comm, rt::Stream& stream) {
  Operation o = Begin(Kind::kAllGather, sendBuf, recvBuf, sendCount, dataType);
  CheckBuffers(o);
  SubmitToAll(comm, stream, o);
}

void HcclAllGatherV(void* sendBuf, uint64_t sendCount, void* recvBuf, const void* recvCounts,
                    const void* recvDispls, HcclDataType dataType, Communicator& comm, rt::Stream& stream) {
  Operation o = Begin(Kind::kAllGatherV, sendBuf, recvBuf, sendCount, dataType);
  o.receive_counts = Copy(recvCounts, comm.ranks());
  o.receive_offsets = Copy(recvDispls, comm.ranks());
  CheckOwnCount(sendCount, o.receive_counts[comm.rank()], "sendCount", "recvCounts");
  CheckBuffer(sendBuf, o.type, sendCount != 0, "sendBuf");
  CheckBuffer(recvBuf, o.type, HasAny(o.receive_counts), "recvBuf");
  SubmitToAll(comm, stream, o);
}

void HcclReduceScatter(void* sendBuf, void* recvBuf, uint64_t recvCount, HcclDataType dataType,
                       HcclReduceOp op, Communicator& comm, rt::Stream& stream) {
  Operation o = Begin(Kind::kReduceScatter, sendBuf, recvBuf, recvCount, dataType);
  SetReduction(&o, op);
  CheckBuffers(o);
  SubmitToAll(comm, stream, o);
}

void HcclReduceScatterV(void* sendBuf, const void* sendCounts, const void* sendDispls, void* recvBuf,
                        uint64_t recvCount, HcclDataType dataType, HcclReduceOp op, Communicator& comm,
                        rt::Stream& stream) {
  Operation o = Begin(Kind::kReduceScatterV, sendBuf, recvBuf, recvCount, dataType);
  SetReduction(&o, op);
  o.send_counts = Copy(sendCounts, comm.ranks());
  o.send_offsets = Copy(sendDispls, comm.ranks());
  CheckOwnCount(recvCount, o.send_counts[comm.rank()], "recvCount", "sendCounts");
  CheckBuffer(sendBuf, o.type, HasAny(o.send_counts), "sendBuf");
  CheckBuffer(recvBuf, o.type, recvCount != 0, "recvBuf");
  SubmitToAll(comm, stream, o);
}

void HcclScatter(void* sendBuf, void* recvBuf, uint64_t recvCount, HcclDataType dataType, uint32_t root,
                 Communicator& comm, rt::Stream& stream) {
  Operation o = Begin(Kind::kScatter, sendBuf, recvBuf, recvCount, dataType);
  CheckRank(comm, root, "root");
  CheckBuffer(sendBuf, o.type, recvCount != 0 && comm.rank() == root, "sendBuf");
  CheckBuffer(recvBuf, o.type, recvCount != 0, "recvBuf");
  o.root = root;
  SubmitToAll(comm, stream, o);
}

void HcclAlltoAll(const void* sendBuf, uint64_t sendCount, HcclDataType sendType, const void* recvBuf,
                  uint64_t recvCount, HcclDataType recvType, Communicator& comm, rt::Stream& stream) {
  Operation o = Begin(Kind::kAllToAll, sendBuf, recvBuf, sendCount, sendType);
  CheckSameType(sendType, recvType);
  if (sendCount != recvCount) {
    Fail(codes::kHcclEPara, "collective-own-count", "sendCount is {} and recvCount {}; parts have one size",
         sendCount, recvCount);
  }
  CheckBuffers(o);
  SubmitToAll(comm, stream, o);
}

void HcclAlltoAllV(const void* sendBuf, const void* sendCounts, const void* sdispls, HcclDataType sendType,
                   const void* recvBuf, const void* recvCounts, const void* rdispls, HcclDataType recvType,
                   Communicator& comm, rt::Stream& stream) {
  Operation o = Begin(Kind::kAllToAllV, sendBuf, recvBuf, 0, sendType);
  CheckSameType(sendType, recvType);
  o.send_counts = Copy(sendCounts, comm.ranks());
  o.send_offsets = Copy(sdispls, comm.ranks());
  o.receive_counts = Copy(recvCounts, comm.ranks());
  o.receive_offsets = Copy(rdispls, comm.ranks());
  CheckBuffer(sendBuf, o.type, HasAny(o.send_counts), "sendBuf");
  CheckBuffer(recvBuf, o.type, HasAny(o.receive_counts), "recvBuf");
  SubmitToAll(comm, stream, o);
}

void HcclAlltoAllVC(const void* sendBuf, const void* sendCountMatrix, HcclDataType sendType,
                    const void* recvBuf, HcclDataType recvType, Communicator& comm, rt::Stream& stream) {
  Operation o = Begin(Kind::kAllToAllVC, sendBuf, recvBuf, 0, sendType);
  CheckSameType(sendType, recvType);
  coll::FromMatrix(o, static_cast<const uint64_t*>(sendCountMatrix), comm.rank(), comm.ranks());
  CheckBuffer(sendBuf, o.type, HasAny(o.send_counts), "sendBuf");
  CheckBuffer(recvBuf, o.type, HasAny(o.receive_counts), "recvBuf");
  if (sendBuf == recvBuf && sendBuf != nullptr) {
    Fail(codes::kHcclEPara, "collective-in-place", "recvBuf is sendBuf; HcclAlltoAllVC needs two buffers");
  }
  SubmitToAll(comm, stream, o);
}

void HcclSend(void* sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank, Communicator& comm,
              rt::Stream& stream) {
  SubmitOne(comm, stream, Kind::kSend,
            MessageOf(comm, true, sendBuf, count, dataType, destRank, "sendBuf", "destRank"));
}

void HcclRecv(void* recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank, Communicator& comm,
              rt::Stream& stream) {
  SubmitOne(comm, stream, Kind::kReceive,
            MessageOf(comm, false, recvBuf, count, dataType, srcRank, "recvBuf", "srcRank"));
}

void HcclBatchSendRecv(HcclSendRecvItem* sendRecvInfo, uint32_t itemNum, Communicator& comm,
                       rt::Stream& stream) {
  Operation o;
  o.kind = Kind::kBatch;
  const uint32_t most = 2 * comm.ranks();
  if (itemNum == 0 || itemNum > most) {
    Fail(codes::kHcclEPara, "collective-batch", "itemNum is {}; a batch of {} ranks has 1 to {} items",
         itemNum, comm.ranks(), most);
  }
  for (const HcclSendRecvItem& item : std::span(sendRecvInfo, itemNum)) {
    const auto type = static_cast<int>(item.sendRecvType);
    if (type != HCCL_SEND && type != HCCL_RECV)
      Fail(codes::kHcclEPara, "collective-batch", "sendRecvType is {}; it is HCCL_SEND or HCCL_RECV", type);
    const coll::Message message = MessageOf(comm, type == HCCL_SEND, item.buf, item.count, item.dataType,
                                            item.remoteRank, "buf", "remoteRank");
    for (const coll::Message& other : o.messages) {
      if (other.peer == message.peer && other.sends == message.sends)
        Fail(codes::kHcclEPara, "collective-batch", "two items {} rank {}; a batch has one each way",
             message.sends ? "send to" : "receive from", message.peer);
    }
    o.messages.push_back(message);
  }
  coll::Submit(comm, stream, o);
}

}  // namespace belay::api
