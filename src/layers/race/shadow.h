// Who touched which bytes last: for each block of memory its ranges with the latest write and the reads
// since.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "layers/race/clock.h"

namespace belay::race {

struct Mark {
  Epoch by;
  uint32_t site = 0;  // where it was asked for
};

struct Bytes {
  uint64_t block = 0;  // the serial number of the allocation
  uintptr_t begin = 0;
  uintptr_t end = 0;
};

// Two accesses that nothing orders.
struct Conflict {
  Mark first;
  bool first_writes;
  bool second_writes;
  Bytes bytes;  // what both touch
};

class Shadow {
 public:
  using Ordered = std::function<bool(const Mark& before)>;
  using Tell = std::function<void(const Conflict&)>;

  // Tells of each earlier access to these bytes that is not ordered before this one, and that is no read
  // beside a read.
  void Check(const Bytes& bytes, bool writes, const Ordered& ordered, const Tell& tell);
  // Notes the access; what is ordered before it and says no more than it does is forgotten, and so is what is
  // over: it comes before all that is to come.
  void Note(const Bytes& bytes, bool writes, const Mark& mark, const Ordered& ordered, const Ordered& over);

  // Forgets what is over, and blocks that are gone.
  void Forget(const std::function<bool(uint64_t block, uintptr_t at)>& gone,
              const std::function<bool(const Mark&)>& over);
  size_t ranges() const { return ranges_; }

 private:
  struct Range {
    uintptr_t end;
    bool written = false;
    Mark write;
    std::vector<Mark> reads;
  };
  using Ranges = std::map<uintptr_t, Range>;  // by their first byte; they do not overlap
  // A block's, and behind the latest range that was checked and the latest that was noted: where accesses
  // that follow each other, as those of a model do at each launch, go on without a search.
  struct Block {
    Ranges ranges;
    Ranges::iterator checked = ranges.end(), noted = ranges.end();
    Block() = default;
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    bool IsAt(Ranges::iterator place, uintptr_t begin) const {
      return place != ranges.end() && place->first == begin;
    }
    void ForgetPlaces() { checked = noted = ranges.end(); }  // as soon as a range goes
  };
  Block* Find(uint64_t block);
  void Split(Ranges& ranges, uintptr_t at);
  void NoteRead(Ranges& ranges, const Bytes& bytes, const Mark& mark, const Ordered& ordered,
                const Ordered& over);
  bool NoteAgain(Block& block, const Bytes& bytes, bool writes, const Mark& mark, const Ordered& ordered);

  std::unordered_map<uint64_t, Block> blocks_;
  struct Found {
    uint64_t number = 0;
    Block* block = nullptr;  // null: not known
  };
  std::array<Found, 16> found_;  // lately, by number
  size_t ranges_ = 0;
};

}  // namespace belay::race
