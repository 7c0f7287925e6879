// Who touched which bytes last: for each block of memory its ranges with the latest write and the reads
// since.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
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

  // The same of an access to some of these bytes, nobody knows which: it meets what touches them all, and
  // what touches them all later meets it.
  void CheckSome(const Bytes& bytes, bool writes, const Ordered& ordered, const Tell& tell);
  void NoteSome(const Bytes& bytes, bool writes, const Mark& mark, const Ordered& over);

  // Check and Note in one, for bytes that were noted before as they are, as in a loop. False, and nothing has
  // happened, where they were not, and where there is something to tell.
  template <class IsOrdered>
  bool Again(const Bytes& bytes, bool writes, const Mark& mark, const IsOrdered& ordered);

  // The latest writes, with what has read them since.
  template <class Visit>
  void ForEachWrite(const Visit& visit) const {
    for (const auto& [number, block] : blocks_) {
      for (const auto& [begin, range] : block.ranges) {
        if (range.written) visit(Bytes{number, begin, range.end}, range.write, range.reads);
      }
    }
  }

  // What was noted of one block is noted of the other, so many bytes behind.
  void Copy(uint64_t from, uint64_t to, uintptr_t moved);

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

    void Write(const Mark& mark) {
      written = true;
      write = mark;
      reads.clear();
    }
    template <class IsOrdered>
    void Read(const Mark& mark, const IsOrdered& ordered) {
      if (reads.size() == 1 && ordered(reads[0])) {  // as in a loop
        reads[0] = mark;
        return;
      }
      std::erase_if(reads, ordered);
      reads.push_back(mark);
    }
  };
  struct Some {
    Bytes bytes;
    bool writes;
    Mark mark;
    bool IsWithin(const Bytes& all) const { return bytes.begin >= all.begin && bytes.end <= all.end; }
  };
  static constexpr size_t kMostSome = 64;     // of a block: those of longer ago are forgotten
  using Ranges = std::map<uintptr_t, Range>;  // by their first byte; they do not overlap
  // A block's, and the latest that was noted as it is: it is found again without a search, and so is the
  // next, as accesses follow each other that a model has at each launch.
  struct Block {
    Ranges ranges;
    Ranges::iterator latest = ranges.end();
    std::vector<Some> some;
    Block() = default;
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    void ForgetLatest() { latest = ranges.end(); }  // as soon as a range goes
    bool HasSomeWithin(const Bytes& bytes) const {
      return std::ranges::any_of(some, [&](const Some& s) { return s.IsWithin(bytes); });
    }
    // The range of just these bytes; null: there is none.
    Range* At(const Bytes& bytes) {
      if (latest != ranges.end() && latest->first != bytes.begin) ++latest;
      if (latest == ranges.end() || latest->first != bytes.begin) latest = ranges.find(bytes.begin);
      return latest != ranges.end() && latest->second.end == bytes.end ? &latest->second : nullptr;
    }
  };
  Block* Find(uint64_t number) {
    Found& known = found_[number / 2 % found_.size()];  // those of live blocks are odd
    return known.block != nullptr && known.number == number ? known.block : Search(number);
  }
  Block* Search(uint64_t number);
  void Split(Ranges& ranges, uintptr_t at);
  void NoteRead(Ranges& ranges, const Bytes& bytes, const Mark& mark, const Ordered& ordered,
                const Ordered& over);

  std::unordered_map<uint64_t, Block> blocks_;
  struct Found {
    uint64_t number = 0;
    Block* block = nullptr;  // null: not known
  };
  std::array<Found, 16> found_;  // lately, by number
  size_t ranges_ = 0;
};

template <class IsOrdered>
bool Shadow::Again(const Bytes& bytes, bool writes, const Mark& mark, const IsOrdered& ordered) {
  Block* block = Find(bytes.block);
  Range* range = block == nullptr ? nullptr : block->At(bytes);
  if (range == nullptr || (range->written && !ordered(range->write))) return false;
  if (!block->some.empty() && block->HasSomeWithin(bytes)) return false;
  if (!writes) {
    range->Read(mark, ordered);
    return true;
  }
  for (const Mark& read : range->reads) {
    if (!ordered(read)) return false;
  }
  range->Write(mark);
  return true;
}

}  // namespace belay::race
