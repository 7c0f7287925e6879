// The blocks of memory that tasks touch, to find out whether one was freed before a replay.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "runtime/memory.h"
#include "runtime/task.h"

namespace belay::rt {

// A block as it was when the task was made: its serial number changes when it is freed.
struct UsedBlock {
  const void* address;
  uint64_t serial;
  uint32_t node;  // the task, as its graph or group counts it
};

class BlockCollector final : public RangeVisitor {
 public:
  explicit BlockCollector(std::vector<UsedBlock>* blocks) : blocks_(blocks) {}
  void Reads(const void* begin, size_t) override { Note(begin); }
  void Writes(void* begin, size_t) override { Note(begin); }
  uint32_t node = 0;

 private:
  void Note(const void* address) {
    uint64_t serial = BlockSerial(address);
    if (serial == 0) return;  // ordinary host memory: nobody tells when it goes
    if (seen_.emplace(serial, node).second) blocks_->push_back({address, serial, node});
  }
  std::vector<UsedBlock>* blocks_;
  std::unordered_map<uint64_t, uint32_t> seen_;
};

}  // namespace belay::rt
