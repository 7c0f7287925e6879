// Tensors cut into chunks that lie beside those of others.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/rules.h"
#include "ops/sequence.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops::kernels {
namespace {

using tensor::kInvalidArgument;

// How a tensor is cut: `full` chunks of `each` slices along `axis`, and one of `rest`.
struct Cut {
  int axis;
  int64_t each, full, rest, columns;  // elements of a chunk

  Cut(const Operand& t, int axis, int64_t count) : axis(axis) {
    const Shape shape = t.shape();
    const int64_t size = shape[axis];
    each = size / count + (size % count != 0 ? 1 : 0);
    full = each == 0 ? count : size / each;
    rest = each == 0 ? 0 : size % each;
    columns = each;
    bool fits = true;
    for (int d = axis + 1; d < shape.rank() && fits; ++d)
      fits = !__builtin_mul_overflow(columns, shape[d], &columns);
    if (!fits) Fail(kInvalidArgument, "op-cat", "{} {} has too many elements", t.name, shape.ToString());
  }

  // `chunks` of so many slices, from a slice on.
  Tensor Of(const Tensor& t, int64_t slice, int64_t chunks, int64_t slices) const {
    Tensor view = t;
    view.shape = view.strides = {};
    for (int d = 0; d <= axis; ++d) {
      view.shape.push_back(d < axis ? t.shape[d] : chunks);
      view.strides.push_back(d < axis ? t.strides[d] : each * t.strides[d]);
    }
    for (int d = axis; d < t.shape.rank(); ++d) {
      view.shape.push_back(d > axis ? t.shape[d] : slices);
      view.strides.push_back(t.strides[d]);
    }
    view.offset += slice * t.strides[axis];
    return view;
  }

  // The part of out of this shape from a chunk and a column on: what is behind the chunks lies in a row.
  Tensor In(const Tensor& out, int64_t chunk, int64_t column, const Shape& shape) const {
    Tensor place = out;
    place.shape = place.strides = shape;
    int64_t step = out.strides[axis + 1];
    place.offset += chunk * out.strides[axis] + column * step;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      place.strides[d] = d <= axis ? out.strides[d] : step;
      if (d > axis) step *= shape[d];
    }
    return place;
  }
};

Shape JoinedShape(const OperandList& tensors, int axis, int64_t count) {
  Shape wanted = Shape::Of(tensors[0].tensor->shape.data(), axis);
  int64_t columns = 0;
  for (const Operand& t : tensors) {
    CheckSameType(tensors[0], t);
    const Shape shape = t.shape();
    bool fits = shape.rank() > axis && shape.rank() < tensor::kMaxRank;
    for (int d = 0; d < axis && fits; ++d) fits = shape[d] == wanted[d];
    if (!fits || __builtin_add_overflow(columns, Cut(t, axis, count).columns, &columns)) {
      Fail(kInvalidArgument, "op-cat",
           "{} {} does not fit beside the others: it has their first {} sizes, and up to seven dimensions",
           t.name, shape.ToString(), axis);
    }
  }
  wanted.push_back(count);
  wanted.push_back(columns);
  return wanted;
}

void AddCopy(Sequence& parts, const Operand& t, const Tensor& view, const Operand& out, const Tensor& place) {
  if (place.empty()) return;
  parts.Add([&](Plan& part) {
    Copy(part, out.dtype(), {&view, nullptr, t.binding, t.name}, {&place, nullptr, out.binding, out.name});
  });
}

void AddZeros(Sequence& parts, const Operand& out, const Tensor& place) {
  if (place.empty()) return;
  parts.Add([&](Plan& part) { Zero(part, out.dtype(), {&place, nullptr, out.binding, out.name}); });
}

}  // namespace

// Chunks that are not full end with zeros.
void ChunkCat(Plan& plan, DType, const OperandList& tensors, int64_t dim, int64_t count, const Operand& out) {
  if (tensors.empty()) Fail(kInvalidArgument, "op-empty-list", "tensors is empty; it needs one or more");
  if (count < 1) Fail(kInvalidArgument, "op-split", "numChunks is {}; it is 1 or more", count);
  const int axis = rules::WrapDim(tensors[0], dim);
  if (tensors[0].shape().rank() == 0)
    Fail(kInvalidArgument, "op-dim", "{} has no dimension to be cut along", tensors[0].name);
  CheckShape(out, JoinedShape(tensors, axis, count));
  if (out.tensor->empty()) return;
  Sequence parts(plan);
  int64_t column = 0;
  for (const Operand& t : tensors) {
    const Cut cut(t, axis, count);
    if (cut.columns == 0) continue;
    const Tensor whole = cut.Of(*t.tensor, 0, cut.full, cut.each);
    const Tensor rest = cut.Of(*t.tensor, cut.full * cut.each, cut.rest == 0 ? 0 : 1, cut.rest);
    Shape short_of = rest.shape, none = whole.shape;
    short_of[axis + 1] = cut.each - cut.rest;
    none[axis] = count - cut.full - rest.shape[axis];
    AddCopy(parts, t, whole, out, cut.In(*out.tensor, 0, column, whole.shape));
    AddCopy(parts, t, rest, out, cut.In(*out.tensor, cut.full, column, rest.shape));
    AddZeros(parts, out, cut.In(*out.tensor, cut.full, column + cut.columns / cut.each * cut.rest, short_of));
    AddZeros(parts, out, cut.In(*out.tensor, count - none[axis], column, none));
    column += cut.columns;
  }
  parts.FinishApart();
}

namespace {

// One of three parts of [batch, tokens, 3 * heads * size], each head on its own: [batch, heads, tokens,
// size].
struct HeadsOf {
  Tensor view;
  Operand operand;

  HeadsOf(const Operand& whole, const Shape& shape, int64_t part) : view(*whole.tensor) {
    const bool bias = whole.shape().rank() == 1;
    const int64_t step = whole.tensor->strides[bias ? 0 : 2], size = shape[3];
    view.shape = shape;
    view.strides =
        Shape{bias ? 0 : whole.tensor->strides[0], size * step, bias ? 0 : whole.tensor->strides[1], step};
    view.offset += part * shape[1] * size * step;
    operand = {&view, nullptr, whole.binding, whole.name};
  }
  HeadsOf(const HeadsOf&) = delete;
};

}  // namespace

void TransformBiasRescaleQkv(Plan& plan, DType, const Operand& qkv, const Operand& bias, int64_t heads,
                             const Operand& q, const Operand& k, const Operand& v) {
  const Shape x = qkv.shape();
  if (x.rank() != 3 || heads < 1 || x[2] % 3 != 0 || x[2] / 3 % heads != 0) {
    Fail(
        kInvalidArgument, "op-qkv-shape",
        "{} has shape {}, and there are {} heads; it has three dimensions, the last of which holds as much for each "
        "head three times",
        qkv.name, x.ToString(), heads);
  }
  const Shape shape{x[0], heads, x[1], x[2] / 3 / heads};
  CheckShape(bias, {x[2]});
  CheckSameType(qkv, bias);
  for (const Operand* o : {&q, &k, &v}) {
    CheckShape(*o, shape);
    CheckSameType(qkv, *o);
  }
  if (q.tensor->empty()) return;
  const HeadsOf in[] = {{qkv, shape, 0}, {qkv, shape, 1}, {qkv, shape, 2}};
  const HeadsOf plus[] = {{bias, shape, 0}, {bias, shape, 1}, {bias, shape, 2}};
  const double one = 1, share = 1 / std::sqrt(static_cast<double>(shape[3]));
  const Scalar whole(&one, DType::kF64), factor(&share, DType::kF64);
  Sequence parts(plan);
  parts.Add([&](Plan& part) {
    PlanThrough(
        part, tensor::PackedOf(DType::kF32, shape), {&in[0].operand, &plus[0].operand}, q,
        [&](Plan& step, const auto& from, const Operand& sum) {
          Add(step, DType::kF32, from[0], from[1], whole, sum);
        },
        [&](Plan& step, const auto&, const Operand& sum, const Operand& to) {
          Mul(step, DType::kF32, sum, {nullptr, &factor, -1, "scale"}, to);
        });
  });
  parts.Add([&](Plan& part) { Add(part, DType::kF32, in[1].operand, plus[1].operand, whole, k); });
  parts.Add([&](Plan& part) { Add(part, DType::kF32, in[2].operand, plus[2].operand, whole, v); });
  parts.Finish();
}

}  // namespace belay::ops::kernels
