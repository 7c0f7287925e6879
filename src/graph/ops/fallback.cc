// Operators that torch_npu calls by name.
#include <cmath>

#include "graph/ops/window.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/forms.h"
#include "ops/index/filled_ranges.h"
#include "ops/quant/best_scale.h"
#include "ops/random/chosen_places.h"

namespace belay::graph::translate {
namespace {

using ops::Operand;

constexpr int64_t kTogether = 16;  // channels of a card's format

// `channels` of them from `first` on, with zeros beyond the last.
Tensor ChannelsFrom(Translation& node, int i, int64_t first, int64_t channels) {
  const Tensor& x = node.in(i);
  Shape shape = x.shape;
  shape[1] = channels;
  const Tensor taken = node.Temporary(x.dtype, shape);
  node.Run(ops::forms::InplaceZero, {Arg(&taken)});
  shape[1] = std::max<int64_t>(0, std::min(channels, x.shape[1] - first));
  if (CountOf(shape) == 0) return taken;
  const int64_t step = x.strides[1];
  node.Copy(Translation::View(x, shape, x.strides, first * step),
            Translation::View(taken, shape, taken.strides));
  return taken;
}

}  // namespace

void MaskedFillRange(Translation& node) {
  const Tensor& x = node.in(0);
  const Shape &first = node.shape(1), &values = node.shape(3);
  const int rank = x.shape.rank();
  if (rank < 1 || rank > 3) node.Refuse("x has one to three dimensions");
  const int axis = node.Axis(node.Int("axis"), rank);
  const bool of_row = axis == rank - 1 && rank > 1;
  if (first.rank() != 2 || node.shape(2) != first || !IsInt(node.dtype(1)) || !IsInt(node.dtype(2)))
    node.Refuse("start and end are integers in two dimensions, of one shape");
  if (node.in(3).count() != first[0] || values.rank() > 1 || node.dtype(3) != x.dtype)
    node.Refuse("value has x's type and one number for each row of start");
  if (of_row && first[1] > x.shape[0]) node.Refuse("start has no more columns than x has rows");
  if (InfoOf(x.dtype).bits < 8) node.Refuse("elements of x have a byte or more");
  const Tensor start = node.Cast(node.in(1), DType::kI64), end = node.Cast(node.in(2), DType::kI64);
  const Tensor out = node.Out(0, x.dtype, x.shape);
  node.Step("MaskedFillRange", [&](ops::Plan& plan) {
    Binder bind(plan);
    ops::FilledRangesArgs args{.x = bind.Read(x, "x"),
                               .first = bind.Read(start, "start"),
                               .end = bind.Read(end, "end"),
                               .values = bind.Read(node.in(3), "value"),
                               .out = bind.Write(out, "y"),
                               .axis = axis,
                               .of_row = of_row};
    ops::PlanFilledRanges(plan, args);
  });
}

void RandomChoiceWithMask(Translation& node) {
  const int64_t count = node.Int("count");
  const int rank = node.shape(0).rank();
  if (node.dtype(0) != DType::kBool || rank == 0) node.Refuse("x has truth values, in one dimension or more");
  if (count < 0) node.Refuse("count is negative");
  const Tensor places = node.Out(0, DType::kI32, {count, rank}), mask = node.Out(1, DType::kBool, {count});
  node.Step("RandomChoiceWithMask", [&](ops::Plan& plan) {
    Binder bind(plan);
    const Operand x = bind.Read(node.in(0), "x"), at = bind.Write(places, "y");
    ops::PlanChosenPlaces(plan, x, node.Sequence(), at, bind.Write(mask, "mask"));
  });
}

void SoftmaxCrossEntropyWithLogits(Translation& node) {
  const Shape& shape = node.shape(0);
  if (shape.rank() != 2 || node.shape(1) != shape || node.dtype(0) != node.dtype(1))
    node.Refuse("features and labels have two dimensions, of one shape and type");
  const Tensor loss = node.Out(0, node.dtype(0), {shape[0]}), backprop = node.Out(1, node.dtype(0), shape);
  node.Run(ops::forms::SoftmaxCrossEntropyWithLogits,
           {Arg(&node.in(0)), Arg(&node.in(1)), Arg(&loss), Arg(&backprop)});
}

void StrideAdd(Translation& node) {
  constexpr int64_t kMost = 1 << 20;
  const int64_t first[] = {node.Int("x1_c1_offset"), node.Int("x2_c1_offset")}, length = node.Int("c1_len");
  if (length < 1 || length > kMost || first[0] < 0 || first[0] > kMost || first[1] < 0 || first[1] > kMost)
    node.Refuse("offsets are 0 or more, and c1_len is one or more");
  Shape shape = node.shape(0), other = node.shape(1);
  if (shape.rank() < 2 || other.rank() != shape.rank() || node.dtype(0) != node.dtype(1) ||
      !IsFloat(node.dtype(0)))
    node.Refuse("both inputs have floats of one type in two dimensions or more");
  shape[1] = other[1] = length * kTogether;
  if (shape != other) node.Refuse("both inputs have one shape, but for the channels");
  const Tensor a = ChannelsFrom(node, 0, first[0] * kTogether, shape[1]),
               b = ChannelsFrom(node, 1, first[1] * kTogether, shape[1]);
  const Tensor out = node.Out(0, node.dtype(0), shape);
  const int64_t whole = 1;
  const Scalar one(&whole, DType::kI64);
  node.Run(ops::forms::Add, {Arg(&a), Arg(&b), Arg(&one), Arg(&out)});
}

void IFMR(Translation& node) {
  constexpr double kMostTries = 4096;
  const std::vector<double> range = node.Floats("search_range");
  const double step = node.Float("search_step");
  if (range.size() != 2 || !(step > 0) || !(std::fabs(range[1] - range[0]) / step <= kMostTries))
    node.Refuse("search_range is two numbers, with no more than 4096 steps between");
  if (!(range[1] > range[0])) node.Refuse("search_range goes upwards");
  if (node.in(1).count() != 1 || node.in(2).count() != 1 || node.in(3).count() == 0 ||
      node.in(0).count() == 0)
    node.Refuse("data and cumsum have elements, and data_min and data_max are one number");
  for (const int i : {0, 1, 2}) {
    if (!IsFloat(node.dtype(i))) node.Refuse("data are floats");
  }
  if (!IsInt(node.dtype(3))) node.Refuse("cumsum has integers");
  const Tensor scale = node.Out(0, DType::kF32, node.shape(1)),
               offset = node.Out(1, DType::kF32, node.shape(1));
  node.Step("IFMR", [&](ops::Plan& plan) {
    Binder bind(plan);
    ops::PlanBestScale(plan, {.data = bind.Read(node.in(0), "data"),
                              .least = bind.Read(node.in(1), "data_min"),
                              .most = bind.Read(node.in(2), "data_max"),
                              .counts = bind.Read(node.in(3), "cumsum"),
                              .scale = bind.Write(scale, "scale"),
                              .offset = bind.Write(offset, "offset"),
                              .low_share = node.Float("min_percentile"),
                              .high_share = node.Float("max_percentile"),
                              .first = range[0],
                              .end = range[1],
                              .step = step,
                              .with_offset = node.Bool("with_offset")});
  });
}

// Nothing has overflowed yet.
void NPUAllocFloatStatus(Translation& node) {
  constexpr int64_t kWords = 8;
  node.OutValue(0, std::make_shared<HostTensor>(DType::kF32, Shape{kWords}));
}

}  // namespace belay::graph::translate
