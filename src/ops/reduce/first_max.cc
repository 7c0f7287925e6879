// One for the first of the largest elements along a dimension, zero for the others.
#include <algorithm>
#include <cstring>

#include "ops/pipeline.h"
#include "ops/reduce/along_axis.h"
#include "ops/reduce/reduce.h"
#include "ops/through.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

struct OnesBody {
  LoopNest lines;  // out: the first elements, places
  int64_t step, bytes, whole;
  int64_t out_at;
  int bindings[2];
  uint64_t one;  // in the result's type

  void operator()(const Frame& frame) const {
    constexpr int64_t kPiece = 256 * 1024;
    char* out = frame.at[bindings[0]] + out_at;
    ParallelFor((whole + kPiece - 1) / kPiece, 1, [&](int64_t begin, int64_t end) {
      const int64_t last = std::min(whole, end * kPiece);
      std::memset(out + begin * kPiece, 0, static_cast<size_t>(last - begin * kPiece));
    });
    char* base[2] = {frame.at[bindings[0]] + lines.offset(0), frame.at[bindings[1]] + lines.offset(1)};
    lines.WalkAll(
        base,
        [this](char** at, int64_t n) {
          for (int64_t i = 0; i < n; ++i) {
            int64_t place;
            std::memcpy(&place, at[1] + i * lines.step(1), sizeof(place));
            std::memcpy(at[0] + i * lines.step(0) + place * step, &one, static_cast<size_t>(bytes));
          }
        },
        [] {});
  }
};

}  // namespace

void PlanFirstMax(Plan& plan, const Operand& x, int dim, const Operand& out) {
  if (out.tensor->empty()) return;
  Shape lines = x.shape();
  lines[dim] = 1;
  PlanThrough(
      plan, tensor::PackedOf(DType::kI64, lines), {&x}, out,
      [&](Plan& part, const auto& in, const Operand& places) { PlanArg(part, {}, in[0], dim, {}, places); },
      [&](Plan& part, const auto&, const Operand& places, const Operand& to) {
        const Tensor to_rest = WithoutDim(*to.tensor, dim), places_rest = WithoutDim(*places.tensor, dim);
        OnesBody body;
        body.lines = LoopNest(to_rest.shape, {Operand{&to_rest}, Operand{&places_rest}});
        body.step = tensor::StepOf(*to.tensor, dim);
        body.bytes = static_cast<int64_t>(BytesOf(to.dtype()));
        body.whole = to.tensor->count() * body.bytes;
        body.out_at = OffsetOf(*to.tensor);
        body.bindings[0] = to.binding;
        body.bindings[1] = places.binding;
        const float one = 1;
        tensor::Convert(to.dtype(), &body.one, DType::kF32, &one, 1);
        part.SetCost(50 + static_cast<uint64_t>(to.tensor->count()) / 8);
        part.SetBody(body);
      });
}

}  // namespace belay::ops
