// Whole numbers that rows are quantised to: bytes, or eight numbers of four bits in each INT32.
#pragma once

#include <cstdint>

#include "ops/experts/experts.h"
#include "ops/experts/rows.h"

namespace belay::ops {

class SmallOut {
 public:
  SmallOut() = default;
  // For a result of x's shape, or of an eighth of its columns. Throws Error 161002 where it fits neither.
  SmallOut(const Plan& plan, const Operand& out, const Shape& x) : four_bits_(out.dtype() == DType::kI32) {
    Shape wanted = x;
    if (four_bits_) {
      if (x.back(0) % kEach != 0)
        RefuseExperts(plan, "the last dimension of x is no multiple of eight, as four bits in INT32 need it");
      wanted.back(0) /= kEach;
      words_ = WholeOut(out);
    } else {
      bytes_ = Rows(out);
    }
    CheckExpertShape(plan, out, wanted);
  }

  float most() const { return four_bits_ ? 7.0f : 127.0f; }
  float least() const { return -most() - 1; }

  // n whole numbers of this range.
  void Store(const Frame& frame, int64_t row, const float* values, int64_t n) const {
    if (!four_bits_) return bytes_.Store(frame, row, values);
    for (int64_t i = 0; i < n; i += kEach) {
      uint32_t word = 0;
      for (int64_t k = 0; k < kEach; ++k)
        word |= (static_cast<uint32_t>(static_cast<int32_t>(values[i + k])) & 15u) << 4 * k;
      words_.Set(frame, (row * n + i) / kEach, static_cast<int32_t>(word));
    }
  }

 private:
  static constexpr int64_t kEach = 8;

  bool four_bits_ = false;
  Rows bytes_;
  WholeOut words_;
};

// What is asked for is what the result is. torch-npu passes it in four bytes.
inline void CheckSmallType(const Plan& plan, int64_t type, const Operand& out) {
  const auto asked = static_cast<int32_t>(type);
  if (asked != static_cast<int32_t>(DType::kI8) && asked != static_cast<int32_t>(DType::kI32))
    RefuseExperts(
        plan,
        "dstType is neither INT8 (2) nor INT32 (3, eight numbers of four bits); others are not there yet");
  if (asked != static_cast<int32_t>(out.dtype()))
    RefuseExperts(plan, "dstType is not the type of the result");
}

}  // namespace belay::ops
