// What the observer knows of pools that the program describes: who touches what no region holds.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "layers/memory/memory.h"
#include "runtime/task.h"

namespace belay::misuse {
namespace {

constexpr std::string_view kMendRegion =
    "give out a region that holds the bytes (mstxMemRegionsRegister), and take it back after its last use";

struct Touch {
  uintptr_t begin;
  size_t bytes;
  bool writes, whole;
};

// What the task says that it touches.
class TouchList final : public rt::RangeVisitor {
 public:
  void Reads(const void* begin, size_t bytes) override { Add(begin, bytes, false, true); }
  void Writes(void* begin, size_t bytes) override { Add(begin, bytes, true, true); }
  void ReadsWithin(const void* begin, size_t bytes) override { Add(begin, bytes, false, false); }
  void WritesWithin(void* begin, size_t bytes) override { Add(begin, bytes, true, false); }

  std::vector<Touch> all;

 private:
  void Add(const void* begin, size_t bytes, bool writes, bool whole) {
    all.push_back({reinterpret_cast<uintptr_t>(begin), bytes, writes, whole});
  }
};

std::string Bytes(size_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

}  // namespace

rt::Block Memory::BlockOf(const rt::PoolRange& range) const {
  return {rt::BlockKind::kDevice, -1, range.base, range.bytes, 0, core_.current_call()};
}

void Memory::Submitted(const rt::Stream& /*stream*/, uint64_t /*position*/, const rt::Task& task) {
  if (pools_.any()) [[unlikely]]
    LookInPools(task);
}

void Memory::Captured(const rt::Stream& /*stream*/, uint32_t /*model*/, uint32_t /*node*/,
                      const rt::Task& task) {
  if (pools_.any()) [[unlikely]]
    LookInPools(task);
}

void Memory::HostDoes(const rt::Task& task) {
  if (pools_.any()) [[unlikely]]
    LookInPools(task);
}

// Of a captured model the memory was looked at when it was captured: a framework keeps it for the model
// without a region.
void Memory::LookInPools(const rt::Task& task) {
  if (task.type->ranges == nullptr || task.type->task_class == rt::TaskClass::kLaunch) return;
  TouchList touches;
  task.type->ranges(task.payload, touches);
  for (const Touch& touch : touches.all) {
    std::optional<Pools::Stray> stray;
    {
      std::lock_guard guard(lock_);
      stray = pools_.Look(touch.begin, touch.bytes, touch.whole);
    }
    if (stray) return TellStray(*stray, touch.writes, touch.bytes);
  }
}

void Memory::TellStray(const Pools::Stray& stray, bool writes, size_t bytes) {
  const std::string call = core_.call_name(core_.current_call());
  std::string what = call + (writes ? " writes " : " reads ") + Bytes(bytes) + " of a pool of " +
                     std::to_string(stray.pool.block.bytes);
  layers::Report report{
      "invalid-address", {}, {{"in " + call, layers::ThisStack()}}, std::string(kMendRegion)};
  const auto add = [&](std::string_view role, uint32_t by, const layers::Stack& stack) {
    report.places.push_back({std::string(role) + " by " + core_.call_name(by), stack});
  };
  if (!stray.region) {
    what += ", where no region is";
    add("the pool is registered", stray.pool.block.call, stray.pool.allocated);
  } else {
    const Life& region = *stray.region;
    const std::string its = "a region of " + std::to_string(region.block.bytes);
    if (region.live) {
      report.kind = "beyond-end";
      what += ", " + std::to_string(stray.beyond) + " of them beyond the end of " + its;
    } else {
      report.kind = "use-after-free";
      what += ", in " + its + " that was taken back";
      add("taken back", region.freed_by, region.freed);
    }
    add("given out", region.block.call, region.allocated);
  }
  report.message = std::move(what);
  layers::Tell(report);
}

// --- what the program says

void Memory::PoolBegan(const rt::PoolRange& pool) {
  const layers::Stack stack = layers::ThisStack();
  if (core_.lookup(reinterpret_cast<const void*>(pool.base), pool.bytes).base == 0) {
    layers::Tell({"invalid-address",
                  "a pool of " + Bytes(pool.bytes) + " is registered where no memory of a device is",
                  {{"registered", stack}},
                  "register a pool when its memory is allocated"});
  }
  std::lock_guard guard(lock_);
  pools_.Begin(BlockOf(pool), stack);
}

void Memory::PoolEnded(uintptr_t base) {
  const layers::Stack stack = layers::ThisStack();
  {
    std::lock_guard guard(lock_);
    if (!pools_.any() || pools_.End(base, core_.current_call(), stack)) return;
  }
  layers::Tell({"bad-free",
                "a pool is unregistered that is none",
                {{"unregistered", stack}},
                "unregister what mstxMemHeapRegister has returned, once, and before its memory is freed"});
}

void Memory::RegionBegan(const rt::PoolRange& region) {
  const layers::Stack stack = layers::ThisStack();
  std::optional<Life> pool;
  {
    std::lock_guard guard(lock_);
    const Life* found = pools_.PoolAt(region.base);
    if (found != nullptr) pool = *found;
    pools_.BeginRegion(BlockOf(region), stack);
  }
  if (!pool) {
    layers::Tell({"invalid-address",
                  "a region of " + Bytes(region.bytes) + " is given out where no pool is",
                  {{"given out", stack}},
                  "register the pool first (mstxMemHeapRegister)"});
  } else if (region.base + region.bytes > pool->block.base + pool->block.bytes) {
    layers::Tell({"beyond-end",
                  "a region of " + Bytes(region.bytes) + " ends " +
                      Bytes(region.base + region.bytes - pool->block.base - pool->block.bytes) +
                      " beyond the end of its pool of " + std::to_string(pool->block.bytes),
                  {{"given out", stack}, {"the pool is registered", pool->allocated}},
                  "give out only what the pool has"});
  }
}

void Memory::RegionEnded(uintptr_t base) {
  const layers::Stack stack = layers::ThisStack();
  std::optional<Life> over;
  {
    std::lock_guard guard(lock_);
    const Life* region = pools_.RegionAt(base);
    if (region != nullptr) over = *region;
    if (!pools_.any() || pools_.EndRegion(base, core_.current_call(), stack)) return;
  }
  layers::Report report{"bad-free",
                        "a region is taken back that is none",
                        {{"taken back", stack}},
                        "take a region back once, by its first address or its handle"};
  if (over && !over->live && over->block.base == base) {
    report.kind = "double-free";
    report.message = "a region of " + Bytes(over->block.bytes) + " is taken back a second time";
    report.places.push_back({"taken back before", over->freed});
  }
  if (over) report.places.push_back({"given out", over->allocated});
  layers::Tell(report);
}

}  // namespace belay::misuse
