// Which bytes of device memory nothing has written yet, as far as calls and tasks say what they write. Only a
// range of which not one byte was written counts: what is longer than what lies in it (padding, a buffer for
// the longest case, a pool) is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>

#include "layers/race/shadow.h"
#include "layers/support/stack.h"
#include "runtime/observer.h"

namespace belay::race {

class Undefined {
 public:
  // A block of the program's on a device. Others, and those that are not known, count as written.
  struct Block {
    uintptr_t begin, end;
    std::string call;
    layers::Stack allocated;
    std::map<uintptr_t, uintptr_t> written;  // first byte: end; they neither overlap nor touch
  };

  void Begin(uint64_t serial, Block block) { blocks_[serial] = std::move(block); }
  void End(uint64_t serial) { blocks_.erase(serial); }
  // What ran may have written anywhere.
  void WrittenAnywhere() { blocks_.clear(); }

  void Write(const Bytes& bytes);
  // They hold now what was never written.
  void Unwrite(const Bytes& bytes);
  // The block of these bytes if none of them was written; else null.
  const Block* Find(const Bytes& bytes) const;
  bool Knows(uint64_t serial) const { return blocks_.contains(serial); }

 private:
  static void Cut(std::map<uintptr_t, uintptr_t>& written, uintptr_t begin, uintptr_t end);

  std::unordered_map<uint64_t, Block> blocks_;  // without those that were written as a whole
};

}  // namespace belay::race
