// One host thread of the stress program: random work on its own streams and blocks through the public
// interface, and beside it the model: the same operations on plain bytes, one after another.
#pragma once

#include <acl/acl.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace stress {

inline constexpr size_t kBlockBytes = 256;
inline constexpr int kBlocks = 24;
inline constexpr int kStreams = 8;
using Bytes = std::array<uint8_t, kBlockBytes>;

// Ends the process with what was called, its code and message.
void Check(aclError code, const char* call);
#define CHECK_ACL(call) ::stress::Check(call, #call)

// What an operation does to blocks; the model and the host functions run the same code.
struct Op {
  enum class Kind { kCopy, kFill, kMix, kReplay } kind = Kind::kFill;
  int from = 0, to = 0;  // blocks
  uint32_t from_at = 0, to_at = 0, bytes = 0;
  uint8_t value = 0;
  int graph = -1;  // kReplay: index in the list of graphs
};

// The argument of a host function that mixes a block's bytes.
struct MixArgument {
  uint8_t* block;
  uint8_t value;
};
void Mix(uint8_t* block, uint8_t value);

struct Shared {
  std::atomic<int64_t> left{0};          // launches still to do
  std::atomic<uint64_t> progress{0};     // for the watchdog
  std::atomic<int64_t> counter{0};       // what host functions of all threads add to
  std::array<aclrtStream, 4> streams{};  // used by all threads
};

class Worker {
 public:
  Worker(int number, uint64_t seed, Shared& shared);
  ~Worker();
  void Run();
  int64_t added() const { return added_; }

 private:
  // Who used a block since it was last known to be quiet.
  struct Use {
    int writer = -1;
    std::set<int> readers;
  };
  struct Graph {
    aclmdlRI model = nullptr;
    std::vector<Op> ops;
    std::set<int> reads, writes;
  };
  using Uses = std::array<Use, kBlocks>;

  int Random(int below) { return static_cast<int>(random_() % static_cast<uint64_t>(below)); }
  Op RandomOp(bool in_capture);
  void Order(Uses& uses, int stream, const std::set<int>& reads, const std::set<int>& writes);
  void MakeWait(int stream, int before);
  void Launch(int stream, const Op& op);
  void Issue(Uses& uses, int stream, const Op& op);
  void Apply(const Op& op);
  void DoWork();
  void AddToShared();
  void CaptureGraph();
  void Replay();
  void DropGraph(size_t which);
  void ReplaceStream();
  void ReplaceContext();
  void Sacrifice();
  void Settle();
  void Forget(int stream);
  aclrtEvent AnEvent();

  const int number_;
  std::mt19937_64 random_;
  Shared& shared_;
  aclrtContext context_ = nullptr;
  std::array<aclrtStream, kStreams> streams_{};
  std::array<uint8_t*, kBlocks> blocks_{};  // the first third is pinned host memory
  std::array<Bytes, kBlocks> model_{};
  Uses uses_;
  std::vector<aclrtEvent> events_;
  std::vector<Graph> graphs_;
  std::deque<MixArgument> arguments_;        // of live host functions, until the next Settle
  std::deque<MixArgument> graph_arguments_;  // of captured ones: they live to the end
  int64_t added_ = 0;
};

}  // namespace stress
