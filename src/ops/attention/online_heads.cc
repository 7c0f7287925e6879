#include "ops/attention/online_heads.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/experts/matrix_block.h"
#include "ops/experts/row_loops.h"
#include "ops/norm/softmax_loops.h"

namespace belay::ops {
namespace {

constexpr float kNoScore = -std::numeric_limits<float>::infinity();

}  // namespace

int64_t OnlineHeads::Room(int64_t heads, int64_t deep, int64_t size) {
  return heads * (deep + kColumnsAtOnce + 2 * size + 2) + kColumnsAtOnce * (deep + size);
}

OnlineHeads::OnlineHeads(int64_t heads, int64_t deep, int64_t size, float scale, float* room)
    : heads(heads), deep(deep), size(size), scale(scale) {
  q = room, k = q + heads * deep, v = k + kColumnsAtOnce * deep;
  scores_ = v + kColumnsAtOnce * size, added_ = scores_ + heads * kColumnsAtOnce;
  sums = added_ + heads * size, most = sums + heads * size, total = most + heads;
}

void OnlineHeads::Begin() const {
  std::fill_n(sums, heads * size, 0.0f);
  std::fill_n(most, heads, kNoScore);
  std::fill_n(total, heads, 0.0f);
}

void OnlineHeads::Add(int64_t n) const {
  MultiplyFloats(
      {heads, n, deep, {q, deep, false}, {k, deep, true}, scores_, n, GemmType::kF32, GemmType::kF32});
  const SoftmaxLoops<float>& loops = BestSoftmaxLoopsF32();
  for (int64_t h = 0; h < heads; ++h) {
    float* row = scores_ + h * n;
    loops.scale(row, scale, n);
    const float greatest = std::max(most[h], loops.max(row, n));
    const float kept = most[h] == kNoScore ? 0 : std::exp(most[h] - greatest);
    total[h] = total[h] * kept + loops.exp_sum(row, row, greatest, n);
    most[h] = greatest;
    if (kept != 1) BestRowLoops().multiply_by(sums + h * size, sums + h * size, kept, size);
  }
  MultiplyFloats(
      {heads, size, n, {scores_, n, false}, {v, size, false}, added_, size, GemmType::kF32, GemmType::kF32});
  BestRowLoops().add(sums, sums, added_, heads * size);
}

void OnlineHeads::Divide() const {
  for (int64_t h = 0; h < heads; ++h) {
    float* sum = sums + h * size;
    BestRowLoops().multiply_by(sum, sum, total[h] == 0 ? 0 : 1 / total[h], size);
  }
}

void BringRow(const Frame& frame, const Rows& rows, int64_t row, float* to) {
  const float* from = rows.Load(frame, row, to);
  if (from != to) std::copy_n(from, rows.width(), to);
}

}  // namespace belay::ops
