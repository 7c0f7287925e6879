// The gradients of rotary position embeddings: for each row of angles all rows of x that it turns, one after
// another, so that those of the angles are sums without a copy.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "ops/elementwise/rotary.h"
#include "ops/kernels.h"
#include "ops/pipeline.h"
#include "ops/scratch.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

enum { kDy, kX, kDx, kCos, kSin, kDcos, kDsin, kOperands };

// Rows of some of the dimensions, and where each lies in the operands.
struct Rows {
  std::vector<int64_t> sizes;
  std::vector<int64_t> steps[kOperands];  // bytes

  int64_t count() const {
    int64_t n = 1;
    for (int64_t size : sizes) n *= size;
    return n;
  }
  int64_t At(int operand, int64_t row) const {
    int64_t at = 0;
    for (size_t d = sizes.size(); d-- > 0; row /= sizes[d]) at += row % sizes[d] * steps[operand][d];
    return at;
  }
};

struct RotaryGradientBody {
  Rows kept, repeated;  // by the dimensions that the angles have, and the others
  int bindings[kOperands];
  int64_t offsets[kOperands] = {};
  Lane lanes[kOperands];  // along a row
  int64_t size;
  std::vector<RotaryTurn> turns;
  PieceScratch<double> memory;

  bool has(int operand) const { return bindings[operand] >= 0; }
  static int64_t RoomFor(int64_t size) { return 2 * size + 5 * (size + 1) / 2; }

  void operator()(const Frame& frame) const {
    memory.For(frame, [&](int64_t begin, int64_t end, double* room) {
      for (int64_t row = begin; row < end; ++row) AngleRow(frame, row, room);
    });
  }

  void AngleRow(const Frame& frame, int64_t row, double* sums) const {
    auto* floats = reinterpret_cast<float*>(sums + 2 * size);
    float *cos = floats, *sin = cos + size, *dy = sin + size, *x = dy + size, *dx = x + size;
    Load(frame, kCos, kept.At(kCos, row), cos);
    Load(frame, kSin, kept.At(kSin, row), sin);
    std::fill_n(sums, 2 * size, 0.0);
    for (int64_t i = 0, n = repeated.count(); i < n; ++i) {
      Load(frame, kDy, kept.At(kDy, row) + repeated.At(kDy, i), dy);
      Turn(dy, cos, sin, dx);
      if (has(kX)) {
        Load(frame, kX, kept.At(kX, row) + repeated.At(kX, i), x);
        Add(dy, x, sums);
      }
      Store(frame, kDx, kept.At(kDx, row) + repeated.At(kDx, i), dx);
    }
    for (int k : {kDcos, kDsin}) {
      if (!has(k)) continue;
      std::copy_n(sums + (k == kDcos ? 0 : size), size, dx);
      Store(frame, k, kept.At(k, row), dx);
    }
  }

  void Turn(const float* dy, const float* cos, const float* sin, float* dx) const {
    std::fill_n(dx, size, 0.0f);
    for (int64_t i = 0; i < size; ++i) {
      const RotaryTurn& turn = turns[static_cast<size_t>(i)];
      dx[turn.base] += dy[i] * cos[i];
      dx[turn.from] += turn.sign * dy[i] * sin[i];
    }
  }

  void Add(const float* dy, const float* x, double* sums) const {
    for (int64_t i = 0; i < size; ++i) {
      const RotaryTurn& turn = turns[static_cast<size_t>(i)];
      const double d = dy[i];
      sums[i] += d * static_cast<double>(x[turn.base]);
      sums[size + i] += d * static_cast<double>(turn.sign * x[turn.from]);
    }
  }

  void Load(const Frame& frame, int k, int64_t at, float* to) const {
    const char* from = frame.at[bindings[k]] + offsets[k] + at;
    for (int64_t i = 0; i < size; i += kBlock) {
      const int64_t count = std::min(kBlock, size - i);
      const void* block = lanes[k].Load(to + i, from + i * lanes[k].step(), count);
      if (block != to + i) std::memcpy(to + i, block, static_cast<size_t>(count) * sizeof(float));
    }
  }

  void Store(const Frame& frame, int k, int64_t at, const float* from) const {
    char* to = frame.at[bindings[k]] + offsets[k] + at;
    for (int64_t i = 0; i < size; i += kBlock) {
      lanes[k].Store(to + i * lanes[k].step(), from + i, std::min(kBlock, size - i), false);
    }
  }
};

void CheckLike(const Operand& operand, const Operand& other) {
  if (!operand.present() || (operand.dtype() == other.dtype() && operand.shape() == other.shape())) return;
  Fail(tensor::kInvalidArgument, "rotary-gradient",
       "{} is {}, but {} is {}; they have one type and one shape", operand.name, operand.tensor->ToString(),
       other.name, other.tensor->ToString());
}

}  // namespace

namespace kernels {

void RotaryPositionEmbeddingGrad(Plan& plan, DType, const Operand& dy, const Operand& cos, const Operand& sin,
                                 const Operand& x, int64_t mode, const Operand& dx, const Operand& dcos,
                                 const Operand& dsin) {
  RotaryGradientBody body;
  body.turns = CheckedTurns(dy, cos, sin, mode);
  for (const Operand* o : {&x, &dx}) CheckLike(*o, dy);
  for (const Operand* o : {&sin, &dcos, &dsin}) CheckLike(*o, cos);
  const Operand* operands[kOperands] = {&dy, &x, &dx, &cos, &sin, &dcos, &dsin};
  const int last = dy.shape().rank() - 1;
  const bool angles = x.present();  // without it their gradients are not asked for
  for (int k = 0; k < kOperands; ++k) {
    const Operand& o = *operands[k];
    body.bindings[k] = o.present() && (angles || k < kDcos) ? o.binding : -1;
    if (!body.has(k)) continue;
    body.offsets[k] = tensor::OffsetOf(*o.tensor);
    body.lanes[k] = Lane(o.dtype(), DType::kF32, tensor::StepOf(*o.tensor, last));
  }
  for (int d = 0; d < last; ++d) {
    const bool repeats = cos.shape()[d] != dy.shape()[d];
    Rows& rows = repeats ? body.repeated : body.kept;
    rows.sizes.push_back(dy.shape()[d]);
    for (int k = 0; k < kOperands; ++k) {
      rows.steps[k].push_back(body.has(k) && !(repeats && k >= kCos) ? tensor::StepOf(*operands[k]->tensor, d)
                                                                     : 0);
    }
  }
  body.size = dy.shape().back(0);
  const int64_t rows = body.kept.count(), each = body.size * std::max<int64_t>(body.repeated.count(), 1);
  if (rows == 0 || body.size == 0) return;
  constexpr int64_t kGrain = 32 * 1024;  // elements
  body.memory = {plan, rows, std::max<int64_t>(1, kGrain / each), RotaryGradientBody::RoomFor(body.size)};
  plan.SetCost(100 + static_cast<uint64_t>(rows * each) * 4);
  plan.SetBody(body);
}

}  // namespace kernels
}  // namespace belay::ops
