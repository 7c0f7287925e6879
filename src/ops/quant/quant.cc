#include "ops/quant/quant.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/quant/quant_loops.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

struct QuantBody {
  int x, scale, zero, out;
  int64_t outer, axis, inner, block;  // block 0: one scale for each element of the axis
  QuantLoops::Loop loop;
  QuantRange range;
  int64_t x_bytes, out_bytes;
  QuantLoops::Rows rows;    // null: other than short rows of a scale each
  std::vector<float> none;  // the zeros, where none are given

  void operator()(const Frame& frame) const {
    const char* from = frame.at[x];
    char* to = frame.at[out];
    const auto* s = reinterpret_cast<const float*>(frame.at[scale]);
    const auto* z = zero < 0 ? nullptr : reinterpret_cast<const float*>(frame.at[zero]);
    if (inner == 1 && block == 0) return Whole(from, to, s, z == nullptr ? none.data() : z);
    if (inner == 1) return Blocks(from, to, s, z);
    if (rows != nullptr) return ShortRows(from, to, s, z == nullptr ? none.data() : z);
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t a = 0; a < axis; ++a) {
        const int64_t at = (o * axis + a) * inner;
        int64_t which = a, step = 0;
        if (block > 0) {
          const int64_t blocks = (axis + block - 1) / block;
          which = (o * blocks + a / block) * inner, step = 1;
        }
        loop(to + at * out_bytes, from + at * x_bytes, s + which, z == nullptr ? none.data() : z + which,
             step, inner, range);
      }
    }
  }

  // Each block is a row with a scale of its own; the last one may be shorter.
  void Blocks(const char* from, char* to, const float* s, const float* z) const {
    const int64_t whole = axis / block, left = axis % block;
    const auto row = [&](int64_t n) {
      loop(to, from, s, z == nullptr ? none.data() : z, 0, n, range);
      to += n * out_bytes, from += n * x_bytes, ++s, z += z != nullptr;
    };
    for (int64_t o = 0; o < outer; ++o) {
      if (rows != nullptr) {
        rows(reinterpret_cast<float*>(to), from, s, z == nullptr ? none.data() : z, whole, block);
        to += whole * block * out_bytes, from += whole * block * x_bytes, s += whole;
        if (z != nullptr) z += whole;
      } else {
        for (int64_t b = 0; b < whole; ++b) row(block);
      }
      if (left > 0) row(left);
    }
  }

  void ShortRows(const char* from, char* to, const float* s, const float* z) const {
    for (int64_t o = 0; o < outer; ++o) {
      const int64_t at = o * axis * inner;
      rows(reinterpret_cast<float*>(to + at * out_bytes), from + at * x_bytes, s, z, axis, inner);
    }
  }

  // Rows along which the scales run.
  void Whole(const char* from, char* to, const float* s, const float* z) const {
    for (int64_t o = 0; o < outer; ++o)
      loop(to + o * axis * out_bytes, from + o * axis * x_bytes, s, z, 1, axis, range);
  }
};

int TypeOf(const QuantArgs& args) {
  const DType integers = args.step == QuantStep::kDequantize ? args.x.dtype() : args.out.dtype();
  return static_cast<int>(integers == DType::kU8   ? QuantType::kU8
                          : integers == DType::kI8 ? QuantType::kI8
                                                   : QuantType::kF32);
}

QuantLoops::Loop LoopOf(const QuantArgs& args) {
  const QuantLoops& loops = BestQuantLoops();
  const int type = TypeOf(args);
  if (args.step == QuantStep::kQuantize) return loops.quantize[type];
  return args.step == QuantStep::kRequantize ? loops.requantize[type] : loops.dequantize[type];
}

struct DynamicQuantBody {
  int x, y, scale, zero;
  int64_t count;

  void operator()(const Frame& frame) const {
    const ByteScale made = QuantizeToBytes(reinterpret_cast<const float*>(frame.at[x]), count,
                                           reinterpret_cast<uint8_t*>(frame.at[y]));
    *reinterpret_cast<float*>(frame.at[scale]) = made.scale;
    *reinterpret_cast<uint8_t*>(frame.at[zero]) = made.zero;
  }
};

struct QuantSumBody {
  int a, b, out;
  int64_t count;
  QuantLoops::Sum loop;
  QuantSum sum;

  void operator()(const Frame& frame) const {
    constexpr int64_t kPiece = 64 * 1024;
    ParallelFor(count, kPiece, [&](int64_t begin, int64_t end) {
      loop(frame.at[out] + begin, frame.at[a] + begin, frame.at[b] + begin, end - begin, sum);
    });
  }
};

}  // namespace

void PlanQuant(Plan& plan, const QuantArgs& args) {
  const Shape shape = args.x.shape();
  if (args.out.tensor->empty()) return;
  QuantBody body{args.x.binding,
                 args.scale.binding,
                 args.zero.present() ? args.zero.binding : -1,
                 args.out.binding,
                 1,
                 1,
                 1,
                 args.block,
                 LoopOf(args),
                 {static_cast<float>(args.least), static_cast<float>(args.most)},
                 static_cast<int64_t>(BytesOf(args.x.dtype())),
                 static_cast<int64_t>(BytesOf(args.out.dtype())),
                 nullptr,
                 {}};
  const int64_t scales = args.scale.tensor->count();
  for (int d = 0; d < shape.rank(); ++d) {
    int64_t& part = d < args.axis ? body.outer : d == args.axis ? body.axis : body.inner;
    part *= shape[d];
  }
  const int64_t blocks = args.block > 0 ? (body.axis + args.block - 1) / args.block : body.axis;
  const int64_t wanted = args.axis < 0 ? 1 : args.block > 0 ? body.outer * blocks * body.inner : blocks;
  if (scales != wanted || (args.zero.present() && args.zero.tensor->count() != wanted)) {
    Fail(tensor::kInvalidArgument, "quant-scales", "{} scales were given for {} {}, which needs {}", scales,
         args.x.name, shape.ToString(), wanted);
  }
  constexpr int64_t kShort = 64;
  const int64_t row = args.block == 0 ? body.inner : body.inner == 1 ? args.block : kShort + 1;
  if (args.step == QuantStep::kDequantize && row <= kShort)
    body.rows = BestQuantLoops().dequantize_rows[TypeOf(args)];
  // As many as scales are read by one call of the loop.
  const bool whole_axis = body.inner == 1 || body.rows != nullptr;
  if (!args.zero.present())
    body.none.resize(static_cast<size_t>(body.block > 0 && body.inner > 1 ? body.inner
                                         : whole_axis                     ? body.axis
                                                                          : 1));
  plan.SetCost(200 + static_cast<uint64_t>(args.x.tensor->count()) / 4);
  plan.SetBody(body);
}

void PlanQuantSum(Plan& plan, const QuantSumArgs& args) {
  const float a = args.a_scale / args.scale, b = args.b_scale / args.scale;
  const QuantSum sum{a, b, args.zero - std::fma(a, args.a_zero, b * args.b_zero)};
  const int64_t count = args.out.tensor->count();
  const auto loop = args.out.dtype() == DType::kI8 ? BestQuantLoops().add_i8 : BestQuantLoops().add_u8;
  plan.SetCost(200 + static_cast<uint64_t>(count) / 8);
  plan.SetBody(QuantSumBody{args.a.binding, args.b.binding, args.out.binding, count, loop, sum});
}

void PlanDynamicQuant(Plan& plan, const Operand& x, const Operand& y, const Operand& scale,
                      const Operand& zero) {
  plan.SetCost(200 + static_cast<uint64_t>(x.tensor->count()));
  plan.SetBody(DynamicQuantBody{x.binding, y.binding, scale.binding, zero.binding, x.tensor->count()});
}

}  // namespace belay::ops
