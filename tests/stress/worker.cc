#include "worker.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace stress {
namespace {

constexpr int kPinned = kBlocks / 3;
constexpr int kGraphs = 4;

std::set<int> Reads(const Op& op) {
  return op.kind == Op::Kind::kCopy ? std::set<int>{op.from} : std::set<int>{};
}

void RunMix(void* argument) {
  auto* mix = static_cast<MixArgument*>(argument);
  Mix(mix->block, mix->value);
}

struct Addition {
  std::atomic<int64_t>* counter;
  int64_t amount;
};
void RunAddition(void* argument) {
  auto* addition = static_cast<Addition*>(argument);
  addition->counter->fetch_add(addition->amount);
  delete addition;
}

}  // namespace

void Check(aclError code, const char* call) {
  if (code == ACL_SUCCESS) return;
  const char* text = aclGetRecentErrMsg();
  std::fprintf(stderr, "stress: %s gave %d: %s\n", call, code, text == nullptr ? "" : text);
  std::abort();
}

void Mix(uint8_t* block, uint8_t value) {
  uint8_t carry = value;
  for (size_t i = 0; i < kBlockBytes; ++i) block[i] = carry = static_cast<uint8_t>(block[i] * 5 + carry);
}

Worker::Worker(int number, uint64_t seed, Shared& shared)
    : number_(number), random_(seed + static_cast<uint64_t>(number) * 7919), shared_(shared) {
  CHECK_ACL(aclrtCreateContext(&context_, 0));
  for (aclrtStream& stream : streams_) CHECK_ACL(aclrtCreateStream(&stream));
  for (int b = 0; b < kBlocks; ++b) {
    void* block = nullptr;
    if (b < kPinned) {
      CHECK_ACL(aclrtMallocHost(&block, kBlockBytes));
    } else {
      CHECK_ACL(aclrtMalloc(&block, kBlockBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    }
    blocks_[b] = static_cast<uint8_t*>(block);
    CHECK_ACL(aclrtMemset(block, kBlockBytes, b, kBlockBytes));
    model_[b].fill(static_cast<uint8_t>(b));
  }
}

Worker::~Worker() {
  Settle();
  while (!graphs_.empty()) DropGraph(0);
  for (aclrtEvent event : events_) CHECK_ACL(aclrtDestroyEvent(event));
  for (int b = 0; b < kBlocks; ++b) {
    if (b < kPinned) {
      CHECK_ACL(aclrtFreeHost(blocks_[b]));
    } else {
      CHECK_ACL(aclrtFree(blocks_[b]));
    }
  }
  CHECK_ACL(aclrtDestroyContext(context_));
}

// --- one operation

Op Worker::RandomOp(bool in_capture) {
  Op op;
  op.to = Random(kBlocks);
  op.from = (op.to + 1 + Random(kBlocks - 1)) % kBlocks;
  op.value = static_cast<uint8_t>(Random(256));
  op.bytes = static_cast<uint32_t>(1 + Random(kBlockBytes));
  op.from_at = static_cast<uint32_t>(Random(static_cast<int>(kBlockBytes - op.bytes + 1)));
  op.to_at = static_cast<uint32_t>(Random(static_cast<int>(kBlockBytes - op.bytes + 1)));
  int kind = Random(100);
  op.kind = kind < (in_capture ? 10 : 4) ? Op::Kind::kMix : kind < 25 ? Op::Kind::kFill : Op::Kind::kCopy;
  // A copy from host to host is refused by the interface.
  if (op.kind == Op::Kind::kCopy && op.to < kPinned && op.from < kPinned) op.from += kPinned;
  return op;
}

void Worker::Launch(int stream, const Op& op) {
  uint8_t* to = blocks_[op.to] + op.to_at;
  switch (op.kind) {
    case Op::Kind::kCopy: {
      aclrtMemcpyKind kind = op.to < kPinned     ? ACL_MEMCPY_DEVICE_TO_HOST
                             : op.from < kPinned ? ACL_MEMCPY_HOST_TO_DEVICE
                                                 : ACL_MEMCPY_DEVICE_TO_DEVICE;
      CHECK_ACL(aclrtMemcpyAsync(to, kBlockBytes - op.to_at, blocks_[op.from] + op.from_at, op.bytes, kind,
                                 streams_[stream]));
      return;
    }
    case Op::Kind::kFill:
      CHECK_ACL(aclrtMemsetAsync(to, kBlockBytes - op.to_at, op.value, op.bytes, streams_[stream]));
      return;
    case Op::Kind::kMix: {
      aclmdlRICaptureStatus status;
      aclmdlRI model;
      CHECK_ACL(aclmdlRICaptureGetInfo(streams_[stream], &status, &model));
      auto& list = status == ACL_MODEL_RI_CAPTURE_STATUS_NONE ? arguments_ : graph_arguments_;
      list.push_back({blocks_[op.to], op.value});
      CHECK_ACL(aclrtLaunchHostFunc(streams_[stream], &RunMix, &list.back()));
      return;
    }
    case Op::Kind::kReplay:
      CHECK_ACL(aclmdlRIExecuteAsync(graphs_[op.graph].model, streams_[stream]));
  }
}

void Worker::Apply(const Op& op) {
  switch (op.kind) {
    case Op::Kind::kCopy:
      std::memcpy(model_[op.to].data() + op.to_at, model_[op.from].data() + op.from_at, op.bytes);
      return;
    case Op::Kind::kFill:
      std::memset(model_[op.to].data() + op.to_at, op.value, op.bytes);
      return;
    case Op::Kind::kMix:
      return Mix(model_[op.to].data(), op.value);
    case Op::Kind::kReplay:
      for (const Op& inner : graphs_[op.graph].ops) Apply(inner);
  }
}

aclrtEvent Worker::AnEvent() {
  if (events_.size() < 16 || Random(20) == 0) {
    aclrtEvent event;
    if (Random(2) == 0) {
      CHECK_ACL(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    } else {
      CHECK_ACL(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    }
    events_.push_back(event);
  }
  return events_[static_cast<size_t>(Random(static_cast<int>(events_.size())))];
}

// `stream` goes on after all that `before` has been given.
void Worker::MakeWait(int stream, int before) {
  aclrtEvent event = AnEvent();
  CHECK_ACL(aclrtRecordEvent(event, streams_[before]));
  CHECK_ACL(aclrtStreamWaitEvent(streams_[stream], event));
  if (events_.size() <= 24) return;
  size_t which = static_cast<size_t>(Random(static_cast<int>(events_.size())));
  CHECK_ACL(aclrtDestroyEvent(events_[which]));  // its record may still be queued
  events_.erase(events_.begin() + static_cast<ptrdiff_t>(which));
}

// Waits for what conflicts with the operation on other streams, and notes the operation.
void Worker::Order(Uses& uses, int stream, const std::set<int>& reads, const std::set<int>& writes) {
  std::set<int> before;
  for (int b : reads) {
    if (uses[b].writer >= 0) before.insert(uses[b].writer);
  }
  for (int b : writes) {
    if (uses[b].writer >= 0) before.insert(uses[b].writer);
    before.insert(uses[b].readers.begin(), uses[b].readers.end());
  }
  before.erase(stream);
  for (int other : before) MakeWait(stream, other);
  for (int b : reads) uses[b].readers.insert(stream);
  for (int b : writes) uses[b] = {stream, {}};
}

void Worker::Issue(Uses& uses, int stream, const Op& op) {
  if (op.kind == Op::Kind::kReplay) {
    Order(uses, stream, graphs_[op.graph].reads, graphs_[op.graph].writes);
  } else {
    Order(uses, stream, Reads(op), {op.to});
  }
  Launch(stream, op);
}

// --- what a thread does

void Worker::Run() {
  CHECK_ACL(aclrtSetCurrentContext(context_));
  while (shared_.left.fetch_sub(1) > 0) {
    DoWork();
    shared_.progress.fetch_add(1, std::memory_order_relaxed);
  }
}

void Worker::DoWork() {
  int what = Random(20000);
  if (what < 8000 || graphs_.empty()) {
    Op op = RandomOp(false);
    Issue(uses_, Random(kStreams), op);
    Apply(op);
  } else if (what < 10000) {
    Replay();
  } else if (what < 10200) {
    AddToShared();
  } else if (what < 10220) {
    Settle();
  } else if (what < 10260) {
    ReplaceStream();
  } else if (what < 10264) {
    ReplaceContext();
  } else if (what < 10280) {
    Sacrifice();
  } else if (what < 10300) {
    DropGraph(static_cast<size_t>(Random(static_cast<int>(graphs_.size()))));
  } else {
    Op op = RandomOp(false);
    Issue(uses_, Random(kStreams), op);
    Apply(op);
  }
  if (graphs_.size() < kGraphs) CaptureGraph();
}

void Worker::AddToShared() {
  int64_t amount = Random(1000);
  added_ += amount;
  // The streams belong to another context, that of all threads.
  aclrtContext own = context_;
  aclrtStream stream = shared_.streams[static_cast<size_t>(Random(4))];
  CHECK_ACL(aclrtSetDevice(0));
  CHECK_ACL(aclrtLaunchHostFunc(stream, &RunAddition, new Addition{&shared_.counter, amount}));
  CHECK_ACL(aclrtSetCurrentContext(own));
}

// Captures a few operations over up to three streams.
void Worker::CaptureGraph() {
  Graph graph;
  Uses uses;
  int main = Random(kStreams);
  std::vector<int> members{main};
  CHECK_ACL(aclmdlRICaptureBegin(streams_[main], ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
  for (int i = Random(3); i > 0; --i) {
    members.push_back((members.back() + 1) % kStreams);
    MakeWait(members.back(), main);
  }
  for (int i = 1 + Random(12); i > 0; --i) {
    Op op = RandomOp(true);
    Issue(uses, members[static_cast<size_t>(Random(static_cast<int>(members.size())))], op);
    graph.ops.push_back(op);
    std::set<int> reads = Reads(op);
    graph.reads.insert(reads.begin(), reads.end());
    graph.writes.insert(op.to);
  }
  for (int member : members) {
    if (member != main) MakeWait(main, member);
  }
  CHECK_ACL(aclmdlRICaptureEnd(streams_[main], &graph.model));
  // An event recorded in a graph has no time of its own: the pool starts afresh.
  for (aclrtEvent event : events_) CHECK_ACL(aclrtDestroyEvent(event));
  events_.clear();
  graphs_.push_back(std::move(graph));
}

void Worker::Replay() {
  Op op;
  op.kind = Op::Kind::kReplay;
  op.graph = Random(static_cast<int>(graphs_.size()));
  Issue(uses_, Random(kStreams), op);
  Apply(op);
}

void Worker::DropGraph(size_t which) {
  CHECK_ACL(aclmdlRIDestroy(graphs_[which].model));  // replays of it may still be queued
  graphs_.erase(graphs_.begin() + static_cast<ptrdiff_t>(which));
}

void Worker::Forget(int stream) {
  for (Use& use : uses_) {
    if (use.writer == stream) use.writer = -1;
    use.readers.erase(stream);
  }
}

void Worker::ReplaceStream() {
  int which = Random(kStreams);
  CHECK_ACL(aclrtDestroyStream(streams_[which]));  // waits for its tasks
  CHECK_ACL(aclrtCreateStream(&streams_[which]));
  Forget(which);
}

void Worker::ReplaceContext() {
  for (aclrtEvent event : events_) CHECK_ACL(aclrtDestroyEvent(event));
  events_.clear();
  while (!graphs_.empty()) DropGraph(0);
  CHECK_ACL(aclrtDestroyContext(context_));  // with its streams, and waits for their tasks
  CHECK_ACL(aclrtCreateContext(&context_, 0));
  for (aclrtStream& stream : streams_) CHECK_ACL(aclrtCreateStream(&stream));
  uses_ = {};
}

// A stream that is destroyed by force while it waits for what never comes.
void Worker::Sacrifice() {
  aclrtStream stream;
  aclrtEvent never;
  CHECK_ACL(aclrtCreateStream(&stream));
  CHECK_ACL(aclrtCreateEvent(&never));
  CHECK_ACL(aclrtStreamWaitEvent(stream, never));
  // At most two behind the wait: with BELAY_STREAM_DEPTH=4 one more would wait for room for ever.
  for (int i = Random(3); i > 0 && !graphs_.empty(); --i) {
    CHECK_ACL(aclmdlRIExecuteAsync(graphs_[static_cast<size_t>(i) % graphs_.size()].model, stream));
  }
  CHECK_ACL(aclrtDestroyStreamForce(stream));
  CHECK_ACL(aclrtDestroyEvent(never));
}

// Everything is done, and every byte is the model's.
void Worker::Settle() {
  for (aclrtStream stream : streams_) CHECK_ACL(aclrtSynchronizeStream(stream));
  uses_ = {};
  arguments_.clear();
  for (int b = 0; b < kBlocks; ++b) {
    Bytes seen;
    CHECK_ACL(aclrtMemcpy(seen.data(), kBlockBytes, blocks_[b], kBlockBytes, ACL_MEMCPY_DEVICE_TO_HOST));
    if (seen == model_[b]) continue;
    size_t at = 0;
    while (seen[at] == model_[b][at]) ++at;
    std::fprintf(stderr, "stress: thread %d: byte %zu of block %d is %d, the model says %d\n", number_, at, b,
                 seen[at], model_[b][at]);
    std::abort();
  }
}

}  // namespace stress
