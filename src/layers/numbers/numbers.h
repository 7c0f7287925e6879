// Finds the first operator that makes a NaN: one of its results holds one when it has run, and nothing of
// what it reads held one when it began. It looks at the values themselves, so unlike other layers it decides
// when tasks run.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "layers/support/stack.h"
#include "runtime/layer.h"
#include "runtime/task.h"

namespace belay::numbers {

class Numbers final : public rt::Observer {
 public:
  explicit Numbers(const rt::CoreFacts& core) : core_(core) {}

  bool watches_runs() const override { return true; }
  bool watches_waits() const override { return false; }
  bool watches_bytes() const override { return true; }
  void Submitted(const rt::Stream& stream, uint64_t position, const rt::Task& task) override;
  void Captured(const rt::Stream& stream, uint32_t model, uint32_t node, const rt::Task& task) override;
  void Started(const rt::Stream& stream, uint64_t position, const rt::Task& task) override;
  void Ended(const rt::Stream& stream, uint64_t position, const rt::Task& task,
             const rt::TaskFailure* failure) override;
  void NodeStarted(const rt::Stream& stream, uint32_t lane, uint32_t model, uint32_t node,
                   const rt::Task& task) override;
  void NodeEnded(const rt::Stream& stream, uint32_t lane, uint32_t model, uint32_t node, const rt::Task& task,
                 const rt::TaskFailure* failure) override;

 private:
  struct Operands;
  // What is known of an operator while it runs, of which only that is kept that holds no NaN yet.
  struct Begun {
    const char* infinite;  // an argument that holds an infinity; null: none does
  };
  static constexpr int64_t kNoModel = -1;
  using Place = std::tuple<const rt::Stream*, int64_t, uint64_t>;  // the model, and position or node

  bool Looks(const rt::Task& task) const {
    return task.type->kind == rt::TaskKind::kOperator && !told_.load(std::memory_order_relaxed);
  }
  void Begin(const Place& place, const rt::Task& task);
  void End(const Place& place, const rt::Task& task, bool failed);
  void Tell(const Place& place, const rt::Task& task, const std::string& what);
  layers::Stack StackOf(const Place& place) const;

  const rt::CoreFacts core_;
  std::atomic<bool> told_{false};  // from then on nothing is looked at
  mutable std::mutex lock_;
  std::map<std::pair<const rt::Stream*, uint64_t>, layers::Stack> submitted_;  // by position
  std::map<std::pair<uint32_t, uint32_t>, layers::Stack> captured_;            // model and node
  std::map<Place, Begun> begun_;
};

}  // namespace belay::numbers
