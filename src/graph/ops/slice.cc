// Slices, padding, tiles and what else chooses elements along each dimension.
#include <algorithm>
#include <cstdint>

#include "graph/ops/axes.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/forms.h"

namespace belay::graph::translate {
namespace {

// One dimension of a slice.
struct Cutting {
  int64_t start, step, count;
};

int64_t CountBetween(int64_t start, int64_t end, int64_t step) {
  int64_t count = step > 0 ? (end - start + step - 1) / step : (start - end - step - 1) / -step;
  return std::max<int64_t>(count, 0);
}

// As Python cuts a list; beyond the ends is the end.
Cutting Clamped(int64_t size, int64_t start, int64_t end, int64_t step) {
  step = std::clamp(step, -size - 1, size + 1);
  auto from_behind = [size](int64_t at) { return at < 0 ? at + size : at; };
  int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  start = std::clamp(from_behind(start), low, high);
  end = std::clamp(from_behind(end), low, high);
  return {start, step, CountBetween(start, end, step)};
}

// As ONNX does: backwards, a start before the first element is the first, where Python finds nothing, and the
// largest number is no end, as opset 10 recommends.
Cutting ClampedToElements(int64_t size, int64_t start, int64_t end, int64_t step) {
  if (step < 0 && start < -size) start = -size;
  if (step < 0 && (end == INT32_MAX || end == INT64_MAX)) end = -size - 1;
  return Clamped(size, start, end, step);
}

// The slice under a shape of its own, which has as many elements.
void OutSlice(Translation& node, const std::vector<Cutting>& cuttings, const Shape* shape = nullptr) {
  const Tensor& x = node.in(0);
  bool forwards = true;
  Tensor view = x;
  std::vector<ops::AxisMap> maps;
  for (int d = 0; d < x.shape.rank(); ++d) {
    const Cutting& c = cuttings[static_cast<size_t>(d)];
    forwards = forwards && c.step > 0;
    view.shape[d] = c.count;
    view.offset += c.count == 0 ? 0 : c.start * x.strides[d];
    view.strides[d] = x.strides[d] * c.step;
  }
  const Shape& result = shape == nullptr ? view.shape : *shape;
  if (view.shape == x.shape && forwards) return node.OutSame(0, x, result);
  Tensor out = node.Out(0, x.dtype, result);
  if (view.empty()) return;
  Tensor place = Translation::Reshaped(out, view.shape);
  if (forwards) return node.Copy(view, place);
  for (const Cutting& c : cuttings) maps.push_back(ops::SteppedMap(c.start, c.step, c.count));
  Rearrange(node, x, place, maps);
}

struct Masks {
  int64_t begin, end, ellipsis, new_axis, shrink_axis;
  explicit Masks(const Translation& node)
      : begin(node.Int("begin_mask")),
        end(node.Int("end_mask")),
        ellipsis(node.Int("ellipsis_mask")),
        new_axis(node.Int("new_axis_mask")),
        shrink_axis(node.Int("shrink_axis_mask")) {}
};

// A specification as TensorFlow has it: entry i says what happens to the next dimension.
class StridedSpec {
 public:
  StridedSpec(Translation& node, std::vector<int64_t> begin, std::vector<int64_t> end,
              std::vector<int64_t> strides)
      : node_(node),
        masks_(node),
        begin_(std::move(begin)),
        end_(std::move(end)),
        strides_(std::move(strides)) {
    strides_.resize(begin_.size(), 1);
    if (end_.size() != begin_.size()) node_.Refuse("begin and end differ in length");
    if (begin_.size() > 2 * tensor::kMaxRank) node_.Refuse("begin has more entries than any slice needs");
  }

  void Run() {
    const Shape& shape = node_.shape(0);
    for (size_t i = 0; i < begin_.size(); ++i) Entry(i);
    while (static_cast<int>(cuttings_.size()) < shape.rank()) Keep();
    OutSlice(node_, cuttings_, &result_);
  }

 private:
  static bool Set(int64_t mask, size_t bit) { return (mask >> bit & 1) != 0; }

  int64_t NextSize() {
    auto d = static_cast<int>(cuttings_.size());
    if (d >= node_.shape(0).rank()) node_.Refuse("it slices more dimensions than there are");
    return node_.shape(0)[d];
  }

  void Keep() {
    int64_t size = NextSize();
    cuttings_.push_back({0, 1, size});
    result_.push_back(size);
  }

  void Entry(size_t i) {
    if (Set(masks_.ellipsis, i)) {
      auto later = static_cast<int>(begin_.size() - i - 1);
      for (size_t k = i + 1; k < begin_.size(); ++k) later -= Set(masks_.new_axis, k);
      while (static_cast<int>(cuttings_.size()) + later < node_.shape(0).rank()) Keep();
      return;
    }
    if (Set(masks_.new_axis, i)) return result_.push_back(1);
    int64_t size = NextSize(), step = strides_[i];
    if (step == 0) node_.Refuse("a stride is 0");
    if (Set(masks_.shrink_axis, i)) {
      int64_t at = begin_[i] < 0 ? begin_[i] + size : begin_[i];
      if (at < 0 || at >= size) node_.Refuse("begin " + std::to_string(begin_[i]) + " is out of range");
      cuttings_.push_back({at, 1, 1});
      return;
    }
    Cutting c = Clamped(size, begin_[i], end_[i], step);
    if (Set(masks_.begin, i)) c.start = step > 0 ? 0 : size - 1;
    int64_t last = step > 0 ? size : -1;
    if (!Set(masks_.end, i)) last = Clamped(size, end_[i], end_[i], step).start;
    c.count = CountBetween(c.start, last, c.step);
    cuttings_.push_back(c);
    result_.push_back(c.count);
  }

  Translation& node_;
  Masks masks_;
  std::vector<int64_t> begin_, end_, strides_;
  std::vector<Cutting> cuttings_;
  Shape result_;
};

std::vector<int64_t> IntsOr(const Translation& node, int input) {
  return node.has(input) ? node.ints(input) : std::vector<int64_t>();
}

void SliceAlong(Translation& node, const std::vector<int64_t>& axes) {
  std::vector<int64_t> starts = node.ints(1), ends = node.ints(2), steps = IntsOr(node, 4);
  const Shape& shape = node.shape(0);
  steps.resize(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size())
    node.Refuse("starts, ends and axes differ in length");
  std::vector<Cutting> cuttings;
  for (int64_t size : shape) cuttings.push_back({0, 1, size});
  for (size_t i = 0; i < axes.size(); ++i) {
    int axis = node.Axis(axes[i], shape.rank());
    if (steps[i] == 0) node.Refuse("a step is 0");
    cuttings[static_cast<size_t>(axis)] = ClampedToElements(shape[axis], starts[i], ends[i], steps[i]);
  }
  OutSlice(node, cuttings);
}

void SliceOf(Translation& node, const std::vector<int64_t>& offsets, const std::vector<int64_t>& sizes) {
  const Shape& shape = node.shape(0);
  if (offsets.size() != static_cast<size_t>(shape.rank()) || sizes.size() != offsets.size()) {
    node.Refuse("offsets and size need a number for each dimension");
  }
  std::vector<Cutting> cuttings;
  for (size_t i = 0; i < offsets.size(); ++i) {
    int64_t whole = shape[static_cast<int>(i)];
    int64_t size = sizes[i] == -1 ? whole - offsets[i] : sizes[i];
    if (offsets[i] < 0 || offsets[i] > whole || size < 0 || size > whole - offsets[i])
      node.Refuse("the slice is not inside of the input");
    cuttings.push_back({offsets[i], 1, size});
  }
  OutSlice(node, cuttings);
}

// --- padding

struct Padding {
  int64_t before = 0, after = 0;
};

// (before, after) of each dimension, or all befores and then all afters.
std::vector<Padding> Paddings(const Translation& node, const std::vector<int64_t>& numbers, bool pairs) {
  auto rank = static_cast<size_t>(node.shape(0).rank());
  if (numbers.size() != 2 * rank) node.Refuse("paddings needs two numbers for each dimension");
  std::vector<Padding> paddings;
  for (size_t d = 0; d < rank; ++d) {
    paddings.push_back(pairs ? Padding{numbers[2 * d], numbers[2 * d + 1]}
                             : Padding{numbers[d], numbers[rank + d]});
  }
  return paddings;
}

ops::PadMode ModeNamed(const Translation& node, const std::string& name) {
  if (name == "constant") return ops::PadMode::kConstant;
  if (name == "reflect" || name == "REFLECT") return ops::PadMode::kReflect;
  if (name == "edge") return ops::PadMode::kEdge;
  if (name == "wrap" || name == "circular") return ops::PadMode::kWrap;
  node.Refuse("there is no padding mode '" + name + "'");
}

void PadWith(Translation& node, const std::vector<Padding>& paddings, ops::PadMode mode, const void* fill) {
  const Tensor& x = node.in(0);
  std::vector<ops::AxisMap> maps;
  bool nothing = true;
  for (int d = 0; d < x.shape.rank(); ++d) {
    const Padding& p = paddings[static_cast<size_t>(d)];
    nothing = nothing && p.before == 0 && p.after == 0;
    maps.push_back(ops::PaddedMap(x.shape[d], p.before, p.after, mode));
  }
  if (nothing) return node.OutSame(0, x, x.shape);
  OutRearranged(node, x, maps, fill);
}

struct FillValue {
  unsigned char bytes[16] = {};
  // The one element of an input; zero when it is not there.
  FillValue(const Translation& node, int input) {
    if (!node.has(input) || node.value(input).count() == 0) return;
    const HostTensor& value = node.value(input);
    if (!tensor::CanConvert(node.dtype(0), value.dtype()))
      node.Refuse("the value for padding has another type");
    tensor::Convert(node.dtype(0), bytes, value.dtype(), value.data(), 1);
  }
};

void TileBy(Translation& node, const std::vector<int64_t>& multiples) {
  const Shape& shape = node.shape(0);
  if (static_cast<int>(multiples.size()) < shape.rank())
    node.Refuse("multiples needs a number for each dimension");
  if (multiples.size() > tensor::kMaxRank) node.Refuse("more than eight dimensions are not supported");
  const size_t lead = multiples.size() - static_cast<size_t>(shape.rank());
  Shape tiled;
  for (size_t d = 0; d < multiples.size(); ++d) {
    if (multiples[d] < 0)
      node.Refuse("a tensor cannot be repeated " + std::to_string(multiples[d]) + " times");
    int64_t size = d < lead ? 1 : shape[static_cast<int>(d - lead)];
    if (__builtin_mul_overflow(size, multiples[d], &size)) node.Refuse("the result is too large");
    tiled.push_back(size);
  }
  const tensor::IntArray repeats(multiples.data(), multiples.size());
  Tensor out = node.Out(0, node.dtype(0), tiled);
  node.Run(ops::forms::Repeat, {Arg(&node.in(0)), Arg(&repeats), Arg(&out)});
}

void ReverseAlong(Translation& node, const std::vector<int64_t>& axes) {
  std::vector<ops::AxisMap> maps = Identities(node.shape(0));
  for (int64_t axis : axes) {
    ops::AxisMap& map = maps[static_cast<size_t>(node.Axis(axis, node.shape(0).rank()))];
    std::reverse(map.begin(), map.end());
  }
  OutRearranged(node, node.in(0), maps);
}

void Triangle(Translation& node, const ops::Form& form, int64_t diagonal) {
  if (node.shape(0).rank() < 2) node.Refuse("a triangle needs two dimensions");
  Tensor out = node.Out(0, node.dtype(0), node.shape(0));
  node.Run(form, {Arg(&node.in(0)), Arg(diagonal), Arg(&out)});
}

}  // namespace

void Slice(Translation& node) { SliceOf(node, node.ints(1), node.ints(2)); }
void SliceD(Translation& node) { SliceOf(node, node.Ints("offsets"), node.Ints("size")); }
void StridedSlice(Translation& node) { StridedSpec(node, node.ints(1), node.ints(2), IntsOr(node, 3)).Run(); }
void StridedSliceD(Translation& node) {
  StridedSpec(node, node.Ints("begin"), node.Ints("end"), node.Ints("strides")).Run();
}
void StridedSliceV2(Translation& node) {
  if (node.has(3)) return SliceAlong(node, node.ints(3));
  StridedSpec(node, node.ints(1), node.ints(2), IntsOr(node, 4)).Run();
}

void Pad(Translation& node) {
  PadWith(node, Paddings(node, node.ints(1), true), ops::PadMode::kConstant, nullptr);
}
void PadD(Translation& node) {
  PadWith(node, Paddings(node, node.Ints("paddings"), true), ops::PadMode::kConstant, nullptr);
}
void PadV2(Translation& node) {
  FillValue fill(node, 2);
  PadWith(node, Paddings(node, node.ints(1), true), ops::PadMode::kConstant, fill.bytes);
}
void PadV3(Translation& node) {
  FillValue fill(node, 2);
  PadWith(node, Paddings(node, node.ints(1), node.Bool("paddings_contiguous")),
          ModeNamed(node, node.String("mode")), fill.bytes);
}
void PadV3D(Translation& node) {
  FillValue fill(node, 1);
  if (node.Int("constant_values") != 0) node.Refuse("only padding with zeros is supported; use PadV3");
  PadWith(node, Paddings(node, node.Ints("paddings"), node.Bool("paddings_contiguous")),
          ModeNamed(node, node.String("mode")), fill.bytes);
}

void MirrorPad(Translation& node) {
  std::string mode = node.String("mode");
  if (mode == "SYMMETRIC") {
    std::vector<Padding> paddings = Paddings(node, node.ints(1), true);
    std::vector<ops::AxisMap> maps;
    for (int d = 0; d < node.shape(0).rank(); ++d) {
      int64_t n = node.shape(0)[d];
      const auto [before, after] = paddings[static_cast<size_t>(d)];
      if (before < 0 || before > n || after < 0 || after > n)
        node.Refuse("a padding is negative, or larger than the dimension");
      ops::CheckMapLength(static_cast<double>(n + before + after));
      ops::AxisMap map;
      for (int64_t i = -before; i < n + after; ++i) {
        map.push_back(i < 0 ? -i - 1 : i < n ? i : 2 * n - 1 - i);
      }
      maps.push_back(std::move(map));
    }
    return OutRearranged(node, node.in(0), maps);
  }
  PadWith(node, Paddings(node, node.ints(1), true), ModeNamed(node, mode), nullptr);
}

void PadAxes(Translation& node) {
  FillValue fill(node, 2);
  std::vector<int64_t> numbers = node.ints(1);
  int rank = node.shape(0).rank();
  ops::PadMode mode = ModeNamed(node, node.String("mode"));
  if (!node.has(3)) return PadWith(node, Paddings(node, numbers, false), mode, fill.bytes);
  std::vector<int64_t> axes = node.ints(3);
  if (numbers.size() != 2 * axes.size()) node.Refuse("pads needs two numbers for each axis");
  std::vector<Padding> paddings(static_cast<size_t>(rank));
  for (size_t i = 0; i < axes.size(); ++i) {
    paddings[static_cast<size_t>(node.Axis(axes[i], rank))] = {numbers[i], numbers[axes.size() + i]};
  }
  PadWith(node, paddings, mode, fill.bytes);
}

void Tile(Translation& node) { TileBy(node, node.ints(1)); }
void TileD(Translation& node) { TileBy(node, node.Ints("multiples")); }
void ReverseV2(Translation& node) { ReverseAlong(node, node.ints(1)); }
void ReverseV2D(Translation& node) { ReverseAlong(node, node.Ints("axis")); }

void Trilu(Translation& node) {
  int64_t k = node.has(1) ? node.ints(1).at(0) : 0;
  Triangle(node, node.Int("upper") != 0 ? ops::forms::Triu : ops::forms::Tril, k);
}

void CenterCropPad(Translation& node) {
  const Shape& shape = node.shape(0);
  std::vector<int64_t> wanted = node.ints(1), axes = node.Ints("axes");
  if (axes.empty()) axes = ops::IdentityMap(shape.rank());
  if (wanted.size() != axes.size()) node.Refuse("shape needs a number for each axis");
  std::vector<Padding> paddings(static_cast<size_t>(shape.rank()));
  for (size_t i = 0; i < axes.size(); ++i) {
    int axis = node.Axis(axes[i], shape.rank());
    if (wanted[i] < 0) node.Refuse("a size is negative");
    int64_t more = wanted[i] - shape[axis];
    int64_t before = more >= 0 ? more / 2 : -((-more) / 2);
    paddings[static_cast<size_t>(axis)] = {before, more - before};
  }
  PadWith(node, paddings, ops::PadMode::kConstant, nullptr);
}

}  // namespace belay::graph::translate
