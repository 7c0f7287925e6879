// Room for one more element, so that adding it later cannot fail: what changes the state of an object gets
// its memory first, and changes afterwards.
#pragma once

#include <algorithm>
#include <cstddef>

namespace belay {

// Unlike reserve(size() + 1) it keeps the growth of the vector geometric.
template <class Vector>
void MakeRoom(Vector& vector) {
  if (vector.size() == vector.capacity()) vector.reserve(std::max<size_t>(4, 2 * vector.size()));
}

// Room for `count` elements, so that the vector may come to hold them without asking for memory.
template <class Vector>
void MakeRoomFor(Vector& vector, size_t count) {
  if (count > vector.capacity()) vector.reserve(std::max<size_t>(count, 2 * vector.capacity()));
}

// Undoes what was done unless it is told to keep it.
template <class Undo>
class Rollback {
 public:
  explicit Rollback(Undo undo) : undo_(undo) {}
  ~Rollback() {
    if (!kept_) undo_();
  }
  Rollback(const Rollback&) = delete;
  Rollback& operator=(const Rollback&) = delete;
  void Keep() { kept_ = true; }

 private:
  Undo undo_;
  bool kept_ = false;
};

}  // namespace belay
