#include "ops/layout/strided_copy.h"

#include <algorithm>

#include "base/error.h"
#include "ops/layout/moves.h"
#include "ops/pipeline.h"
#include "tensor/codes.h"

namespace belay::ops {

StridedCopy::StridedCopy(const Tensor& out, const Tensor& in)
    : nest_(out.shape, {Operand{&out}, Operand{&in}}),
      to_(out.dtype),
      from_(in.dtype),
      to_bytes_(static_cast<int64_t>(BytesOf(out.dtype))),
      from_bytes_(static_cast<int64_t>(BytesOf(in.dtype))) {
  nest_.MakeRowsLong();
  if (tensor::CanConvert(to_, from_)) return;
  Fail(tensor::kInvalidArgument, "op-promote", "{} and {} have no common type", NameOf(from_), NameOf(to_));
}

void StridedCopy::Run(char* out, const char* in) const {
  char* base[2] = {out + nest_.offset(0), const_cast<char*>(in) + nest_.offset(1)};
  nest_.WalkAll(
      base, [this](char** at, int64_t n) { Row(at[0], at[1], n); }, [] {});
}

void StridedCopy::RunHere(char* out, const char* in) const {
  char* base[2] = {out, const_cast<char*>(in)};
  nest_.Walk(base, 0, nest_.count(), [this](char** at, int64_t n) { Row(at[0], at[1], n); });
}

void StridedCopy::Row(char* dst, const char* src, int64_t n) const {
  if (to_ == from_) return MoveRow(dst, nest_.step(0), src, nest_.step(1), n, to_bytes_);
  alignas(64) char gathered[kBlock * 8], converted[kBlock * 8];
  for (int64_t i = 0; i < n; i += kBlock) {
    int64_t m = std::min(kBlock, n - i);
    MoveRow(gathered, from_bytes_, src + i * nest_.step(1), nest_.step(1), m, from_bytes_);
    tensor::Convert(to_, converted, from_, gathered, m);
    MoveRow(dst + i * nest_.step(0), nest_.step(0), converted, to_bytes_, m, to_bytes_);
  }
}

}  // namespace belay::ops
