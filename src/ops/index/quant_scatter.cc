// Numbers that are quantised on their way into a cache.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/layout/moves.h"
#include "ops/packed_floats.h"
#include "ops/rules.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

using tensor::kInvalidArgument;

struct QuantScatterBody {
  PackedFloats updates, scales, points;
  Indices indices;
  std::vector<int64_t> places;  // where the elements of one update lie, from where it begins
  int64_t batches, batch_step, room, step, offset, width;
  bool named;  // the batch of each is named too
  int cache, index;

  void operator()(const Frame& frame) const {
    const std::span<int64_t> numbers = indices.Read(frame, index);
    const size_t each = named ? 2 : 1, count = numbers.size() / each;
    for (size_t i = 0; i < count; ++i) {
      if (named) numbers[i * each] = CheckedPlace(numbers[i * each], batches);
      int64_t& start = numbers[i * each + each - 1];
      if (start < 0 || start >= room) FailStart(start);
    }
    const float *from = updates.Load(frame), *by = scales.Load(frame),
                *plus = points.present() ? points.Load(frame) : nullptr;
    const auto size = static_cast<int64_t>(places.size());
    for (size_t i = 0; i < count; ++i) {
      const int64_t batch = named ? numbers[i * each] : static_cast<int64_t>(i);
      char* to = frame.at[cache] + offset + batch * batch_step + numbers[i * each + each - 1] * step;
      const float* x = from + static_cast<int64_t>(i) * size;
      ParallelFor(size, 16 * 1024, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
          const float y = x[k] / by[k % width] + (plus == nullptr ? 0.0f : plus[k % width]);
          to[places[static_cast<size_t>(k)]] = Rounded(y);
        }
      });
    }
  }

  // Within INT8; NaN is 0.
  static char Rounded(float y) {
    if (std::isnan(y)) return 0;
    return static_cast<char>(static_cast<int8_t>(std::clamp(std::nearbyint(y), -128.0f, 127.0f)));
  }

  [[noreturn]] void FailStart(int64_t start) const {
    Fail(kIndexFault, "op-index-range", "index {} leaves no room for the updates, which have {} places",
         start, room);
  }
};

[[noreturn]] void FailShapes(const Operand& self, const Operand& indices, const Operand& updates,
                             const char* wanted) {
  Fail(kInvalidArgument, "op-index-shape", "{} {}, {} {} and {} {} do not fit together: {}", self.name,
       self.shape().ToString(), indices.name, indices.shape().ToString(), updates.name,
       updates.shape().ToString(), wanted);
}

// The dimension of the updates along which they go to their places.
int CheckedAxis(const Operand& self, const Operand& indices, const Operand& updates, int64_t axis,
                int64_t quant_axis) {
  const Shape to = self.shape(), from = updates.shape(), names = indices.shape();
  const int rank = to.rank();
  if (rank < 3 || from.rank() != rank)
    FailShapes(self, indices, updates, "three to eight dimensions of both");
  const int at = rules::WrapDim(self, axis);
  if (at == 0 || at == rank - 1) {
    Fail(kInvalidArgument, "op-dim", "axis is {}; it is neither the first nor the last of {} dimensions",
         axis, rank);
  }
  if (rules::WrapDim(self, quant_axis) != rank - 1) {
    Fail(kInvalidArgument, "op-dim", "quantAxis is {}; it is the last of {} dimensions", quant_axis, rank);
  }
  if ((names.rank() != 1 && (names.rank() != 2 || names[1] != 2)) || names[0] != from[0])
    FailShapes(self, indices, updates, "an index, or a batch and an index, for each of the updates");
  for (int d = 0; d < rank; ++d) {
    if (d == 0 || d == at ? from[d] > to[d] : from[d] != to[d])
      FailShapes(self, indices, updates, "the updates fit into their place");
  }
  return at;
}

}  // namespace

namespace kernels {

void QuantScatter(Plan& plan, DType, const QuantScatterArguments& a) {
  if (a.reduction != 1)
    Fail(kInvalidArgument, "op-reduction", "reduction is {}; it is 1 (update)", a.reduction);
  const int at = CheckedAxis(a.self, a.indices, a.updates, a.axis, a.quant_axis);
  const Tensor& cache = *a.out.tensor;
  const Shape from = a.updates.shape();
  const int rank = from.rank();
  CheckElements(a.quant_scales, from[rank - 1]);
  if (a.quant_zero_points.present()) CheckElements(a.quant_zero_points, from[rank - 1]);
  if (a.updates.tensor->empty()) return;
  QuantScatterBody body;
  body.updates = PackedFloats(a.updates, Flow::kIn, plan),
  body.scales = PackedFloats(a.quant_scales, Flow::kIn, plan);
  body.points = PackedFloats(a.quant_zero_points, Flow::kIn, plan);
  body.indices = Indices(plan, *a.indices.tensor);
  Tensor one = tensor::DimsOf(cache, 1, rank);
  for (int d = 1; d < rank; ++d) one.shape[d - 1] = from[d];
  body.places = OffsetsOf(one, 0, rank - 1);
  body.batches = cache.shape[0], body.batch_step = cache.strides[0];
  body.room = cache.shape[at] - from[at] + 1, body.step = cache.strides[at];
  body.offset = OffsetOf(cache), body.width = from[rank - 1];
  body.named = a.indices.shape().rank() == 2;
  body.cache = a.out.binding, body.index = a.indices.binding;
  plan.SetCost(100 + static_cast<uint64_t>(a.updates.tensor->count()) * 4);
  plan.SetBody(body);
}

}  // namespace kernels
}  // namespace belay::ops
