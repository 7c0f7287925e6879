// Operators that take tensors apart and put them together.
#include <algorithm>
#include <numeric>

#include "graph/ops/axes.h"
#include "graph/ops/bind.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/layout/joined_rows.h"
#include "ops/layout/reverse_sequence.h"

namespace belay::graph::translate {
namespace {

constexpr int kMostPieces = 64;  // that one step moves

// In one pass, where the inputs are interleaved finely. False: they are not.
bool JoinRows(Translation& node, int first, int end, int axis, const Tensor& out) {
  if (axis == 0 || out.empty() || end - first > kMostPieces) return false;
  bool done = false;
  node.Step("Concat", [&](ops::Plan& plan) {
    std::vector<ops::Operand> pieces;
    for (int i = first; i < end; ++i) pieces.push_back(ReadFrom(plan, node.in(i), "x"));
    done = ops::PlanJoinedRows(plan, pieces, axis, WrittenTo(plan, out, "y"));
  });
  return done;
}

// The same the other way round.
bool PartRows(Translation& node, const Tensor& x, int axis, const std::vector<Tensor>& outs) {
  if (axis == 0 || x.empty() || std::ssize(outs) > kMostPieces) return false;
  bool done = false;
  node.Step("Split", [&](ops::Plan& plan) {
    std::vector<ops::Operand> pieces;
    for (const Tensor& out : outs) pieces.push_back(WrittenTo(plan, out, "y"));
    done = ops::PlanPartedRows(plan, ReadFrom(plan, x, "x"), axis, pieces);
  });
  return done;
}

// Inputs [first, end) one behind the other.
void Join(Translation& node, int first, int end, int64_t dim) {
  if (first >= end) node.Refuse("there is nothing to join");
  Shape shape = node.shape(first);
  int axis = node.Axis(dim, shape.rank());
  shape[axis] = 0;
  for (int i = first; i < end; ++i) {
    Shape other = node.shape(i);
    if (other.rank() != shape.rank()) node.Refuse("its inputs have different numbers of dimensions");
    shape[axis] += other[axis];
    other[axis] = shape[axis];
    if (other != shape) {
      node.Refuse("input " + std::to_string(i) + " of shape " + node.shape(i).ToString() +
                  " does not fit behind the others, which need " + shape.ToString());
    }
  }
  if (end - first == 1) return node.OutSame(0, node.in(first), shape);
  Tensor out = node.Out(0, node.dtype(first), shape);
  if (JoinRows(node, first, end, axis, out)) return;
  int64_t offset = 0;
  for (int i = first; i < end; ++i) {
    if (node.in(i).empty()) continue;
    node.Copy(node.in(i), Part(out, axis, offset, node.shape(i)[axis]));
    offset += node.shape(i)[axis];
  }
}

void Cut(Translation& node, int input, int64_t dim, const std::vector<int64_t>& sizes) {
  const Tensor& x = node.in(input);
  int axis = node.Axis(dim, x.shape.rank());
  if (std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) != x.shape[axis] ||
      static_cast<int>(sizes.size()) != node.output_count()) {
    node.Refuse("pieces of " + std::to_string(sizes.size()) + " sizes do not make up dimension " +
                std::to_string(axis) + " of " + x.shape.ToString() + " in " +
                std::to_string(node.output_count()) + " outputs");
  }
  std::vector<Tensor> outs;
  for (int i = 0; i < node.output_count(); ++i) {
    Shape shape = x.shape;
    shape[axis] = sizes[static_cast<size_t>(i)];
    outs.push_back(node.Out(i, x.dtype, shape));
  }
  if (PartRows(node, x, axis, outs)) return;
  int64_t first = 0;
  for (size_t i = 0; i < outs.size(); ++i) {
    node.Copy(Part(x, axis, first, sizes[i]), outs[i]);
    first += sizes[i];
  }
}

// Equal pieces; the last one may be smaller.
std::vector<int64_t> EvenSizes(Translation& node, int input, int64_t dim, int64_t pieces) {
  if (pieces < 1 || pieces != node.output_count())
    node.Refuse("it has another number of outputs than of pieces");
  int64_t size = node.shape(input)[node.Axis(dim, node.shape(input).rank())];
  int64_t each = (size + pieces - 1) / pieces;
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < pieces; ++i) sizes.push_back(std::clamp<int64_t>(size - i * each, 0, each));
  return sizes;
}

std::vector<int64_t> WithOpenSize(Translation& node, std::vector<int64_t> sizes, int64_t dim) {
  int64_t rest = node.shape(0)[node.Axis(dim, node.shape(0).rank())];
  for (int64_t size : sizes) {
    if (size > rest) node.Refuse("the pieces are larger than the dimension");
    rest -= std::max<int64_t>(size, 0);
  }
  for (int64_t& size : sizes) {
    if (size == -1) size = rest;
  }
  return sizes;
}

void Blocks(Translation& node, const Shape& split, std::span<const int64_t> order, const Shape& shape) {
  Tensor view = Translation::Transposed(Translation::Reshaped(node.in(0), split), order);
  Tensor out = node.Out(0, view.dtype, shape);
  node.Copy(view, Translation::Reshaped(out, view.shape));
}

struct Image {
  int64_t n, c, h, w, block;
  bool nchw;
};

Image ImageOf(Translation& node) {
  const Shape& s = node.shape(0);
  if (s.rank() != 4) node.Refuse("the input has shape " + s.ToString() + "; four dimensions are needed");
  bool nchw = node.String("data_format") == "NCHW";
  int64_t block = node.Int("block_size");
  if (block < 1 || block > 1 << 16) node.Refuse("block_size is from 1 to 65536");
  return nchw ? Image{s[0], s[1], s[2], s[3], block, true} : Image{s[0], s[3], s[1], s[2], block, false};
}

}  // namespace

void Concat(Translation& node) { Join(node, 1, node.input_count(), node.ints(0).at(0)); }
void ConcatV2(Translation& node) {
  int last = node.input_count() - 1;
  Join(node, 0, last, node.ints(last).at(0));
}
void ConcatD(Translation& node) { Join(node, 0, node.input_count(), node.Int("concat_dim")); }

void Pack(Translation& node) {
  Shape shape = node.shape(0);
  int axis = node.Axis(node.Int("axis"), shape.rank() + 1);
  Shape whole = WithDim(node, shape, axis, node.input_count());
  Tensor out = node.Out(0, node.dtype(0), whole);
  for (int i = 0; i < node.input_count(); ++i) {
    if (node.shape(i) != shape) node.Refuse("its inputs have different shapes");
    node.Copy(node.in(i), WithoutDim(out, axis, i));
  }
}

void Unpack(Translation& node) {
  const Tensor& x = node.in(0);
  int axis = node.Axis(node.Int("axis"), x.shape.rank());
  if (x.shape[axis] != node.output_count())
    node.Refuse("it has another number of outputs than the dimension has elements");
  for (int i = 0; i < node.output_count(); ++i) {
    Tensor part = WithoutDim(x, axis, i);
    node.Copy(part, node.Out(i, x.dtype, part.shape));
  }
}

void Split(Translation& node) {
  int64_t dim = node.ints(0).at(0);
  Cut(node, 1, dim, EvenSizes(node, 1, dim, node.Int("num_split")));
}
void SplitD(Translation& node) {
  int64_t dim = node.Int("split_dim");
  Cut(node, 0, dim, EvenSizes(node, 0, dim, node.Int("num_split")));
}
void SplitV(Translation& node) {
  int64_t dim = node.ints(2).at(0);
  Cut(node, 0, dim, WithOpenSize(node, node.ints(1), dim));
}
void SplitVD(Translation& node) {
  int64_t dim = node.Int("split_dim");
  Cut(node, 0, dim, WithOpenSize(node, node.Ints("size_splits"), dim));
}

// Channels hold the pixels of a block: (block, block, depth) in mode DCR, (depth, block, block) in CRD.
void DepthToSpace(Translation& node) {
  Image s = ImageOf(node);
  int64_t b = s.block, depth = s.c / (b * b);
  if (depth * b * b != s.c) node.Refuse("the channels do not divide into blocks");
  bool columns_first = node.String("mode") == "DCR";
  if (!s.nchw) {
    constexpr int64_t kDcr[] = {0, 1, 3, 2, 4, 5}, kCrd[] = {0, 1, 4, 2, 5, 3};
    Shape split = columns_first ? Shape{s.n, s.h, s.w, b, b, depth} : Shape{s.n, s.h, s.w, depth, b, b};
    return Blocks(node, split, columns_first ? kDcr : kCrd, {s.n, s.h * b, s.w * b, depth});
  }
  constexpr int64_t kDcr[] = {0, 3, 4, 1, 5, 2}, kCrd[] = {0, 1, 4, 2, 5, 3};
  Shape split = columns_first ? Shape{s.n, b, b, depth, s.h, s.w} : Shape{s.n, depth, b, b, s.h, s.w};
  Blocks(node, split, columns_first ? kDcr : kCrd, {s.n, depth, s.h * b, s.w * b});
}

void SpaceToDepth(Translation& node) {
  Image s = ImageOf(node);
  int64_t b = s.block, h = s.h / b, w = s.w / b;
  if (h * b != s.h || w * b != s.w) node.Refuse("the image does not divide into blocks");
  if (!s.nchw) {
    constexpr int64_t kOrder[] = {0, 1, 3, 2, 4, 5};
    return Blocks(node, {s.n, h, b, w, b, s.c}, kOrder, {s.n, h, w, b * b * s.c});
  }
  constexpr int64_t kOrder[] = {0, 3, 5, 1, 2, 4};
  Blocks(node, {s.n, s.c, h, b, w, b}, kOrder, {s.n, b * b * s.c, h, w});
}

// Channels in groups become groups of what stands at one place of each.
void ShuffleChannel(Translation& node) {
  const Shape& shape = node.shape(0);
  const int64_t groups = node.Int("group");
  if (shape.rank() < 2 || groups < 1 || shape[1] % groups != 0)
    node.Refuse("group divides dimension 1, the channels");
  constexpr int64_t kOrder[] = {0, 2, 1, 3};
  int64_t behind = 1;
  for (int d = 2; d < shape.rank(); ++d) behind *= shape[d];
  Blocks(node, {shape[0], groups, shape[1] / groups, behind}, kOrder, shape);
}

// Each member of the batch has the first seq_lengths elements of the sequence turned round.
void ReverseSequence(Translation& node) {
  const Tensor& x = node.in(0);
  int seq = node.Axis(node.Int("seq_dim"), x.shape.rank()),
      batch = node.Axis(node.Int("batch_dim"), x.shape.rank());
  if (seq == batch) node.Refuse("the sequence and the batch are one dimension");
  if (node.in(1).count() != x.shape[batch]) node.Refuse("seq_lengths needs a number for each member");
  Tensor out = node.Out(0, x.dtype, x.shape);
  node.Step("ReverseSequence", [&](ops::Plan& plan) {
    ops::PlanReverseSequence(plan, ReadFrom(plan, x, "x"), ReadFrom(plan, node.in(1), "seq_lengths"),
                             WrittenTo(plan, out, "y"), seq, batch);
  });
}

}  // namespace belay::graph::translate
