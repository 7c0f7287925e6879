#include "ops/index/compress.h"

#include <algorithm>

#include "base/parallel.h"
#include "ops/layout/checks.h"
#include "ops/layout/moves.h"
#include "ops/scratch.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

struct CompressBody {
  Scratch<int64_t> offsets;  // of the places that are kept, in bytes
  int64_t rows, size, kept, bytes;
  int64_t starts[3];
  int bindings[3];  // out, x, condition

  void operator()(const Frame& frame) const {
    char* out = frame.at[bindings[0]] + starts[0];
    const char* in = frame.at[bindings[1]] + starts[1];
    const auto* condition = reinterpret_cast<const uint8_t*>(frame.at[bindings[2]] + starts[2]);
    if (rows == 1 && bytes <= 8) return KeepRow(out, in, condition, kept, bytes);
    int64_t* place = offsets.At(frame);
    for (int64_t i = 0, k = 0; k < kept; ++i) {
      place[k] = i * bytes;
      k += condition[i] != 0;
    }
    const int64_t grain = std::max<int64_t>(1, 64 * 1024 / (kept * bytes));
    ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        PickRow(out + r * kept * bytes, bytes, in + r * size * bytes, place, kept, bytes);
    });
  }
};

}  // namespace

int64_t PlacesKept(const uint8_t* condition, int64_t count, int64_t size) {
  int64_t kept = 0;
  for (int64_t i = 0; i < std::min(count, size); ++i) kept += condition[i] != 0;
  return kept;
}

void PlanCompress(Plan& plan, const Operand& x, int axis, const Operand& condition, const Operand& out) {
  CheckSameType(x, out);
  if (out.tensor->empty()) return;
  const Shape& shape = x.shape();
  CompressBody body;
  body.rows = 1, body.bytes = static_cast<int64_t>(BytesOf(out.dtype()));
  for (int d = 0; d < shape.rank(); ++d) (d < axis ? body.rows : body.bytes) *= d == axis ? 1 : shape[d];
  body.size = shape[axis], body.kept = out.shape()[axis];
  body.offsets = {plan, body.kept};
  body.starts[0] = tensor::OffsetOf(*out.tensor), body.starts[1] = tensor::OffsetOf(*x.tensor);
  body.starts[2] = tensor::OffsetOf(*condition.tensor);
  body.bindings[0] = out.binding, body.bindings[1] = x.binding, body.bindings[2] = condition.binding;
  plan.SetCost(50 + static_cast<uint64_t>(out.tensor->count() + condition.tensor->count()) / 2);
  plan.SetBody(body);
}

}  // namespace belay::ops
