// Spectra, windows, and bags of n-grams.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "graph/ops/bind.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/signal/dft.h"
#include "ops/text/ngrams.h"
#include "tensor/convert.h"

namespace belay::graph::translate {
namespace {

Constant RealsOf(DType dtype, const Shape& shape, const std::vector<double>& values) {
  auto tensor = std::make_shared<HostTensor>(dtype, shape);
  tensor::Convert(dtype, tensor->mutable_data(), DType::kF64, values.data(), tensor->count());
  return tensor;
}

// Elements of what a node works out while it is compiled, 1 GiB of f32: the number comes from the model.
constexpr int64_t kMostElements = int64_t{1} << 28;

int64_t Whole(const Translation& node, int input, const char* name) {
  const std::vector<int64_t> values = node.ints(input);
  if (values.size() != 1 || values[0] < 1 || values[0] > kMostElements)
    node.Refuse(std::string(name) + " is one number from 1 to 2^28");
  return values[0];
}

// a0 - a1 cos(t) + a2 cos(2t)
void CosineWindow(Translation& node, double a0, double a1, double a2) {
  const int64_t size = Whole(node, 0, "size");
  const double period = static_cast<double>(node.Bool("periodic") ? size : size - 1);
  std::vector<double> values;
  for (int64_t i = 0; i < size; ++i) {
    const double t = period == 0 ? 0 : 2 * std::numbers::pi * static_cast<double>(i) / period;
    values.push_back(a0 - a1 * std::cos(t) + a2 * std::cos(2 * t));
  }
  node.OutValue(0, RealsOf(node.Type("dtype"), {size}, values));
}

// A tensor of f32 or f64 whose last dimension is 1 or 2: real numbers, or complex ones.
Tensor WithParts(Translation& node, const Tensor& x) {
  if (x.shape.rank() < 2 || (x.shape.back(0) != 1 && x.shape.back(0) != 2)) {
    node.Refuse("the last dimension is 1 for real and 2 for complex numbers");
  }
  return node.Packed(node.Cast(x, x.dtype == DType::kF64 ? DType::kF64 : DType::kF32));
}

void TransformInto(Translation& node, const Tensor& x, int axis, int64_t length, bool inverse,
                   const Tensor& result) {
  node.Step("DFT", [&](ops::Plan& plan) {
    ops::DftArgs args{
        .x = ReadFrom(plan, x, "x"), .out = {}, .outer = 1, .inner = 1, .length = length, .inverse = inverse};
    args.out = WrittenTo(plan, result, "y");
    for (int d = 0; d + 1 < x.shape.rank(); ++d) {
      if (d < axis) args.outer *= x.shape[d];
      if (d > axis) args.inner *= x.shape[d];
    }
    ops::PlanDft(plan, args);
  });
}

// The transform of packed numbers along a dimension.
void Transform(Translation& node, const Tensor& x, int axis, int64_t length, bool inverse, bool onesided) {
  if (onesided && x.shape.back(0) == 2) node.Refuse("onesided is for forward transforms of real numbers");
  Shape shape = x.shape;
  shape[axis] = onesided ? length / 2 + 1 : length;
  shape.back(0) = 2;
  Tensor out = node.Out(0, node.dtype(0), shape);
  Tensor result = out.dtype == x.dtype ? out : node.Temporary(x.dtype, shape);
  TransformInto(node, x, axis, length, inverse, result);
  if (out.dtype != x.dtype) node.Copy(result, out);
}

// Positions [begin, end) of a dimension.
Tensor PositionsOf(const Tensor& x, int axis, int64_t begin, int64_t end) {
  Shape shape = x.shape;
  shape[axis] = end - begin;
  return Translation::View(x, shape, x.strides, x.offset + begin * x.strides[axis]);
}

// Real numbers from the half of their spectrum that tells the other one. What has a counterpart there counts
// twice, the rest as nothing: the real parts are the same.
void RealsOfHalf(Translation& node, const Tensor& x, int axis, int64_t length) {
  if (x.shape.back(0) != 2) node.Refuse("a transform back from half of a spectrum takes complex numbers");
  const int64_t bins = std::min(x.shape[axis], length / 2 + 1), twice = std::min(bins, (length + 1) / 2);
  Shape half = x.shape, shape = x.shape;
  half[axis] = bins;
  shape[axis] = length;
  Tensor spectrum = node.Temporary(x.dtype, half), all = node.Temporary(x.dtype, shape);
  node.Copy(PositionsOf(x, axis, 0, bins), spectrum);
  if (twice > 1) {
    Tensor from = PositionsOf(x, axis, 1, twice), to = PositionsOf(spectrum, axis, 1, twice);
    const double two = 2;
    const Scalar factor(&two, DType::kF64);
    node.Run(ops::forms::Muls, {Arg(&from), Arg(&factor), Arg(&to)});
  }
  TransformInto(node, spectrum, axis, length, true, all);
  Shape reals = shape;
  reals.back(0) = 1;
  node.Copy(Translation::View(all, reals, all.strides, all.offset), node.Out(0, node.dtype(0), reals));
}

}  // namespace

void DFT(Translation& node) {
  Tensor x = WithParts(node, node.in(0));
  const int64_t given = node.has(2) ? node.ints(2).at(0) : node.Int("axis");
  const int axis = node.Axis(given, x.shape.rank());
  if (axis == x.shape.rank() - 1)
    node.Refuse("the last dimension holds the parts of the numbers; it is no axis");
  const bool inverse = node.Bool("inverse"), half = inverse && node.Bool("onesided");
  const int64_t given_length = half ? 2 * (x.shape[axis] - 1) : x.shape[axis];
  const int64_t length = node.has(1) ? Whole(node, 1, "length") : given_length;
  if (length < 1) node.Refuse("there is no transform of nothing");
  if (half) return RealsOfHalf(node, x, axis, length);
  Transform(node, x, axis, length, inverse, node.Bool("onesided"));
}

// Frames that overlap, times the window, transformed.
void STFT(Translation& node) {
  const Shape& given = node.shape(0);  // torch's exporter leaves the 1 of real numbers out
  Tensor signal = WithParts(
      node, given.rank() == 2 ? Translation::Reshaped(node.Packed(node.in(0)), {given[0], given[1], 1})
                              : node.in(0));
  if (signal.shape.rank() != 3) node.Refuse("signal has three dimensions");
  const int64_t step = Whole(node, 1, "frame_step");
  if (!node.has(2) && !node.has(3)) node.Refuse("it has neither a window nor frame_length");
  const int64_t length = node.has(3) ? Whole(node, 3, "frame_length") : node.in(2).count();
  if (length < 1 || length > signal.shape[1]) node.Refuse("the signal is shorter than a frame");
  const int64_t parts = signal.shape[2], frames = (signal.shape[1] - length) / step + 1;
  Tensor view = Translation::View(signal, {signal.shape[0], frames, length, parts},
                                  {signal.shape[1] * parts, step * parts, parts, 1}, signal.offset);
  Tensor cut = node.Temporary(signal.dtype, view.shape);
  if (node.has(2)) {
    if (node.in(2).count() != length) node.Refuse("window is as long as a frame");
    Tensor window = Translation::Reshaped(node.Cast(node.in(2), signal.dtype), {length, 1});
    node.Run(ops::forms::Mul, {Arg(&view), Arg(&window), Arg(&cut)});
  } else {
    node.Copy(view, cut);
  }
  Transform(node, cut, 2, length, false, node.Bool("onesided") && parts == 1);
}

void HannWindow(Translation& node) { CosineWindow(node, 0.5, 0.5, 0); }
void HammingWindow(Translation& node) { CosineWindow(node, 25.0 / 46, 21.0 / 46, 0); }
void BlackmanWindow(Translation& node) { CosineWindow(node, 0.42, 0.5, 0.08); }

// Triangles over the bins of a spectrum, evenly spread on the scale of mel.
void MelWeightMatrix(Translation& node) {
  const int64_t count = Whole(node, 0, "num_mel_bins"), length = Whole(node, 1, "dft_length");
  const auto rate = static_cast<double>(Whole(node, 2, "sample_rate"));
  auto mel = [&](int input) { return 2595 * std::log10(1 + node.value(input).Reals().at(0) / 700); };
  const double low = mel(3), step = (mel(4) - low) / static_cast<double>(count + 2);
  const int64_t rows = length / 2 + 1;
  if (rows > kMostElements / count) node.Refuse("the matrix would have more than 2^28 elements");
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < count + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (low + step * static_cast<double>(i)) / 2595) - 1);
    edges.push_back(tensor::ToInteger(std::floor(static_cast<double>(length + 1) * hertz / rate)));
    if (edges.back() < 0 || edges.back() >= rows) node.Refuse("an edge lies outside of the spectrum");
  }
  std::vector<double> weights(static_cast<size_t>(rows * count));
  for (int64_t m = 0; m < count; ++m) {
    const int64_t from = edges[static_cast<size_t>(m)], top = edges[static_cast<size_t>(m) + 1],
                  to = edges[static_cast<size_t>(m) + 2];
    auto at = [&](int64_t row) -> double& { return weights[static_cast<size_t>(row * count + m)]; };
    for (int64_t row = from; row < top; ++row)
      at(row) = static_cast<double>(row - from) / static_cast<double>(top - from);
    for (int64_t row = top + 1; row < to; ++row)
      at(row) = static_cast<double>(to - row) / static_cast<double>(to - top);
    at(top) = 1;
  }
  node.OutValue(0, RealsOf(node.Type("dtype"), {rows, count}, weights));
}

void TfIdfVectorizer(Translation& node) {
  const Shape& shape = node.shape(0);
  if (shape.rank() != 1 && shape.rank() != 2) node.Refuse("x has one or two dimensions");
  const std::string mode = node.String("mode");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") node.Refuse("mode is TF, IDF or TFIDF");
  ops::NgramArgs args;
  args.shortest = node.Int("min_gram_length"), args.longest = node.Int("max_gram_length");
  if (args.shortest < 1 || args.longest < args.shortest)
    node.Refuse("min_gram_length is at least 1 and at most max_gram_length");
  args.most_skipped = node.Int("max_skip_count"), args.counted = mode != "IDF";
  args.pool = node.Ints("pool_int64s"), args.starts = node.Ints("ngram_counts"),
  args.columns = node.Ints("ngram_indexes");
  if (mode != "TF") args.weights = node.Floats("weights");
  if (args.columns.empty()) node.Refuse("ngram_indexes is empty");
  const int64_t width = *std::ranges::max_element(args.columns) + 1, rows = shape.rank() == 1 ? 1 : shape[0];
  Tensor x = Translation::Reshaped(node.Cast(node.in(0), DType::kI64), {rows, shape.back(0)});
  Tensor out = node.Out(0, DType::kF32, shape.rank() == 1 ? Shape{width} : Shape{rows, width});
  Tensor counts = Translation::Reshaped(out, {rows, width});
  node.Step("TfIdfVectorizer", [&](ops::Plan& plan) {
    args.x = ReadFrom(plan, x, "x"), args.out = WrittenTo(plan, counts, "y");
    ops::PlanNgrams(plan, args);
  });
}

}  // namespace belay::graph::translate
