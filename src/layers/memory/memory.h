// Finds misuse of memory: of what was freed, beyond the end, of the wrong kind, frees of what is no block.
// The core refuses it with a code; here it gets the places where the block was allocated and freed.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "layers/memory/blocks.h"
#include "layers/memory/pools.h"
#include "layers/support/report.h"
#include "runtime/layer.h"

namespace belay::misuse {

class Memory final : public rt::Observer {
 public:
  explicit Memory(const rt::CoreFacts& core) : core_(core) {}

  bool watches_bytes() const override { return true; }
  void Submitted(const rt::Stream& stream, uint64_t position, const rt::Task& task) override;
  void Captured(const rt::Stream& stream, uint32_t model, uint32_t node, const rt::Task& task) override;
  void HostDoes(const rt::Task& task) override;
  void Allocated(const rt::Block& block) override;
  void Freed(const rt::Block& block, rt::FreedBy why) override;
  void EndedDevice(int device) override;
  void PoolBegan(const rt::PoolRange& pool) override;
  void PoolEnded(uintptr_t base) override;
  void RegionBegan(const rt::PoolRange& region) override;
  void RegionEnded(uintptr_t base) override;
  void Created(uint64_t handle) override;
  void Destroyed(uint64_t handle) override;
  void Finalizing() override;
  void Refused(const rt::Refusal& refusal) override;
  void Remarked(const rt::Remark& remark) override;

 private:
  void Leave(const Life& life);
  void LookInPools(const rt::Task& task);
  void TellStray(const Pools::Stray& stray, bool writes, size_t bytes);
  rt::Block BlockOf(const rt::PoolRange& range) const;
  std::optional<Life> LifeAt(const void* p);
  void UsedAfterDestroy(const rt::Refusal& refusal);
  void Tell(layers::KindId kind, std::string message, const std::string& use, const std::optional<Life>& life,
            std::string_view mend);

  const rt::CoreFacts core_;
  std::mutex lock_;
  Blocks blocks_;
  Pools pools_;
  // What the end of a device frees, by where it was allocated.
  struct Left {
    uint32_t call;
    size_t blocks = 0;
    size_t bytes = 0;
  };
  std::unordered_map<layers::Stack, Left, layers::StackHash> left_;
  struct Destroy {
    uint64_t handle;
    layers::Stack stack;
  };
  std::unordered_map<uint64_t, Destroy> destroyed_;  // by kind and place: the latest
  struct Object {
    uint32_t call;
    layers::Stack created;
  };
  std::unordered_map<uint64_t, Object> objects_;  // that the program has to destroy, by handle
};

}  // namespace belay::misuse
