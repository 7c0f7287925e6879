// Walks whose rows are short go by tiles of whole rows: what repeats or lies apart is written out for a tile
// at a time, and stays for the next tiles that have the same of it.
#pragma once

#include "ops/loop_nest.h"

namespace belay::ops {

class Tiles {
 public:
  static constexpr int64_t kMost = 1024;  // elements
  static constexpr int64_t kSlack = 16;   // bytes behind a tile that may be written

  Tiles() = default;
  // Of a nest whose result, operand 0, is packed, with rows of kMost elements at most.
  explicit Tiles(const LoopNest& nest);

  int64_t count() const { return pieces_ * outer_; }

  struct Tile {
    int64_t at[LoopNest::kMaxOperands];  // byte offsets of the first elements
    int64_t positions;                   // of the dimension that is cut
    int64_t elements;
  };
  Tile At(const LoopNest& nest, int64_t tile) const;

  // The operand's elements lie one behind the other in each tile.
  bool Follows(const LoopNest& nest, int operand, int64_t bytes) const;
  // The operand's elements in a tile, as the result has them. An element has up to 8 bytes.
  void WriteOut(char* to, const char* from, const LoopNest& nest, int operand, int64_t positions,
                int64_t bytes) const;

  // The elements of the result lie one behind the other in all.
  static bool IsPacked(const LoopNest& nest, int64_t bytes);

 private:
  int cut_ = 0;  // dimensions before this one are whole in each tile, of those behind it there is one place
  int64_t below_ = 1;   // elements of those before
  int64_t each_ = 1;    // positions of the one that is cut
  int64_t pieces_ = 1;  // that it is cut into
  int64_t outer_ = 1;   // places of those behind
};

}  // namespace belay::ops
