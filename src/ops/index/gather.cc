#include "ops/index/gather.h"

#include <algorithm>
#include <cstring>

#include "base/copy_memory.h"
#include "base/error.h"
#include "base/parallel.h"
#include "ops/index/indices.h"
#include "ops/index/picked_row.h"
#include "ops/index/place_loops.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/layout/moves.h"
#include "ops/pipeline.h"
#include "ops/rules.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

using tensor::kInvalidArgument;

// What one index names, moved.
struct BlockMove {
  StridedCopy copy;
  int64_t packed_bytes;

  BlockMove() = default;
  BlockMove(const Tensor& to, const Tensor& from) : copy(to, from), packed_bytes(copy.packed_bytes()) {}

  // So many at least that it is worth to share them.
  int64_t grain() const { return std::max<int64_t>(1, 64 * 1024 / std::max<int64_t>(1, copy.count())); }

  void operator()(char* to, const char* from) const {
    if (packed_bytes == 4) {
      std::memcpy(to, from, 4);
    } else if (packed_bytes == 8) {
      std::memcpy(to, from, 8);
    } else if (packed_bytes > 0) {
      CopyMemory(to, from, static_cast<size_t>(packed_bytes));
    } else {
      copy.RunHere(to, from);
    }
  }
};

// What one index names for all places before it: a copy from where it says.
struct GatherOneBody {
  Indices index;
  StridedCopy copy;
  int64_t size, step;
  int bindings[3];  // out, self, index

  void operator()(const Frame& frame) const {
    const int64_t place = index.Places(frame, bindings[2], size)[0];
    copy.Run(frame.at[bindings[0]], frame.at[bindings[1]] + place * step);
  }
};

// Blocks of elements from places that indices name.
struct GatherBody {
  Indices index;
  std::vector<int64_t> outer_out, outer_in;  // byte offsets
  std::vector<int64_t> index_out;
  int64_t shared;  // consecutive outer places that share their indices
  int64_t size, step;
  BlockMove block;
  int64_t
      element;  // bytes of blocks that are one element; 0 where they are more, or do not follow each other
  int64_t offsets[2];
  int bindings[3];  // out, self, index

  void operator()(const Frame& frame) const {
    const std::span<int64_t> places = index.Places(frame, bindings[2], size);
    char* out = frame.at[bindings[0]] + offsets[0];
    const char* in = frame.at[bindings[1]] + offsets[1];
    for (size_t i = 0; element != 0 && i < places.size(); ++i) places[i] *= step;
    auto each = static_cast<int64_t>(index_out.size());
    ParallelFor(static_cast<int64_t>(outer_out.size()) * each, block.grain(),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end;) {
                    const int64_t outer = i / each, first = i % each, last = std::min(each, first + end - i);
                    char* to = out + outer_out[static_cast<size_t>(outer)];
                    const char* from = in + outer_in[static_cast<size_t>(outer)];
                    const int64_t* named = places.data() + outer / shared * each;
                    if (element != 0) {
                      PickRow(to + first * element, element, from, named + first, last - first, element);
                    } else {
                      Blocks(to, from, named, first, last);
                    }
                    i += last - first;
                  }
                });
  }

  void Blocks(char* to, const char* from, const int64_t* named, int64_t first, int64_t last) const {
    constexpr int64_t kAhead = 8;  // indices name places that the processor does not foresee
    for (int64_t k = first; k < last; ++k) {
      if (k + kAhead < last) __builtin_prefetch(from + named[k + kAhead] * step);
      block(to + index_out[static_cast<size_t>(k)], from + named[k] * step);
    }
  }
};

// What an index names along a dimension, for a piece of the indices at a time.
struct NamedElements {
  static constexpr int64_t kTogether = 512;

  Lane index;  // as i64
  int64_t size, step;

  // Of what the indices name, in bytes, the first from `begin` on and each `apart` behind the one before.
  // They are read once: nobody changes them between their check and their use.
  void Offsets(const char* named, int64_t n, int64_t* offsets, int64_t begin = 0, int64_t apart = 0) const {
    static_assert(kTogether <= kBlock);
    int64_t converted[kTogether];
    const auto* given = static_cast<const int64_t*>(index.Load(converted, named, n));
    if (BestPlaceLoop()(given, n, size, begin, apart, step, offsets)) return;
    for (int64_t k = 0; k < n; ++k) CheckedPlace(given[k], size);
    CheckedPlace(size, size);  // what was wrong has changed meanwhile
  }
};

// out[i] = self[..., index[i], ...] along one dimension, for equal ranks.
bool HasShortRows(const LoopNest& nest) {
  constexpr int64_t kShort = 16, kMany = 4;
  return nest.row() <= kShort && nest.rows() >= kMany && nest.rows_follow(0) && nest.rows_follow(1);
}

struct GatherElementsBody {
  static constexpr int64_t kTogether = NamedElements::kTogether;

  LoopNest nest;  // out, index, self
  NamedElements index;
  int64_t bytes;
  bool short_rows;
  int bindings[3];
  NamedRow named;
  PickLoop pick = nullptr;  // where there is one

  void operator()(const Frame& frame) const {
    char* base[3];
    for (int i = 0; i < 3; ++i) base[i] = frame.at[bindings[i]] + nest.offset(i);
    if (short_rows) return RowsTogether(base);
    nest.WalkAll(
        base,
        [this](char** at, int64_t n) {
          if (pick != nullptr && pick(at[0], at[2], at[1], n, named)) return;
          for (int64_t i = 0; i < n; i += kTogether) {  // or tells what is wrong
            const int64_t m = std::min(kTogether, n - i);
            int64_t from[kTogether];
            index.Offsets(at[1] + i * nest.step(1), m, from, i * nest.step(2), nest.step(2));
            PickRow(at[0] + i * nest.step(0), nest.step(0), at[2], from, m, bytes);
          }
        },
        [] {});
  }

  // Rows of a few elements that follow each other are looked up as one; each begins somewhere else.
  void RowsTogether(char* const* base) const {
    const int64_t row = nest.row(), together = kTogether / row;
    const LoopNest rows = nest.OfRows();
    ParallelFor(rows.count(), std::max<int64_t>(1, LoopNest::kGrain / row), [&](int64_t begin, int64_t end) {
      rows.Walk(base, begin, end, [&](char** at, int64_t n) {
        for (int64_t r = 0; r < n; r += together) {
          const int64_t m = std::min(together, n - r);
          int64_t from[kTogether];
          index.Offsets(at[1] + r * nest.row_step(1), m * row, from);
          for (int64_t i = 0; i < m; ++i) {
            for (int64_t k = 0; k < row; ++k) from[i * row + k] += i * nest.row_step(2) + k * nest.step(2);
          }
          PickRow(at[0] + r * nest.row_step(0), nest.step(0), at[2] + r * nest.row_step(2), from, m * row,
                  bytes);
        }
      });
    });
  }
};

// out[i] = self[indices[0][i], indices[1][i], ...]: an index for each dimension of self.
struct PickBody {
  static constexpr int64_t kTogether = NamedElements::kTogether;
  static_assert(kMostNaming + 1 == LoopNest::kMaxOperands);

  LoopNest nest;  // out, then as many indices as a nest takes; the first stands for those that there are not
  int depth;
  NamedElements indices[kMostNaming];
  int64_t self_at, bytes;
  int bindings[kMostNaming + 1];  // of the nest
  int self;

  void operator()(const Frame& frame) const {
    char* base[kMostNaming + 1];
    for (int i = 0; i <= kMostNaming; ++i) base[i] = frame.at[bindings[i]] + nest.offset(i);
    const char* from = frame.at[self] + self_at;
    nest.WalkAll(
        base,
        [&](char** at, int64_t n) {
          for (int64_t i = 0; i < n; i += kTogether) {
            const int64_t m = std::min(kTogether, n - i);
            int64_t offsets[kTogether];
            Offsets(at, i, m, offsets);
            PickRow(at[0] + i * nest.step(0), nest.step(0), from, offsets, m, bytes);
          }
        },
        [] {});
  }

  void Offsets(char* const* at, int64_t i, int64_t n, int64_t* offsets) const {
    for (int d = 0; d < depth; ++d) {
      int64_t further[kTogether];
      indices[d].Offsets(at[d + 1] + i * nest.step(d + 1), n, d == 0 ? offsets : further);
      for (int64_t k = 0; d > 0 && k < n; ++k) offsets[k] += further[k];
    }
  }
};

struct GatherNdBody {
  NamedBlocks named;
  int64_t rows_a_batch;
  std::vector<int64_t> batch_in, row_out;
  BlockMove block;
  int64_t offsets[2];
  int bindings[2];  // out, self

  void operator()(const Frame& frame) const {
    const std::span<const int64_t> places = named.Offsets(frame);
    char* out = frame.at[bindings[0]] + offsets[0];
    const char* in = frame.at[bindings[1]] + offsets[1];
    ParallelFor(static_cast<int64_t>(row_out.size()), block.grain(), [&](int64_t begin, int64_t end) {
      for (auto row = static_cast<size_t>(begin); row < static_cast<size_t>(end); ++row) {
        const char* from = in + batch_in[row / static_cast<size_t>(rows_a_batch)];
        block(out + row_out[row], from + places[row]);
      }
    });
  }
};

void CheckIndexType(const Operand& index) {
  if (IsInt(index.dtype())) return;
  Fail(kInvalidArgument, "op-dtype", "{} is {}; indices are ACL_INT32 or ACL_INT64", index.name,
       NameOf(index.dtype()));
}

void CheckBatches(const Shape& self, const Shape& index, int batch_dims) {
  for (int d = 0; d < batch_dims; ++d) {
    if (self[d] == index[d]) continue;
    Fail(kInvalidArgument, "op-index-shape", "tensors of {} and indices of {} have different batches",
         self.ToString(), index.ToString());
  }
}

}  // namespace

Shape GatheredShape(const Shape& self, int dim, int batch_dims, const Shape& index) {
  Shape shape;
  if (self.rank() + index.rank() - batch_dims - 1 > tensor::kMaxRank) {
    Fail(kInvalidArgument, "op-rank", "the result would have more than eight dimensions");
  }
  for (int d = 0; d < dim; ++d) shape.push_back(self[d]);
  for (int d = batch_dims; d < index.rank(); ++d) shape.push_back(index[d]);
  for (int d = dim + 1; d < self.rank(); ++d) shape.push_back(self[d]);
  return shape;
}

namespace {

// A tensor without dimensions is a vector of one element. The index may name it once, and the result have
// none too.
void PlanGatherOfOne(Plan& plan, const Operand& self, const Operand& index, const Operand& out) {
  Tensor from = *self.tensor, to = *out.tensor;
  from.shape = from.strides = Shape{1};
  if (to.shape.rank() == 0 && index.tensor->count() == 1) {
    to.shape = index.shape();
    to.strides = Shape::Filled(to.shape.rank(), 1);
  }
  PlanGather(plan, {&from, nullptr, self.binding, self.name}, 0, 0, index,
             {&to, nullptr, out.binding, out.name});
}

// The dimensions that the index has in the result are 1, and `dim` of self is at the place that it names.
void PlanGatherOne(Plan& plan, const Operand& self, int dim, int behind, const Operand& index,
                   const Operand& out) {
  Tensor from = *self.tensor, to = *out.tensor;
  from.shape = from.strides = to.shape = to.strides = Shape{};
  for (int d = 0; d < self.shape().rank(); ++d) {
    if (d == dim) continue;
    from.shape.push_back(self.shape()[d]);
    from.strides.push_back(self.tensor->strides[d]);
    to.shape.push_back(self.shape()[d]);
    to.strides.push_back(out.tensor->strides[d < dim ? d : d - dim - 1 + behind]);
  }
  const int64_t step = self.tensor->strides[dim] * static_cast<int64_t>(BytesOf(to.dtype));
  plan.SetCost(100 + static_cast<uint64_t>(to.count()) / 4);
  plan.SetBody(GatherOneBody{Indices(plan, *index.tensor),
                             StridedCopy(to, from),
                             self.shape()[dim],
                             step,
                             {out.binding, self.binding, index.binding}});
}

// Bytes of an element, where each index names one and they lie side by side in the result; else 0.
int64_t PackedElement(const std::vector<int64_t>& places, int64_t count, size_t bytes) {
  const auto element = static_cast<int64_t>(bytes);
  for (size_t i = 0; i < places.size(); ++i) {
    if (count != 1 || places[i] != static_cast<int64_t>(i) * element) return 0;
  }
  return element;
}

}  // namespace

void PlanGather(Plan& plan, const Operand& self, int dim, int batch_dims, const Operand& index,
                const Operand& out) {
  if (self.shape().rank() == 0) return PlanGatherOfOne(plan, self, index, out);
  const Tensor& from = *self.tensor;
  const Tensor& to = *out.tensor;
  CheckIndexType(index);
  CheckSameType(self, out);
  CheckBatches(from.shape, index.tensor->shape, batch_dims);
  CheckShape(out, GatheredShape(from.shape, dim, batch_dims, index.tensor->shape));
  if (to.empty()) return;
  int behind = dim + index.tensor->shape.rank() - batch_dims;
  if (index.tensor->count() == 1) return PlanGatherOne(plan, self, dim, behind, index, out);
  GatherBody body;
  body.index = Indices(plan, *index.tensor);
  body.outer_out = OffsetsOf(to, 0, dim);
  body.outer_in = OffsetsOf(from, 0, dim);
  body.index_out = OffsetsOf(to, dim, behind);
  body.shared = 1;
  for (int d = batch_dims; d < dim; ++d) body.shared *= from.shape[d];
  body.size = from.shape[dim];
  body.step = from.strides[dim] * static_cast<int64_t>(BytesOf(to.dtype));
  body.block = BlockMove(DimsOf(to, behind, to.shape.rank()), DimsOf(from, dim + 1, from.shape.rank()));
  body.element = PackedElement(body.index_out, body.block.copy.count(), BytesOf(to.dtype));
  body.offsets[0] = OffsetOf(to);
  body.offsets[1] = OffsetOf(from);
  body.bindings[0] = out.binding;
  body.bindings[1] = self.binding;
  body.bindings[2] = index.binding;
  plan.SetCost(100 + static_cast<uint64_t>(to.count()) / 2);
  plan.SetBody(body);
}

void PlanGatherNd(Plan& plan, const Operand& self, int batch_dims, const Operand& index, const Operand& out) {
  const Tensor& from = *self.tensor;
  const Tensor& to = *out.tensor;
  const Shape& names = index.tensor->shape;
  CheckIndexType(index);
  CheckSameType(self, out);
  int64_t depth = names.rank() == 0 ? 0 : names.back(0);
  if (depth < 1 || batch_dims + depth > from.shape.rank() || batch_dims >= names.rank()) {
    Fail(kInvalidArgument, "op-index-depth", "{} of shape {} does not name elements of {} {}", index.name,
         names.ToString(), self.name, from.shape.ToString());
  }
  CheckBatches(from.shape, names, batch_dims);
  int behind = batch_dims + static_cast<int>(depth);
  Shape wanted = Shape::Of(names.data(), names.rank() - 1);
  for (int d = behind; d < from.shape.rank(); ++d) wanted.push_back(from.shape[d]);
  CheckShape(out, wanted);
  if (to.empty()) return;
  GatherNdBody body;
  body.named = NamedBlocks(plan, index, from, batch_dims);
  body.batch_in = OffsetsOf(from, 0, batch_dims);
  body.row_out = OffsetsOf(to, 0, names.rank() - 1);
  body.rows_a_batch = static_cast<int64_t>(body.row_out.size() / body.batch_in.size());
  body.block =
      BlockMove(DimsOf(to, names.rank() - 1, to.shape.rank()), DimsOf(from, behind, from.shape.rank()));
  body.offsets[0] = OffsetOf(to);
  body.offsets[1] = OffsetOf(from);
  body.bindings[0] = out.binding;
  body.bindings[1] = self.binding;
  plan.SetCost(100 + static_cast<uint64_t>(to.count()));
  plan.SetBody(body);
}

void PlanPick(Plan& plan, const Operand& self, const std::vector<const Operand*>& indices,
              const Operand& out) {
  PickBody body;
  body.depth = static_cast<int>(indices.size());
  body.bytes = static_cast<int64_t>(BytesOf(out.dtype()));
  const Operand* named[kMostNaming];
  for (int d = 0; d < kMostNaming; ++d) named[d] = indices[d < body.depth ? static_cast<size_t>(d) : 0];
  body.nest = LoopNest(out.shape(), {out, *named[0], *named[1], *named[2]});
  body.bindings[0] = out.binding;
  for (int d = 0; d < kMostNaming; ++d) {
    body.bindings[d + 1] = named[d]->binding;
    if (d >= body.depth) continue;
    body.indices[d] = {Lane(named[d]->dtype(), DType::kI64, body.nest.step(d + 1)), self.shape()[d],
                       self.tensor->strides[d] * body.bytes};
  }
  body.self = self.binding;
  body.self_at = OffsetOf(*self.tensor);
  plan.SetCost(100 + static_cast<uint64_t>(out.tensor->count()) * static_cast<uint64_t>(body.depth + 1));
  plan.SetBody(body);
}

namespace kernels {

void GatherAxis(Plan& plan, DType, const Operand& self, int64_t dim, const Operand& index,
                const Operand& out) {
  PlanGather(plan, self, rules::WrapDim(self, dim), 0, index, out);
}

void GatherV3(Plan& plan, DType, const Operand& self, int64_t dim, const Operand& index, int64_t batchDims,
              int64_t /*mode*/, const Operand& out) {
  int axis = rules::WrapDim(self, dim);
  if (batchDims < 0 || batchDims > axis || batchDims > index.tensor->shape.rank()) {
    Fail(kInvalidArgument, "op-dim", "batchDims is {}, beyond dimension {} or {}", batchDims, axis,
         index.name);
  }
  PlanGather(plan, self, axis, static_cast<int>(batchDims), index, out);
}

void IndexSelect(Plan& plan, DType compute, const Operand& self, int64_t dim, const Operand& index,
                 const Operand& out) {
  if (index.shape().rank() > 1) {
    Fail(kInvalidArgument, "op-rank", "{} has shape {}; it is a vector", index.name,
         index.shape().ToString());
  }
  if (index.shape().rank() > 0 || out.shape().rank() != self.shape().rank())
    return GatherAxis(plan, compute, self, dim, index, out);
  Tensor one = *index.tensor;  // an index without dimensions leaves one of size 1, where the result has it
  one.shape = {1}, one.strides = {1};
  GatherAxis(plan, compute, self, dim, {&one, nullptr, index.binding, index.name}, out);
}

void Embedding(Plan& plan, DType, const Operand& weight, const Operand& indices, const Operand& out) {
  if (weight.shape().rank() != 2) {
    Fail(kInvalidArgument, "op-rank", "{} has shape {}; it is a matrix", weight.name,
         weight.shape().ToString());
  }
  PlanGather(plan, weight, 0, 0, indices, out);
}

void Gather(Plan& plan, DType, const Operand& self, int64_t dim, const Operand& index, const Operand& out) {
  int axis = rules::WrapDim(self, dim);
  CheckIndexType(index);
  CheckSameType(self, out);
  CheckShape(out, index.tensor->shape);
  if (out.tensor->empty()) return;
  CheckLength("the shape of index", index.tensor->shape.rank(), self.tensor->shape.rank());
  Tensor from = *self.tensor;
  GatherElementsBody body;
  body.bytes = static_cast<int64_t>(BytesOf(from.dtype));
  bool scalar = from.shape.rank() == 0;
  body.index.size = scalar ? 1 : from.shape[axis];
  body.index.step = scalar ? 0 : from.strides[axis] * body.bytes;
  for (int d = 0; d < from.shape.rank(); ++d) {
    if (d != axis && index.tensor->shape[d] > from.shape[d]) {
      Fail(kInvalidArgument, "op-index-shape", "{} of shape {} is larger than {} {}", index.name,
           index.tensor->shape.ToString(), self.name, self.tensor->shape.ToString());
    }
  }
  from.shape = index.tensor->shape;
  if (!scalar) from.strides[axis] = 0;
  const LoopNest nest(from.shape, {out, index, Operand{&from}});
  body.nest = nest;
  body.short_rows = HasShortRows(nest);
  body.index.index = Lane(index.dtype(), DType::kI64, nest.step(1));
  body.named = {body.index.size, body.index.step, nest.step(2)};
  if (nest.step(0) == body.bytes && nest.step(1) == static_cast<int64_t>(BytesOf(index.dtype())))
    body.pick = PickLoopFor(index.dtype(), body.bytes, body.named);
  body.bindings[0] = out.binding;
  body.bindings[1] = index.binding;
  body.bindings[2] = self.binding;
  plan.SetCost(100 + static_cast<uint64_t>(out.tensor->count()) * 2);
  plan.SetBody(body);
}

void GatherNd(Plan& plan, DType, const Operand& self, const Operand& indices, bool /*negativeIndexSupport*/,
              const Operand& out) {
  PlanGatherNd(plan, self, 0, indices, out);
}

}  // namespace kernels
}  // namespace belay::ops
