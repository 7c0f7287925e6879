// What the calls of a communicator have in common: getting on as far as they can, looking around before they
// park, time limits, and what becomes of the others when one ends in the middle.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collective/board.h"
#include "collective/operations.h"
#include "runtime/progress.h"

namespace belay::coll {

class Call : public rt::Progress {
 public:
  Call(Board& board, std::shared_ptr<Hooks> hooks, Operation operation);
  ~Call() override;

  bool Advance(int64_t look_ns) final;
  bool CanAdvance() const final { return board_.failed() || CanMove() || Missing() != board_.ranks(); }
  void Abandon() noexcept final;
  int64_t until_ns() const final { return until_ns_; }
  const void* key() const final { return board_.key(); }
  const std::atomic<bool>* from_outside() const final { return &board_.silent(); }
  void Ranges(rt::RangeVisitor& visit) const final;
  void Lines(std::vector<uint64_t>* lines) const override;
  void Describe(std::string& out) const final;
  bool is_within_process() const final { return board_.AllAreHere(); }

  // Counts as under way from now on, not when it runs.
  void BeginEarly();

 protected:
  virtual void BufferRanges(rt::RangeVisitor& visit) const;
  virtual void Start() = 0;  // takes its turn
  virtual bool Over() const = 0;
  virtual bool CanMove() const = 0;                       // while it is not over
  virtual void Move() = 0;                                // one step, when CanMove
  virtual bool Needs(uint32_t rank) const = 0;            // a rank that has not come to the call
  virtual void End() = 0;                                 // gives the turn to the next
  virtual std::string WaitsFor(uint32_t* who) const = 0;  // and of which rank

  Board& board() const { return board_; }
  const Operation& operation() const { return operation_; }

 private:
  friend struct UnlessDone;
  void Begin();
  void Finish(bool well) noexcept;
  bool LookAround(int64_t look_ns) const;
  bool LookElsewhere(int64_t look_ns) const;
  bool Wait();
  uint32_t Missing() const;
  [[noreturn]] void FailWithout(uint32_t rank) const;

  Board& board_;
  const std::shared_ptr<Hooks> hooks_;
  const Operation operation_;
  bool counted_ = false;  // Hooks::Begin was called
  bool running_ = false;
  bool parked_ = false;
  int64_t since_ns_ = 0;  // when it began to wait; 0: it does not
  int64_t until_ns_ = 0;
};

// "HcclAllReduce (count 1024, fp32, sum)"
std::string Said(Kind kind, uint64_t count, tensor::DType type, Reduction op, uint32_t root);

// ", but waits in HcclSend to rank 0 itself": what a rank that does not come waits in for ranks that have not
// come there, as far as it is seen from here; else nothing.
std::string WaitsElsewhere(const Board& board, uint32_t rank);

// Bytes that the rank's call reads and writes.
struct Extents {
  uint64_t send = 0;
  uint64_t receive = 0;
};
Extents ExtentsOf(const Operation& operation, uint32_t rank, uint32_t ranks);
uint64_t BytesOf(const Message& message);

// Whether ranks of other processes read the buffers where they lie, if they can.
bool IsReadInPlace(Kind kind);

std::unique_ptr<Call> MakeCollective(Board& board, std::shared_ptr<Hooks> hooks, const Operation& operation);
std::unique_ptr<Call> MakeMessages(Board& board, std::shared_ptr<Hooks> hooks, const Operation& operation);

}  // namespace belay::coll
