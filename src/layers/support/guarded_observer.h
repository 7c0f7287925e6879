// What the core is given of a layer: its observer behind the guard (guard.h).
#pragma once

#include <cstdint>
#include <type_traits>

#include "layers/support/guard.h"
#include "runtime/observer.h"

namespace belay::layers {

template <class Layer>
class GuardedObserver final : public rt::Observer {
 public:
  explicit GuardedObserver(Layer& layer) : layer_(layer) {}

  bool watches_runs() const override { return layer_.watches_runs(); }
  bool watches_bytes() const override { return layer_.watches_bytes(); }
  bool watches_waits() const override { return layer_.watches_waits(); }
  void Submitted(const rt::Stream& stream, uint64_t position, const rt::Task& task) noexcept override {
    Do(&rt::Observer::Submitted, &Layer::Submitted, stream, position, task);
  }
  void Captured(const rt::Stream& stream, uint32_t model, uint32_t node,
                const rt::Task& task) noexcept override {
    Do(&rt::Observer::Captured, &Layer::Captured, stream, model, node, task);
  }
  void Finished(uint32_t model, const rt::TaskGraph& graph) noexcept override {
    Do(&rt::Observer::Finished, &Layer::Finished, model, graph);
  }
  void HostLearned(const rt::Stream& stream, uint64_t position) noexcept override {
    Do(&rt::Observer::HostLearned, &Layer::HostLearned, stream, position);
  }
  void HostLearnedRecord(const uint64_t* word, uint64_t number, const rt::Stream& stream,
                         uint64_t position) noexcept override {
    if constexpr (std::is_same_v<decltype(&rt::Observer::HostLearnedRecord),
                                 decltype(&Layer::HostLearnedRecord)>) {
      HostLearned(stream, position);
    } else {
      Guarded([&] { layer_.HostLearnedRecord(word, number, stream, position); });
    }
  }
  void HostWasSilent() noexcept override { Do(&rt::Observer::HostWasSilent, &Layer::HostWasSilent); }
  void HostDoes(const rt::Task& task) noexcept override {
    Do(&rt::Observer::HostDoes, &Layer::HostDoes, task);
  }
  void Allocated(const rt::Block& block) noexcept override {
    Do(&rt::Observer::Allocated, &Layer::Allocated, block);
  }
  void Freed(const rt::Block& block, rt::FreedBy why) noexcept override {
    Do(&rt::Observer::Freed, &Layer::Freed, block, why);
  }
  void WrittenUnseen(const void* p) noexcept override {
    Do(&rt::Observer::WrittenUnseen, &Layer::WrittenUnseen, p);
  }
  void EndedDevice(int device) noexcept override {
    Do(&rt::Observer::EndedDevice, &Layer::EndedDevice, device);
  }
  void PoolBegan(const rt::PoolRange& pool) noexcept override {
    Do(&rt::Observer::PoolBegan, &Layer::PoolBegan, pool);
  }
  void PoolEnded(uintptr_t base) noexcept override { Do(&rt::Observer::PoolEnded, &Layer::PoolEnded, base); }
  void RegionBegan(const rt::PoolRange& region) noexcept override {
    Do(&rt::Observer::RegionBegan, &Layer::RegionBegan, region);
  }
  void RegionEnded(uintptr_t base) noexcept override {
    Do(&rt::Observer::RegionEnded, &Layer::RegionEnded, base);
  }
  void Created(uint64_t handle) noexcept override { Do(&rt::Observer::Created, &Layer::Created, handle); }
  void ExecutionBegan(uint32_t model) noexcept override {
    Do(&rt::Observer::ExecutionBegan, &Layer::ExecutionBegan, model);
  }
  void ExecutionEnded(uint32_t model) noexcept override {
    Do(&rt::Observer::ExecutionEnded, &Layer::ExecutionEnded, model);
  }
  void Finalizing() noexcept override { Do(&rt::Observer::Finalizing, &Layer::Finalizing); }
  void Destroyed(uint64_t handle) noexcept override {
    Do(&rt::Observer::Destroyed, &Layer::Destroyed, handle);
  }
  void GivenUp(const rt::Stream& stream) noexcept override {
    Do(&rt::Observer::GivenUp, &Layer::GivenUp, stream);
  }
  void CallbackBegins(const rt::Stream& stream, uint64_t position) noexcept override {
    Do(&rt::Observer::CallbackBegins, &Layer::CallbackBegins, stream, position);
  }
  void CallbackIsOver(const rt::Stream& stream, uint64_t position) noexcept override {
    Do(&rt::Observer::CallbackIsOver, &Layer::CallbackIsOver, stream, position);
  }
  void Refused(const rt::Refusal& refusal) noexcept override {
    Do(&rt::Observer::Refused, &Layer::Refused, refusal);
  }
  void Remarked(const rt::Remark& remark) noexcept override {
    Do(&rt::Observer::Remarked, &Layer::Remarked, remark);
  }
  void CallBegan(uint32_t call, int64_t begun_ns) noexcept override {
    Do(&rt::Observer::CallBegan, &Layer::CallBegan, call, begun_ns);
  }
  void CallEnded(uint32_t call, const char* result) noexcept override {
    Do(&rt::Observer::CallEnded, &Layer::CallEnded, call, result);
  }
  void Marked(const rt::Mark& mark) noexcept override { Do(&rt::Observer::Marked, &Layer::Marked, mark); }
  void Queued(const rt::Stream& stream, uint64_t position) noexcept override {
    Do(&rt::Observer::Queued, &Layer::Queued, stream, position);
  }
  void Started(const rt::Stream& stream, uint64_t position, const rt::Task& task) noexcept override {
    Do(&rt::Observer::Started, &Layer::Started, stream, position, task);
  }
  void Ended(const rt::Stream& stream, uint64_t position, const rt::Task& task,
             const rt::TaskFailure* failure) noexcept override {
    Do(&rt::Observer::Ended, &Layer::Ended, stream, position, task, failure);
  }
  void NodeStarted(const rt::Stream& stream, uint32_t lane, uint32_t model, uint32_t node,
                   const rt::Task& task) noexcept override {
    Do(&rt::Observer::NodeStarted, &Layer::NodeStarted, stream, lane, model, node, task);
  }
  void NodeEnded(const rt::Stream& stream, uint32_t lane, uint32_t model, uint32_t node, const rt::Task& task,
                 const rt::TaskFailure* failure) noexcept override {
    Do(&rt::Observer::NodeEnded, &Layer::NodeEnded, stream, lane, model, node, task, failure);
  }
  void HostWaits(const rt::Stream& stream, uint64_t position, int64_t deadline_ns) noexcept override {
    Do(&rt::Observer::HostWaits, &Layer::HostWaits, stream, position, deadline_ns);
  }
  void HostGoesOn(const rt::Stream& stream, uint64_t position) noexcept override {
    Do(&rt::Observer::HostGoesOn, &Layer::HostGoesOn, stream, position);
  }

 private:
  // What the layer leaves to the base does nothing.
  template <class OfBase, class OfLayer, class... Arguments>
  [[gnu::always_inline]] void Do(OfBase, OfLayer told, const Arguments&... arguments) noexcept {
    if constexpr (!std::is_same_v<OfBase, OfLayer>) Guarded([&] { (layer_.*told)(arguments...); });
  }

  Layer& layer_;
};

// Of what `make` returns, which stays. Null when it throws, which is told.
template <class Make>
rt::Observer* MakeGuarded(const char* name, Make make) {
  NameLayer(name);
  rt::Observer* made = nullptr;
  Guarded([&] { made = new GuardedObserver(*make()); });
  return made;
}

}  // namespace belay::layers
