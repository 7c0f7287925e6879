// Operators that pick and place elements by index.
#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "graph/codes.h"
#include "graph/ops/axes.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/forms.h"
#include "ops/index/compress.h"
#include "ops/index/gather.h"
#include "ops/index/scatter.h"

namespace belay::graph::translate {
namespace {

using ops::Combination;

void Pick(Translation& node, int64_t axis) {
  Tensor x = node.in(0);
  if (x.shape.rank() == 0) x.shape = x.strides = Shape{1};  // picked from as from a vector
  Tensor index = node.in(1);
  int dim = node.Axis(axis, x.shape.rank());
  int64_t batch = node.Int("batch_dims");
  if (batch < 0) batch += index.shape.rank();
  if (batch < 0 || batch > dim || batch > index.shape.rank()) node.Refuse("batch_dims is out of range");
  auto batches = static_cast<int>(batch);
  Tensor out = node.Out(0, x.dtype, ops::GatheredShape(x.shape, dim, batches, index.shape));
  node.Step("GatherV2", [&](ops::Plan& plan) {
    ops::PlanGather(plan, ReadFrom(plan, x, "x"), dim, batches, ReadFrom(plan, index, "indices"),
                    WrittenTo(plan, out, "y"));
  });
}

Combination CombinationNamed(const Translation& node) {
  std::string name = node.String("reduction");
  if (name == "none" || name.empty()) return Combination::kReplace;
  if (name == "add") return Combination::kAdd;
  if (name == "mul") return Combination::kMultiply;
  if (name == "max") return Combination::kMax;
  if (name == "min") return Combination::kMin;
  node.Refuse("there is no reduction '" + name + "'");
}

void ScatterBlocks(Translation& node, Combination how) {
  Tensor out = node.Out(0, node.dtype(0), node.shape(0));
  node.Step("ScatterNd", [&](ops::Plan& plan) {
    ops::PlanScatterNd(plan, ReadFrom(plan, node.in(0), "x"), ReadFrom(plan, node.in(1), "indices"),
                       ReadFrom(plan, node.in(2), "updates"), how, WrittenTo(plan, out, "y"));
  });
}

void OneHotOf(Translation& node, int64_t depth, const Tensor& on, const Tensor& off) {
  if (depth < 0) node.Refuse("depth is negative");
  const Shape& shape = node.shape(0);
  int axis = node.Axis(node.Int("axis"), shape.rank() + 1);
  Tensor index = IsInt(node.dtype(0)) ? node.in(0) : node.Cast(node.in(0), DType::kI64);
  Tensor out = node.Out(0, on.dtype, WithDim(node, shape, axis, depth));
  node.Step("OneHot", [&](ops::Plan& plan) {
    ops::PlanOneHot(plan, ReadFrom(plan, index, "x"), axis, ReadFrom(plan, on, "on_value"),
                    ReadFrom(plan, off, "off_value"), WrittenTo(plan, out, "y"));
  });
}

std::vector<uint8_t> TruthOf(const HostTensor& x) {
  std::vector<uint8_t> truth(static_cast<size_t>(x.count()));
  if (!tensor::CanConvert(DType::kBool, x.dtype()) && !IsComplex(x.dtype())) {
    Fail(kTypeInvalid, "graph-constant-type", "{} values cannot be used as conditions", NameOf(x.dtype()));
  }
  tensor::Convert(DType::kBool, truth.data(), x.dtype(), x.data(), x.count());
  return truth;
}

// The multi-indices of elements that are not zero, in order: [count, rank], or the reverse.
Constant PlaceTable(const HostTensor& x, bool dims_first, DType dtype) {
  const std::vector<uint8_t> truth = TruthOf(x);
  const auto count = static_cast<int64_t>(truth.size()) - std::count(truth.begin(), truth.end(), 0);
  const int rank = x.shape().rank();
  auto table =
      std::make_shared<HostTensor>(DType::kI64, dims_first ? Shape{rank, count} : Shape{count, rank});
  const int64_t along = dims_first ? 1 : rank, across = dims_first ? count : 1;
  int64_t* place = table->as<int64_t>();
  const int64_t row = rank == 0 ? 1 : x.shape().back(0);
  Shape at = Shape::Filled(rank, 0);  // where the row begins
  for (auto first = truth.begin(); first != truth.end(); first += row) {
    for (int64_t i = 0; i < row; ++i) {
      if (first[i] == 0) continue;
      for (int d = 0; d + 1 < rank; ++d) place[d * across] = at[d];
      if (rank > 0) place[(rank - 1) * across] = i;
      place += along;
    }
    for (int d = rank - 2; d >= 0 && ++at[d] == x.shape()[d]; --d) at[d] = 0;
  }
  if (!IsInt(dtype)) Fail(kTypeInvalid, "graph-constant-type", "places cannot be given as {}", NameOf(dtype));
  if (dtype == DType::kI64) return table;
  auto result = std::make_shared<HostTensor>(dtype, table->shape());
  tensor::Convert(dtype, result->mutable_data(), DType::kI64, table->data(), table->count());
  return result;
}

// The elements of x along `axis` whose condition holds.
void Keep(Translation& node, const Tensor& x, int axis, const std::vector<uint8_t>& condition) {
  std::vector<ops::AxisMap> maps = Identities(x.shape);
  ops::AxisMap& map = maps[static_cast<size_t>(axis)];
  map.clear();
  for (size_t i = 0; i < condition.size() && static_cast<int64_t>(i) < x.shape[axis]; ++i) {
    if (condition[i] != 0) map.push_back(static_cast<int64_t>(i));
  }
  OutRearranged(node, x, maps);
}

}  // namespace

void Gather(Translation& node) { Pick(node, node.Int("batch_dims")); }
void GatherV2(Translation& node) { Pick(node, node.ints(2).at(0)); }
void GatherV2D(Translation& node) { Pick(node, node.Int("axis")); }

void GatherElements(Translation& node) {
  Tensor out = node.Out(0, node.dtype(0), node.shape(1));
  node.Run(ops::forms::Gather, {Arg(&node.in(0)), Arg(node.Int("dim")), Arg(&node.in(1)), Arg(&out)});
}

void GatherNd(Translation& node) {
  const Shape& x = node.shape(0);
  const Shape& names = node.shape(1);
  auto batch = static_cast<int>(node.Int("batch_dims"));
  if (names.rank() == 0) node.Refuse("indices needs a dimension");
  int behind = batch + static_cast<int>(names.back(0));
  if (batch < 0 || behind > x.rank()) node.Refuse("indices name more dimensions than x has");
  if (names.rank() - 1 + x.rank() - behind > tensor::kMaxRank)
    node.Refuse("more than eight dimensions are not supported");
  Shape shape = Shape::Of(names.data(), names.rank() - 1);
  for (int d = behind; d < x.rank(); ++d) shape.push_back(x[d]);
  Tensor out = node.Out(0, node.dtype(0), shape);
  node.Step("GatherNd", [&](ops::Plan& plan) {
    ops::PlanGatherNd(plan, ReadFrom(plan, node.in(0), "x"), batch, ReadFrom(plan, node.in(1), "indices"),
                      WrittenTo(plan, out, "y"));
  });
}

void ScatterElements(Translation& node) {
  Tensor out = node.Out(0, node.dtype(0), node.shape(0));
  Combination how = CombinationNamed(node);
  int64_t axis = node.Int("axis");
  node.Step("ScatterElements", [&](ops::Plan& plan) {
    ops::PlanScatterElements(plan, ReadFrom(plan, node.in(0), "data"), axis,
                             ReadFrom(plan, node.in(1), "indices"), ReadFrom(plan, node.in(2), "updates"),
                             how, WrittenTo(plan, out, "y"));
  });
}

void TensorScatterUpdate(Translation& node) { ScatterBlocks(node, CombinationNamed(node)); }
void TensorScatterAdd(Translation& node) { ScatterBlocks(node, Combination::kAdd); }
void TensorScatterMax(Translation& node) { ScatterBlocks(node, Combination::kMax); }
void TensorScatterMin(Translation& node) { ScatterBlocks(node, Combination::kMin); }

// Added up where indices repeat, on zeros.
void ScatterNd(Translation& node) {
  std::vector<int64_t> sizes = node.ints(2);
  if (sizes.size() > tensor::kMaxRank) node.Refuse("more than eight dimensions are not supported");
  Tensor out = node.Out(0, node.dtype(1), Shape::Of(sizes.data(), static_cast<int>(sizes.size())));
  Tensor zeros = node.Temporary(out.dtype, out.shape);
  int64_t zero = 0;
  Scalar value(&zero, DType::kI64);
  node.Run(ops::forms::InplaceFillScalar, {Arg(&zeros), Arg(&value)});
  node.Step("ScatterNd", [&](ops::Plan& plan) {
    ops::PlanScatterNd(plan, ReadFrom(plan, zeros, "zeros"), ReadFrom(plan, node.in(0), "indices"),
                       ReadFrom(plan, node.in(1), "x"), Combination::kAdd, WrittenTo(plan, out, "y"));
  });
}

void OneHot(Translation& node) { OneHotOf(node, node.ints(1).at(0), node.in(2), node.in(3)); }
void OneHotD(Translation& node) { OneHotOf(node, node.Int("depth"), node.in(1), node.in(2)); }

void NonZero(Translation& node) {
  node.OutValue(0, PlaceTable(node.value(0), node.Bool("transpose"), node.Type("dtype")));
}
void Where(Translation& node) { node.OutValue(0, PlaceTable(node.value(0), false, DType::kI64)); }

void Compress(Translation& node) {
  const HostTensor& condition = node.value(1);
  const bool flat = node.Bool("flat");
  const Tensor& given = node.in(0);
  const Tensor x = flat ? Translation::Reshaped(given, {given.count()}) : given;
  const int axis = flat ? 0 : node.Axis(node.Int("axis"), x.shape.rank());
  if (condition.dtype() != DType::kBool) return Keep(node, x, axis, TruthOf(condition));
  Shape shape = x.shape;
  shape[axis] = ops::PlacesKept(condition.as<uint8_t>(), condition.count(), x.shape[axis]);
  Tensor out = node.Out(0, x.dtype, shape);
  node.Step("Compress", [&](ops::Plan& plan) {
    ops::PlanCompress(plan, ReadFrom(plan, x, "input"), axis, ReadFrom(plan, node.in(1), "condition"),
                      WrittenTo(plan, out, "output"));
  });
}

void MaskedSelect(Translation& node) {
  auto shape = tensor::BroadcastShapes(node.shape(0), node.shape(1));
  if (!shape) node.Refuse("x and mask do not broadcast to one another");
  HostTensor mask(DType::kBool, *shape);
  std::vector<uint8_t> truth = TruthOf(node.value(1));
  Shape strides = tensor::BroadcastStrides(node.shape(1), tensor::PackedStrides(node.shape(1)), *shape);
  Shape steps = tensor::PackedStrides(*shape);
  std::vector<uint8_t> condition;
  for (int64_t i = 0; i < mask.count(); ++i) {
    int64_t place = 0;
    for (int d = 0; d < shape->rank(); ++d) place += i / steps[d] % (*shape)[d] * strides[d];
    condition.push_back(truth[static_cast<size_t>(place)]);
  }
  Tensor x = node.in(0);
  if (x.shape != *shape) {
    x = node.Temporary(x.dtype, *shape);
    node.Copy(node.in(0), x);
  }
  Keep(node, Translation::Reshaped(x, {x.count()}), 0, condition);
}

}  // namespace belay::graph::translate
