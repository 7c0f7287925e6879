// Rows to which products with small matrices, each row's own choice of several, are added.
#include <algorithm>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "ops/experts/rows.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/scratch.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

struct LoraBody {
  Rows y, x, out, down, up;  // up: [.., columns, depth], and down, where it is there, [.., depth, inputs]
  Indices which;
  int which_at;
  int64_t weights, layers, layer, columns, depth, offset;
  float scale;
  PieceScratch<float> room;

  void operator()(const Frame& frame) const {
    const std::span<const int64_t> chosen = which.Read(frame, which_at);
    for (const int64_t i : chosen) {
      if (i < -1 || i > weights)
        Fail(kIndexFault, "op-lora-index",
             "indices names weight {}; there are {}, and -1 and their number for none", i, weights);
    }
    room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
      for (int64_t row = begin; row < end; ++row) Row(frame, row, chosen[static_cast<size_t>(row)], mine);
    });
  }

  void Row(const Frame& frame, int64_t row, int64_t weight, float* sums) const {
    const int64_t n = y.width();
    float *of_x = sums + n, *small = of_x + x.width(), *matrix = small + depth;
    const float* from = y.Load(frame, row, sums);
    if (from != sums) std::copy_n(from, n, sums);
    if (weight >= 0 && weight < weights) {
      const int64_t place = weight * layers + layer;
      const float* in = x.Load(frame, row, of_x);
      if (down.present()) {
        for (int64_t i = 0; i < depth; ++i)
          small[i] = Product(down.Load(frame, place * depth + i, matrix), in, x.width());
        in = small;
      }
      for (int64_t i = 0; i < columns; ++i)
        sums[offset + i] += scale * Product(up.Load(frame, place * columns + i, matrix), in, depth);
    }
    out.Store(frame, row, sums);
  }

  static float Product(const float* a, const float* b, int64_t n) {
    float sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
  }
};

[[noreturn]] void FailLora(const Operand& operand, const char* wanted) {
  Fail(tensor::kInvalidArgument, "op-lora", "{} has the shape {}; {}", operand.name,
       operand.shape().ToString(), wanted);
}

}  // namespace

namespace kernels {

void AddLora(Plan& plan, DType, const AddLoraArguments& a) {
  const Shape &rows = a.y.shape(), &in = a.x.shape(), &b = a.weight_b.shape();
  if (rows.rank() != 2) FailLora(a.y, "it has rows: two dimensions");
  if (in.rank() != 2 || in[0] != rows[0]) FailLora(a.x, "it has as many rows as y");
  if (b.rank() != 4 || a.weight_b.tensor->empty())
    FailLora(a.weight_b, "it is [weights, layers, columns, depth], and not empty");
  if (a.weight_a.present()) CheckShape(a.weight_a, {b[0], b[1], b[3], in[1]});
  if (!a.weight_a.present() && in[1] != b[3])
    FailLora(a.x, "without weightA its rows are as long as those of weightB");
  CheckShape(a.indices, {rows[0]});
  CheckShape(a.out, rows);
  if (a.layer_idx < 0 || a.layer_idx >= b[1]) FailLora(a.weight_b, "layerIdx is none of its layers");
  if (a.y_slice_size != b[2]) FailLora(a.weight_b, "ySliceSize is not the number of its columns");
  if (a.y_offset < 0 || a.y_offset > rows[1] || a.y_slice_size > rows[1] - a.y_offset)
    FailLora(a.y, "the columns from yOffset on, ySliceSize of them, are not all among its own");
  if (a.y.tensor->empty()) return;
  LoraBody body{};
  body.y = Rows(a.y), body.x = Rows(a.x), body.out = Rows(a.out), body.up = Rows(a.weight_b),
  body.down = Rows(a.weight_a);
  body.which = Indices(plan, *a.indices.tensor), body.which_at = a.indices.binding;
  body.weights = b[0], body.layers = b[1], body.layer = a.layer_idx, body.columns = b[2], body.depth = b[3];
  body.offset = a.y_offset, body.scale = static_cast<float>(a.scale);
  const int64_t each = b[2] * b[3] + (a.weight_a.present() ? b[3] * in[1] : 0);
  body.room = {plan, rows[0], 1 + 16384 / (each + 1), rows[1] + in[1] + b[3] + std::max(in[1], b[3])};
  plan.SetCost(500 + static_cast<uint64_t>(rows[0] * each));
  plan.SetBody(body);
}

}  // namespace kernels
}  // namespace belay::ops
