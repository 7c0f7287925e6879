// Grouped products of INT8 whose rows are weighted and added up to those of the tokens that they came from.
#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/experts/experts.h"
#include "ops/experts/row_loops.h"
#include "ops/experts/rows.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/quant/quant_loops.h"
#include "ops/scratch.h"
#include "ops/through.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// Rows are added in their order, whatever core takes which columns.
struct AddedRowsBody {
  int sums = -1;  // binding, of INT32
  Rows scale, token, shared, logit, out;
  Indices groups, places;
  int groups_at = -1, places_at = -1;
  int64_t rows = 0, shared_first = 0;
  bool counts = false;
  float shared_by = 1;
  Scratch<int64_t> group_of;

  void operator()(const Frame& frame) const {
    const std::span<const int64_t> to = places.Places(frame, places_at, out.count());
    const int64_t last = TakeGroups(frame);
    const int64_t n = out.width(), blocks = (n + kBlock - 1) / kBlock;
    ParallelFor(blocks, std::max<int64_t>(1, 65536 / (kBlock * (last + 1))), [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block)
        Columns(frame, to, last, block * kBlock, std::min(kBlock, n - block * kBlock));
    });
  }

  // The group of each row that has one.
  int64_t TakeGroups(const Frame& frame) const {
    int64_t at = 0, group = 0;
    for (const int64_t number : groups.Read(frame, groups_at)) {
      const int64_t n = counts ? number : number - at;
      if (n < 0 || n > rows - at) {
        Fail(kIndexFault, "experts-groups",
             "groupList gives group {} {} of {} rows, of which {} were taken before; it must fit the tensors",
             group, n, rows, at);
      }
      std::fill_n(group_of.At(frame) + at, n, group++);
      at += n;
    }
    return at;
  }

  void Columns(const Frame& frame, std::span<const int64_t> to, int64_t last, int64_t first,
               int64_t n) const {
    alignas(64) float values[kBlock], sum[kBlock], buffer[kBlock];
    const auto* of = reinterpret_cast<const int32_t*>(frame.at[sums]);
    for (int64_t row = 0; row < out.count(); ++row) {
      std::fill_n(sum, n, 0.0f);
      if (shared.present() && row >= shared_first && row < shared_first + shared.count())
        BestRowLoops().add_times(sum, shared.Load(frame, row - shared_first, first, n, buffer), shared_by, n);
      out.Store(frame, row, first, n, sum);
    }
    for (int64_t row = 0; row < last; ++row) {
      const float* by = scale.Load(frame, group_of.At(frame)[row], first, n, buffer);
      const float by_row = token.present() ? token.At(frame, row, 0) : 1;
      BestQuantLoops().scale_sums(values, of + row * out.width() + first, by, 1, by_row, n);
      const int64_t place = to[static_cast<size_t>(row)];
      const float* before = out.Load(frame, place, first, n, sum);
      if (before != sum) std::copy_n(before, n, sum);
      BestRowLoops().add_times(sum, values, logit.present() ? logit.At(frame, row, 0) : 1, n);
      out.Store(frame, place, first, n, sum);
    }
  }
};

using AddedRowsArgs = kernels::GroupedMatmulFinalizeRoutingWeightNzArguments;

Tensor TurnedIf(bool turns, const Operand& operand) {
  Tensor t = *operand.tensor;
  const int rank = t.shape.rank();
  if (!turns || rank < 2) return t;
  std::swap(t.shape[rank - 1], t.shape[rank - 2]);
  std::swap(t.strides[rank - 1], t.strides[rank - 2]);
  return t;
}

void CheckAddedRows(const Plan& plan, const AddedRowsArgs& a, const Shape& x, const Shape& w) {
  if (a.bias.present())
    RefuseExperts(plan, "bias is given, which products of INT8 do not have here; pass null");
  if (a.dtype != 0) RefuseExperts(plan, "dtype is 0 (FLOAT), the only one that there is");
  if (a.group_list_type != kEnds && a.group_list_type != kLengths)
    RefuseExperts(plan, "groupListType is neither 0 (running sums) nor 1 (counts)");
  if (!a.scale.present() || !a.row_index.present())
    RefuseExperts(plan, "scale and rowIndex are given: columns have scales, and rows go somewhere");
  CheckExpertShape(plan, a.group_list, {w[0]});
  CheckExpertShape(plan, a.scale, {w[0], w[2]});
  CheckExpertRank(plan, a.out, 2, 2);
  CheckExpertShape(plan, a.out, {a.out.shape()[0], w[2]});
  for (const Operand* o : {&a.per_token_scale, &a.logit, &a.row_index}) {
    if (o->present()) CheckExpertShape(plan, *o, {x[0]});
  }
  if (!a.shared_input.present()) return;
  CheckExpertRank(plan, a.shared_input, 2, 2);
  const int64_t rows = a.shared_input.shape()[0];
  CheckExpertShape(plan, a.shared_input, {rows, w[2]});
  if (a.shared_input_offset < 0 || a.shared_input_offset > a.out.shape()[0] - rows)
    RefuseExperts(plan, "sharedInputOffset and the rows of sharedInput go beyond the result");
}

}  // namespace

namespace kernels {

void GroupedMatmulFinalizeRoutingWeightNz(Plan& plan, DType, const AddedRowsArgs& a) {
  CheckExpertRank(plan, a.x, 2, 2);
  CheckExpertRank(plan, a.w, 3, 3);
  const Tensor x = TurnedIf(a.transpose_x, a.x), w = TurnedIf(a.transpose_w, a.w);
  CheckAddedRows(plan, a, x.shape, w.shape);
  if (a.out.tensor->empty()) return;
  const Operand left{&x, nullptr, a.x.binding, a.x.name}, right{&w, nullptr, a.w.binding, a.w.name};
  std::vector<const Operand*> in = {&left, &right, &a.scale, &a.group_list, &a.row_index};
  const auto place_of = [&](const Operand& operand) -> int {
    if (!operand.present()) return -1;
    in.push_back(&operand);
    return static_cast<int>(in.size()) - 1;
  };
  const int token = place_of(a.per_token_scale), shared = place_of(a.shared_input), logit = place_of(a.logit);
  PlanThrough(
      plan, tensor::PackedOf(DType::kI32, {x.shape[0], w.shape[2]}), in, a.out,
      [&](Plan& part, const auto& from, const Operand& sums) {
        GroupedMatmulWeightNz(part, DType::kI32,
                              {.x = {from[0]},
                               .weight = {from[1]},
                               .group_list = from[3],
                               .split_item = 3,
                               .group_type = 0,
                               .group_list_type = a.group_list_type,
                               .act_type = 0,
                               .quant_group_size = 0,
                               .results = {sums}});
      },
      [&](Plan& part, const auto& from, const Operand& sums, const Operand& out) {
        const auto rows_of = [&](int place, bool one_each) {
          return place < 0 ? Rows() : Rows(from[static_cast<size_t>(place)], one_each);
        };
        AddedRowsBody body;
        body.sums = sums.binding, body.scale = Rows(from[2]), body.out = Rows(out);
        body.token = rows_of(token, true), body.shared = rows_of(shared, false),
        body.logit = rows_of(logit, true);
        body.groups = Indices(part, *from[3].tensor), body.groups_at = from[3].binding;
        body.places = Indices(part, *from[4].tensor), body.places_at = from[4].binding;
        body.rows = x.shape[0], body.shared_first = a.shared_input_offset;
        body.counts = a.group_list_type == kLengths,
        body.shared_by = static_cast<float>(a.shared_input_weight);
        body.group_of = Scratch<int64_t>(part, x.shape[0]);
        part.SetCost(500 + static_cast<uint64_t>(x.shape[0] * w.shape[2]));
        part.SetBody(body);
      });
}

}  // namespace kernels
}  // namespace belay::ops
