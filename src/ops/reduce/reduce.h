// Folding any set of dimensions: what the operators of this folder are made of, also for other doors.
#pragma once

#include "ops/reduce/fold_loops.h"
#include "ops/schema.h"

namespace belay::ops {

enum class Finish : uint8_t { kNone, kDivide, kRoot, kLog };

// How a reduction is computed: elements are converted to `type`, folded in f32, f64 or i64, finished,
// and rounded once.
struct Reduction {
  Fold fold = Fold::kSum;
  Finish finish = Finish::kNone;
  double divisor = 0;        // of kDivide; added to the number of elements, which is negative of a correction
  double power = 0;          // the fold's p; of kRoot 1 / power, where 0 means the square root
  bool around_mean = false;  // p is the mean
  bool around_max = false;   // p is the largest element, which kLog adds back
  bool root_of_quotient = false;  // kDivide, then the square root
};

// Bit i of the mask: dimension i is folded away; out has it with size one, or not at all.
void PlanReduce(Plan& plan, const Reduction& reduction, DType type, const Operand& self, uint32_t mask,
                const Operand& out);

// What else complex numbers are folded to; the mask as above. self and out are ACL_COMPLEX64.
enum class ComplexFold : uint8_t { kProduct, kLogSumExp };
void PlanComplexFold(Plan& plan, ComplexFold fold, const Operand& self, uint32_t mask, const Operand& out);

// Position and value of the largest (or least) element along a dimension; of equal ones the first or
// the last. Either output may be absent.
struct Extreme {
  bool largest = true;
  bool last = false;
  bool nan_wins = true;  // otherwise anything is before NaN, and lines are not taken one by one
};
void PlanArg(Plan& plan, Extreme extreme, const Operand& self, int dim, const Operand& values,
             const Operand& indices);

// The first of the largest elements along a dimension becomes 1, all others 0. out is packed.
void PlanFirstMax(Plan& plan, const Operand& x, int dim, const Operand& out);

// Running sums or products along a dimension.
struct Scan {
  bool product = false;
  bool exclusive = false;
  bool reverse = false;
};
void PlanScan(Plan& plan, Scan scan, DType type, const Operand& self, int dim, const Operand& out);

// The largest (or least) elements so far along a dimension, and where they are, of equal ones the last.
// values has the type of x.
void PlanRunningExtreme(Plan& plan, bool largest, const Operand& x, int dim, const Operand& values,
                        const Operand& places);

}  // namespace belay::ops
