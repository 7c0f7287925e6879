#include "collective/operations.h"

#include <algorithm>
#include <utility>

#include "base/codes.h"
#include "collective/call.h"
#include "runtime/memory.h"
#include "runtime/memory_sharing.h"
#include "runtime/progress.h"
#include "runtime/stream.h"

namespace belay::coll {
namespace {

using tensor::DType;

// From here on a call keeps a worker for long.
constexpr uint64_t kMuch = uint64_t{8} << 20;

const char* NameOfReduction(Reduction op) {
  constexpr const char* kNames[] = {"sum", "prod", "max", "min"};
  return static_cast<size_t>(op) < std::size(kNames) ? kNames[static_cast<size_t>(op)] : "?";
}

uint64_t Product(uint64_t a, uint64_t b) {
  uint64_t product;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  Fail(codes::kInvalidParam, "collective-too-large", "{} times {} bytes are more than any buffer holds", a,
       b);
}

// Bytes up to the end of the last part.
uint64_t EndOf(const std::vector<uint64_t>& counts, const std::vector<uint64_t>& offsets, uint64_t element) {
  uint64_t end = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    uint64_t last;
    if (__builtin_add_overflow(counts[i], offsets[i], &last)) last = UINT64_MAX;
    end = std::max(end, last);
  }
  return Product(end, element);
}

bool Overlap(const void* a, uint64_t a_bytes, const void* b, uint64_t b_bytes) {
  auto x = reinterpret_cast<uintptr_t>(a), y = reinterpret_cast<uintptr_t>(b);
  return a_bytes > 0 && b_bytes > 0 && x < y + b_bytes && y < x + a_bytes;
}

// Where the one buffer may lie in the other.
bool MayLieSo(const Operation& o, uint32_t rank, const void* a, const void* b) {
  auto send = reinterpret_cast<uintptr_t>(a), receive = reinterpret_cast<uintptr_t>(b);
  uint64_t element = tensor::BytesOf(o.type);
  switch (o.kind) {
    case Kind::kAllGather:
      return send == receive || send == receive + rank * o.count * element;
    case Kind::kAllGatherV:
      return send == receive + o.receive_offsets[rank] * element;
    case Kind::kReduceScatter:
    case Kind::kScatter:
      return send == receive || receive == send + rank * o.count * element;
    case Kind::kReduceScatterV:
      return receive == send + o.send_offsets[rank] * element;
    case Kind::kAllToAllV:
    case Kind::kAllToAllVC:
      return false;
    default:
      return send == receive;
  }
}

// What two ranks send may not come to the same elements: the result would depend on who is first.
void RefuseOverlappingParts(const Operation& o) {
  if (o.kind != Kind::kAllGatherV && o.kind != Kind::kAllToAllV) return;
  std::vector<uint32_t> parts;
  for (uint32_t r = 0; r < o.receive_counts.size(); ++r) {
    if (o.receive_counts[r] > 0) parts.push_back(r);
  }
  std::sort(parts.begin(), parts.end(),
            [&](uint32_t a, uint32_t b) { return o.receive_offsets[a] < o.receive_offsets[b]; });
  for (size_t i = 1; i < parts.size(); ++i) {
    const uint32_t before = parts[i - 1], behind = parts[i];
    if (o.receive_offsets[behind] - o.receive_offsets[before] >= o.receive_counts[before]) continue;
    Fail(codes::kInvalidParam, "collective-parts-overlap",
         "the parts of {} that come from ranks {} and {} overlap: elements {} to {} and {} to {} of recvBuf",
         NameOf(o.kind), before, behind, o.receive_offsets[before],
         o.receive_offsets[before] + o.receive_counts[before] - 1, o.receive_offsets[behind],
         o.receive_offsets[behind] + o.receive_counts[behind] - 1);
  }
}

}  // namespace

const char* NameOf(Kind kind) {
  constexpr const char* kNames[] = {
      "HcclBarrier",    "HcclAllReduce",     "HcclReduce",         "HcclBroadcast", "HcclAllGather",
      "HcclAllGatherV", "HcclReduceScatter", "HcclReduceScatterV", "HcclScatter",   "HcclAlltoAll",
      "HcclAlltoAllV",  "HcclAlltoAllVC",    "HcclSend",           "HcclRecv",      "HcclBatchSendRecv"};
  return static_cast<size_t>(kind) < std::size(kNames) ? kNames[static_cast<size_t>(kind)] : "?";
}

const char* HcclNameOf(DType type) {
  switch (type) {
    case DType::kI8:
      return "int8";
    case DType::kI16:
      return "int16";
    case DType::kI32:
      return "int32";
    case DType::kI64:
      return "int64";
    case DType::kU8:
      return "uint8";
    case DType::kU16:
      return "uint16";
    case DType::kU32:
      return "uint32";
    case DType::kU64:
      return "uint64";
    case DType::kF16:
      return "fp16";
    case DType::kBF16:
      return "bfp16";
    case DType::kF32:
      return "fp32";
    case DType::kF64:
      return "fp64";
    case DType::kC128:
      return "int128";
    default:
      return tensor::InfoOf(type).name;
  }
}

std::string Said(Kind kind, uint64_t count, DType type, Reduction op, uint32_t root) {
  std::string text = NameOf(kind);
  if (kind == Kind::kBarrier || kind == Kind::kBatch) return text;
  text += fmt::format(" (count {}, {}", count, HcclNameOf(type));
  if (kind == Kind::kAllReduce || kind == Kind::kReduce || kind == Kind::kReduceScatter ||
      kind == Kind::kReduceScatterV) {
    text += fmt::format(", {}", NameOfReduction(op));
  }
  if (kind == Kind::kReduce || kind == Kind::kBroadcast || kind == Kind::kScatter)
    text += fmt::format(", root {}", root);
  if (kind == Kind::kSend) text += fmt::format(", to rank {}", root);
  if (kind == Kind::kReceive) text += fmt::format(", from rank {}", root);
  return text + ")";
}

uint64_t BytesOf(const Message& message) { return Product(message.count, tensor::BytesOf(message.type)); }

Extents ExtentsOf(const Operation& o, uint32_t rank, uint32_t ranks) {
  const uint64_t element = tensor::BytesOf(o.type);
  const uint64_t one = Product(o.count, element);
  const uint64_t all = Product(one, ranks);
  switch (o.kind) {
    case Kind::kAllReduce:
      return {one, one};
    case Kind::kReduce:
      return {one, rank == o.root ? one : 0};
    case Kind::kBroadcast:
      return rank == o.root ? Extents{one, 0} : Extents{0, one};
    case Kind::kAllGather:
      return {one, all};
    case Kind::kAllGatherV:
      return {one, EndOf(o.receive_counts, o.receive_offsets, element)};
    case Kind::kReduceScatter:
      return {all, one};
    case Kind::kReduceScatterV:
      return {EndOf(o.send_counts, o.send_offsets, element), one};
    case Kind::kScatter:
      return {rank == o.root ? all : 0, one};
    case Kind::kAllToAll:
      return {all, all};
    case Kind::kAllToAllV:
    case Kind::kAllToAllVC:
      return {EndOf(o.send_counts, o.send_offsets, element),
              EndOf(o.receive_counts, o.receive_offsets, element)};
    default:
      return {};
  }
}

void FromMatrix(Operation& o, const uint64_t* matrix, uint32_t rank, uint32_t ranks) {
  uint64_t sent = 0, received = 0;
  for (uint32_t r = 0; r < ranks; ++r) {
    o.send_counts.push_back(matrix[size_t{rank} * ranks + r]);
    o.send_offsets.push_back(std::exchange(sent, sent + o.send_counts.back()));
    o.receive_counts.push_back(matrix[size_t{r} * ranks + rank]);
    o.receive_offsets.push_back(std::exchange(received, received + o.receive_counts.back()));
  }
}

void Submit(Board& board, std::shared_ptr<Hooks> hooks, rt::Stream& stream, const Operation& o) {
  uint64_t bytes = 0;
  for (const Message& m : o.messages) bytes += BytesOf(m);
  Extents extents = ExtentsOf(o, board.rank(), board.ranks());
  RefuseOverlappingParts(o);
  if (Overlap(o.send, extents.send, o.receive, extents.receive) &&
      !MayLieSo(o, board.rank(), o.send, o.receive)) {
    Fail(
        codes::kInvalidParam, "collective-overlap",
        "the buffers of {} overlap in part: give it two that lie apart, or the same one where the call may work in "
        "place",
        NameOf(o.kind));
  }
  if (extents.send >= rt::SharedMemory::kLeastShown && IsReadInPlace(o.kind) && board.ReadsPeers()) {
    rt::SharedMemory::Get().Show(o.send, extents.send);
    if (o.kind == Kind::kAllReduce && o.receive != o.send)
      rt::SharedMemory::Get().Show(o.receive, extents.receive);
  }
  for (const Message& m : o.messages) {
    const uint64_t size = BytesOf(m);
    if (m.sends && size >= rt::SharedMemory::kLeastShown && board.ReadsPeers() && !board.IsHere(m.peer))
      rt::SharedMemory::Get().Show(m.buffer, size);
  }
  std::unique_ptr<Call> call = o.messages.empty() && o.kind != Kind::kBatch
                                   ? MakeCollective(board, std::move(hooks), o)
                                   : MakeMessages(board, std::move(hooks), o);
  if (stream.capture() == nullptr) call->BeginEarly();
  bytes += extents.send + extents.receive;
  // Who waits for it should run it, not a worker that is woken for it beside.
  uint64_t cost = bytes < kMuch ? rt::kUnknownCost : bytes / 8;
  stream.Submit(rt::MakeTask(rt::ProgressTask{std::move(call)},
                             static_cast<rt::TaskCost>(std::min<uint64_t>(cost, UINT32_MAX))));
}

}  // namespace belay::coll
