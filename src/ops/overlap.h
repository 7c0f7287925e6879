// Results that lie where operands or other results lie. A plan is to compute as if all of its operands had
// been read before anything was written, and as if each result had memory of its own; only the addresses that
// a run gets tell whether there is anything to do for that.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/plan.h"

namespace belay::ops {

inline bool SharesBytes(const Binding& a, const Binding& b) {
  const auto at_a = reinterpret_cast<intptr_t>(a.address), at_b = reinterpret_cast<intptr_t>(b.address);
  return at_a + a.first < at_b + b.end && at_b + b.first < at_a + a.end && a.first != a.end &&
         b.first != b.end;
}

// Most that are compared each with each.
inline constexpr int kFewBindings = 16;
bool ManyOverlap(const Plan& plan);

// Something that the plan writes lies between the first and the last byte of another tensor of its.
inline bool HasOverlap(const Plan& plan) {
  const int n = plan.binding_count();
  if (n > kFewBindings) [[unlikely]]
    return ManyOverlap(plan);
  for (int i = 0; i < n; ++i) {
    const Binding& written = plan.binding(i);
    if (!Writes(written.access)) continue;
    for (int k = 0; k < n; ++k) {
      if (k != i && SharesBytes(written, plan.binding(k))) [[unlikely]]
        return true;
    }
  }
  return false;
}

// The bindings that a run must use copies of, in order; none where the kernel copes, or where the tensors
// only interleave.
struct Copied {
  std::vector<int> read;
  std::vector<int> written;  // results that share elements with one before them
  int shares_with = -1;      // that of the first of those
  bool empty() const { return read.empty() && written.empty(); }
};
Copied CopiedOf(const Plan& plan);

// What a copy of the bytes that a kernel reads through a binding takes, wherever it begins.
int64_t CopyBytes(const Binding& binding);
// Makes it; returns where the binding's address would be. It lies in a cache line as the bytes do.
char* MakeCopy(const char* address, const Binding& binding, char* room);
// Puts what has changed since `before` was made, a copy as well, into its place: what lies between the rows
// of a view stays as it is there.
void PutChanges(const Binding& binding, const char* before, const char* after, char* address);

// Room in the workspace for the copies that a run with the addresses of now will make: once all else of the
// plan is settled, and where views are kept. Results that overlap each other are left to the run.
void ReserveCopies(Plan& plan);

}  // namespace belay::ops
