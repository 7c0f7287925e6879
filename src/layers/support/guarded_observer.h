// What the core is given of a layer: its observer behind the guard (guard.h).
#pragma once

#include <cstdint>

#include "layers/support/guard.h"
#include "runtime/observer.h"

namespace belay::layers {

template <class Layer>
class GuardedObserver final : public rt::Observer {
 public:
  explicit GuardedObserver(Layer& layer) : layer_(layer) {}

  bool watches_runs() const override { return layer_.watches_runs(); }
  bool watches_waits() const override { return layer_.watches_waits(); }
  void Submitted(const rt::Stream& stream, uint64_t position, const rt::Task& task) noexcept override {
    Guarded([&] { layer_.Submitted(stream, position, task); });
  }
  void Captured(const rt::Stream& stream, uint32_t model, uint32_t node,
                const rt::Task& task) noexcept override {
    Guarded([&] { layer_.Captured(stream, model, node, task); });
  }
  void Finished(uint32_t model, const rt::TaskGraph& graph) noexcept override {
    Guarded([&] { layer_.Finished(model, graph); });
  }
  void HostLearned(const rt::Stream& stream, uint64_t position) noexcept override {
    Guarded([&] { layer_.HostLearned(stream, position); });
  }
  void HostWasSilent() noexcept override {
    Guarded([&] { layer_.HostWasSilent(); });
  }
  void HostDoes(const rt::Task& task) noexcept override {
    Guarded([&] { layer_.HostDoes(task); });
  }
  void Allocated(const rt::Block& block) noexcept override {
    Guarded([&] { layer_.Allocated(block); });
  }
  void Freed(const rt::Block& block, rt::FreedBy why) noexcept override {
    Guarded([&] { layer_.Freed(block, why); });
  }
  void WrittenUnseen(const void* p) noexcept override {
    Guarded([&] { layer_.WrittenUnseen(p); });
  }
  void EndedDevice(int device) noexcept override {
    Guarded([&] { layer_.EndedDevice(device); });
  }
  void Destroyed(uint64_t handle) noexcept override {
    Guarded([&] { layer_.Destroyed(handle); });
  }
  void Refused(const rt::Refusal& refusal) noexcept override {
    Guarded([&] { layer_.Refused(refusal); });
  }
  void Marked(const rt::Mark& mark) noexcept override {
    Guarded([&] { layer_.Marked(mark); });
  }
  void Queued(const rt::Stream& stream, uint64_t position) noexcept override {
    Guarded([&] { layer_.Queued(stream, position); });
  }
  void Started(const rt::Stream& stream, uint64_t position, const rt::Task& task) noexcept override {
    Guarded([&] { layer_.Started(stream, position, task); });
  }
  void Ended(const rt::Stream& stream, uint64_t position, const rt::Task& task,
             const rt::TaskFailure* failure) noexcept override {
    Guarded([&] { layer_.Ended(stream, position, task, failure); });
  }
  void NodeStarted(const rt::Stream& stream, uint32_t lane, uint32_t model, uint32_t node,
                   const rt::Task& task) noexcept override {
    Guarded([&] { layer_.NodeStarted(stream, lane, model, node, task); });
  }
  void NodeEnded(const rt::Stream& stream, uint32_t lane, uint32_t model, uint32_t node, const rt::Task& task,
                 const rt::TaskFailure* failure) noexcept override {
    Guarded([&] { layer_.NodeEnded(stream, lane, model, node, task, failure); });
  }
  void HostWaits(const rt::Stream& stream, uint64_t position, int64_t deadline_ns) noexcept override {
    Guarded([&] { layer_.HostWaits(stream, position, deadline_ns); });
  }
  void HostGoesOn(const rt::Stream& stream, uint64_t position) noexcept override {
    Guarded([&] { layer_.HostGoesOn(stream, position); });
  }

 private:
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
