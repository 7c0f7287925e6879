// Signs as bits, eight in a byte from the lowest on, and back.
#include "base/error.h"
#include "base/parallel.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/packed_floats.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

constexpr int64_t kByte = 8;

struct PackSignsBody {
  PackedFloats x;
  PackedBytes out;
  int64_t count;

  void operator()(const Frame& frame) const {
    const float* from = x.Load(frame);
    uint8_t* to = out.Begin(frame);
    ParallelFor((count + kByte - 1) / kByte, 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        unsigned bits = 0;
        for (int64_t b = 0; b < kByte && i * kByte + b < count; ++b)
          bits |= (from[i * kByte + b] < 0 ? 0u : 1u) << b;
        to[i] = static_cast<uint8_t>(bits);
      }
    });
    out.Finish(frame);
  }
};

struct UnpackSignsBody {
  PackedBytes x;
  PackedFloats out;
  int64_t count;  // of bits

  void operator()(const Frame& frame) const {
    const uint8_t* from = x.Load(frame);
    float* to = out.Begin(frame);
    ParallelFor(count, 32 * 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        to[i] = (static_cast<unsigned>(from[i / kByte]) >> (i % kByte) & 1u) != 0 ? 1.0f : -1.0f;
    });
    out.Finish(frame);
  }
};

void CheckRows(const Operand& self, int64_t count, int64_t size) {
  if (self.shape().rank() == 1 && size > 0 && count % size == 0) return;
  Fail(tensor::kInvalidArgument, "sign-bits",
       "{} has shape {}, which gives {} elements for {} rows of one length; it needs one dimension",
       self.name, self.shape().ToString(), count, size);
}

}  // namespace

namespace kernels {

void SignBitsPack(Plan& plan, DType, const Operand& self, int64_t size, const Operand& out) {
  const int64_t count = self.tensor->count(), bytes = (count + kByte - 1) / kByte;
  CheckRows(self, bytes, size);
  CheckShape(out, {size, bytes / size});
  if (out.tensor->empty()) return;
  plan.SetCost(100 + static_cast<uint64_t>(count));
  plan.SetBody(PackSignsBody{{self, Flow::kIn, plan}, {out, plan}, count});
}

void SignBitsUnpack(Plan& plan, DType, const Operand& self, int64_t size, DType, const Operand& out) {
  const int64_t count = self.tensor->count() * kByte;
  CheckRows(self, count, size);
  CheckShape(out, {size, count / size});
  if (out.tensor->empty()) return;
  plan.SetCost(100 + static_cast<uint64_t>(count));
  plan.SetBody(UnpackSignsBody{{self, plan}, {out, Flow::kOut, plan}, count});
}

}  // namespace kernels
}  // namespace belay::ops
