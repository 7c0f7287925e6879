// The operations of a communicator: each is one task of its stream, which takes its place among the calls of
// the communicator when the stream gets there, and never holds up a worker while others have not come.
//
// Collectives run one at a time in a communicator, in the order in which the rank's streams reach them. What
// is sent to a rank, or received from it, runs in order as well, but beside collectives and other pairs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/handle_table.h"
#include "tensor/dtype.h"

namespace belay::rt {
class Stream;
}

namespace belay::coll {

class Board;
class Communicator;

enum class Kind : uint8_t {
  kBarrier,
  kAllReduce,
  kReduce,
  kBroadcast,
  kAllGather,
  kAllGatherV,
  kReduceScatter,
  kReduceScatterV,
  kScatter,
  kAllToAll,
  kAllToAllV,
  kAllToAllVC,
  kSend,
  kReceive,
  kBatch,
};

// By the numbers of HcclReduceOp.
enum class Reduction : uint8_t { kSum, kProd, kMax, kMin };

// One message to a rank, or from it.
struct Message {
  bool sends = false;
  void* buffer = nullptr;
  uint64_t count = 0;
  tensor::DType type = tensor::DType::kF32;
  uint32_t peer = 0;
};

// A call, with everything copied. Counts and offsets are in elements; addresses are the program's.
struct Operation {
  Kind kind = Kind::kBarrier;
  const void* send = nullptr;  // kBroadcast: the buffer is both
  void* receive = nullptr;
  uint64_t count = 0;  // as in the call: of the rank's own part (kAllToAll: for each peer)
  tensor::DType type = tensor::DType::kF32;  // 16-byte integers go as kC128
  Reduction op = Reduction::kSum;
  uint32_t root = 0;
  // kAllGatherV: receive_*; kReduceScatterV: send_*; kAllToAllV: all four, kAllToAllVC: see FromMatrix.
  std::vector<uint64_t> send_counts, send_offsets, receive_counts, receive_offsets;
  std::vector<Message> messages;  // kBatch; kSend and kReceive: the one
};

// The counts and offsets of kAllToAllVC, of a matrix of ranks x ranks: [from][to].
void FromMatrix(Operation& operation, const uint64_t* matrix, uint32_t rank, uint32_t ranks);

// Whether there is arithmetic for the type: all integers, fp16, bf16, fp32 and fp64.
bool Reduces(tensor::DType type);

// What a program calls it: "HcclAllReduce"; "fp32".
const char* NameOf(Kind kind);
const char* HcclNameOf(tensor::DType type);

// Queues the operation. Throws where the stream takes no work, where buffers are no device memory or too
// short for what the call says, and where the communicator has failed. The rest is checked by the caller:
// ranks, types, null pointers.
void Submit(Communicator& communicator, rt::Stream& stream, const Operation& operation);

// The same without a communicator, of any memory. `hooks` is kept as long as the task lives, and keeps the
// board alive.
struct Hooks {
  virtual ~Hooks() = default;
  virtual void Begin() {}  // an operation is under way; throws when there may be none
  virtual void End() noexcept {}
  virtual void Failed(const Error&) noexcept {}  // it ended with this
  virtual HandleBits communicator() const { return 0; }
};
void Submit(Board& board, std::shared_ptr<Hooks> hooks, rt::Stream& stream, const Operation& operation);

}  // namespace belay::coll
