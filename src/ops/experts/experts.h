// What functions of mixtures of experts share: who is sent where.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ops/schema.h"

namespace belay::ops {

// How a list tells the rows of groups: running sums, counts, or the number of a group and its count.
enum ListType : int64_t { kEnds, kLengths, kPairs };

// A number and where it stood.
struct Placed {
  int64_t value, place;
  bool operator<(const Placed& other) const {
    return value != other.value ? value < other.value : place < other.place;
  }
};

// In the order of the numbers; equal ones keep theirs. `order` has room for all.
void SortPlaces(std::span<const int64_t> numbers, Placed* order);

// Throws Error 161002 with the function's name and what is the matter.
[[noreturn]] void RefuseExperts(const Plan& plan, std::string_view sentence);

// Throws Error 161002 unless the operand has the shape.
void CheckExpertShape(const Plan& plan, const Operand& operand, const Shape& wanted);
void CheckExpertRank(const Plan& plan, const Operand& operand, int least, int most);

// Divides a row by what makes its largest number 127; returns that. Rounds it to whole numbers of 8 bits.
float DivideByLargest(float* values, int64_t n);
void RoundToBytes(float* values, int64_t n);

// Pieces of rows that are worth another core.
inline int64_t RowGrain(int64_t width) { return width >= 32768 ? 1 : 32768 / (width + 1) + 1; }

}  // namespace belay::ops
