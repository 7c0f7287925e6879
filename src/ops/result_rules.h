// What tells the results of a node: rules beside those of rules.h for what aclnn's callers describe
// themselves.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

// The shape and type of a result, from the other arguments.
struct ResultRule {
  Shape (*shape)(const Args&);
  DType (*dtype)(const Args&);
};

namespace rules {

// --- shapes
// 1 in place of each of the last sizes of x, along which the weights go.
Shape StatisticOf(const Operand& x, const Operand& weights);
// Of a loss: a number for each row of classes (reduction 0), else one for all.
Shape LossOfRows(const Operand& self, int64_t reduction);
// The places of an image [n, c, ...] of this size, each a number for each of its dimensions.
Shape GridOf(std::span<const int64_t> size);
// Rows, as many as size, of bytes that hold a bit for each element; of elements for each bit.
Shape PackedSigns(const Operand& self, int64_t size);
Shape UnpackedSigns(const Operand& self, int64_t size);

// --- types
// FLOAT where they differ.
DType CommonOrSingle(const Operand& self, const Operand& other);
// In which places among its elements are told: INT64 for INT64, else INT32.
DType PlaceOf(const Operand& self);

}  // namespace rules
}  // namespace belay::ops
