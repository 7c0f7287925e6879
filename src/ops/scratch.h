// Memory that a kernel needs beside its tensors. It is a part of the plan's workspace, so that whoever runs
// the plan knows before how much that is and has it ready; a kernel that runs asks for none that grows with
// its tensors.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/parallel.h"
#include "ops/plan.h"

namespace belay::ops {

// Room for one array, whatever is in it from before.
template <class T>
class Scratch {
 public:
  Scratch() = default;
  Scratch(Plan& plan, int64_t count)
      : at_(plan.AddWorkspace(count * static_cast<int64_t>(sizeof(T)))), count_(count) {}

  int64_t count() const { return count_; }
  T* At(const Frame& frame) const { return reinterpret_cast<T*>(frame.workspace + at_); }

 private:
  int64_t at_ = 0, count_ = 0;
};

// ParallelFor whose pieces have an array each while they run: there are as many as there are cores, and each
// is handed on from one piece to the next.
template <class T>
class PieceScratch {
 public:
  PieceScratch() = default;
  // For [0, n) in pieces of at least `grain`, with `count` elements each; 0: it is ParallelFor.
  PieceScratch(Plan& plan, int64_t n, int64_t grain, int64_t count)
      : n_(n),
        users_(std::min<int64_t>(ParallelWidth(), (n + grain - 1) / grain)),
        grain_(grain),
        each_(WorkspacePart(count * static_cast<int64_t>(sizeof(T)))),
        at_(plan.AddWorkspace(users_ * each_)) {}

  // body(begin, end, array)
  template <class Body>
  void For(const Frame& frame, const Body& body) const {
    auto array_of = [&](int64_t user) { return reinterpret_cast<T*>(frame.workspace + at_ + user * each_); };
    if (each_ == 0) {
      return ParallelFor(n_, grain_, [&](int64_t begin, int64_t end) { body(begin, end, array_of(0)); });
    }
    if (n_ == 0) return;
    // Four pieces a core even out what the cores do beside, as in ParallelFor.
    const int64_t piece = std::max(grain_, (n_ + users_ * 4 - 1) / (users_ * 4));
    std::atomic<int64_t> next{0};
    ParallelFor(users_, 1, [&](int64_t first, int64_t last) {
      for (int64_t user = first; user < last; ++user) {
        for (int64_t at; (at = next.fetch_add(piece, std::memory_order_relaxed)) < n_;) {
          body(at, std::min(n_, at + piece), array_of(user));
        }
      }
    });
  }

 private:
  int64_t n_ = 0, users_ = 0, grain_ = 1, each_ = 0, at_ = 0;
};

}  // namespace belay::ops
